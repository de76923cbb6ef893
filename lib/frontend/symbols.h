// The symbolic dimensions of a model: from dim_params and options to the graph's symbols, and what
// the import learns about equal dimensions.
// Invariant: graph symbols have generated names; the model's words for them are labels only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/frontend/import.h"

namespace mcc::frontend {

// Expressions in this struct use labels as symbol names.
struct DeclaredInput {
  std::string name;
  Shape dims;
};

// The dimension that a text of a model or of an option means: a number, a label, an expression
// over labels; `fallback` labels a dimension without text.
Expr parse_dimension(const std::string& text, const std::string& fallback);

// label → what it equals, over other labels. Survives from one import attempt to the next.
class Equalities {
 public:
  // Records a == b; true when that is news that can be used.
  bool learn(const Expr& a, const Expr& b, const std::map<std::string, int>& label_order);
  Expr resolve(Expr expr) const;
  // Records expr <= high; true when that is news.
  bool learn_limit(const Expr& expr, int64_t high);
  struct Limit {
    Expr expr;
    int64_t high;
  };
  const std::vector<Limit>& limits() const { return limits_; }

 private:
  std::map<std::string, Expr, std::less<>> known_;
  std::vector<Limit> limits_;
};

class Symbols {
 public:
  // Adds the symbols of all inputs to the graph. UsageError for options that name nothing.
  Symbols(Graph& graph, const std::vector<DeclaredInput>& inputs, const ImportOptions& options,
          Equalities& equalities);
  // The shape of a declared input over the graph's symbols.
  Shape input_shape(const DeclaredInput& input) const;

  // The dimension that two dimensions which must agree have. Undecided ones are taken to be equal
  // (and remembered: `learned`); where clamps stand in the way (min(s, 512) is s) the limit is
  // remembered instead. ModelError when they differ for certain.
  Expr merge(const Expr& a, const Expr& b);
  // min(expr, bound) without the min where it is known to do nothing.
  Expr clamp_above(const Expr& expr, const Expr& bound) const;
  // What had to be assumed, as symbols whose range is checked when inputs are bound. Call once,
  // after the last merge.
  void add_conditions();
  // A symbol of `graph` (the model's or a subgraph's) whose value is element `index` of an integer
  // tensor, known when the plan runs.
  Expr runtime(Graph& graph, const std::string& label, Range range, ValueId value, int64_t index);
  // A symbol of a subgraph for a dimension of its input number `input`.
  Expr inner_dimension(Graph& subgraph, int32_t input, int64_t axis);

  const Ranges& ranges() const { return ranges_; }
  Expr simplified(const Expr& expr) const { return simplify(expr, ranges_); }
  // Whether another attempt would know more.
  bool learned() const { return learned_; }

 private:
  void add(const std::string& label, int32_t input, int64_t axis, Range range);
  void solve(const std::vector<DeclaredInput>& inputs, const ImportOptions& options);

  bool from_inputs(const Expr& expr) const;
  bool learn_clamps(const Expr& a, const Expr& b);

  Graph& graph_;
  Equalities& equalities_;
  std::set<Expr> zero_;  // differences that must be 0 and could not be solved
  std::map<std::string, Expr, std::less<>> by_label_;  // label → graph expression
  std::map<std::string, Expr, std::less<>> label_of_;  // graph symbol → label expression
  std::map<std::string, int> order_;                   // label → order of declaration
  Ranges ranges_;
  int inner_symbols_ = 0;  // subgraphs' symbols need names that no other graph of the model has
  bool learned_ = false;
};

}  // namespace mcc::frontend
