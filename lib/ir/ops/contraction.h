// What contract, conv and conv_transpose share.
#pragma once

#include "lib/ir/op.h"

namespace mcc::ops {

// Checks the operands' element types and returns the output's: the attribute `out` when present,
// else i32 for 8-bit and smaller integers and the operands' own type otherwise.
DType contraction_output(const Node& node, const TensorType& lhs, const TensorType& rhs);

}  // namespace mcc::ops
