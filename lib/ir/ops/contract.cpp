// contract: a batched product summed over any pairs of axes.
#include <algorithm>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/contraction.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {

DType contraction_output(const Node& node, const TensorType& lhs, const TensorType& rhs) {
  const auto narrow = [](DType t) { return is_integer(t) && dtype_info(t).bits <= 8; };
  const bool both_narrow = narrow(lhs.dtype) && narrow(rhs.dtype);
  const bool numbers = is_floating(lhs.dtype) || is_integer(lhs.dtype);
  // Narrow integers may mix signs: both accumulate in i32.
  if (!both_narrow) require_same_dtype(node, lhs.dtype, rhs.dtype, "the operands");
  if (!numbers) refuse(node, "the operands must be numbers.");
  if (node.attributes.has("out")) return dtype_of(node, "out");
  return both_narrow ? DType::i32 : lhs.dtype;
}

namespace {

// Marks `axes` of an operand as used; each axis may have one role only.
void claim(const Node& node, const Ints& axes, std::vector<bool>& used, const char* operand) {
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(used.size()) || used[static_cast<size_t>(axis)]) {
      refuse(node, "axis " + std::to_string(axis) + " of the " + operand +
                       " operand does not exist or is named twice.");
    }
    used[static_cast<size_t>(axis)] = true;
  }
}

std::vector<TensorType> infer_contract(const Node& node, const std::vector<TensorType>& inputs) {
  const Shape& lhs = inputs[0].shape;
  const Shape& rhs = inputs[1].shape;
  const Ints& lhs_batch = ints_of(node, "lhs_batch");
  const Ints& rhs_batch = ints_of(node, "rhs_batch", lhs_batch.size());
  const Ints& lhs_contract = ints_of(node, "lhs_contract");
  const Ints& rhs_contract = ints_of(node, "rhs_contract", lhs_contract.size());
  std::vector<bool> lhs_used(lhs.size(), false), rhs_used(rhs.size(), false);
  claim(node, lhs_batch, lhs_used, "left");
  claim(node, lhs_contract, lhs_used, "left");
  claim(node, rhs_batch, rhs_used, "right");
  claim(node, rhs_contract, rhs_used, "right");
  TensorType out{contraction_output(node, inputs[0], inputs[1]), {}};
  for (size_t i = 0; i < lhs_batch.size(); ++i) {
    out.shape.push_back(merge_dims(node, lhs[static_cast<size_t>(lhs_batch[i])],
                                   rhs[static_cast<size_t>(rhs_batch[i])], "batch dimensions"));
  }
  for (size_t i = 0; i < lhs_contract.size(); ++i) {
    merge_dims(node, lhs[static_cast<size_t>(lhs_contract[i])],
               rhs[static_cast<size_t>(rhs_contract[i])], "contracted dimensions");
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    if (!lhs_used[i]) out.shape.push_back(lhs[i]);
  }
  for (size_t i = 0; i < rhs.size(); ++i) {
    if (!rhs_used[i]) out.shape.push_back(rhs[i]);
  }
  return {out};
}

// One operand: where its elements lie, by the roles of its axes, and the sizes of its free axes.
struct Operand {
  ContractionOperand places;
  std::vector<int64_t> batch_sizes, free_sizes;
};

Operand operand_of(const Tensor& tensor, const Ints& batch, const Ints& contract) {
  Operand operand;
  Ints free;
  for (int64_t axis : batch)
    operand.batch_sizes.push_back(tensor.shape()[static_cast<size_t>(axis)]);
  for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
    if (std::find(batch.begin(), batch.end(), axis) == batch.end() &&
        std::find(contract.begin(), contract.end(), axis) == contract.end()) {
      free.push_back(axis);
      operand.free_sizes.push_back(tensor.shape()[static_cast<size_t>(axis)]);
    }
  }
  const std::vector<int64_t> strides = strides_of(tensor.shape());
  operand.places = {axis_offsets(tensor.shape(), strides, batch),
                    axis_offsets(tensor.shape(), strides, free),
                    axis_offsets(tensor.shape(), strides, contract)};
  return operand;
}

void evaluate_contract(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  const Attributes& attributes = node.attributes;
  const Operand lhs =
      operand_of(inputs[0], attributes.ints("lhs_batch"), attributes.ints("lhs_contract"));
  const Operand rhs =
      operand_of(inputs[1], attributes.ints("rhs_batch"), attributes.ints("rhs_contract"));
  if (lhs.batch_sizes != rhs.batch_sizes || lhs.places.depth.size() != rhs.places.depth.size()) {
    refuse(node, "the batch or contracted dimensions of the operands differ.");
  }
  std::vector<int64_t> shape = lhs.batch_sizes;
  shape.insert(shape.end(), lhs.free_sizes.begin(), lhs.free_sizes.end());
  shape.insert(shape.end(), rhs.free_sizes.begin(), rhs.free_sizes.end());
  expect_shape(node, outputs[0], shape);
  store_sums(contract_values(contraction_values(inputs[0]), lhs.places,
                             contraction_values(inputs[1]), rhs.places),
             {}, outputs[0]);
}

const OpInfo kRows[] = {
    {Op::contract, "contract", 2, 2, 1, kContraction, infer_contract, evaluate_contract},
};

}  // namespace

std::span<const OpInfo> contract_ops() { return rows(kRows); }

}  // namespace mcc::ops
