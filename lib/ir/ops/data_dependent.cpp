// nonzero, unique, compress: how many elements come out depends on the input's values.
// The dimension is the attribute `count`: a symbol that is bound when the operator runs, or by
// then known by other means (a constant, a symbol read from an earlier value).
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_nonzero(const Node& node, const std::vector<TensorType>& inputs) {
  const Expr& count = shape_of(node, "count", 1)[0];
  return {{DType::i64, {static_cast<int64_t>(inputs[0].shape.size()), count}}};
}

std::vector<TensorType> infer_unique(const Node& node, const std::vector<TensorType>& inputs) {
  const Expr& count = shape_of(node, "count", 1)[0];
  integer_of(node, "sorted");
  const Shape& in = inputs[0].shape;
  TensorType values{inputs[0].dtype, {count}};
  Expr slices = product(in);
  if (integer_of(node, "axis") != -1) {
    const size_t axis = axis_of(node, "axis", in.size());
    values.shape = in;
    values.shape[axis] = count;
    slices = in[axis];
  }
  const TensorType per_value{DType::i64, {count}};
  return {values, per_value, {DType::i64, {slices}}, per_value, {DType::i64, {1}}};
}

std::vector<TensorType> infer_compress(const Node& node, const std::vector<TensorType>& inputs) {
  const Expr& count = shape_of(node, "count", 1)[0];
  if (inputs[1].dtype != DType::boolean) refuse(node, "the condition must be bool.");
  require_rank(node, inputs[1], 1, "the condition");
  TensorType out{inputs[0].dtype, {count}};
  if (integer_of(node, "axis") != -1) {
    const size_t axis = axis_of(node, "axis", inputs[0].shape.size());
    out.shape = inputs[0].shape;
    out.shape[axis] = count;
  }
  return {out};
}

const OpInfo kRows[] = {
    {Op::nonzero, "nonzero", 1, 1, 1, kDataDependent, infer_nonzero, nullptr},
    {Op::unique, "unique", 1, 1, 5, kDataDependent, infer_unique, nullptr},
    {Op::compress, "compress", 2, 2, 1, kDataDependent, infer_compress, nullptr},
};

}  // namespace

std::span<const OpInfo> data_dependent_ops() { return rows(kRows); }

}  // namespace mcc::ops
