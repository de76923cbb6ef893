// Local rewriting: a table of patterns, each of which may replace one node by another value.
//
// Invariants: a pattern looks at a node and at what computes its operands, emits new nodes, and
// returns the value that takes the node's place, or kNoValue when it does not apply. A replacement
// of another type is dropped, so patterns need not re-check what inference already decides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/graph.h"
#include "lib/ir/op.h"

namespace mcc {

// What patterns may ask and do, in terms of current values.
class PatternScope {
 public:
  PatternScope(Rewriter& rewriter, std::vector<int32_t> uses)
      : rewriter_(rewriter), uses_(std::move(uses)) {}

  const Node* producer(ValueId value) const { return rewriter_.producer(value); }
  // The producer if it is this operator (or a map of this function), else nullptr.
  const Node* producer(ValueId value, Op op) const;
  const Node* map_of(ValueId value, std::string_view function) const;
  // The tensor of a constant, else nullptr.
  const Tensor* constant(ValueId value) const;
  // The number that all elements of a floating or integer value equal: a constant of equal
  // elements, or any view of one. Constants of more than a few elements are not searched.
  std::optional<double> splat(ValueId value) const;
  // Whether one place at most reads the value, as far as the sweep can know.
  bool single_use(ValueId value) const;
  // References to types last until the next emission.
  const TensorType& type(ValueId value) const { return rewriter_.graph().type(value); }
  const Shape& shape(ValueId value) const { return type(value).shape; }

  ValueId emit(Op op, std::vector<ValueId> inputs, Attributes attributes,
               const std::vector<std::string>& origin) {
    return rewriter_.emit_one(op, std::move(inputs), std::move(attributes), origin);
  }
  ValueId map(std::string_view function, std::vector<ValueId> inputs,
              const std::vector<std::string>& origin);
  ValueId reshape(ValueId value, const Shape& shape, const std::vector<std::string>& origin);
  ValueId transpose(ValueId value, const Ints& perm, const std::vector<std::string>& origin);
  ValueId broadcast(ValueId value, const Shape& shape, const Ints& axes,
                    const std::vector<std::string>& origin);
  ValueId slice(ValueId value, const Shape& starts, const Shape& shape, const Ints& steps,
                const std::vector<std::string>& origin);
  ValueId constant_of(Tensor tensor, const std::vector<std::string>& origin);
  // A value of the given type whose elements all equal `value`.
  ValueId filled(TensorType type, double value, const std::vector<std::string>& origin);

  // The driver tells that `replacement` took over the uses of `replaced`.
  void take_over(ValueId replaced, ValueId replacement);

 private:
  int32_t uses(ValueId value) const;

  Rewriter& rewriter_;
  std::vector<int32_t> uses_;
};

// `node` is the visited node with current operands.
using PatternFunction = ValueId (*)(const Node& node, PatternScope& scope);

struct Pattern {
  Op op;
  std::string_view name;  // what it does, for readers and tests
  PatternFunction rewrite;
};

// Sweeps over the graph and the bodies of its control nodes until no pattern applies any more
// (bounded). Only nodes with one output are offered. Returns whether anything changed.
bool apply_patterns(Graph& graph, std::span<const Pattern> patterns);

// Calls `visit` on every body below `graph`, innermost first, then on the graph itself; returns
// whether any call returned true. Bodies of fused nodes are left alone.
template <typename Visit>
bool for_each_graph(Graph& graph, const Visit& visit) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    if (node.op == Op::fused) continue;
    for (Graph& body : node.subgraphs) changed = for_each_graph(body, visit) || changed;
  }
  return visit(graph) || changed;
}

// Dimensions that are not the constant 1, in order.
Shape without_units(const Shape& shape);
// The axes of those dimensions.
Ints non_unit_axes(const Shape& shape);

}  // namespace mcc
