// Bodies that always run become part of the graph around them: calls, and the branch of an `if`
// that a constant condition takes.
//
// Constants that a body captures are copied into it first (their storage is shared), so that
// folding and weight packing see them there; a loop's carried values change and stay inputs.
#include <algorithm>
#include <map>

#include "lib/optimizer/passes/passes.h"
#include "lib/optimizer/rewrite/patterns.h"

namespace mcc {
namespace {

// `value` under the type that the body or the outer graph states for it; sizes that the two sides
// know under different names are tied together by a reshape.
ValueId with_type(Rewriter& rewriter, ValueId value, const TensorType& type,
                  const std::vector<std::string>& origin) {
  if (rewriter.graph().shape(value) == type.shape) return value;
  Attributes attributes;
  attributes.set("shape", type.shape);
  return rewriter.emit_one(Op::reshape, {value}, std::move(attributes), origin);
}

void inline_body(Rewriter& rewriter, const Node& node, const Graph& body, size_t first_input) {
  std::map<ValueId, ValueId> outer;
  const auto renamed = [&](ValueId value) { return value == kNoValue ? kNoValue : outer.at(value); };
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const ValueId argument = rewriter.resolve(node.inputs[first_input + i]);
    outer[body.inputs[i]] =
        with_type(rewriter, argument, body.type(body.inputs[i]), node.origin);
  }
  for (const Node& inner : body.nodes) {
    Node copy = inner;
    copy.outputs.clear();
    for (ValueId& input : copy.inputs) input = renamed(input);
    if (copy.origin.empty()) copy.origin = node.origin;
    const std::vector<ValueId> outputs = rewriter.emit(std::move(copy));
    for (size_t i = 0; i < outputs.size(); ++i) {
      outer[inner.outputs[i]] = outputs[i];
      Value& value = rewriter.graph().values[static_cast<size_t>(outputs[i])];
      value.name = body.values[static_cast<size_t>(inner.outputs[i])].name;
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorType type = rewriter.graph().type(node.outputs[i]);
    const ValueId result = with_type(rewriter, renamed(body.outputs[i]), type, node.origin);
    rewriter.replace(node.outputs[i], result);
  }
}

// The branch that an `if` takes for certain.
const Graph* certain_branch(const Rewriter& rewriter, const Node& node) {
  ValueId condition = rewriter.resolve(node.inputs[0]);
  const Node* producer = rewriter.producer(condition);
  while (producer != nullptr && (producer->op == Op::reshape || producer->op == Op::broadcast)) {
    producer = rewriter.producer(producer->inputs[0]);
  }
  if (producer == nullptr || producer->op != Op::constant) return nullptr;
  const Tensor& tensor = *producer->attributes.tensor("value");
  if (tensor.elements() != 1) return nullptr;
  return &node.subgraphs[tensor.get_int64(0) != 0 ? 0 : 1];
}

// Operands of a control node that its bodies receive unchanged: [first operand, first body input).
struct Captured {
  size_t operand = 0;
  size_t input = 0;
};
Captured captured_by(const Node& node) {
  if (node.op == Op::if_op) return {1, 0};
  if (node.op == Op::call) return {0, 0};
  const auto first = static_cast<size_t>(node.attributes.integer("carried")) + 2;
  return {first, first};
}

// Replaces input number `index` of a body by a constant.
void define_constant(Graph& body, size_t index, const Node& constant) {
  Node copy = constant;
  copy.outputs = {body.inputs[index]};
  body.inputs.erase(body.inputs.begin() + static_cast<std::ptrdiff_t>(index));
  body.nodes.insert(body.nodes.begin(), std::move(copy));
}

// Copies captured constants into the bodies. Returns whether there were any.
bool copy_constants(Graph& graph) {
  bool changed = false;
  std::map<ValueId, const Node*> constants;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::constant) constants[node.outputs[0]] = &node;
  }
  for (Node& node : graph.nodes) {
    if (node.op != Op::if_op && node.op != Op::loop && node.op != Op::call) continue;
    const Captured captured = captured_by(node);
    for (size_t i = node.inputs.size(); i-- > captured.operand;) {
      const auto found = constants.find(node.inputs[i]);
      if (found == constants.end()) continue;
      const size_t index = i - captured.operand + captured.input;
      const TensorType& type = graph.type(node.inputs[i]);
      const bool same_type = std::all_of(
          node.subgraphs.begin(), node.subgraphs.end(),
          [&](const Graph& body) { return body.type(body.inputs[index]) == type; });
      if (!same_type) continue;
      for (Graph& body : node.subgraphs) define_constant(body, index, *found->second);
      node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      changed = true;
    }
  }
  return changed;
}

bool inline_nodes(Graph& graph) {
  const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op == Op::call || node.op == Op::if_op;
  });
  if (!any) return false;
  Rewriter rewriter(graph);
  bool changed = false;
  for (const Node& node : rewriter.old_nodes()) {
    const Graph* body = nullptr;
    if (node.op == Op::call) body = &node.subgraphs[0];
    if (node.op == Op::if_op) body = certain_branch(rewriter, node);
    if (body == nullptr) {
      rewriter.keep(node);
    } else {
      inline_body(rewriter, node, *body, captured_by(node).operand);
      changed = true;
    }
  }
  rewriter.finish();
  return changed;
}

// Outer graphs first: what they hand down decides what happens below.
bool run(Graph& graph) {
  bool changed = copy_constants(graph);
  while (inline_nodes(graph)) {
    changed = true;
    copy_constants(graph);  // bodies that were nested in the inlined ones
  }
  for (Node& node : graph.nodes) {
    if (node.op == Op::fused) continue;
    for (Graph& body : node.subgraphs) changed = run(body) || changed;
  }
  return changed;
}

}  // namespace

bool inline_calls(Graph& graph, PassContext&) { return run(graph); }

}  // namespace mcc
