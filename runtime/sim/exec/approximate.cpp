// Approximate functions: PTX ISA 9.7.3 gives error bounds (ex2: 2 ulp, lg2: 2^-22 absolute or
// relative, sin and cos: 2^-20.9 absolute in [-pi, pi], tanh: 2^-11 relative, rcp, rsqrt, sqrt: 1 to
// 2 ulp). These stay well inside: polynomials in double precision, rounded once.
#include "runtime/sim/exec/float_ops.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

// 2^x for finite x in double precision, error below 1e-10: Taylor series of exp(f ln 2), |f| <= 1/2.
MCC_SIM_INLINE double power_of_two(double x) {
  x = x < -1000.0 ? -1000.0 : x > 1000.0 ? 1000.0 : x;
  const double shifted = x + 0x1.8p52;  // the nearest integer ends up in the low bits
  const double f = (x - (shifted - 0x1.8p52)) * 0.693147180559945309417;
  double p = 1.0 / 3628800.0;
  p = p * f + 1.0 / 362880.0;
  p = p * f + 1.0 / 40320.0;
  p = p * f + 1.0 / 5040.0;
  p = p * f + 1.0 / 720.0;
  p = p * f + 1.0 / 120.0;
  p = p * f + 1.0 / 24.0;
  p = p * f + 1.0 / 6.0;
  p = p * f + 0.5;
  p = p * f + 1.0;
  p = p * f + 1.0;
  const i64 n = __builtin_bit_cast(i64, shifted) - __builtin_bit_cast(i64, 0x1.8p52);
  return __builtin_bit_cast(double, __builtin_bit_cast(i64, p) + (n << 52));
}

MCC_SIM_INLINE float exp2_single(float a) {
  const double r = power_of_two(a == a ? static_cast<double>(a) : 0.0);
  return a == a ? static_cast<float>(r) : canonical(a);
}

MCC_SIM_INLINE float log2_single(float a) {
  const double x = static_cast<double>(a > 0.0f && a < __builtin_inff() ? a : 1.0f);
  i64 bits = __builtin_bit_cast(i64, x);
  // Bring the mantissa to [sqrt(1/2), sqrt(2)).
  const i64 n = (bits - 0x3fe6a09e667f3bcdLL) >> 52;
  const double m = __builtin_bit_cast(double, bits - (n << 52));
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  p = p * z + 1.0;
  const float r = static_cast<float>(static_cast<double>(static_cast<i32>(n)) + 2.0 * 1.44269504088896340736 * s * p);
  const float special = a == 0.0f ? -__builtin_inff() : a > 0.0f ? a : __builtin_bit_cast(float, 0x7fffffffu);
  return a > 0.0f && a < __builtin_inff() ? r : special;
}

// Quadrants by Cody and Waite's subtraction in double precision; large arguments keep an absolute
// error of about 2^-53 times themselves, far inside what the hardware promises.
template <bool Cosine> MCC_SIM_INLINE float sine_single(float a) {
  const double magnitude = static_cast<double>(a < 0.0f ? -a : a);
  const double x = magnitude < 1e9 ? static_cast<double>(a) : 0.0;
  const double shifted = x * 0.636619772367581343076 + 0x1.8p52;
  const double q = shifted - 0x1.8p52;
  const double f = (x - q * 1.57079632679489655800) - q * 6.12323399573676603587e-17;
  const i64 n = (__builtin_bit_cast(i64, shifted) + (Cosine ? 1 : 0)) & 3;
  const double z = f * f;
  double s = 1.0 / 6227020800.0;
  s = s * z - 1.0 / 39916800.0;
  s = s * z + 1.0 / 362880.0;
  s = s * z - 1.0 / 5040.0;
  s = s * z + 1.0 / 120.0;
  s = s * z - 1.0 / 6.0;
  s = s * z * f + f;
  double c = -1.0 / 87178291200.0;
  c = c * z + 1.0 / 479001600.0;
  c = c * z - 1.0 / 3628800.0;
  c = c * z + 1.0 / 40320.0;
  c = c * z - 1.0 / 720.0;
  c = c * z + 1.0 / 24.0;
  c = c * z - 0.5;
  c = c * z + 1.0;
  double r = (n & 1) != 0 ? c : s;
  r = (n & 2) != 0 ? -r : r;
  if (!Cosine) r = x == 0.0 ? x : r;  // the sum above loses the sign of zero
  const bool finite = magnitude < static_cast<double>(__builtin_inff());
  return finite ? static_cast<float>(r) : __builtin_bit_cast(float, 0x7fffffffu);
}

MCC_SIM_INLINE float tanh_single(float a) {
  const double x = static_cast<double>(a < 0.0f ? -a : a);
  const double t = x > 20.0 ? 20.0 : x == x ? x : 0.0;
  const double e = power_of_two(t * 2.88539008177792681472);
  // Below 2^-6 the quotient cancels: the series is exact to 2^-40 there.
  const double small = t - t * t * t * (1.0 / 3.0 - t * t * (2.0 / 15.0));
  const double r = t < 0.015625 ? small : (e - 1.0) / (e + 1.0);
  const auto magnitude = static_cast<float>(r);
  return a == a ? __builtin_bit_cast(float, bits_of(magnitude) | (bits_of(a) & 0x80000000u)) : canonical(a);
}

struct Ex2 { static float f(float a) { return exp2_single(a); } };
struct Lg2 { static float f(float a) { return log2_single(a); } };
struct Sin { static float f(float a) { return sine_single<false>(a); } };
struct Cos { static float f(float a) { return sine_single<true>(a); } };
struct Tanh { static float f(float a) { return tanh_single(a); } };
struct Rcp { static float f(float a) { return 1.0f / a; } };
struct Sqrt { static float f(float a) { return __builtin_sqrtf(a); } };
struct Rsqrt {
  static float f(float a) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a))); }
};

template <class O, bool Ftz> void single(Warp& w, const Inst& in) {
  map1<float, float>(w, in, [](float a) { return finish<float, Ftz, false>(O::f(taken<Ftz>(a))); });
}
// rcp.approx.ftz.f64 and rsqrt.approx.f64 work on the upper half of the operand and give zero below
// it. Subnormals are flushed, and NaN is canonical.
MCC_SIM_INLINE double flush_double(double x) {
  const u64 bits = __builtin_bit_cast(u64, x);
  return (bits & 0x7ff0000000000000u) == 0 ? __builtin_bit_cast(double, bits & 0x8000000000000000u)
                                           : x;
}
template <class O> void twice_upper(Warp& w, const Inst& in) {
  map1<double, double>(w, in, [](double a) {
    const double r = flush_double(O::f(flush_double(
        __builtin_bit_cast(double, __builtin_bit_cast(u64, a) & 0xffffffff00000000u))));
    const u64 bits = r == r ? __builtin_bit_cast(u64, r) : 0x7fffffff00000000u;
    return __builtin_bit_cast(double, a == a ? bits & 0xffffffff00000000u : 0x7fffffff00000000u);
  });
}
// div.approx is a * (1 / b), whose reciprocal is flushed to zero above 2^126.
template <bool Ftz>
void divide(Warp& w, const Inst& in) {
  map2<float, float, float>(w, in, [](float a, float b) {
    a = taken<Ftz>(a);
    b = taken<Ftz>(b);
    const float magnitude = from_bits<float>(bits_of(b) & 0x7fffffffu);
    const float zero = from_bits<float>(bits_of(b) & 0x80000000u);
    const bool huge = magnitude > 0x1p126f && magnitude < __builtin_inff();
    if (huge) return canonical(a * zero);
    // Flushed is what stays below the least normal number after rounding to 24 bits.
    const double quotient = static_cast<double>(a) / static_cast<double>(b);
    const bool tiny = quotient < 0x1.ffffffp-127 && quotient > -0x1.ffffffp-127;
    const float r = a / b;
    return Ftz && tiny ? from_bits<float>(bits_of(r) & 0x80000000u) : canonical(r);
  });
}
struct Rcp64 { static double f(double a) { return 1.0 / a; } };
struct Rsqrt64 { static double f(double a) { return 1.0 / __builtin_sqrt(a); } };
void rsqrt_double(Warp& w, const Inst& in) {
  map1<double, double>(w, in, [](double a) { return Rsqrt64::f(a); });
}

template <class O> Handler pick(const Form& form) {
  if (form.type != Type::f32) return nullptr;
  return form.ftz ? &single<O, true> : &single<O, false>;
}

}  // namespace

Handler select_approximate(const Form& form) {
  if (form.op == Op::tanh) return pick<Tanh>(form);
  if (!form.approx) return nullptr;
  switch (form.op) {
    case Op::div:
      return form.type != Type::f32 ? nullptr : form.ftz ? &divide<true> : &divide<false>;
    case Op::ex2: return pick<Ex2>(form);
    case Op::lg2: return pick<Lg2>(form);
    case Op::sin: return pick<Sin>(form);
    case Op::cos: return pick<Cos>(form);
    case Op::sqrt: return pick<Sqrt>(form);
    case Op::rcp:
      return form.type == Type::f64 ? &twice_upper<Rcp64> : pick<Rcp>(form);
    case Op::rsqrt:
      if (form.type == Type::f64) return form.ftz ? &twice_upper<Rsqrt64> : &rsqrt_double;
      return pick<Rsqrt>(form);
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
