// Normalizations: IR `normalize` (no scale, no bias) followed by maps.
#include "lib/frontend/ops/families.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

Operand normalize(NodeContext& n, const Operand& x, const Ints& axes, double epsilon, const char* kind) {
  Attributes attributes;
  attributes.set("axes", axes);
  attributes.set("epsilon", epsilon);
  attributes.set("kind", std::string(kind));
  return n.b.emit(Op::normalize, {x}, std::move(attributes));
}

// A vector over channels spread to x's shape, axis 1.
Operand per_channel(NodeContext& n, const Operand& vector, const Operand& x) {
  Attributes attributes;
  attributes.set("shape", x.shape());
  attributes.set("axes", Ints{1});
  return n.b.emit(Op::broadcast, {vector}, std::move(attributes));
}

Results import_batch_normalization(NodeContext& n) {
  if (n.integer("training_mode", 0) != 0 || n.wants(1)) throw ModelError("training mode is not supported");
  const Operand x = n.in(0);
  const Operand variance = n.b.map("add", {n.in(4), n.b.like(n.in(4), n.real("epsilon", 1e-5))});
  const Operand scale = n.b.map("mul", {n.in(1), n.b.map("rsqrt", {variance})});
  const Operand shift = n.b.map("sub", {n.in(2), n.b.map("mul", {n.in(3), scale})});
  return {n.b.map("add", {n.b.map("mul", {x, per_channel(n, scale, x)}), per_channel(n, shift, x)})};
}

Results import_instance_normalization(NodeContext& n) {
  const Operand x = n.in(0);
  const Operand result = normalize(n, x, axis_range(2, x.rank()), n.real("epsilon", 1e-5), "layer");
  return {n.b.map("add", {n.b.map("mul", {result, per_channel(n, n.in(1), x)}), per_channel(n, n.in(2), x)})};
}

Results import_layer_normalization(NodeContext& n) {
  if (n.wants(1) || n.wants(2)) throw ModelError("the mean and deviation outputs are not supported");
  const Operand x = n.in(0);
  const int64_t axis = normalize_axis(n.integer("axis", -1), x.rank());
  Operand result = normalize(n, x, axis_range(axis, x.rank()), n.real("epsilon", 1e-5), "layer");
  if (n.has(1)) result = n.b.map("mul", {result, n.in(1)});
  if (n.has(2)) result = n.b.map("add", {result, n.in(2)});
  return {result};
}

Results import_rms_normalization(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t axis = normalize_axis(n.integer("axis", -1), x.rank());
  Operand result = normalize(n, x, axis_range(axis, x.rank()), n.real("epsilon", 1e-5), "rms");
  if (n.has(1)) result = n.b.map("mul", {result, n.in(1)});
  return {result};
}

Results import_group_normalization(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t groups = n.integer("num_groups", 1);
  Shape grouped{x.dim(0), Expr(groups), floordiv(x.dim(1), groups)};
  grouped.insert(grouped.end(), x.shape().begin() + 2, x.shape().end());
  const Operand split = n.b.reshape(x, grouped);
  const Operand normal = n.b.reshape(
      normalize(n, split, axis_range(2, split.rank()), n.real("epsilon", 1e-5), "layer"), x.shape());
  auto vector = [&](size_t index) {
    // Before opset 21 scale and bias are per group.
    const Operand v = n.in(index);
    if (n.opset >= 21 || v.dim(0) == x.dim(1)) return v;
    Attributes attributes;
    attributes.set("shape", Shape{Expr(groups), floordiv(x.dim(1), groups)});
    attributes.set("axes", Ints{0});
    return n.b.reshape(n.b.emit(Op::broadcast, {v}, std::move(attributes)), {x.dim(1)});
  };
  return {n.b.map("add", {n.b.map("mul", {normal, per_channel(n, vector(1), x)}), per_channel(n, vector(2), x)})};
}

Results import_skip_layer_normalization(NodeContext& n) {
  Operand sum = n.b.map("add", {n.in(0), n.in(1)});
  if (n.has(4)) sum = n.b.map("add", {sum, n.in(4)});
  Operand result = normalize(n, sum, {sum.rank() - 1}, n.real("epsilon", 1e-12), "layer");
  result = n.b.map("mul", {result, n.in(2)});
  if (n.has(3)) result = n.b.map("add", {result, n.in(3)});
  return {result, Operand(), Operand(), sum};
}

Results import_lp_normalization(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t axis = normalize_axis(n.integer("axis", -1), x.rank());
  Operand norm;
  if (n.integer("p", 2) == 1) {
    norm = n.b.reduce("sum", n.b.map("abs", {x}), {axis}, true);
  } else {
    norm = n.b.map("sqrt", {n.b.reduce("sum", n.b.map("mul", {x, x}), {axis}, true)});
  }
  return {n.b.map("div", {x, norm})};
}

constexpr OperatorEntry kEntries[] = {
    {"BatchNormalization", 7, import_batch_normalization},
    {"InstanceNormalization", 6, import_instance_normalization},
    {"LayerNormalization", 17, import_layer_normalization}, {"LayerNormalization", 1, import_layer_normalization},
    {"RMSNormalization", 23, import_rms_normalization}, {"SimplifiedLayerNormalization", 1, import_rms_normalization},
    {"GroupNormalization", 18, import_group_normalization}, {"LpNormalization", 1, import_lp_normalization},
    {"SkipLayerNormalization", 1, import_skip_layer_normalization, Moves::none, "com.microsoft"},
};

}  // namespace

std::span<const OperatorEntry> normalization_operators() { return kEntries; }

}  // namespace mcc::frontend
