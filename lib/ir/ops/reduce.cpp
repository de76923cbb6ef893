// reduce, arg_reduce, scan: folds along axes.
#include <algorithm>

#include "lib/ir/ops/families.h"
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

const OpInfo kRows[] = {
    {Op::reduce, "reduce", 1, 1, 1, kReduction, infer_reduce, nullptr},
    {Op::arg_reduce, "arg_reduce", 1, 1, 1, kReduction, infer_arg_reduce, nullptr},
    {Op::scan, "scan", 1, 1, 1, 0, infer_scan, nullptr},
};

}  // namespace

std::span<const OpInfo> reduce_ops() { return rows(kRows); }

}  // namespace mcc::ops
