// reduce, arg_reduce, scan: folds along axes.
#include <algorithm>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/fold.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

void check_fold(const Node& node, const std::string& fn, DType dtype) {
  const bool logical = fn == "any" || fn == "all";
  const bool fits = logical ? dtype == DType::boolean : is_floating(dtype) || is_integer(dtype);
  if (!fits) {
    refuse(node, "'" + fn + "' has no meaning for " + std::string(dtype_info(dtype).name) + ".");
  }
}

std::vector<TensorType> infer_reduce(const Node& node, const std::vector<TensorType>& inputs) {
  check_fold(node, choice_of(node, "fn", {"sum", "prod", "min", "max", "any", "all"}),
             inputs[0].dtype);
  const Ints& axes = sorted_axes_of(node, "axes", inputs[0].shape.size());
  TensorType out{inputs[0].dtype, {}};
  for (size_t i = 0; i < inputs[0].shape.size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i))) {
      out.shape.push_back(inputs[0].shape[i]);
    }
  }
  return {out};
}

std::vector<TensorType> infer_arg_reduce(const Node& node, const std::vector<TensorType>& inputs) {
  check_fold(node, choice_of(node, "fn", {"min", "max"}), inputs[0].dtype);
  integer_of(node, "select_last");
  TensorType out{DType::i64, inputs[0].shape};
  const size_t axis = axis_of(node, "axis", out.shape.size());
  out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return {out};
}

std::vector<TensorType> infer_scan(const Node& node, const std::vector<TensorType>& inputs) {
  check_fold(node, choice_of(node, "fn", {"sum", "prod", "max", "min"}), inputs[0].dtype);
  axis_of(node, "axis", inputs[0].shape.size());
  integer_of(node, "exclusive");
  integer_of(node, "reverse");
  return {inputs[0]};
}

template <typename T>
void reduce_typed(const Node& node, const std::string& fn, const Tensor& input, const Ints& axes,
                  Tensor& out) {
  Ints kept;
  for (int64_t i = 0; i < input.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) kept.push_back(i);
  }
  const std::vector<int64_t> strides = strides_of(input.shape());
  std::vector<int64_t> shape;
  for (int64_t axis : kept) shape.push_back(input.shape()[static_cast<size_t>(axis)]);
  expect_shape(node, out, shape);
  const std::vector<int64_t> bases = axis_offsets(input.shape(), strides, kept);
  const std::vector<int64_t> offsets = axis_offsets(input.shape(), strides, axes);
  const bool is_unsigned = dtype_info(input.dtype()).kind == DTypeKind::unsigned_integer;
  std::vector<T> values(static_cast<size_t>(input.elements()));
  load_elements(input, 0, std::span<T>(values));
  std::vector<T> results;
  for (int64_t base : bases) {
    T result = fold_start<T>(fn, input.dtype());
    for (int64_t offset : offsets) {
      result = fold(fn, result, values[static_cast<size_t>(base + offset)], is_unsigned);
    }
    results.push_back(result);
  }
  store_elements(out, 0, std::span<const T>(results));
}

void evaluate_reduce(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                     std::span<Tensor> outputs) {
  const std::string& fn = node.attributes.text("fn");
  const Ints& axes = node.attributes.ints("axes");
  if (is_floating(inputs[0].dtype())) {
    reduce_typed<double>(node, fn, inputs[0], axes, outputs[0]);
  } else {
    reduce_typed<int64_t>(node, fn, inputs[0], axes, outputs[0]);
  }
}

// Loads u64 so that signed comparison orders it, everything else as it is.
template <typename T>
std::vector<T> ordered_values(const Tensor& input) {
  std::vector<T> values(static_cast<size_t>(input.elements()));
  load_elements(input, 0, std::span<T>(values));
  if constexpr (std::is_same_v<T, int64_t>) {
    if (input.dtype() == DType::u64) {
      for (T& value : values) value = static_cast<T>(static_cast<uint64_t>(value) ^ (1ULL << 63));
    }
  }
  return values;
}

template <typename T>
void arg_reduce_typed(const Node& node, const Tensor& input, Tensor& out) {
  const int64_t axis = node.attributes.integer("axis");
  const bool largest = node.attributes.text("fn") == "max";
  const bool select_last = node.attributes.integer("select_last") != 0;
  Ints kept;
  for (int64_t i = 0; i < input.rank(); ++i) {
    if (i != axis) kept.push_back(i);
  }
  const std::vector<int64_t> strides = strides_of(input.shape());
  const std::vector<int64_t> bases = axis_offsets(input.shape(), strides, kept);
  const int64_t size = input.shape()[static_cast<size_t>(axis)];
  const int64_t stride = strides[static_cast<size_t>(axis)];
  if (size == 0 && !bases.empty()) refuse(node, "an empty axis has no extreme element.");
  const std::vector<T> values = ordered_values<T>(input);
  std::vector<int64_t> results;
  for (int64_t base : bases) {
    int64_t best = 0;
    for (int64_t i = 1; i < size; ++i) {
      const T now = values[static_cast<size_t>(base + i * stride)];
      const T old = values[static_cast<size_t>(base + best * stride)];
      // NaN beats every number, as in numpy; the first NaN stays unless the last is wanted.
      const bool better = now != now   ? old == old || select_last
                          : old != old ? false
                          : largest    ? now > old || (select_last && now == old)
                                       : now < old || (select_last && now == old);
      if (better) best = i;
    }
    results.push_back(best);
  }
  store_elements(out, 0, results);
}

void evaluate_arg_reduce(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) {
  if (is_floating(inputs[0].dtype())) {
    arg_reduce_typed<double>(node, inputs[0], outputs[0]);
  } else {
    arg_reduce_typed<int64_t>(node, inputs[0], outputs[0]);
  }
}

template <typename T>
void scan_typed(const Node& node, const Tensor& input, Tensor& out) {
  const std::string& fn = node.attributes.text("fn");
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  const bool exclusive = node.attributes.integer("exclusive") != 0;
  const bool reverse = node.attributes.integer("reverse") != 0;
  const bool is_unsigned = dtype_info(input.dtype()).kind == DTypeKind::unsigned_integer;
  const int64_t size = input.shape()[axis];
  const int64_t stride = strides_of(input.shape())[axis];
  std::vector<T> values(static_cast<size_t>(input.elements()));
  load_elements(input, 0, std::span<T>(values));
  Ints kept;
  for (int64_t i = 0; i < input.rank(); ++i) {
    if (i != static_cast<int64_t>(axis)) kept.push_back(i);
  }
  for (int64_t base : axis_offsets(input.shape(), strides_of(input.shape()), kept)) {
    T running = fold_start<T>(fn, input.dtype());
    for (int64_t step = 0; step < size; ++step) {
      T& value = values[static_cast<size_t>(base + (reverse ? size - 1 - step : step) * stride)];
      const T next = fold(fn, running, value, is_unsigned);
      value = exclusive ? running : next;
      running = next;
    }
  }
  store_elements(out, 0, std::span<const T>(values));
}

void evaluate_scan(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                   std::span<Tensor> outputs) {
  if (is_floating(inputs[0].dtype())) {
    scan_typed<double>(node, inputs[0], outputs[0]);
  } else {
    scan_typed<int64_t>(node, inputs[0], outputs[0]);
  }
}

const OpInfo kRows[] = {
    {Op::reduce, "reduce", 1, 1, 1, kReduction, infer_reduce, evaluate_reduce},
    {Op::arg_reduce, "arg_reduce", 1, 1, 1, kReduction, infer_arg_reduce, evaluate_arg_reduce},
    {Op::scan, "scan", 1, 1, 1, 0, infer_scan, evaluate_scan},
};

}  // namespace

std::span<const OpInfo> reduce_ops() { return rows(kRows); }

}  // namespace mcc::ops
