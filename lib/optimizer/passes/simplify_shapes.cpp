// Shape arithmetic becomes symbolic dimensions.
//
// The importer evaluates most of it; what is left, or appears by inlining, is found here: integer
// nodes whose elements are expressions over symbols become one `dims` node. Then the symbolic
// attributes of all nodes are simplified with what is known about the symbols' ranges, and types
// are inferred again, so that equal sizes look equal to every later pass.
#include "lib/ir/op.h"
#include "lib/optimizer/passes/passes.h"
#include "lib/optimizer/rewrite/patterns.h"
#include "lib/optimizer/rewrite/symbolic.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

// `dims`, or dims with a conversion and a shape: what this pass writes itself.
bool is_plain(const Node& node, const std::map<ValueId, const Node*>& producers) {
  if (node.op == Op::dims || node.op == Op::constant) return true;
  const bool wraps = node.op == Op::reshape ||
                     (node.op == Op::map && node.attributes.text("fn") == "cast");
  if (!wraps) return false;
  auto found = producers.find(node.inputs[0]);
  return found != producers.end() && is_plain(*found->second, producers);
}

bool state_values(Graph& graph, const Ranges& ranges) {
  SymbolicValues values;
  Rewriter rewriter(graph);
  bool changed = false;
  std::map<ValueId, const Node*> producers;
  for (const Node& node : rewriter.old_nodes()) {
    for (ValueId output : node.outputs) producers[output] = &node;
    values.learn(graph, node, ranges);
    const std::vector<Expr>* elements =
        node.outputs.size() == 1 ? values.find(node.outputs[0]) : nullptr;
    // Longer vectors are data that happen to be known; they stay constants and computations.
    if (elements == nullptr || is_plain(node, producers)) {
      rewriter.keep(node);
      continue;
    }
    Attributes attributes;
    attributes.set("values", *elements);
    ValueId result = rewriter.emit_one(Op::dims, {}, std::move(attributes), node.origin);
    const TensorType& wanted = graph.type(node.outputs[0]);
    if (wanted.dtype != DType::i64) {
      Attributes cast;
      cast.set("fn", std::string("cast"));
      cast.set("to", wanted.dtype);
      result = rewriter.emit_one(Op::map, {result}, std::move(cast), node.origin);
    }
    const Shape shape = graph.shape(node.outputs[0]);
    if (graph.shape(result) != shape) {
      Attributes reshape;
      reshape.set("shape", shape);
      result = rewriter.emit_one(Op::reshape, {result}, std::move(reshape), node.origin);
    }
    rewriter.replace(node.outputs[0], result);
    changed = true;
  }
  rewriter.finish();
  return changed;
}

bool simplify_attributes(Graph& graph, const Ranges& ranges) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    std::vector<Attributes::Entry> updates;
    for (const auto& [name, value] : node.attributes.entries()) {
      const Shape* shape = std::get_if<Shape>(&value);
      if (shape == nullptr) continue;
      Shape simple;
      for (const Expr& entry : *shape) simple.push_back(simplify(entry, ranges));
      if (simple != *shape) updates.emplace_back(name, std::move(simple));
    }
    for (auto& [name, value] : updates) node.attributes.set(name, std::move(value));
    changed = changed || !updates.empty();
  }
  return changed;
}

// Types follow from the operators again, in order.
void infer_again(Graph& graph) {
  for (Node& node : graph.nodes) {
    std::vector<TensorType> inputs;
    for (ValueId input : node.inputs) {
      inputs.push_back(input == kNoValue ? TensorType{} : graph.type(input));
    }
    const std::vector<TensorType> types = op_info(node.op).infer(node, inputs);
    check_internal(types.size() == node.outputs.size(), "inference changed the number of outputs");
    for (size_t i = 0; i < types.size(); ++i) {
      graph.values[static_cast<size_t>(node.outputs[i])].type = types[i];
    }
  }
}

}  // namespace

bool simplify_shapes(Graph& graph, PassContext&) {
  const Ranges ranges = graph.ranges();
  bool changed = for_each_graph(graph, [&](Graph& body) { return state_values(body, ranges); });
  if (simplify_attributes(graph, ranges)) {
    infer_again(graph);
    changed = true;
  }
  return changed;
}

}  // namespace mcc
