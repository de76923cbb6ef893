// gather, gather_elements, gather_nd: reading at computed indices.
#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/indexing.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_gather(const Node& node, const std::vector<TensorType>& inputs) {
  const Shape& data = inputs[0].shape;
  require_index_dtype(node, inputs[1]);
  const auto axis = static_cast<std::ptrdiff_t>(axis_of(node, "axis", data.size()));
  TensorType out{inputs[0].dtype, Shape(data.begin(), data.begin() + axis)};
  out.shape.insert(out.shape.end(), inputs[1].shape.begin(), inputs[1].shape.end());
  out.shape.insert(out.shape.end(), data.begin() + axis + 1, data.end());
  return {out};
}

std::vector<TensorType> infer_gather_elements(const Node& node,
                                              const std::vector<TensorType>& inputs) {
  const Shape& data = inputs[0].shape;
  require_index_dtype(node, inputs[1]);
  require_rank(node, inputs[1], data.size(), "the index tensor");
  const size_t axis = axis_of(node, "axis", data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    const Expr excess = inputs[1].shape[i] - data[i];
    if (i != axis && excess.is_constant() && excess.constant() > 0) {
      refuse(node, "the index tensor " + type_text(inputs[1]) + " is larger than the data " +
                       type_text(inputs[0]) + " along axis " + std::to_string(i) + ".");
    }
  }
  return {{inputs[0].dtype, inputs[1].shape}};
}

std::vector<TensorType> infer_gather_nd(const Node& node, const std::vector<TensorType>& inputs) {
  const Shape& data = inputs[0].shape;
  const Shape& indices = inputs[1].shape;
  require_index_dtype(node, inputs[1]);
  const int64_t batch = integer_of(node, "batch_dims");
  if (indices.empty() || !indices.back().is_constant()) {
    refuse(node, "the last dimension of the indices must be a known number.");
  }
  const int64_t depth = indices.back().constant();
  if (batch < 0 || batch >= static_cast<int64_t>(indices.size()) || depth < 1 ||
      batch + depth > static_cast<int64_t>(data.size())) {
    refuse(node, "indices of type " + type_text(inputs[1]) + " with " + std::to_string(batch) +
                     " batch dimensions do not fit data of type " + type_text(inputs[0]) + ".");
  }
  TensorType out{inputs[0].dtype, Shape(indices.begin(), indices.end() - 1)};
  for (int64_t i = 0; i < batch; ++i) {
    const auto at = static_cast<size_t>(i);
    out.shape[at] = merge_dims(node, indices[at], data[at], "batch dimensions");
  }
  out.shape.insert(out.shape.end(), data.begin() + batch + depth, data.end());
  return {out};
}

void evaluate_gather(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                     std::span<Tensor> outputs) {
  const Tensor& data = inputs[0];
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  const int64_t size = data.shape()[axis];
  const int64_t inner = strides_of(data.shape())[axis];
  const std::vector<int64_t> indices = all_integers(inputs[1]);
  std::vector<int64_t> shape = data.shape();
  const auto place = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(place, inputs[1].shape().begin(), inputs[1].shape().end());
  expect_shape(node, outputs[0], shape);
  if (outputs[0].elements() == 0) return;
  const int64_t outer = outputs[0].elements() / (inner * static_cast<int64_t>(indices.size()));
  int64_t target = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t index : indices) {
      const int64_t row = o * size + checked_index(node, index, size);
      copy_elements(data, row * inner, outputs[0], target, inner);
      target += inner;
    }
  }
}

void evaluate_gather_elements(const Node& node, const EvaluationContext&,
                              std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  for_each_indexed(node, inputs[0].shape(), inputs[1], axis, [&](int64_t source, int64_t i) {
    copy_elements(inputs[0], source, outputs[0], i, 1);
  });
}

void evaluate_gather_nd(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                        std::span<Tensor> outputs) {
  const auto batch_dims = static_cast<size_t>(node.attributes.integer("batch_dims"));
  const std::vector<int64_t>& shape = inputs[0].shape();
  int64_t batches = 1;
  for (size_t i = 0; i < batch_dims; ++i) batches *= shape[i];
  const TupleIndices tuples(node, inputs[1], shape, batch_dims);
  const int64_t per_batch = batches == 0 ? 0 : tuples.count() / batches;
  const int64_t batch_stride = batches == 0 ? 0 : inputs[0].elements() / batches;
  for (int64_t i = 0; i < tuples.count(); ++i) {
    copy_elements(inputs[0], i / per_batch * batch_stride + tuples.offset(i), outputs[0],
                  i * tuples.block(), tuples.block());
  }
}

const OpInfo kRows[] = {
    {Op::gather, "gather", 2, 2, 1, kIndexed, infer_gather, evaluate_gather},
    {Op::gather_elements, "gather_elements", 2, 2, 1, kIndexed, infer_gather_elements,
     evaluate_gather_elements},
    {Op::gather_nd, "gather_nd", 2, 2, 1, kIndexed, infer_gather_nd, evaluate_gather_nd},
};

}  // namespace

std::span<const OpInfo> gather_ops() { return rows(kRows); }

}  // namespace mcc::ops
