// Narrow floating-point formats (f16, bf16, tf32, e4m3, e5m2) by exact integer rounding.
#pragma once

#include "runtime/sim/exec/lanes.h"

namespace mcc::sim::MCC_SIM_ISA {

struct SmallFormat {
  int mantissa;      // explicit bits
  int exponent;      // bits
  int bias;
  int shift;         // position of the value in its container (tf32 sits in the upper bits of f32)
  u32 nan;
  bool infinities;   // false: e4m3, whose all-ones exponent holds numbers up to 448
};

MCC_SIM_INLINE SmallFormat format_of(Type type) {
  switch (type) {
    case Type::f16: case Type::f16x2: return {10, 5, 15, 0, 0x7fff, true};
    case Type::bf16: case Type::bf16x2: return {7, 8, 127, 0, 0x7fff, true};
    case Type::tf32: return {10, 8, 127, 13, 0x7fffffff, true};
    case Type::e4m3: case Type::e4m3x2: return {3, 4, 7, 0, 0x7f, false};
    default: return {2, 5, 15, 0, 0x7f, true};  // e5m2
  }
}

// Rounds x once to the format. Modes: rn, rz, rm, rp, rna (ties away). `finite` clamps overflow to
// the largest number; e4m3 and e5m2 conversions always ask for it.
inline __attribute__((noinline)) u32 round_to_small(SmallFormat f, double x, Rounding mode, bool finite) {
  const u64 bits = __builtin_bit_cast(u64, x);
  const bool minus = bits >> 63 != 0;
  const u32 sign = minus ? u32{1} << (f.mantissa + f.exponent) : 0;
  if (x != x) return f.nan;
  const u64 magnitude = bits & ~(u64{1} << 63);
  const u32 top_exponent = (u32{1} << f.exponent) - 1;
  const u32 largest = f.infinities ? ((top_exponent << f.mantissa) - 1) : ((top_exponent << f.mantissa) | ((1u << f.mantissa) - 2));
  const u32 infinity = f.infinities ? top_exponent << f.mantissa : f.nan;
  u32 r;
  if (magnitude == 0x7ff0000000000000u) {
    r = finite ? largest : infinity;
  } else if (magnitude == 0) {
    r = 0;
  } else {
    int e = static_cast<int>(magnitude >> 52);
    u64 m = magnitude & 0xfffffffffffffu;
    if (e == 0) e = 1;
    else m |= u64{1} << 52;
    const int unbiased = e - 1023;
    int drop = 52 - f.mantissa;                       // bits below the format's last place
    const int least = 1 - f.bias;                     // exponent of subnormals
    if (unbiased < least) drop += least - unbiased;
    u64 kept, rest, half;
    if (drop > 62) {
      kept = 0;
      rest = 1;
      half = 2;
    } else {
      kept = m >> drop;
      rest = m & ((u64{1} << drop) - 1);
      half = u64{1} << (drop - 1);
    }
    bool up = false;
    switch (mode) {
      case Rounding::rz: up = false; break;
      case Rounding::rm: up = minus && rest != 0; break;
      case Rounding::rp: up = !minus && rest != 0; break;
      case Rounding::rna: up = rest >= half; break;
      default: up = rest > half || (rest == half && (kept & 1u) != 0); break;
    }
    kept += up ? 1 : 0;
    // Adding the exponent above the mantissa lets a carry move into it.
    const int biased = unbiased < least ? 0 : unbiased + f.bias - 1;
    const u64 value = kept + (static_cast<u64>(biased) << f.mantissa);
    const bool over = value > largest;
    const bool toward_zero = mode == Rounding::rz || (mode == Rounding::rm && !minus) || (mode == Rounding::rp && minus);
    r = over ? (finite || toward_zero ? largest : infinity) : static_cast<u32>(value);
  }
  return (r | sign) << f.shift;
}

inline double small_to_double(SmallFormat f, u32 value) {
  value >>= f.shift;
  const bool minus = ((value >> (f.mantissa + f.exponent)) & 1u) != 0;
  const u32 e = (value >> f.mantissa) & ((1u << f.exponent) - 1), m = value & ((1u << f.mantissa) - 1);
  double r;
  if (e == (1u << f.exponent) - 1 && f.infinities) {
    r = m != 0 ? __builtin_nan("") : __builtin_inf();
  } else if (!f.infinities && e == (1u << f.exponent) - 1 && m == (1u << f.mantissa) - 1) {
    r = __builtin_nan("");
  } else {
    const int exponent = (e == 0 ? 1 : static_cast<int>(e)) - f.bias - f.mantissa;
    const double scale = __builtin_bit_cast(double, static_cast<u64>(exponent + 1023) << 52);
    r = static_cast<double>(e == 0 ? m : m | 1u << f.mantissa) * scale;
  }
  return minus ? -r : r;
}

}  // namespace mcc::sim::MCC_SIM_ISA
