// topk, sort: ordering along one axis, with the indices of the chosen elements.
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

void require_ordered(const Node& node, const TensorType& type) {
  if (!is_floating(type.dtype) && !is_integer(type.dtype)) {
    refuse(node, "elements of type " + std::string(dtype_info(type.dtype).name) +
                     " have no order.");
  }
}

std::vector<TensorType> infer_topk(const Node& node, const std::vector<TensorType>& inputs) {
  require_ordered(node, inputs[0]);
  TensorType values = inputs[0];
  const size_t axis = axis_of(node, "axis", values.shape.size());
  const Expr& count = shape_of(node, "k", 1)[0];
  integer_of(node, "largest");
  integer_of(node, "sorted");
  const Expr excess = count - values.shape[axis];
  if (excess.is_constant() && excess.constant() > 0) {
    refuse(node, "k = " + count.str() + " is larger than axis " + std::to_string(axis) + " of " +
                     type_text(inputs[0]) + ".");
  }
  values.shape[axis] = count;
  return {values, {DType::i64, values.shape}};
}

std::vector<TensorType> infer_sort(const Node& node, const std::vector<TensorType>& inputs) {
  require_ordered(node, inputs[0]);
  axis_of(node, "axis", inputs[0].shape.size());
  integer_of(node, "descending");
  return {inputs[0], {DType::i64, inputs[0].shape}};
}

const OpInfo kRows[] = {
    {Op::topk, "topk", 1, 1, 2, 0, infer_topk, nullptr},
    {Op::sort, "sort", 1, 1, 2, 0, infer_sort, nullptr},
};

}  // namespace

std::span<const OpInfo> sort_ops() { return rows(kRows); }

}  // namespace mcc::ops
