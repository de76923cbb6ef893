// Scalar single- and double-precision operations with PTX's rules for NaN, flushing and saturation.
// Single-precision results that are NaN are the canonical 0x7fffffff (PTX ISA 9.7.3).
#pragma once

#include "runtime/sim/exec/lanes.h"

namespace mcc::sim::MCC_SIM_ISA {

MCC_SIM_INLINE float canonical(float x) { return x == x ? x : __builtin_bit_cast(float, 0x7fffffffu); }
MCC_SIM_INLINE double canonical(double x) { return x; }

// Subnormals become zeros of their sign.
MCC_SIM_INLINE float flush(float x) {
  const u32 bits = __builtin_bit_cast(u32, x);
  return (bits & 0x7f800000u) == 0 ? __builtin_bit_cast(float, bits & 0x80000000u) : x;
}
MCC_SIM_INLINE double flush(double x) { return x; }

template <class T> MCC_SIM_INLINE T saturated(T x) {
  // NaN compares false and becomes 0; so does -0.
  return x > T{0} ? (x < T{1} ? x : T{1}) : T{0};
}

template <class T, bool Ftz, bool Sat>
MCC_SIM_INLINE T finish(T x) {
  if (Sat) x = saturated(x);
  else x = canonical(x);
  return Ftz ? flush(x) : x;
}
template <bool Ftz, class T> MCC_SIM_INLINE T taken(T x) { return Ftz ? flush(x) : x; }

MCC_SIM_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MCC_SIM_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
MCC_SIM_INLINE float root(float a) { return __builtin_sqrtf(a); }
MCC_SIM_INLINE double root(double a) { return __builtin_sqrt(a); }

template <class T> MCC_SIM_INLINE Storage<T> bits_of(T x) { return __builtin_bit_cast(Storage<T>, x); }
template <class T> MCC_SIM_INLINE T from_bits(Storage<T> x) { return __builtin_bit_cast(T, x); }
template <class T> constexpr Storage<T> kSignBit = Storage<T>{1} << (8 * sizeof(T) - 1);

// A NaN operand loses against a number; -0 is below +0.
template <class T> MCC_SIM_INLINE T minimum(T a, T b) {
  const T equal = from_bits<T>(bits_of(a) | bits_of(b));
  const T ordered = a < b ? a : a > b ? b : equal;
  return a != a ? canonical(b) : b != b ? a : ordered;
}
template <class T> MCC_SIM_INLINE T maximum(T a, T b) {
  const T equal = from_bits<T>(bits_of(a) & bits_of(b));
  const T ordered = a > b ? a : a < b ? b : equal;
  return a != a ? canonical(b) : b != b ? a : ordered;
}

struct FAdd { template <class T> static T f(T a, T b) { return a + b; } };
struct FSub { template <class T> static T f(T a, T b) { return a - b; } };
struct FMul { template <class T> static T f(T a, T b) { return a * b; } };
struct FDiv { template <class T> static T f(T a, T b) { return a / b; } };

}  // namespace mcc::sim::MCC_SIM_ISA
