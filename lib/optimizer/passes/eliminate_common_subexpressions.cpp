// Common subexpressions: nodes with equal operators, operands and attributes become one.
//
// The key is a node's full semantics: all attributes take part (tensors by their bytes), so two
// nodes that differ in anything stay apart. Nodes with bodies are left alone; no operator has side
// effects, and `random` is a function of its seed.
#include <map>

#include "lib/optimizer/passes/passes.h"
#include "lib/optimizer/rewrite/patterns.h"

namespace mcc {
namespace {

// Enough of a constant to tell most apart; equal keys are compared in full.
constexpr size_t kHashedBytes = 256;

struct Key {
  Op op;
  std::vector<ValueId> inputs;
  uint64_t contents;
  friend auto operator<=>(const Key&, const Key&) = default;
};

uint64_t contents_hash(const Node& node) {
  if (node.op != Op::constant) return 0;
  const Tensor& tensor = *node.attributes.tensor("value");
  uint64_t hash = 1469598103934665603u ^ static_cast<uint64_t>(tensor.dtype());
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  for (int64_t dim : tensor.shape()) mix(static_cast<uint64_t>(dim));
  // Both ends: weights often start alike.
  const size_t bytes = tensor.bytes();
  for (size_t i = 0; i < bytes && i < kHashedBytes; ++i) {
    mix(static_cast<uint64_t>(tensor.data()[i]));
    mix(static_cast<uint64_t>(tensor.data()[bytes - 1 - i]));
  }
  return hash;
}

bool merge(Graph& graph) {
  Rewriter rewriter(graph);
  std::map<Key, std::vector<const Node*>> seen;
  for (const Node& node : rewriter.old_nodes()) {
    if (!node.subgraphs.empty()) {
      rewriter.keep(node);
      continue;
    }
    Key key{node.op, node.inputs, contents_hash(node)};
    for (ValueId& input : key.inputs) input = rewriter.resolve(input);
    std::vector<const Node*>& candidates = seen[key];
    const Node* twin = nullptr;
    for (const Node* candidate : candidates) {
      bool equal = candidate->outputs.size() == node.outputs.size() &&
                   candidate->attributes == node.attributes;
      for (size_t i = 0; equal && i < node.outputs.size(); ++i) {
        equal = graph.type(candidate->outputs[i]) == graph.type(node.outputs[i]);
      }
      if (equal) {
        twin = candidate;
        break;
      }
    }
    if (twin == nullptr) {
      candidates.push_back(&node);
      rewriter.keep(node);
      continue;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      rewriter.replace(node.outputs[i], twin->outputs[i]);
    }
  }
  const bool changed = rewriter.changed();
  rewriter.finish();
  return changed;
}

}  // namespace

bool eliminate_common_subexpressions(Graph& graph, PassContext&) {
  return for_each_graph(graph, merge);
}

}  // namespace mcc
