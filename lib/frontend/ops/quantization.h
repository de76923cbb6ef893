// Quantization arithmetic shared by ONNX's and vendors' operators.
#pragma once

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

// A scale or zero point brought into a shape that broadcasts with `like`: a scalar, a vector along
// `axis`, or one entry for each block of `block` elements along the axis.
Operand quantization_parameter(Builder& b, const Operand& parameter, const Operand& like,
                               int64_t axis, int64_t block);
// saturate(round(x / scale) + zero) as `dtype`; parameters already broadcast. Absent zero is 0.
Operand quantized(Builder& b, const Operand& x, const Operand& scale, const Operand& zero,
                  DType dtype);
// (x - zero) * scale in f32, then cast to `dtype`.
Operand dequantized(Builder& b, const Operand& x, const Operand& scale, const Operand& zero,
                    DType dtype);
// (a - a_zero) . (b - b_zero) in i32; absent zero points are 0, a_zero is a scalar or one entry a
// row, b_zero a scalar or one entry a column.
Operand integer_matmul(Builder& builder, const Operand& a, const Operand& b, const Operand& a_zero,
                       const Operand& b_zero);

}  // namespace mcc::frontend
