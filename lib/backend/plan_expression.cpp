// Symbolic expressions in the plan's reverse Polish form.
#include "lib/backend/plan_builder.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

using runtime::ExpressionOp;
using runtime::ExpressionToken;

class Converter {
 public:
  explicit Converter(const Graph& graph) : graph_(graph) {}

  void sum(const Expr& expr) {
    bool empty = true;
    for (const Term& term : expr.node().terms) {
      product(term);
      if (!empty) push(ExpressionOp::add);
      empty = false;
    }
    const int64_t constant = expr.node().constant;
    if (empty || constant != 0) {
      tokens_.push_back({ExpressionOp::constant, constant});
      if (!empty) push(ExpressionOp::add);
    }
  }

  runtime::Expression finish() { return runtime::Expression(std::move(tokens_)); }

 private:
  void push(ExpressionOp op) { tokens_.push_back({op, 0}); }

  void product(const Term& term) {
    bool empty = true;
    for (const auto& factor : term.factors) {
      atom(*factor);
      if (!empty) push(ExpressionOp::multiply);
      empty = false;
    }
    if (term.coefficient == 1) return;
    tokens_.push_back({ExpressionOp::constant, term.coefficient});
    push(ExpressionOp::multiply);
  }

  void atom(const Atom& atom) {
    if (atom.kind == AtomKind::symbol) {
      tokens_.push_back({ExpressionOp::symbol, symbol_index(atom.name)});
      return;
    }
    sum(atom.left);
    sum(atom.right);
    switch (atom.kind) {
      case AtomKind::floordiv: return push(ExpressionOp::floordiv);
      case AtomKind::mod: return push(ExpressionOp::mod);
      case AtomKind::min: return push(ExpressionOp::min);
      case AtomKind::max: return push(ExpressionOp::max);
      case AtomKind::symbol: return;
    }
  }

  int64_t symbol_index(const std::string& name) const {
    for (size_t i = 0; i < graph_.symbols.size(); ++i) {
      if (graph_.symbols[i].name == name) return static_cast<int64_t>(i);
    }
    throw InternalError("a launch or size depends on symbol '" + name + "', which the graph lacks");
  }

  const Graph& graph_;
  std::vector<ExpressionToken> tokens_;
};

}  // namespace

runtime::Expression to_expression(const Expr& expr, const Graph& graph) {
  Converter converter(graph);
  converter.sum(expr);
  return converter.finish();
}

}  // namespace mcc::backend
