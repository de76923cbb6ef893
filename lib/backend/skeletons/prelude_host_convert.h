// Prelude of generated host kernels, part 4: conversion between f32 and the storage-only types, and
// random numbers.
//
// Vector forms take and give vectors of equal lane count (u16xN or u8xN <-> f32xN). Conversions to
// smaller types round half to even; 8-bit ones saturate (ONNX Cast) unless the name ends in
// _unsaturated. They rely on subnormals being honoured (no flush to zero).

template <class V> using mcc_as_f32 = mcc_vector<float, mcc_lanes<V>>;
template <class V> using mcc_as_i32 = mcc_vector<int, mcc_lanes<V>>;
template <class V> using mcc_as_u16 = mcc_vector<mcc_u16, mcc_lanes<V>>;
template <class V> using mcc_as_u8 = mcc_vector<mcc_u8, mcc_lanes<V>>;

// ---- bf16: the upper half of f32
template <class H> MCC_INLINE mcc_as_f32<H> mcc_bf16_to_f32(H h) {
  return mcc_bitcast<mcc_as_f32<H>>(mcc_convert<mcc_as_i32<H>>(h) << 16);
}
template <class V> MCC_INLINE mcc_as_u16<V> mcc_f32_to_bf16(V x) {
  typedef mcc_as_i32<V> I;
  const I bits = mcc_bitcast<I>(x);
  const I rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const I nan = (bits >> 16) | 0x40;
  return mcc_convert<mcc_as_u16<V>>(mcc_select(x != x, nan, rounded));
}

// ---- f16
template <class H> MCC_INLINE mcc_as_f32<H> mcc_f16_to_f32(H h) {
  typedef mcc_as_f32<H> V;
  typedef mcc_as_i32<H> I;
  const I bits = mcc_convert<I>(h);
  const I magnitude = (bits & 0x7fff) << 13;
  // Multiplying by 2^112 moves the exponent's bias; infinities and NaNs keep all ones.
  const V scaled = mcc_bitcast<V>(magnitude) * 0x1p112F;
  const V special = mcc_bitcast<V>(magnitude | 0x7f800000);
  const V value = (bits & 0x7c00) == 0x7c00 ? special : scaled;
  return mcc_bitcast<V>(mcc_bitcast<I>(value) | ((bits & 0x8000) << 16));
}
template <class V> MCC_INLINE mcc_as_u16<V> mcc_f32_to_f16(V x) {
  typedef mcc_as_i32<V> I;
  const I bits = mcc_bitcast<I>(x);
  const V a = mcc_abs(x);
  const I ia = mcc_bitcast<I>(a);
  // Normal: change the bias and round half to even; a carry moves into the exponent, up to infinity.
  const I normal = (ia - ((127 - 15) << 23) + 0xfff + ((ia >> 13) & 1)) >> 13;
  // Subnormal: adding 0.5 aligns the last bit with f16's (2^-24).
  const I subnormal = mcc_bitcast<I>(a + 0.5F) - 0x3f000000;
  I result = mcc_select(a < mcc_splat<V>(0x1p-14F), subnormal, normal);
  result = mcc_select(a >= mcc_splat<V>(65520.0F), mcc_splat<I>(0x7c00), result);
  result = mcc_select(x != x, mcc_splat<I>(0x7e00), result);
  return mcc_convert<mcc_as_u16<V>>(result | ((bits >> 16) & 0x8000));
}

// ---- 8-bit floats: exponents of 4 or 5 bits, "fnuz": no infinities, no -0, NaN = 0x80
template <int mantissa, int bias, class C> MCC_INLINE mcc_as_f32<C> mcc_f8_magnitude(C c) {
  // As in f16: shift into place, then multiply by 2^(127 - bias).
  const mcc_as_i32<C> bits = (mcc_convert<mcc_as_i32<C>>(c) & 0x7f) << (23 - mantissa);
  const float scale = mcc_bitcast<float>((127 + 127 - bias) << 23);
  return mcc_bitcast<mcc_as_f32<C>>(bits) * scale;
}
template <class C> MCC_INLINE mcc_as_f32<C> mcc_f8_signed(mcc_as_f32<C> magnitude, C c) {
  typedef mcc_as_i32<C> I;
  return mcc_bitcast<mcc_as_f32<C>>(mcc_bitcast<I>(magnitude) |
                                    ((mcc_convert<I>(c) & 0x80) << 24));
}
template <class C> MCC_INLINE mcc_as_f32<C> mcc_nan_if(mcc_mask<mcc_as_i32<C>> condition,
                                                       mcc_as_f32<C> x, C) {
  return mcc_select(condition, mcc_splat<mcc_as_f32<C>>(__builtin_nanf("")), x);
}
template <class C> MCC_INLINE mcc_as_f32<C> mcc_f8e4m3fn_to_f32(C c) {
  const mcc_as_i32<C> i = mcc_convert<mcc_as_i32<C>>(c);
  return mcc_nan_if((i & 0x7f) == 0x7f, mcc_f8_signed(mcc_f8_magnitude<3, 7>(c), c), c);
}
template <class C> MCC_INLINE mcc_as_f32<C> mcc_f8e4m3fnuz_to_f32(C c) {
  const mcc_as_i32<C> i = mcc_convert<mcc_as_i32<C>>(c);
  return mcc_nan_if(i == 0x80, mcc_f8_signed(mcc_f8_magnitude<3, 8>(c), c), c);
}
template <class C> MCC_INLINE mcc_as_f32<C> mcc_f8e5m2_to_f32(C c) {
  return mcc_f16_to_f32(mcc_convert<mcc_as_u16<C>>(mcc_convert<mcc_as_i32<C>>(c) << 8));
}
template <class C> MCC_INLINE mcc_as_f32<C> mcc_f8e5m2fnuz_to_f32(C c) {
  const mcc_as_i32<C> i = mcc_convert<mcc_as_i32<C>>(c);
  return mcc_nan_if(i == 0x80, mcc_f8_signed(mcc_f8_magnitude<2, 16>(c), c), c);
}

enum mcc_f8_overflow { mcc_f8_saturate, mcc_f8_infinity, mcc_f8_nan };
// largest: the greatest finite value; over: code of |x| above it; nan: code of NaN.
template <int mantissa, int bias, bool fnuz, class V>
MCC_INLINE mcc_as_u8<V> mcc_f32_to_f8(V x, float largest, int largest_code, bool saturate,
                                      int over_code, int nan_code) {
  typedef mcc_as_i32<V> I;
  constexpr int shift = 23 - mantissa;
  const V a = mcc_abs(x);
  const I ia = mcc_bitcast<I>(a);
  const I normal =
      (ia - ((127 - bias) << 23) + ((1 << (shift - 1)) - 1) + ((ia >> shift) & 1)) >> shift;
  // Subnormals: adding 2^(1 - bias - mantissa + 23) aligns the last bits.
  const float aligner = mcc_bitcast<float>((127 + 1 - bias - mantissa + 23) << 23);
  const I subnormal = mcc_bitcast<I>(a + aligner) - mcc_bitcast<int>(aligner);
  const float least_normal = mcc_bitcast<float>((127 + 1 - bias) << 23);
  I code = mcc_select(a < mcc_splat<V>(least_normal), subnormal, normal);
  code = mcc_select(code > largest_code, mcc_splat<I>(saturate ? largest_code : over_code), code);
  // Beyond twice the range the biased exponent itself would wrap.
  code = mcc_select(a >= mcc_splat<V>(2 * largest),
                    mcc_splat<I>(saturate ? largest_code : over_code), code);
  const I sign = (mcc_bitcast<I>(x) >> 24) & 0x80;
  I result = code | sign;
  if constexpr (fnuz) {
    result = mcc_select(code == 0, mcc_splat<I>(0), result);       // no negative zero
    result = mcc_select(code == 0x80, mcc_splat<I>(0x80), result);  // NaN has no sign
  }
  result = mcc_select(x != x, mcc_splat<I>(nan_code) | (fnuz ? mcc_splat<I>(0) : sign), result);
  return mcc_convert<mcc_as_u8<V>>(result);
}
template <class V> MCC_INLINE mcc_as_u8<V> mcc_f32_to_f8e4m3fn(V x) {
  return mcc_f32_to_f8<3, 7, false>(x, 448, 0x7e, true, 0x7f, 0x7f);
}
template <class V> MCC_INLINE mcc_as_u8<V> mcc_f32_to_f8e4m3fnuz(V x) {
  return mcc_f32_to_f8<3, 8, true>(x, 240, 0x7f, true, 0x80, 0x80);
}
template <class V> MCC_INLINE mcc_as_u8<V> mcc_f32_to_f8e5m2(V x) {
  return mcc_f32_to_f8<2, 15, false>(x, 57344, 0x7b, true, 0x7c, 0x7e);
}
template <class V> MCC_INLINE mcc_as_u8<V> mcc_f32_to_f8e5m2fnuz(V x) {
  return mcc_f32_to_f8<2, 16, true>(x, 57344, 0x7f, true, 0x80, 0x80);
}
template <class V> MCC_INLINE mcc_as_u8<V> mcc_f32_to_f8e4m3fn_unsaturated(V x) {
  return mcc_f32_to_f8<3, 7, false>(x, 448, 0x7e, false, 0x7f, 0x7f);
}
template <class V> MCC_INLINE mcc_as_u8<V> mcc_f32_to_f8e4m3fnuz_unsaturated(V x) {
  return mcc_f32_to_f8<3, 8, true>(x, 240, 0x7f, false, 0x80, 0x80);
}
template <class V> MCC_INLINE mcc_as_u8<V> mcc_f32_to_f8e5m2_unsaturated(V x) {
  return mcc_f32_to_f8<2, 15, false>(x, 57344, 0x7b, false, 0x7c, 0x7e);
}
template <class V> MCC_INLINE mcc_as_u8<V> mcc_f32_to_f8e5m2fnuz_unsaturated(V x) {
  return mcc_f32_to_f8<2, 16, true>(x, 57344, 0x7f, false, 0x80, 0x80);
}

// ---- Packed types (scalar): element `i` of types of 4 and 2 bits, low bits first. Stores change
// one element of a byte: two threads must not store into the same byte.
MCC_INLINE int mcc_load_bits(const mcc_u8* p, mcc_i64 i, int bits) {
  const mcc_i64 at = i * bits;
  return (p[at >> 3] >> (at & 7)) & ((1 << bits) - 1);
}
MCC_INLINE void mcc_store_bits(mcc_u8* p, mcc_i64 i, int bits, int value) {
  const mcc_i64 at = i * bits;
  const int mask = ((1 << bits) - 1) << (at & 7);
  p[at >> 3] = (mcc_u8)((p[at >> 3] & ~mask) | ((value << (at & 7)) & mask));
}
MCC_INLINE int mcc_load_u4(const mcc_u8* p, mcc_i64 i) { return mcc_load_bits(p, i, 4); }
MCC_INLINE int mcc_load_u2(const mcc_u8* p, mcc_i64 i) { return mcc_load_bits(p, i, 2); }
MCC_INLINE int mcc_load_i4(const mcc_u8* p, mcc_i64 i) { return (mcc_load_u4(p, i) ^ 8) - 8; }
MCC_INLINE int mcc_load_i2(const mcc_u8* p, mcc_i64 i) { return (mcc_load_u2(p, i) ^ 2) - 2; }
MCC_INLINE float mcc_f4e2m1_to_f32(int code) {
  const int magnitude = code & 7;
  const float value = magnitude < 2 ? 0.5F * (float)magnitude
                                    : (float)(2 + (magnitude & 1)) * (float)(1 << (magnitude >> 1)) *
                                          0.25F;
  return (code & 8) ? -value : value;
}
MCC_INLINE int mcc_f32_to_f4e2m1(float x) {  // saturates; NaN gives 6
  if (x != x) return 7;
  const float a = mcc_abs(x);
  const int code = a <= 0.25F ? 0 : a < 0.75F ? 1 : a <= 1.25F ? 2 : a < 1.75F ? 3
                   : a <= 2.5F ? 4 : a < 3.5F ? 5 : a <= 5.0F ? 6 : 7;
  return code | (int)((mcc_bitcast<mcc_u32>(x) >> 31) << 3);
}

// ---- Random numbers of element `index` (scalar): Philox4x32-10, J. Salmon et al., SC 2011
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
  return mcc_sqrt(-2.0F * mcc_log(1.0F - u)) * mcc_cos(6.2831853071795865F * v);
}
