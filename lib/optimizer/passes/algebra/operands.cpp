// Patterns about where an operator stands relative to its operands' views: maps of equal views,
// folds over unit axes and over transposed values.
#include <algorithm>

#include "lib/optimizer/passes/algebra/tables.h"

namespace mcc::algebra {
namespace {

// map(view(a), view(b), scalars...) = view(map(a, b, scalars...)): behind a broadcast fewer
// elements are computed; behind a transpose or reshape one copy disappears.
ValueId map_of_equal_views(const Node& node, PatternScope& scope) {
  const Node* view = nullptr;
  int views = 0;
  for (ValueId input : node.inputs) {
    if (scope.splat(input)) continue;
    const Node* candidate = scope.producer(input);
    if (candidate == nullptr) return kNoValue;
    const bool movable = candidate->op == Op::broadcast ||
                         (scope.single_use(input) &&
                          (candidate->op == Op::transpose || candidate->op == Op::reshape));
    if (!movable) return kNoValue;
    if (view != nullptr && (candidate->op != view->op || !(candidate->attributes == view->attributes) ||
                            scope.shape(candidate->inputs[0]) != scope.shape(view->inputs[0]))) {
      return kNoValue;
    }
    view = candidate;
    ++views;
  }
  if (views < 2) return kNoValue;
  std::vector<ValueId> operands;
  for (ValueId input : node.inputs) {
    const std::optional<double> scalar = scope.splat(input);
    const TensorType type{scope.type(input).dtype, scope.shape(view->inputs[0])};
    operands.push_back(scalar ? scope.filled(type, *scalar, node.origin)
                              : scope.producer(input)->inputs[0]);
  }
  const ValueId mapped = scope.emit(Op::map, operands, node.attributes, node.origin);
  return scope.emit(view->op, {mapped}, view->attributes, node.origin);
}

// Axes of size 1 need no folding: every function of one element is that element.
ValueId reduce_of_units(const Node& node, PatternScope& scope) {
  const Shape& from = scope.shape(node.inputs[0]);
  Ints kept;
  Shape shape;
  for (size_t axis = 0, next = 0; axis < from.size(); ++axis) {
    const Ints& axes = node.attributes.ints("axes");
    const bool folded = next < axes.size() && axes[next] == static_cast<int64_t>(axis);
    if (folded) ++next;
    if (folded && from[axis].is_constant(1)) continue;
    if (folded) kept.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(from[axis]);
  }
  if (shape.size() == from.size()) return kNoValue;
  const ValueId source = scope.reshape(node.inputs[0], shape, node.origin);
  if (kept.empty()) return source;
  Attributes attributes = node.attributes;
  attributes.set("axes", kept);
  return scope.emit(Op::reduce, {source}, attributes, node.origin);
}

ValueId reduce_of_reduce(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::reduce);
  if (inner == nullptr || !scope.single_use(node.inputs[0]) ||
      inner->attributes.text("fn") != node.attributes.text("fn")) {
    return kNoValue;
  }
  const Ints& first = inner->attributes.ints("axes");
  Ints axes = first;
  Ints kept;
  for (int64_t axis = 0; axis < static_cast<int64_t>(scope.shape(inner->inputs[0]).size()); ++axis) {
    if (std::find(first.begin(), first.end(), axis) == first.end()) kept.push_back(axis);
  }
  for (int64_t axis : node.attributes.ints("axes")) axes.push_back(kept[static_cast<size_t>(axis)]);
  std::sort(axes.begin(), axes.end());
  Attributes attributes = node.attributes;
  attributes.set("axes", axes);
  return scope.emit(Op::reduce, {inner->inputs[0]}, attributes, node.origin);
}

// Folding first leaves less to transpose.
ValueId reduce_of_transpose(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::transpose);
  if (inner == nullptr) return kNoValue;
  const Ints& perm = inner->attributes.ints("perm");
  const Ints& axes = node.attributes.ints("axes");
  Ints folded, kept;
  for (size_t i = 0; i < perm.size(); ++i) {
    const bool is_folded = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    (is_folded ? folded : kept).push_back(perm[i]);
  }
  std::sort(folded.begin(), folded.end());
  Attributes attributes = node.attributes;
  attributes.set("axes", folded);
  const ValueId reduced = scope.emit(Op::reduce, {inner->inputs[0]}, attributes, node.origin);
  // The kept axes come out in the source's order.
  Ints sorted = kept, order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t axis : kept) {
    order.push_back(std::find(sorted.begin(), sorted.end(), axis) - sorted.begin());
  }
  return scope.transpose(reduced, order, node.origin);
}

constexpr Pattern kPatterns[] = {
    {Op::map, "map of equal views", map_of_equal_views},
    {Op::reduce, "reduce over unit axes", reduce_of_units},
    {Op::reduce, "reduce of reduce", reduce_of_reduce},
    {Op::reduce, "reduce of transpose", reduce_of_transpose},
};

}  // namespace

std::span<const Pattern> operand_patterns() { return kPatterns; }

}  // namespace mcc::algebra
