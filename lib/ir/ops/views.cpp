// reshape, transpose, broadcast, slice, pad, concat: the output's elements are the inputs',
// re-indexed.
#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"
#include "lib/ir/ops/view_copy.h"

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
      out.shape[a] = a == axis
                         ? out.shape[a] + inputs[i].shape[a]
                         : merge_dims(node, out.shape[a], inputs[i].shape[a],
                                      "the sizes of the inputs along axis " + std::to_string(a));
    }
  }
  return {out};
}

void evaluate_reshape(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                      std::span<Tensor> outputs) {
  if (inputs[0].elements() != outputs[0].elements()) {
    refuse(node, std::to_string(inputs[0].elements()) + " elements cannot be reshaped to " +
                     std::to_string(outputs[0].elements()) + ".");
  }
  outputs[0] = inputs[0].reshaped(outputs[0].shape());
}

void evaluate_transpose(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                        std::span<Tensor> outputs) {
  const std::vector<int64_t> strides = strides_of(inputs[0].shape());
  AxisTables tables;
  std::vector<int64_t> shape;
  for (int64_t axis : node.attributes.ints("perm")) {
    const auto a = static_cast<size_t>(axis);
    shape.push_back(inputs[0].shape()[a]);
    tables.push_back(linear_table(inputs[0].shape()[a], 0, strides[a]));
  }
  expect_shape(node, outputs[0], shape);
  copy_by_tables(inputs[0], outputs[0], tables);
}

void evaluate_broadcast(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                        std::span<Tensor> outputs) {
  const Ints& axes = node.attributes.ints("axes");
  const std::vector<int64_t> strides = strides_of(inputs[0].shape());
  AxisTables tables;
  for (int64_t dim : outputs[0].shape()) tables.push_back(linear_table(dim, 0, 0));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t from = inputs[0].shape()[i];
    const int64_t to = outputs[0].shape()[axis];
    if (from != 1 && from != to) {
      refuse(node, "a dimension of " + std::to_string(from) + " cannot be broadcast to " +
                       std::to_string(to) + ".");
    }
    if (from != 1) tables[axis] = linear_table(to, 0, strides[i]);
  }
  copy_by_tables(inputs[0], outputs[0], tables);
}

void evaluate_slice(const Node& node, const EvaluationContext& context,
                    std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& starts = node.attributes.shape("starts");
  const Ints& steps = node.attributes.ints("steps");
  const std::vector<int64_t> strides = strides_of(inputs[0].shape());
  AxisTables tables;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t start = starts[i].evaluate(context.bindings);
    const int64_t count = outputs[0].shape()[i];
    const int64_t last = start + (count - 1) * steps[i];
    const int64_t size = inputs[0].shape()[i];
    if (count > 0 && (start < 0 || start >= size || last < 0 || last >= size)) {
      refuse(node, "the range from " + std::to_string(start) + " to " + std::to_string(last) +
                       " is outside of axis " + std::to_string(i) + ", whose size is " +
                       std::to_string(size) + ".");
    }
    tables.push_back(linear_table(count, start * strides[i], steps[i] * strides[i]));
  }
  copy_by_tables(inputs[0], outputs[0], tables);
}

// The input index that a padded index shows, or -1 for none (numpy.pad's modes).
int64_t padded_source(const std::string& mode, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return index;
  if (mode == "constant" || size == 0) return -1;
  if (mode == "edge") return index < 0 ? 0 : size - 1;
  const auto modulo = [](int64_t a, int64_t n) { return ((a % n) + n) % n; };
  if (mode == "wrap") return modulo(index, size);
  if (size == 1) return 0;
  const int64_t phase = modulo(index, 2 * (size - 1));  // reflections repeat with this period
  return phase < size ? phase : 2 * (size - 1) - phase;
}

void evaluate_pad(const Node& node, const EvaluationContext& context,
                  std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& low = node.attributes.shape("low");
  const Shape& high = node.attributes.shape("high");
  std::vector<int64_t> shape;
  const std::string& mode = node.attributes.text("mode");
  const std::vector<int64_t> strides = strides_of(inputs[0].shape());
  AxisTables tables;
  for (size_t i = 0; i < low.size(); ++i) {
    const int64_t before = low[i].evaluate(context.bindings);
    shape.push_back(before + inputs[0].shape()[i] + high[i].evaluate(context.bindings));
    std::vector<int64_t> table;
    for (int64_t o = 0; o < outputs[0].shape()[i]; ++o) {
      const int64_t source = padded_source(mode, o - before, inputs[0].shape()[i]);
      if (source < 0 && mode != "constant") refuse(node, "an empty axis cannot be extended.");
      table.push_back(source < 0 ? kOutside : source * strides[i]);
    }
    tables.push_back(std::move(table));
  }
  expect_shape(node, outputs[0], shape);
  copy_by_tables(inputs[0], outputs[0], tables, inputs.size() == 2 ? &inputs[1] : nullptr);
}

void evaluate_concat(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                     std::span<Tensor> outputs) {
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  const std::vector<int64_t>& shape = outputs[0].shape();
  std::vector<int64_t> joined = inputs[0].shape();
  for (const Tensor& input : inputs.subspan(1)) joined[axis] += input.shape()[axis];
  expect_shape(node, outputs[0], joined);
  const int64_t inner = strides_of(shape)[axis];
  int64_t at = 0;
  for (const Tensor& input : inputs) {
    const int64_t block = input.shape()[axis] * inner;
    const int64_t outer = block == 0 ? 0 : input.elements() / block;
    for (int64_t i = 0; i < outer; ++i) {
      copy_elements(input, i * block, outputs[0], i * shape[axis] * inner + at, block);
    }
    at += block;
  }
}

const OpInfo kRows[] = {
    {Op::reshape, "reshape", 1, 1, 1, kView, infer_reshape, evaluate_reshape},
    {Op::transpose, "transpose", 1, 1, 1, kView, infer_transpose, evaluate_transpose},
    {Op::broadcast, "broadcast", 1, 1, 1, kView, infer_broadcast, evaluate_broadcast},
    {Op::slice, "slice", 1, 1, 1, kView, infer_slice, evaluate_slice},
    {Op::pad, "pad", 1, 2, 1, kView, infer_pad, evaluate_pad},
    {Op::concat, "concat", 1, -1, 1, kView, infer_concat, evaluate_concat},
};

}  // namespace

std::span<const OpInfo> view_ops() { return rows(kRows); }

}  // namespace mcc::ops
