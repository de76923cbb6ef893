// Scalar f16 and bf16: conversion from and to single precision, exact fused multiply-add.
//
// Sums, products and quotients of halves are computed in single precision and rounded again; with
// 24 >= 2p + 2 bits the second rounding is innocuous (Figueroa, "When is double rounding
// innocuous?", 1995). Fused operations go through round-to-odd (Boldo and Melquiond, 2008).
#pragma once

#include "runtime/sim/exec/float_ops.h"

namespace mcc::sim::MCC_SIM_ISA {

MCC_SIM_INLINE float f16_to_float(u16 h) {
  const u32 sign = static_cast<u32>(h & 0x8000u) << 16, rest = h & 0x7fffu;
  const u32 scaled = __builtin_bit_cast(u32, __builtin_bit_cast(float, rest << 13) * 0x1p112f);
  return __builtin_bit_cast(float, sign | (rest >= 0x7c00u ? (rest << 13) | 0x7f800000u : scaled));
}
MCC_SIM_INLINE float bf16_to_float(u16 h) { return __builtin_bit_cast(float, static_cast<u32>(h) << 16); }
MCC_SIM_INLINE float half_to_float(u16 h, bool brain) { return brain ? bf16_to_float(h) : f16_to_float(h); }

// Round to nearest even; NaN becomes the canonical 0x7fff.
MCC_SIM_INLINE u16 float_to_f16(float f) {
  const u32 bits = __builtin_bit_cast(u32, f), magnitude = bits & 0x7fffffffu;
  const u32 tiny = __builtin_bit_cast(u32, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
  const u32 normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  u32 r = magnitude < 0x38800000u ? tiny : normal;
  r = magnitude >= 0x47800000u ? 0x7c00u : r;
  r |= (bits >> 16) & 0x8000u;
  return static_cast<u16>(magnitude > 0x7f800000u ? 0x7fffu : r);
}
MCC_SIM_INLINE u16 float_to_bf16(float f) {
  const u32 bits = __builtin_bit_cast(u32, f);
  const u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<u16>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
}
template <bool Brain> MCC_SIM_INLINE float widen(u16 h) { return Brain ? bf16_to_float(h) : f16_to_float(h); }
template <bool Brain> MCC_SIM_INLINE u16 narrow(float f) { return Brain ? float_to_bf16(f) : float_to_f16(f); }

// To single precision, rounding to odd: a later rounding to fewer bits is then correct.
MCC_SIM_INLINE float to_odd(double d) {
  const auto f = static_cast<float>(d);
  const double back = static_cast<double>(f);
  const u32 bits = __builtin_bit_cast(u32, f);
  const bool inexact = back != d && d == d;
  // An overflowed or even result moves to its neighbour on the other side of d.
  const bool away = (back < 0 ? -back : back) > (d < 0 ? -d : d);
  const u32 moved = (bits & 1u) != 0 ? bits : away ? bits - 1u : bits + 1u;
  return __builtin_bit_cast(float, inexact ? moved : bits);
}

// a * b + c with one rounding. The product of two halves is exact in double precision; the sum's
// error (Knuth's two-sum) says which neighbour is odd.
MCC_SIM_INLINE double fused_to_odd(float a, float b, float c) {
  const double p = static_cast<double>(a) * static_cast<double>(b), q = static_cast<double>(c);
  const double s = p + q;
  const double bb = s - p;
  const double error = (p - (s - bb)) + (q - bb);
  const u64 bits = __builtin_bit_cast(u64, s);
  const bool inexact = error != 0 && error == error && s - s == 0;
  const bool outward = (error > 0) == (s > 0);
  const u64 moved = (bits & 1u) != 0 ? bits : outward ? bits + 1u : bits - 1u;
  return __builtin_bit_cast(double, inexact ? moved : bits);
}

}  // namespace mcc::sim::MCC_SIM_ISA
