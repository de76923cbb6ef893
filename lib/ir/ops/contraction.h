// What contract, conv and conv_transpose share: their type rule and one blocked engine for sums of
// products over arbitrarily strided operands.
#pragma once

#include <vector>

#include "lib/ir/op.h"

namespace mcc::ops {

// Checks the operands' element types and returns the output's: the attribute `out` when present,
// else i32 for 8-bit and smaller integers and the operands' own type otherwise.
DType contraction_output(const Node& node, const TensorType& lhs, const TensorType& rhs);

// An operand: element (batch b, free f, depth k) lies at batch[b] + free[f] + depth[k].
struct ContractionOperand {
  std::vector<int64_t> batch, free, depth;
};

// Values of an operand by linear index, in a type that holds its elements exactly: f32 tensors are
// borrowed as they are, narrow floats and integers up to 16 bits become f32, others f64 or i64.
struct ContractionValues {
  const float* reals = nullptr;
  const double* doubles = nullptr;
  const int64_t* integers = nullptr;
  std::vector<float> real_storage;
  std::vector<int64_t> integer_storage;
};
// `tensor` must outlive the result.
ContractionValues contraction_values(const Tensor& tensor);

// Sums of products, row-major [batch, lhs free, rhs free]; one of the two lists is filled.
// Reals accumulate in double, which is at least as exact as the f32 and f64 accumulators of
// devices (and exact for integers up to 16 bits); wider integers wrap in 64 bits, of which the
// output type keeps the low ones.
struct ContractionSums {
  std::vector<double> reals;
  std::vector<int64_t> integers;
};
ContractionSums contract_values(const ContractionValues& lhs, const ContractionOperand& lhs_places,
                                const ContractionValues& rhs, const ContractionOperand& rhs_places);

// Stores sums into the output, element i of which is sum order[i] (or i when `order` is empty).
// Integral sums that came as reals are exact.
void store_sums(const ContractionSums& sums, const std::vector<int64_t>& order, Tensor& out);

}  // namespace mcc::ops
