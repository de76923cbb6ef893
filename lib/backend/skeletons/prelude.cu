// Prelude of generated CUDA kernels: the scalar functions, conversions of storage-only types and
// random numbers, under the same names as in prelude_host*.h. Header-free: NVRTC knows the math
// functions (expf, erff, ...) by itself. Accuracy: CUDA's math library without fast-math.
#define MCC_INLINE static __device__ __forceinline__
// The spellings of literals that the printer shares with the host; NVRTC lacks these built-ins.
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000LL)
#define __builtin_nanf(text) __int_as_float(0x7fc00000)
#define __builtin_nan(text) __longlong_as_double(0x7ff8000000000000LL)

typedef signed char mcc_i8;
typedef unsigned char mcc_u8;
typedef short mcc_i16;
typedef unsigned short mcc_u16;
typedef int mcc_i32;
typedef unsigned int mcc_u32;
typedef long long mcc_i64;
typedef unsigned long long mcc_u64;

template <class T> struct mcc_is_float { static constexpr bool value = false; };
template <> struct mcc_is_float<float> { static constexpr bool value = true; };
template <> struct mcc_is_float<double> { static constexpr bool value = true; };

// ---- Bits
template <class R, class T> MCC_INLINE R mcc_bitcast(T x) {
  static_assert(sizeof(R) == sizeof(T), "types of equal width");
  union {
    T from;
    R to;
  } bits;
  bits.from = x;
  return bits.to;
}
template <class R, class T> MCC_INLINE R mcc_convert(T x) { return static_cast<R>(x); }
template <class T> MCC_INLINE T mcc_select(bool condition, T a, T b) { return condition ? a : b; }
// Truncates through 64 bits, then wraps, as the reference does.
template <class R, class T> MCC_INLINE R mcc_truncate(T x) {
  return static_cast<R>(static_cast<mcc_i64>(x));  // cvt saturates; NaN gives the lowest number
}

// ---- Comparison and sign. Like numpy's: NaN wins in min and max.
template <class T> MCC_INLINE T mcc_min(T a, T b) {
  if constexpr (mcc_is_float<T>::value) return a != a ? a : (a < b ? a : b);
  else return a < b ? a : b;
}
template <class T> MCC_INLINE T mcc_max(T a, T b) {
  if constexpr (mcc_is_float<T>::value) return a != a ? a : (a > b ? a : b);
  else return a > b ? a : b;
}
template <class T> MCC_INLINE T mcc_relu(T x) { return x < T(0) ? T(0) : x; }
MCC_INLINE float mcc_abs(float x) { return fabsf(x); }
MCC_INLINE double mcc_abs(double x) { return fabs(x); }
template <class T> MCC_INLINE T mcc_abs(T x) { return x < T(0) ? static_cast<T>(T(0) - x) : x; }
template <class T> MCC_INLINE T mcc_sign(T x) {
  if constexpr (mcc_is_float<T>::value) return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
  else return x > T(0) ? T(1) : x < T(0) ? static_cast<T>(-1) : T(0);
}
template <class T> MCC_INLINE bool mcc_isnan(T x) { return x != x; }
template <class T> MCC_INLINE bool mcc_isinf_pos(T x) { return x > T(0) && x - x != T(0) && x == x; }
template <class T> MCC_INLINE bool mcc_isinf_neg(T x) { return x < T(0) && x - x != T(0) && x == x; }

// ---- Math: f32 and f64
#define MCC_MATH(name, f32, f64)                          \
  MCC_INLINE float mcc_##name(float x) { return f32(x); } \
  MCC_INLINE double mcc_##name(double x) { return f64(x); }
MCC_MATH(floor, floorf, floor)
MCC_MATH(ceil, ceilf, ceil)
MCC_MATH(round, rintf, rint)
MCC_MATH(trunc, truncf, trunc)
MCC_MATH(sqrt, sqrtf, sqrt)
MCC_MATH(rsqrt, rsqrtf, rsqrt)
MCC_MATH(exp, expf, exp)
MCC_MATH(log, logf, log)
MCC_MATH(log1p, log1pf, log1p)
MCC_MATH(expm1, expm1f, expm1)
MCC_MATH(sin, sinf, sin)
MCC_MATH(cos, cosf, cos)
MCC_MATH(tan, tanf, tan)
MCC_MATH(asin, asinf, asin)
MCC_MATH(acos, acosf, acos)
MCC_MATH(atan, atanf, atan)
MCC_MATH(sinh, sinhf, sinh)
MCC_MATH(cosh, coshf, cosh)
MCC_MATH(tanh, tanhf, tanh)
MCC_MATH(asinh, asinhf, asinh)
MCC_MATH(acosh, acoshf, acosh)
MCC_MATH(atanh, atanhf, atanh)
MCC_MATH(erf, erff, erf)
#undef MCC_MATH
template <class T> MCC_INLINE T mcc_reciprocal(T x) { return T(1) / x; }
MCC_INLINE float mcc_fma(float a, float b, float c) { return fmaf(a, b, c); }
MCC_INLINE double mcc_fma(double a, double b, double c) { return fma(a, b, c); }

// ---- Activations
template <class T> MCC_INLINE T mcc_sigmoid(T x) {
  const T e = mcc_exp(-mcc_abs(x));  // never overflows
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
// x, but not below a bound under which the functions are zero anyway: keeps 0 * infinity away.
MCC_INLINE float mcc_at_least(float x, float bound, double) { return x < bound ? bound : x; }
MCC_INLINE double mcc_at_least(double x, float, double bound) { return x < bound ? bound : x; }
template <class T> MCC_INLINE T mcc_gelu(T x) {
  x = mcc_at_least(x, -40.0F, -40.0);
  return T(0.5) * x * (T(1) + mcc_erf(x * T(0.70710678118654752)));
}
template <class T> MCC_INLINE T mcc_gelu_tanh(T x) {
  x = mcc_at_least(x, -40.0F, -40.0);
  return x * mcc_sigmoid(x * (T(1) + T(0.044715) * x * x) * T(1.5957691216057308));
}
template <class T> MCC_INLINE T mcc_silu(T x) {
  x = mcc_at_least(x, -120.0F, -800.0);
  return x * mcc_sigmoid(x);
}
template <class T> MCC_INLINE T mcc_softplus(T x) {
  return mcc_log1p(mcc_exp(-mcc_abs(x))) + mcc_relu(x);
}
template <class T> MCC_INLINE T mcc_mish(T x) {
  x = mcc_at_least(x, -120.0F, -800.0);
  const T e = mcc_exp(x > T(40) ? T(40) : x);
  const T n = e * (e + T(2));
  return x * (n / (n + T(2)));
}

// ---- Integers: division by zero gives 0, the most negative number / -1 wraps
template <class T> MCC_INLINE T mcc_div(T a, T b) {
  if (b == T(0)) return T(0);
  if (T(-1) < T(0) && b == T(-1)) return static_cast<T>(T(0) - a);
  return static_cast<T>(a / b);
}
template <class T> MCC_INLINE T mcc_rem(T a, T b) {
  if (b == T(0) || (T(-1) < T(0) && b == T(-1))) return T(0);
  return static_cast<T>(a % b);
}
template <class T> MCC_INLINE T mcc_floordiv(T a, T b) {
  const bool down = mcc_rem(a, b) != T(0) && (a < T(0)) != (b < T(0));
  return static_cast<T>(mcc_div(a, b) - (down ? 1 : 0));
}
// Shifts by the width or more give 0 (arithmetic right shifts of negative numbers: -1).
template <class T> MCC_INLINE T mcc_shl(T a, T n) {
  const bool fits = n >= T(0) && n < T(sizeof(T) * 8);
  return fits ? static_cast<T>(a << n) : T(0);
}
template <class T> MCC_INLINE T mcc_shr(T a, T n) {
  if (n >= T(0) && n < T(sizeof(T) * 8)) return static_cast<T>(a >> n);
  return n >= T(0) && a < T(0) ? static_cast<T>(-1) : T(0);
}
// c plus the products of four packed 8-bit integers: signed*signed, unsigned*signed.
MCC_INLINE int mcc_dot4(int a, int b, int c) {
  int d;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
MCC_INLINE int mcc_dot4_us(int a, int b, int c) {
  int d;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// ---- Atomic read-modify-write of one element: update(old) until nobody interferes. Elements below 32
// bits change as part of the aligned word around them.
template <class W, class T, class F> MCC_INLINE void mcc_atomic_word(T* p, F update) {
  W* word = reinterpret_cast<W*>(p);
  W old = *word, seen;
  do {
    seen = old;
    old = atomicCAS(word, seen, mcc_bitcast<W>(update(mcc_bitcast<T>(seen))));
  } while (old != seen);
}
template <class T, class F> MCC_INLINE void mcc_atomic_update(T* p, F update) {
  if constexpr (sizeof(T) == 8) {
    mcc_atomic_word<mcc_u64>(p, update);
  } else if constexpr (sizeof(T) == 4) {
    mcc_atomic_word<mcc_u32>(p, update);
  } else {
    const mcc_u64 address = reinterpret_cast<mcc_u64>(p);
    const int shift = static_cast<int>(address & 3) * 8;
    const mcc_u32 mask = ((1U << (sizeof(T) * 8)) - 1U) << shift;
    mcc_u32* word = reinterpret_cast<mcc_u32*>(address & ~static_cast<mcc_u64>(3));
    mcc_atomic_word<mcc_u32>(word, [&](mcc_u32 bits) {
      const mcc_u32 fresh = static_cast<mcc_u32>(update(static_cast<T>(bits >> shift)));
      return (bits & ~mask) | ((fresh << shift) & mask);
    });
  }
}

// ---- Powers and remainders: fmod takes the dividend's sign, mod the divisor's. Integer powers
// wrap; negative exponents truncate 1 / x^n.
template <class T> MCC_INLINE T mcc_integer_pow(T base, T exponent) {
  if (exponent < T(0)) {
    if (base == T(1)) return T(1);
    return base == static_cast<T>(-1) ? ((exponent & 1) ? static_cast<T>(-1) : T(1)) : T(0);
  }
  mcc_u64 result = 1, square = static_cast<mcc_u64>(base);
  for (mcc_u64 n = static_cast<mcc_u64>(exponent); n; n >>= 1, square *= square) {
    if (n & 1) result *= square;
  }
  return static_cast<T>(result);
}
MCC_INLINE float mcc_pow(float x, float y) { return powf(x, y); }
MCC_INLINE double mcc_pow(double x, double y) { return pow(x, y); }
template <class T> MCC_INLINE T mcc_pow(T x, T y) { return mcc_integer_pow(x, y); }
MCC_INLINE float mcc_fmod(float x, float y) { return fmodf(x, y); }
MCC_INLINE double mcc_fmod(double x, double y) { return fmod(x, y); }
template <class T> MCC_INLINE T mcc_fmod(T x, T y) { return mcc_rem(x, y); }
template <class T> MCC_INLINE T mcc_mod(T x, T y) {
  const T r = mcc_fmod(x, y);
  return r != T(0) && (r < T(0)) != (y < T(0)) ? static_cast<T>(r + y) : r;
}

// ---- 16-bit floats
MCC_INLINE float mcc_f16_to_f32(mcc_u16 h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
MCC_INLINE mcc_u16 mcc_f32_to_f16(float x) {
  mcc_u16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
MCC_INLINE float mcc_bf16_to_f32(mcc_u16 h) {
  return mcc_bitcast<float>(static_cast<mcc_u32>(h) << 16);
}
MCC_INLINE mcc_u16 mcc_f32_to_bf16(float x) {
#if __CUDA_ARCH__ >= 800
  mcc_u16 h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
#else
  const mcc_u32 bits = mcc_bitcast<mcc_u32>(x);
  if (x != x) return static_cast<mcc_u16>((bits >> 16) | 0x40);
  return static_cast<mcc_u16>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
#endif
}

// ---- 8-bit floats by bit code, which every architecture has (see prelude_host_convert.h)
MCC_INLINE float mcc_f8_value(int code, int mantissa, int bias) {
  const float magnitude = mcc_bitcast<float>((code & 0x7f) << (23 - mantissa)) *
                          mcc_bitcast<float>((127 + 127 - bias) << 23);
  return (code & 0x80) ? -magnitude : magnitude;
}
MCC_INLINE float mcc_f8_not_a_number() { return mcc_bitcast<float>(0x7fc00000); }
MCC_INLINE float mcc_f8e4m3fn_to_f32(mcc_u8 c) {
  return (c & 0x7f) == 0x7f ? mcc_f8_not_a_number() : mcc_f8_value(c, 3, 7);
}
MCC_INLINE float mcc_f8e4m3fnuz_to_f32(mcc_u8 c) {
  return c == 0x80 ? mcc_f8_not_a_number() : mcc_f8_value(c, 3, 8);
}
MCC_INLINE float mcc_f8e5m2_to_f32(mcc_u8 c) {
  return mcc_f16_to_f32(static_cast<mcc_u16>(c << 8));
}
MCC_INLINE float mcc_f8e5m2fnuz_to_f32(mcc_u8 c) {
  return c == 0x80 ? mcc_f8_not_a_number() : mcc_f8_value(c, 2, 16);
}
template <int mantissa, int bias, bool fnuz>
MCC_INLINE mcc_u8 mcc_f32_to_f8(float x, float largest, int largest_code, int over_code,
                                int nan_code) {
  constexpr int shift = 23 - mantissa;
  const int sign = static_cast<int>(mcc_bitcast<mcc_u32>(x) >> 24) & 0x80;
  if (x != x) return static_cast<mcc_u8>(fnuz ? nan_code : nan_code | sign);
  const float a = fabsf(x);
  const int ia = mcc_bitcast<int>(a);
  const float aligner = mcc_bitcast<float>((127 + 1 - bias - mantissa + 23) << 23);
  int code = a < mcc_bitcast<float>((127 + 1 - bias) << 23)
                 ? mcc_bitcast<int>(a + aligner) - mcc_bitcast<int>(aligner)
                 : (ia - ((127 - bias) << 23) + ((1 << (shift - 1)) - 1) + ((ia >> shift) & 1)) >>
                       shift;
  if (code > largest_code || a >= 2 * largest) code = over_code;
  if (fnuz && (code == 0 || code == 0x80)) return static_cast<mcc_u8>(code);
  return static_cast<mcc_u8>(code | sign);
}
MCC_INLINE mcc_u8 mcc_f32_to_f8e4m3fn(float x) {
  return mcc_f32_to_f8<3, 7, false>(x, 448, 0x7e, 0x7e, 0x7f);
}
MCC_INLINE mcc_u8 mcc_f32_to_f8e4m3fnuz(float x) {
  return mcc_f32_to_f8<3, 8, true>(x, 240, 0x7f, 0x7f, 0x80);
}
MCC_INLINE mcc_u8 mcc_f32_to_f8e5m2(float x) {
  return mcc_f32_to_f8<2, 15, false>(x, 57344, 0x7b, 0x7b, 0x7e);
}
MCC_INLINE mcc_u8 mcc_f32_to_f8e5m2fnuz(float x) {
  return mcc_f32_to_f8<2, 16, true>(x, 57344, 0x7f, 0x7f, 0x80);
}
MCC_INLINE mcc_u8 mcc_f32_to_f8e4m3fn_unsaturated(float x) {
  return mcc_f32_to_f8<3, 7, false>(x, 448, 0x7e, 0x7f, 0x7f);
}
MCC_INLINE mcc_u8 mcc_f32_to_f8e4m3fnuz_unsaturated(float x) {
  return mcc_f32_to_f8<3, 8, true>(x, 240, 0x7f, 0x80, 0x80);
}
MCC_INLINE mcc_u8 mcc_f32_to_f8e5m2_unsaturated(float x) {
  return mcc_f32_to_f8<2, 15, false>(x, 57344, 0x7b, 0x7c, 0x7e);
}
MCC_INLINE mcc_u8 mcc_f32_to_f8e5m2fnuz_unsaturated(float x) {
  return mcc_f32_to_f8<2, 16, true>(x, 57344, 0x7f, 0x80, 0x80);
}

// ---- Packed types: element `i` of types of 4 and 2 bits, low bits first. Stores change one element
// of a byte: two threads must not store into the same byte.
MCC_INLINE int mcc_load_bits(const mcc_u8* p, mcc_i64 i, int bits) {
  const mcc_i64 at = i * bits;
  return (p[at >> 3] >> (at & 7)) & ((1 << bits) - 1);
}
MCC_INLINE void mcc_store_bits(mcc_u8* p, mcc_i64 i, int bits, int value) {
  const mcc_i64 at = i * bits;
  const int mask = ((1 << bits) - 1) << (at & 7);
  p[at >> 3] = static_cast<mcc_u8>((p[at >> 3] & ~mask) | ((value << (at & 7)) & mask));
}
MCC_INLINE int mcc_load_u4(const mcc_u8* p, mcc_i64 i) { return mcc_load_bits(p, i, 4); }
MCC_INLINE int mcc_load_u2(const mcc_u8* p, mcc_i64 i) { return mcc_load_bits(p, i, 2); }
MCC_INLINE int mcc_load_i4(const mcc_u8* p, mcc_i64 i) { return (mcc_load_u4(p, i) ^ 8) - 8; }
MCC_INLINE int mcc_load_i2(const mcc_u8* p, mcc_i64 i) { return (mcc_load_u2(p, i) ^ 2) - 2; }
MCC_INLINE float mcc_f4e2m1_to_f32(int code) {
  const int magnitude = code & 7;
  const float value = magnitude < 2 ? 0.5F * magnitude
                                    : 0.25F * ((2 + (magnitude & 1)) << (magnitude >> 1));
  return (code & 8) ? -value : value;
}
MCC_INLINE int mcc_f32_to_f4e2m1(float x) {  // saturates; NaN gives 6
  if (x != x) return 7;
  const float a = fabsf(x);
  const int code = a <= 0.25F ? 0 : a < 0.75F ? 1 : a <= 1.25F ? 2 : a < 1.75F ? 3
                   : a <= 2.5F ? 4 : a < 3.5F ? 5 : a <= 5.0F ? 6 : 7;
  return code | static_cast<int>((mcc_bitcast<mcc_u32>(x) >> 31) << 3);
}

// ---- Random numbers of element `index`: Philox4x32-10, J. Salmon et al., SC 2011
struct mcc_philox_words { mcc_u32 w[4]; };
MCC_INLINE mcc_philox_words mcc_philox(mcc_u64 seed, mcc_u64 index) {
  mcc_u32 c0 = (mcc_u32)index, c1 = (mcc_u32)(index >> 32), c2 = 0, c3 = 0;
  mcc_u32 k0 = (mcc_u32)seed, k1 = (mcc_u32)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const mcc_u64 first = (mcc_u64)0xD2511F53U * c0, second = (mcc_u64)0xCD9E8D57U * c2;
    c0 = (mcc_u32)(second >> 32) ^ c1 ^ k0;
    c1 = (mcc_u32)second;
    c2 = (mcc_u32)(first >> 32) ^ c3 ^ k1;
    c3 = (mcc_u32)first;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}
MCC_INLINE float mcc_random_uniform(mcc_u64 seed, mcc_u64 index) {  // [0, 1)
  return (float)(mcc_philox(seed, index).w[0] >> 8) * 0x1p-24F;
}
MCC_INLINE float mcc_random_normal(mcc_u64 seed, mcc_u64 index) {
  const mcc_philox_words words = mcc_philox(seed, index);
  const float u = (float)(words.w[0] >> 8) * 0x1p-24F, v = (float)(words.w[1] >> 8) * 0x1p-24F;
  return sqrtf(-2.0F * logf(1.0F - u)) * cosf(6.2831853071795865F * v);
}
