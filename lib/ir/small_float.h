// 8- and 4-bit floating formats: conversion from and to double.
// Formats: OCP 8-bit Floating Point Specification (e4m3fn, e5m2), OCP Microscaling (e2m1), and the
// "fnuz" variants of Graphcore/AMD (no infinities, no negative zero, NaN = 0x80).
#pragma once

#include <cstdint>

#include "lib/ir/dtype.h"

namespace mcc {

// The value of a code of f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz or f4e2m1.
double small_float_value(DType format, uint8_t code);

// The nearest code (ties to even). Beyond the largest finite value: that value when `saturate`
// (infinities too, as ONNX Cast defines), else infinity where the format has one and NaN where it
// does not. f4e2m1 has neither and always saturates; its NaN becomes +6.
uint8_t small_float_code(DType format, double value, bool saturate = true);

}  // namespace mcc
