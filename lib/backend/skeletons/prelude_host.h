// Prelude of generated host kernels, part 1: types, selection, rounding, integer arithmetic.
//
// The preludes include nothing and call nothing: every function is an always-inline template that
// takes scalars and, unless it says "scalar", GCC vector-extension types of the same elements
// (any number of lanes that is a power of two). Comparisons of vectors give lane masks (signed
// integers of the operands' width, 0 or -1), comparisons of scalars give bool; mcc_select takes
// either. Compile with -fno-math-errno -fno-trapping-math -ffp-contract=fast -fwrapv
// -fno-strict-aliasing, never with -ffast-math: rounding relies on IEEE addition.
#define MCC_INLINE static inline __attribute__((always_inline, unused))

typedef signed char mcc_i8;
typedef unsigned char mcc_u8;
typedef short mcc_i16;
typedef unsigned short mcc_u16;
typedef int mcc_i32;
typedef unsigned int mcc_u32;
typedef long long mcc_i64;
typedef unsigned long long mcc_u64;

// ---- Types: element, lanes, mask and integer of equal shape
template <class T> struct mcc_unref { typedef T type; };
template <class T> struct mcc_unref<T&> { typedef T type; };
template <class T> struct mcc_unref<T&&> { typedef T type; };
template <class A, class B> struct mcc_same { static constexpr bool value = false; };
template <class A> struct mcc_same<A, A> { static constexpr bool value = true; };

template <class T> struct mcc_scalar { static constexpr bool value = false; };
template <> struct mcc_scalar<bool> { static constexpr bool value = true; };
template <> struct mcc_scalar<char> { static constexpr bool value = true; };
template <> struct mcc_scalar<signed char> { static constexpr bool value = true; };
template <> struct mcc_scalar<unsigned char> { static constexpr bool value = true; };
template <> struct mcc_scalar<short> { static constexpr bool value = true; };
template <> struct mcc_scalar<unsigned short> { static constexpr bool value = true; };
template <> struct mcc_scalar<int> { static constexpr bool value = true; };
template <> struct mcc_scalar<unsigned int> { static constexpr bool value = true; };
template <> struct mcc_scalar<long> { static constexpr bool value = true; };
template <> struct mcc_scalar<unsigned long> { static constexpr bool value = true; };
template <> struct mcc_scalar<long long> { static constexpr bool value = true; };
template <> struct mcc_scalar<unsigned long long> { static constexpr bool value = true; };
template <> struct mcc_scalar<float> { static constexpr bool value = true; };
template <> struct mcc_scalar<double> { static constexpr bool value = true; };

template <class V, bool is_scalar> struct mcc_shape;
template <class V> struct mcc_shape<V, true> {
  typedef V element;
  static constexpr int lanes = 1;
  typedef bool mask;
};
template <class V> struct mcc_shape<V, false> {
  typedef typename mcc_unref<decltype(V{}[0])>::type element;
  static constexpr int lanes = sizeof(V) / sizeof(element);
  typedef decltype(V{} < V{}) mask;
};
template <class V> using mcc_element = typename mcc_shape<V, mcc_scalar<V>::value>::element;
template <class V> using mcc_mask = typename mcc_shape<V, mcc_scalar<V>::value>::mask;
template <class V> constexpr int mcc_lanes = mcc_shape<V, mcc_scalar<V>::value>::lanes;
template <class V> constexpr bool mcc_is_double = mcc_same<mcc_element<V>, double>::value;
template <class V> constexpr bool mcc_is_float =
    mcc_same<mcc_element<V>, float>::value || mcc_is_double<V>;

// The vector of `lanes` elements of type E (E itself for one lane).
template <class E, int lanes> struct mcc_make_vector {
  typedef E type __attribute__((vector_size(lanes * sizeof(E))));
};
template <class E> struct mcc_make_vector<E, 1> { typedef E type; };
template <class E, int lanes> using mcc_vector = typename mcc_make_vector<E, lanes>::type;

// The signed integer of a floating type's shape, for its bits.
template <class V, bool is_scalar> struct mcc_bits_shape { typedef decltype(V{} < V{}) type; };
template <> struct mcc_bits_shape<float, true> { typedef int type; };
template <> struct mcc_bits_shape<double, true> { typedef long long type; };
template <class V> using mcc_bits = typename mcc_bits_shape<V, mcc_scalar<V>::value>::type;

template <class R, class V> MCC_INLINE R mcc_bitcast(V x) { return __builtin_bit_cast(R, x); }
template <class V> MCC_INLINE V mcc_splat(mcc_element<V> x) { return V{} + x; }

// Unaligned access to consecutive elements.
template <class V> MCC_INLINE V mcc_load(const void* from) {
  V x;
  __builtin_memcpy(&x, from, sizeof x);
  return x;
}
template <class V> MCC_INLINE void mcc_store(void* to, V x) { __builtin_memcpy(to, &x, sizeof x); }
// 0, stride, 2 * stride, ...
template <class V> MCC_INLINE V mcc_lane_numbers(mcc_element<V> stride) {
  V r;
  for (int i = 0; i < mcc_lanes<V>; ++i) r[i] = static_cast<mcc_element<V>>(i * stride);
  return r;
}

// f(lane) for every lane.
template <class V, class F> MCC_INLINE V mcc_each(V x, F f) {
  if constexpr (mcc_scalar<V>::value) {
    return f(x);
  } else {
    V r;
    for (int i = 0; i < mcc_lanes<V>; ++i) r[i] = f(x[i]);
    return r;
  }
}
template <class V, class F> MCC_INLINE V mcc_each2(V x, V y, F f) {
  if constexpr (mcc_scalar<V>::value) {
    return f(x, y);
  } else {
    V r;
    for (int i = 0; i < mcc_lanes<V>; ++i) r[i] = f(x[i], y[i]);
    return r;
  }
}

// Element-wise value conversion, as a C cast does it.
template <class R, class V> MCC_INLINE R mcc_convert(V x) {
  if constexpr (mcc_scalar<V>::value) {
    return static_cast<R>(x);
  } else {
    return __builtin_convertvector(x, R);
  }
}

// condition ? a : b. Masks of another lane width are converted; a scalar condition chooses whole
// vectors.
template <class M, class V> MCC_INLINE V mcc_select(M condition, V a, V b) {
  if constexpr (mcc_scalar<M>::value || sizeof(M) == sizeof(V)) {
    return condition ? a : b;
  } else {
    typedef mcc_mask<V> Mask;
    return __builtin_convertvector(condition, Mask) ? a : b;
  }
}

// Floating to integer element types: truncates; out-of-range values and NaN give some value, but
// never undefined behaviour. 64 bits wide, then wrapped (as the reference does) for scalars.
template <class R, class V> MCC_INLINE R mcc_truncate(V x) {
  if constexpr (mcc_scalar<V>::value) {
    const bool fits = x > V(-9.2233720368547758e18) && x < V(9.2233720368547758e18);
    return static_cast<R>(fits ? static_cast<mcc_i64>(x) : mcc_i64(1) << 63);
  } else {
    return __builtin_convertvector(x, R);
  }
}

// ---- Comparison and sign. Like numpy's: NaN wins in min and max.
template <class V> MCC_INLINE V mcc_min(V a, V b) {
  if constexpr (mcc_is_float<V>) {
    const V m = a < b ? a : b;  // b when either is NaN
    return a != a ? a : m;
  } else {
    return a < b ? a : b;
  }
}
template <class V> MCC_INLINE V mcc_max(V a, V b) {
  if constexpr (mcc_is_float<V>) {
    const V m = a > b ? a : b;
    return a != a ? a : m;
  } else {
    return a > b ? a : b;
  }
}
template <class V> MCC_INLINE V mcc_relu(V x) {
  const V zero = V{};
  return x < zero ? zero : x;  // NaN stays
}
template <class V> MCC_INLINE V mcc_abs(V x) {
  if constexpr (mcc_is_double<V>) {
    return mcc_bitcast<V>(mcc_bitcast<mcc_bits<V>>(x) & 0x7fffffffffffffffLL);
  } else if constexpr (mcc_is_float<V>) {
    return mcc_bitcast<V>(mcc_bitcast<mcc_bits<V>>(x) & 0x7fffffff);
  } else {
    const V zero = V{};
    return x < zero ? static_cast<V>(zero - x) : x;
  }
}
template <class V> MCC_INLINE V mcc_copysign(V magnitude, V sign) {
  if constexpr (mcc_is_double<V>) {
    const mcc_bits<V> low = mcc_bitcast<mcc_bits<V>>(magnitude) & 0x7fffffffffffffffLL;
    return mcc_bitcast<V>(low | (mcc_bitcast<mcc_bits<V>>(sign) & (-0x7fffffffffffffffLL - 1)));
  } else {
    const mcc_bits<V> low = mcc_bitcast<mcc_bits<V>>(magnitude) & 0x7fffffff;
    return mcc_bitcast<V>(low | (mcc_bitcast<mcc_bits<V>>(sign) & (-0x7fffffff - 1)));
  }
}
template <class V> MCC_INLINE V mcc_sign(V x) {
  const V zero = V{};
  const V one = mcc_splat<V>(mcc_element<V>(1));
  const V negative = static_cast<V>(zero - one);
  const V other = mcc_is_float<V> ? x : zero;  // keeps NaN and the sign of zero
  return x > zero ? one : (x < zero ? negative : other);
}
template <class V> MCC_INLINE mcc_mask<V> mcc_isnan(V x) { return x != x; }
template <class V> MCC_INLINE mcc_mask<V> mcc_isinf_pos(V x) {
  return x == mcc_splat<V>(mcc_element<V>(__builtin_inf()));
}
template <class V> MCC_INLINE mcc_mask<V> mcc_isinf_neg(V x) {
  return x == mcc_splat<V>(mcc_element<V>(-__builtin_inf()));
}

// ---- Rounding: adding 2^23 (2^52) leaves no room for a fraction, so IEEE addition rounds half to
// even; larger magnitudes are integers already.
template <class V> MCC_INLINE V mcc_round(V x) {
  typedef mcc_element<V> E;
  const V limit = mcc_splat<V>(mcc_is_double<V> ? E(4503599627370496.0) : E(8388608.0F));
  const V a = mcc_abs(x);
  const V r = (a + limit) - limit;
  return mcc_copysign(a < limit ? r : a, x);
}
template <class V> MCC_INLINE V mcc_floor(V x) {
  const V r = mcc_round(x);
  return r > x ? r - mcc_element<V>(1) : r;
}
template <class V> MCC_INLINE V mcc_ceil(V x) {
  const V r = mcc_round(x);
  return mcc_copysign(r < x ? r + mcc_element<V>(1) : r, x);
}
template <class V> MCC_INLINE V mcc_trunc(V x) { return mcc_copysign(mcc_floor(mcc_abs(x)), x); }

// ---- Roots and reciprocals, correctly rounded (rsqrt: two roundings)
MCC_INLINE float mcc_sqrt(float x) { return __builtin_sqrtf(x); }
MCC_INLINE double mcc_sqrt(double x) { return __builtin_sqrt(x); }
#if defined(__AVX__)
MCC_INLINE mcc_vector<float, 8> mcc_sqrt(mcc_vector<float, 8> x) {
  return __builtin_ia32_sqrtps256(x);
}
MCC_INLINE mcc_vector<double, 4> mcc_sqrt(mcc_vector<double, 4> x) {
  return __builtin_ia32_sqrtpd256(x);
}
#endif
#if defined(__AVX512F__)
MCC_INLINE mcc_vector<float, 16> mcc_sqrt(mcc_vector<float, 16> x) {
#if defined(__clang__)
  return __builtin_ia32_sqrtps512(x, 4);
#else
  return (mcc_vector<float, 16>)__builtin_ia32_sqrtps512_mask(x, x, (unsigned short)-1, 4);
#endif
}
#endif
template <class V> MCC_INLINE V mcc_sqrt(V x) {
  return mcc_each(x, [](mcc_element<V> e) { return mcc_sqrt(e); });
}
template <class V> MCC_INLINE V mcc_reciprocal(V x) {
  return mcc_splat<V>(mcc_element<V>(1)) / x;
}
template <class V> MCC_INLINE V mcc_rsqrt(V x) { return mcc_reciprocal(mcc_sqrt(x)); }

// a*b + c with one rounding (vectors: by contraction, where the target has FMA)
MCC_INLINE float mcc_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MCC_INLINE double mcc_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class V> MCC_INLINE V mcc_fma(V a, V b, V c) { return a * b + c; }

// ---- Integers: division by zero gives 0, the most negative number / -1 wraps
template <class E> MCC_INLINE E mcc_div_element(E a, E b) {
  if (b == 0) return 0;
  if (E(-1) < E(0) && b == E(-1)) return static_cast<E>(0 - a);
  return static_cast<E>(a / b);
}
template <class E> MCC_INLINE E mcc_rem_element(E a, E b) {
  if (b == 0 || (E(-1) < E(0) && b == E(-1))) return 0;
  return static_cast<E>(a % b);
}
template <class V> MCC_INLINE V mcc_div(V a, V b) {
  return mcc_each2(a, b, [](mcc_element<V> x, mcc_element<V> y) { return mcc_div_element(x, y); });
}
template <class V> MCC_INLINE V mcc_floordiv(V a, V b) {
  typedef mcc_element<V> E;
  return mcc_each2(a, b, [](E x, E y) {
    const E q = mcc_div_element(x, y);
    const bool down = mcc_rem_element(x, y) != 0 && (x < E(0)) != (y < E(0));
    return static_cast<E>(q - (down ? 1 : 0));
  });
}
// Shifts by the width or more give 0 (arithmetic right shifts of negative numbers: -1).
template <class V> MCC_INLINE V mcc_shl(V a, V n) {
  typedef mcc_element<V> E;
  return mcc_each2(a, n, [](E x, E y) {
    const bool fits = y >= E(0) && y < E(sizeof(E) * 8);
    return static_cast<E>(fits ? x << y : E(0));
  });
}
template <class V> MCC_INLINE V mcc_shr(V a, V n) {
  typedef mcc_element<V> E;
  return mcc_each2(a, n, [](E x, E y) {
    if (y >= E(0) && y < E(sizeof(E) * 8)) return static_cast<E>(x >> y);
    return static_cast<E>(y >= E(0) && x < E(0) ? -1 : 0);
  });
}
// c plus the products of four packed 8-bit integers: signed*signed, unsigned*signed.
MCC_INLINE int mcc_dot4(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += (mcc_i8)(a >> i) * (mcc_i8)(b >> i);
  return c;
}
MCC_INLINE int mcc_dot4_us(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += (mcc_u8)(a >> i) * (mcc_i8)(b >> i);
  return c;
}
