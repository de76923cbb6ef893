// Constant folding: what depends on constants alone is evaluated while compiling.
//
// Values known at compile time are evaluated by the reference evaluator, and only those that an
// unknown node reads become constants. A plan should not grow for it: broadcasts stay views, equal
// elements become a broadcast scalar, and a result that is larger than what it came from is kept
// only when it is small or dear to compute (a table of sines, a product of matrices).
#include <map>
#include <memory>

#include "lib/ir/evaluate.h"
#include "lib/ir/scalar_function.h"
#include "lib/optimizer/passes/passes.h"
#include "lib/optimizer/rewrite/patterns.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

constexpr int64_t kTinyElements = 64;
constexpr int64_t kSmallBytes = int64_t{1} << 20;
constexpr int kDearCost = 8;  // flops per element from which a map counts as dear

// What is known about a value that depends on constants alone.
struct Known {
  const Node* node = nullptr;
  size_t output = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t source_elements = 0;  // of the constants that it comes from
  bool uniform = false;         // all elements are equal
  bool dear = false;            // worth storing even if larger than its sources
};

bool is_symbolic(const Node& node) {
  for (const auto& [name, value] : node.attributes.entries()) {
    const Shape* shape = std::get_if<Shape>(&value);
    if (shape == nullptr) continue;
    for (const Expr& entry : *shape) {
      if (!entry.is_constant()) return true;
    }
  }
  return false;
}

class Folder {
 public:
  Folder(Graph& graph, int64_t limit) : graph_(graph), limit_(limit), rewriter_(graph) {}

  bool run() {
    for (const Node& node : rewriter_.old_nodes()) {
      if (learn(node)) continue;
      for (ValueId input : node.inputs) materialize(input);
      rewriter_.keep(node);
    }
    for (ValueId output : graph_.outputs) materialize(output);
    for (const Symbol& symbol : graph_.symbols) {
      if (symbol.source.kind == SymbolSource::Kind::value) materialize(symbol.source.input);
    }
    rewriter_.finish();
    return folded_;
  }

 private:
  const Known* find(ValueId value) const {
    auto found = known_.find(value);
    return found == known_.end() ? nullptr : &found->second;
  }

  // Notes the outputs of a node whose operands are all known; false for any other node.
  bool learn(const Node& node) {
    constexpr uint32_t kExcluded = kControl | kDataDependent;
    if (has_trait(node.op, kExcluded) || node.op == Op::random || is_symbolic(node)) return false;
    const bool cheap = node.op == Op::map ? map_is_cheap(node)
                                          : has_trait(node.op, kView | kIndexed | kSource);
    Known about{&node, 0, 0, 0, 0, node.op != Op::iota && node.op != Op::dims, !cheap};
    for (ValueId input : node.inputs) {
      const Known* operand = find(input);
      if (operand == nullptr) return false;
      about.source_elements += operand->source_elements;
      about.uniform = about.uniform && operand->uniform;
      about.dear = about.dear || operand->dear;
    }
    const bool keeps_equality = has_trait(node.op, kElementwise) || node.op == Op::broadcast ||
                                node.op == Op::reshape || node.op == Op::transpose ||
                                node.op == Op::slice;
    about.uniform = about.uniform && keeps_equality;
    std::vector<Known> results;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Expr count = product(graph_.shape(node.outputs[i]));
      if (!count.is_constant()) return false;
      about.output = i;
      about.elements = count.constant();
      about.bytes = dtype_bytes(graph_.dtype(node.outputs[i]), about.elements);
      if (node.op == Op::constant) {
        about.source_elements = about.elements;
        about.uniform = about.elements == 1;
        about.dear = false;
      } else if (about.bytes > limit_) {
        return false;
      }
      results.push_back(about);
    }
    for (const Known& result : results) known_[node.outputs[result.output]] = result;
    return true;
  }

  static bool map_is_cheap(const Node& node) {
    const ScalarFunction* function = find_scalar_function(node.attributes.text("fn"));
    return function != nullptr && function->cost < kDearCost;
  }

  // The tensor of a known value; intermediate results live in `cache` only.
  Tensor tensor_of(ValueId value, std::map<ValueId, Tensor>& cache) const {
    const Known& known = *find(value);
    if (known.node->op == Op::constant) return *known.node->attributes.tensor("value");
    if (auto found = cache.find(value); found != cache.end()) return found->second;
    std::vector<Tensor> inputs;
    for (ValueId input : known.node->inputs) inputs.push_back(tensor_of(input, cache));
    const std::vector<Tensor> outputs =
        evaluate_node(graph_, *known.node, EvaluationContext{&graph_, {}}, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) cache[known.node->outputs[i]] = outputs[i];
    return outputs[known.output];
  }

  bool becomes_constant(const Known& known) const {
    const Op op = known.node->op;
    if (op == Op::broadcast || op == Op::iota) {
      return known.elements <= (op == Op::iota ? kTinyElements : known.source_elements);
    }
    return known.elements <= kTinyElements || known.elements <= known.source_elements ||
           known.bytes <= kSmallBytes || known.dear;
  }

  // Gives a known value a definition in the new graph, once.
  void materialize(ValueId value) {
    const Known* known = find(value);
    if (known == nullptr || !done_.insert(value).second) return;
    const Node& node = *known->node;
    if (node.op == Op::constant) {
      rewriter_.keep(node);
      return;
    }
    const bool scalar_broadcast = node.op == Op::broadcast && graph_.rank(node.inputs[0]) == 0;
    const bool fill = known->uniform && known->elements > 1 && !scalar_broadcast;
    if (!fill && (scalar_broadcast || !becomes_constant(*known))) {
      for (ValueId input : node.inputs) materialize(input);
      for (ValueId output : node.outputs) done_.insert(output);
      rewriter_.keep(node);
      return;
    }
    std::map<ValueId, Tensor> cache;
    try {
      Tensor tensor = tensor_of(value, cache);
      ValueId result = kNoValue;
      if (fill) {
        Tensor scalar(tensor.dtype(), {});
        copy_first(tensor, scalar);
        result = emit_constant(std::move(scalar), node);
        Attributes attributes;
        attributes.set("shape", graph_.shape(value));
        attributes.set("axes", Ints{});
        result = rewriter_.emit_one(Op::broadcast, {result}, std::move(attributes), node.origin);
      } else {
        result = emit_constant(std::move(tensor), node);
      }
      rewriter_.replace(value, result);
      folded_ = true;
    } catch (const ModelError&) {
      // Evaluating it is an error of the model that only matters if it is ever run (an index out of
      // range on a path not taken): leave it to run time.
      for (ValueId input : node.inputs) materialize(input);
      for (ValueId output : node.outputs) done_.insert(output);
      rewriter_.keep(node);
    }
  }

  ValueId emit_constant(Tensor tensor, const Node& node) {
    Attributes attributes;
    attributes.set("value", std::make_shared<const Tensor>(std::move(tensor)));
    return rewriter_.emit_one(Op::constant, {}, std::move(attributes), node.origin);
  }

  static void copy_first(const Tensor& from, Tensor& to) {
    if (from.dtype() == DType::string) {
      to.strings->front() = from.strings->front();
    } else if (is_floating(from.dtype())) {
      to.set_double(0, from.get_double(0));
    } else if (dtype_info(from.dtype()).kind == DTypeKind::complex) {
      std::copy_n(from.data(), to.bytes(), to.mutable_data());
    } else {
      to.set_int64(0, from.get_int64(0));
    }
  }

  Graph& graph_;
  const int64_t limit_;
  Rewriter rewriter_;
  std::map<ValueId, Known> known_;
  std::set<ValueId> done_;
  bool folded_ = false;
};

}  // namespace

bool fold_constants(Graph& graph, PassContext& context) {
  return for_each_graph(graph, [&](Graph& body) {
    return Folder(body, context.options.folding_limit_bytes).run();
  });
}

}  // namespace mcc
