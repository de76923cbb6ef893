// scatter_elements, scatter_nd: writing (or reducing) at computed indices into a copy of the data.
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

void check_reduction(const Node& node, DType dtype) {
  const std::string& reduction = choice_of(node, "reduction", {"none", "add", "mul", "min", "max"});
  if (reduction != "none" && !is_floating(dtype) && !is_integer(dtype)) {
    refuse(node, "the reduction '" + reduction + "' has no meaning for " +
                     std::string(dtype_info(dtype).name) + ".");
  }
}

std::vector<TensorType> infer_scatter_elements(const Node& node,
                                               const std::vector<TensorType>& inputs) {
  const Shape& data = inputs[0].shape;
  require_index_dtype(node, inputs[1]);
  require_same_dtype(node, inputs[0].dtype, inputs[2].dtype, "the data and the updates");
  require_rank(node, inputs[1], data.size(), "the index tensor");
  merge_shapes(node, inputs[1].shape, inputs[2].shape, "the indices and the updates");
  const size_t axis = axis_of(node, "axis", data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    const Expr excess = inputs[1].shape[i] - data[i];
    if (i != axis && excess.is_constant() && excess.constant() > 0) {
      refuse(node, "the index tensor " + type_text(inputs[1]) + " is larger than the data " +
                       type_text(inputs[0]) + " along axis " + std::to_string(i) + ".");
    }
  }
  check_reduction(node, inputs[0].dtype);
  return {inputs[0]};
}

std::vector<TensorType> infer_scatter_nd(const Node& node, const std::vector<TensorType>& inputs) {
  const Shape& data = inputs[0].shape;
  const Shape& indices = inputs[1].shape;
  require_index_dtype(node, inputs[1]);
  require_same_dtype(node, inputs[0].dtype, inputs[2].dtype, "the data and the updates");
  if (indices.empty() || !indices.back().is_constant()) {
    refuse(node, "the last dimension of the indices must be a known number.");
  }
  const int64_t depth = indices.back().constant();
  if (depth < 1 || depth > static_cast<int64_t>(data.size())) {
    refuse(node, "indices of type " + type_text(inputs[1]) + " do not fit data of type " +
                     type_text(inputs[0]) + ".");
  }
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + depth, data.end());
  merge_shapes(node, expected, inputs[2].shape, "the places to write and the updates");
  check_reduction(node, inputs[0].dtype);
  return {inputs[0]};
}

const OpInfo kRows[] = {
    {Op::scatter_elements, "scatter_elements", 3, 3, 1, 0, infer_scatter_elements, nullptr},
    {Op::scatter_nd, "scatter_nd", 3, 3, 1, 0, infer_scatter_nd, nullptr},
};

}  // namespace

std::span<const OpInfo> scatter_ops() { return rows(kRows); }

}  // namespace mcc::ops
