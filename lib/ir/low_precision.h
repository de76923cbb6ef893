// Conversions between double and the floating formats below 32 bits (ONNX "Float stored in 8
// bits", Float4; IEEE 754 binary16; bfloat16): round to nearest, ties to even, in one step from
// double, so that there is no double rounding.
#pragma once

#include <cstdint>

#include "lib/ir/dtype.h"

namespace mcc {

// `dtype` is one of the f8 and f4 formats.
double small_float_to_double(DType dtype, uint8_t bits);
// Values beyond the largest finite one, infinities included, become it when `saturate` (ONNX Cast's
// default), else infinity where the format has one and NaN where it does not. f4e2m1 has neither:
// it always saturates, and NaN becomes 6.
uint8_t double_to_small_float(DType dtype, double value, bool saturate = true);

uint16_t double_to_half(double value);      // overflows to infinity
uint16_t double_to_bfloat16(double value);  // overflows to infinity

// The nearest value towards zero within the integer type's range; 0 for NaN.
int64_t saturate_to_integer(DType dtype, double value);

}  // namespace mcc
