// Views sink below maps: map(view(x), scalars) becomes view(map(x, scalars)).
//
// The map then follows x's producer directly, so that it can join the producer's kernel as an
// epilogue; and behind a broadcast it computes fewer elements. Applies to transpose, reshape and
// broadcast views with no other reader, when all other operands are one repeated scalar.
#include <map>

#include "lib/ir/op.h"
#include "lib/optimizer/passes/passes.h"

namespace mcc {
namespace {

bool is_movable_view(Op op) {
  return op == Op::transpose || op == Op::reshape || op == Op::broadcast;
}

// The scalar that `value` repeats (the input of a broadcast of one element), or kNoValue.
ValueId repeated_scalar(const Graph& graph, const std::map<ValueId, const Node*>& producers,
                        ValueId value) {
  auto found = producers.find(value);
  if (found == producers.end() || found->second->op != Op::broadcast) return kNoValue;
  const ValueId source = found->second->inputs[0];
  return graph.rank(source) == 0 ? source : kNoValue;
}

}  // namespace

bool sink_views(Graph& graph, PassContext&) {
  const std::vector<int32_t> uses = graph.use_counts();
  Rewriter rewriter(graph);
  // Producers by resolved value, kept up to date with what is emitted.
  std::map<ValueId, const Node*> producers;
  for (const Node& node : rewriter.old_nodes()) {
    for (ValueId output : node.outputs) producers[output] = &node;
  }
  for (const Node& node : rewriter.old_nodes()) {
    const Node* view = nullptr;
    size_t position = 0;
    bool fits = node.op == Op::map;
    for (size_t i = 0; fits && i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (repeated_scalar(graph, producers, input) != kNoValue) continue;
      auto found = producers.find(input);
      fits = view == nullptr && found != producers.end() && is_movable_view(found->second->op) &&
             uses[static_cast<size_t>(input)] == 1;
      if (fits) {
        view = found->second;
        position = i;
      }
    }
    if (!fits || view == nullptr) {
      rewriter.keep(node);
      continue;
    }
    const ValueId source = rewriter.resolve(view->inputs[0]);
    const Shape& shape = graph.shape(source);
    std::vector<ValueId> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i == position) {
        operands.push_back(source);
        continue;
      }
      Attributes attributes;
      attributes.set("shape", shape);
      attributes.set("axes", Ints{});
      const ValueId scalar = rewriter.resolve(repeated_scalar(graph, producers, node.inputs[i]));
      operands.push_back(rewriter.emit_one(Op::broadcast, {scalar}, attributes));
    }
    const ValueId mapped = rewriter.emit_one(Op::map, operands, node.attributes, node.origin);
    const ValueId moved = rewriter.emit_one(view->op, {mapped}, view->attributes, view->origin);
    rewriter.replace(node.outputs[0], moved);
  }
  const bool changed = rewriter.changed();
  rewriter.finish();
  return changed;
}

}  // namespace mcc
