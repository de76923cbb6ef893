// Reshape, transpose and broadcast: what does nothing goes, what meets merges.
//
// Normal forms that other passes rely on: a broadcast's input has no dimension of size 1, so a
// repeated scalar is a broadcast of rank 0 and a per-channel vector one of rank 1; a view that only
// adds, drops or moves dimensions of size 1 is a reshape, which costs nothing.
#include <algorithm>

#include "lib/optimizer/passes/algebra/tables.h"

namespace mcc::algebra {
namespace {

size_t at(int64_t axis) { return static_cast<size_t>(axis); }

ValueId reshape_to_same(const Node& node, PatternScope& scope) {
  const bool same = scope.shape(node.inputs[0]) == node.attributes.shape("shape");
  return same ? node.inputs[0] : kNoValue;
}

ValueId reshape_of_reshape(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::reshape);
  if (inner == nullptr) return kNoValue;
  return scope.reshape(inner->inputs[0], node.attributes.shape("shape"), node.origin);
}

// A reshape that only touches unit dimensions of a broadcast is a broadcast to the new shape.
ValueId reshape_of_broadcast(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::broadcast);
  const Shape& to = node.attributes.shape("shape");
  if (inner == nullptr) return kNoValue;
  if (scope.shape(inner->inputs[0]).empty()) {  // a scalar fills any shape
    return scope.broadcast(inner->inputs[0], to, {}, node.origin);
  }
  const Shape& from = scope.shape(node.inputs[0]);
  if (without_units(from) != without_units(to)) return kNoValue;
  const Ints old_axes = non_unit_axes(from);
  const Ints new_axes = non_unit_axes(to);
  Ints axes;
  for (int64_t axis : inner->attributes.ints("axes")) {
    const auto found = std::find(old_axes.begin(), old_axes.end(), axis);
    if (found == old_axes.end()) return kNoValue;
    axes.push_back(new_axes[at(found - old_axes.begin())]);
  }
  return scope.broadcast(inner->inputs[0], to, axes, node.origin);
}

ValueId transpose_identity(const Node& node, PatternScope&) {
  const Ints& perm = node.attributes.ints("perm");
  return std::is_sorted(perm.begin(), perm.end()) ? node.inputs[0] : kNoValue;
}

ValueId transpose_of_transpose(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::transpose);
  if (inner == nullptr) return kNoValue;
  Ints perm;
  for (int64_t axis : node.attributes.ints("perm")) {
    perm.push_back(inner->attributes.ints("perm")[at(axis)]);
  }
  return scope.transpose(inner->inputs[0], perm, node.origin);
}

// Moving dimensions of size 1 moves no data.
ValueId transpose_of_units(const Node& node, PatternScope& scope) {
  const Shape& from = scope.shape(node.inputs[0]);
  Ints moved;
  for (int64_t axis : node.attributes.ints("perm")) {
    if (!from[at(axis)].is_constant(1)) moved.push_back(axis);
  }
  if (!std::is_sorted(moved.begin(), moved.end())) return kNoValue;
  return scope.reshape(node.inputs[0], scope.shape(node.outputs[0]), node.origin);
}

// The transpose acts on the smaller side of a broadcast, usually on nothing.
ValueId transpose_of_broadcast(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::broadcast);
  if (inner == nullptr) return kNoValue;
  const Ints& perm = node.attributes.ints("perm");
  const Ints& old_axes = inner->attributes.ints("axes");
  Ints axes, inner_perm;
  for (size_t i = 0; i < perm.size(); ++i) {
    const auto found = std::find(old_axes.begin(), old_axes.end(), perm[i]);
    if (found == old_axes.end()) continue;
    axes.push_back(static_cast<int64_t>(i));
    inner_perm.push_back(found - old_axes.begin());
  }
  const ValueId source = scope.transpose(inner->inputs[0], inner_perm, node.origin);
  return scope.broadcast(source, scope.shape(node.outputs[0]), axes, node.origin);
}

// A broadcast that repeats nothing.
ValueId broadcast_that_repeats_nothing(const Node& node, PatternScope& scope) {
  const Shape& to = node.attributes.shape("shape");
  if (without_units(scope.shape(node.inputs[0])) != without_units(to)) return kNoValue;
  return scope.reshape(node.inputs[0], to, node.origin);
}

ValueId broadcast_of_broadcast(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::broadcast);
  if (inner == nullptr) return kNoValue;
  Ints axes;
  for (int64_t axis : inner->attributes.ints("axes")) {
    axes.push_back(node.attributes.ints("axes")[at(axis)]);
  }
  return scope.broadcast(inner->inputs[0], node.attributes.shape("shape"), axes, node.origin);
}

ValueId broadcast_of_units(const Node& node, PatternScope& scope) {
  const Shape& from = scope.shape(node.inputs[0]);
  const Ints kept = non_unit_axes(from);
  if (kept.size() == from.size()) return kNoValue;
  Ints axes;
  for (int64_t axis : kept) axes.push_back(node.attributes.ints("axes")[at(axis)]);
  const ValueId source = scope.reshape(node.inputs[0], without_units(from), node.origin);
  return scope.broadcast(source, node.attributes.shape("shape"), axes, node.origin);
}

// Behind the normal form, a reshape that only adds or drops unit dimensions is not needed.
ValueId broadcast_of_reshape(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::reshape);
  if (inner == nullptr || scope.shape(inner->inputs[0]) != without_units(scope.shape(node.inputs[0]))) {
    return kNoValue;
  }
  Ints axes;
  for (int64_t axis : non_unit_axes(scope.shape(node.inputs[0]))) {
    axes.push_back(node.attributes.ints("axes")[at(axis)]);
  }
  return scope.broadcast(inner->inputs[0], node.attributes.shape("shape"), axes, node.origin);
}

constexpr Pattern kPatterns[] = {
    {Op::reshape, "reshape to the same shape", reshape_to_same},
    {Op::reshape, "reshape of reshape", reshape_of_reshape},
    {Op::reshape, "reshape of broadcast", reshape_of_broadcast},
    {Op::transpose, "transpose by the identity", transpose_identity},
    {Op::transpose, "transpose of transpose", transpose_of_transpose},
    {Op::transpose, "transpose of unit dimensions", transpose_of_units},
    {Op::transpose, "transpose of broadcast", transpose_of_broadcast},
    {Op::broadcast, "broadcast that repeats nothing", broadcast_that_repeats_nothing},
    {Op::broadcast, "broadcast of broadcast", broadcast_of_broadcast},
    {Op::broadcast, "broadcast of reshape", broadcast_of_reshape},
    {Op::broadcast, "broadcast of unit dimensions", broadcast_of_units},
};

}  // namespace

std::span<const Pattern> view_patterns() { return kPatterns; }

}  // namespace mcc::algebra
