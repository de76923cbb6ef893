// reshape, transpose, broadcast, slice, pad, concat: the output's elements are the inputs',
// re-indexed.
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_reshape(const Node& node, const std::vector<TensorType>& inputs) {
  const Shape& shape = shape_of(node, "shape");
  if (provably_different(product(inputs[0].shape), product(shape))) {
    refuse(node, type_text(inputs[0]) + " cannot be reshaped to " + shape_text(shape) +
                     ": the element counts differ.");
  }
  return {{inputs[0].dtype, shape}};
}

std::vector<TensorType> infer_transpose(const Node& node, const std::vector<TensorType>& inputs) {
  const size_t rank = inputs[0].shape.size();
  const Ints& perm = ints_of(node, "perm", rank);
  std::vector<bool> seen(rank, false);
  TensorType out{inputs[0].dtype, {}};
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axis)]) {
      refuse(node, "'perm' must be a permutation of the axes of " + type_text(inputs[0]) + ".");
    }
    seen[static_cast<size_t>(axis)] = true;
    out.shape.push_back(inputs[0].shape[static_cast<size_t>(axis)]);
  }
  return {out};
}

std::vector<TensorType> infer_broadcast(const Node& node, const std::vector<TensorType>& inputs) {
  const Shape& shape = shape_of(node, "shape");
  const Ints& axes = sorted_axes_of(node, "axes", shape.size());
  if (axes.size() != inputs[0].shape.size()) {
    refuse(node, "'axes' must have one entry for each axis of " + type_text(inputs[0]) + ".");
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const Expr& from = inputs[0].shape[i];
    const Expr& to = shape[static_cast<size_t>(axes[i])];
    if (!from.is_constant(1) && provably_different(from, to)) {
      refuse(node, "axis " + std::to_string(i) + " of " + type_text(inputs[0]) +
                       " is neither 1 nor equal to the output's " + to.str() + ".");
    }
  }
  return {{inputs[0].dtype, shape}};
}

std::vector<TensorType> infer_slice(const Node& node, const std::vector<TensorType>& inputs) {
  const Shape& in = inputs[0].shape;
  const Shape& starts = shape_of(node, "starts", in.size());
  const Shape& shape = shape_of(node, "shape", in.size());
  const Ints& steps = ints_of(node, "steps", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (steps[i] == 0) refuse(node, "a step of 0 is not allowed.");
    if (!shape[i].is_constant()) continue;
    if (shape[i].constant() < 0) refuse(node, "the output shape has a negative dimension.");
    if (shape[i].constant() == 0) continue;
    const Expr last = starts[i] + (shape[i] - 1) * Expr(steps[i]);
    for (const Expr& index : {starts[i], last}) {
      const Expr beyond = index - in[i];
      if ((index.is_constant() && index.constant() < 0) ||
          (beyond.is_constant() && beyond.constant() >= 0)) {
        refuse(node, "index " + index.str() + " is outside of axis " + std::to_string(i) + " of " +
                         type_text(inputs[0]) + ".");
      }
    }
  }
  return {{inputs[0].dtype, shape}};
}

std::vector<TensorType> infer_pad(const Node& node, const std::vector<TensorType>& inputs) {
  const Shape& in = inputs[0].shape;
  const Shape& low = shape_of(node, "low", in.size());
  const Shape& high = shape_of(node, "high", in.size());
  const std::string& mode = choice_of(node, "mode", {"constant", "edge", "reflect", "wrap"});
  if ((mode == "constant") != (inputs.size() == 2)) {
    refuse(node, mode == "constant" ? "constant padding needs the fill value as second input."
                                    : "only constant padding takes a fill value.");
  }
  if (inputs.size() == 2) {
    require_rank(node, inputs[1], 0, "the fill value");
    require_same_dtype(node, inputs[0].dtype, inputs[1].dtype, "the input and the fill value");
  }
  TensorType out{inputs[0].dtype, {}};
  for (size_t i = 0; i < in.size(); ++i) {
    out.shape.push_back(in[i] + low[i] + high[i]);
    if (out.shape.back().is_constant() && out.shape.back().constant() < 0) {
      refuse(node, "cropping axis " + std::to_string(i) + " of " + type_text(inputs[0]) +
                       " by more than its size.");
    }
  }
  return {out};
}

std::vector<TensorType> infer_concat(const Node& node, const std::vector<TensorType>& inputs) {
  TensorType out = inputs[0];
  const size_t axis = axis_of(node, "axis", out.shape.size());
  for (size_t i = 1; i < inputs.size(); ++i) {
    require_same_dtype(node, out.dtype, inputs[i].dtype, "the inputs");
    require_rank(node, inputs[i], out.shape.size(), "input " + std::to_string(i));
    for (size_t a = 0; a < out.shape.size(); ++a) {
      out.shape[a] = a == axis ? out.shape[a] + inputs[i].shape[a]
                               : merge_dims(node, out.shape[a], inputs[i].shape[a],
                                            "the sizes of the inputs along axis " +
                                                std::to_string(a));
    }
  }
  return {out};
}

const OpInfo kRows[] = {
    {Op::reshape, "reshape", 1, 1, 1, kView, infer_reshape, nullptr},
    {Op::transpose, "transpose", 1, 1, 1, kView, infer_transpose, nullptr},
    {Op::broadcast, "broadcast", 1, 1, 1, kView, infer_broadcast, nullptr},
    {Op::slice, "slice", 1, 1, 1, kView, infer_slice, nullptr},
    {Op::pad, "pad", 1, 2, 1, kView, infer_pad, nullptr},
    {Op::concat, "concat", 1, -1, 1, kView, infer_concat, nullptr},
};

}  // namespace

std::span<const OpInfo> view_ops() { return rows(kRows); }

}  // namespace mcc::ops
