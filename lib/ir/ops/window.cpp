// window_reduce: folds over sliding windows (pooling).
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_window_reduce(const Node& node,
                                            const std::vector<TensorType>& inputs) {
  const std::string& fn = choice_of(node, "fn", {"sum", "max", "min", "arg_max"});
  TensorType out = inputs[0];
  if (!is_floating(out.dtype) && !is_integer(out.dtype)) {
    refuse(node, "'" + fn + "' has no meaning for " + std::string(dtype_info(out.dtype).name) + ".");
  }
  const Ints& axes = sorted_axes_of(node, "axes", out.shape.size());
  const Ints& window = ints_of(node, "window", axes.size());
  const Ints& strides = ints_of(node, "strides", axes.size());
  const Ints& dilations = ints_of(node, "dilations", axes.size());
  const Shape& low = shape_of(node, "pads_low", axes.size());
  const Shape& high = shape_of(node, "pads_high", axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (window[i] < 1 || strides[i] < 1 || dilations[i] < 1) {
      refuse(node, "windows, strides and dilations must be positive.");
    }
    Expr& dim = out.shape[static_cast<size_t>(axes[i])];
    const Expr span = dim + low[i] + high[i] - Expr(dilations[i] * (window[i] - 1) + 1);
    if (span.is_constant() && span.constant() < 0) {
      refuse(node, "a window of " + std::to_string(window[i]) + " does not fit into axis " +
                       std::to_string(axes[i]) + " of " + type_text(inputs[0]) + ".");
    }
    dim = floordiv(span, strides[i]) + 1;
  }
  if (fn == "arg_max") out.dtype = DType::i64;
  return {out};
}

const OpInfo kRows[] = {
    {Op::window_reduce, "window_reduce", 1, 1, 1, kReduction, infer_window_reduce, nullptr},
};

}  // namespace

std::span<const OpInfo> window_ops() { return rows(kRows); }

}  // namespace mcc::ops
