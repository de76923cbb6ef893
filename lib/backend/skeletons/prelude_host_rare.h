// Prelude of generated host kernels, part 3: trigonometric, inverse and power functions, lane by
// lane. f32 computes in f64 and rounds once (errors below 0.51 units in the last place); f64 uses
// the same code, whose errors test/unit/backend/prelude_test.cpp states.

// 2/pi in binary after 64 zero bits; enough for every f64 exponent.
static const mcc_u64 mcc_two_over_pi[20] = {
    0x0000000000000000ULL, 0xa2f9836e4e441529ULL, 0xfc2757d1f534ddc0ULL, 0xdb6295993c439041ULL,
    0xfe5163abdebbc561ULL, 0xb7246e3a424dd2e0ULL, 0x06492eea09d1921cULL, 0xfe1deb1cb129a73eULL,
    0xe88235f52ebb4484ULL, 0xe99c7026b45f7e41ULL, 0x3991d639835339f4ULL, 0x9c845f8bbdf9283bULL,
    0x1ff897ffde05980fULL, 0xef2f118b5a0a6d1fULL, 0x6d367ecf27cb09b7ULL, 0x4f463f669e5fea2dULL,
    0x7527bac7ebe5f17bULL, 0x3d0739f78a5292eaULL, 0x6bfb5fb11f8d5d08ULL, 0x56033046fc7b6babULL};

struct mcc_quadrant {
  double r;  // |r| <= pi/4
  int n;     // x = n pi/2 + r (n modulo 4)
};
// M. Payne and R. Hanek, "Radian reduction for trigonometric functions" (1983): the bits of 2/pi
// that matter for the exponent, times the 53-bit significand, modulo 4.
MCC_INLINE mcc_quadrant mcc_reduce_huge(double x) {
  const mcc_u64 bits = mcc_bitcast<mcc_u64>(x);
  const int exponent = (int)((bits >> 52) & 0x7ff) - 1075;  // of the significand's last bit
  const mcc_u64 significand = (bits & 0xfffffffffffffULL) | 0x10000000000000ULL;
  const int start = 62 + exponent;
  const int word = start >> 6, shift = start & 63;
  mcc_u64 w[3];
  for (int i = 0; i < 3; ++i) {
    const mcc_u64 high = mcc_two_over_pi[word + i] << shift;
    w[i] = shift == 0 ? high : high | (mcc_two_over_pi[word + i + 1] >> (64 - shift));
  }
  // (w0 w1 w2) * significand modulo 2^192
  const unsigned __int128 p2 = (unsigned __int128)w[2] * significand;
  const unsigned __int128 p1 = (unsigned __int128)w[1] * significand + (mcc_u64)(p2 >> 64);
  const mcc_u64 top = w[0] * significand + (mcc_u64)(p1 >> 64);
  const mcc_u64 middle = (mcc_u64)p1;
  // Two integer bits, then the fraction as a signed number of 128 bits.
  const __int128 fraction =
      (__int128)(((unsigned __int128)top << 66) | ((unsigned __int128)middle << 2) |
                 ((mcc_u64)p2 >> 62));
  int n = (int)(top >> 62) + (fraction < 0 ? 1 : 0);
  double r = (double)(mcc_i64)(fraction >> 64) * 0x1p-64 + (double)(mcc_u64)fraction * 0x1p-128;
  r *= 1.5707963267948966;
  if (x < 0) {
    r = -r;
    n = -n;
  }
  return {r, n & 3};
}
MCC_INLINE mcc_quadrant mcc_reduce_angle(double x) {
  const double magic = 6755399441055744.0;
  if (!(mcc_abs(x) < 1e6)) {
    if (!(mcc_abs(x) < __builtin_inf())) return {__builtin_nan(""), 0};
    return mcc_reduce_huge(x);
  }
  // pi/2 in parts of 33, 33 and 53 bits: n < 2^20 times the first two is exact.
  const double shifted = x * 0.63661977236758134 + magic;
  const double n = shifted - magic;
  const double r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
  return {r, (int)(mcc_bitcast<mcc_i64>(shifted) & 3)};
}
MCC_INLINE double mcc_sin_kernel(double r) {
  const double z = r * r;
  return r + r * z *
                 mcc_poly(z, -0.16666666666666666, 0.0083333333333333315, -0.00019841269841264821,
                          2.7557319219150783e-06, -2.5052106167335705e-08, 1.6058521349954986e-10,
                          -7.5860947896726206e-13);
}
MCC_INLINE double mcc_cos_kernel(double r) {
  const double z = r * r;
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  return w + (((1.0 - w) - half) +
              z * z *
                  mcc_poly(z, 0.041666666666666664, -0.0013888888888888887, 2.480158730158451e-05,
                           -2.7557319221298089e-07, 2.0876755754879594e-09, -1.1470455178216906e-11,
                           4.7455370173192583e-14));
}
static inline __attribute__((unused)) double mcc_sin_scalar(double x) {
  const mcc_quadrant q = mcc_reduce_angle(x);
  const double v = (q.n & 1) ? mcc_cos_kernel(q.r) : mcc_sin_kernel(q.r);
  return x == 0 ? x : (q.n & 2) ? -v : v;
}
static inline __attribute__((unused)) double mcc_cos_scalar(double x) {
  const mcc_quadrant q = mcc_reduce_angle(x);
  const double v = (q.n & 1) ? mcc_sin_kernel(q.r) : mcc_cos_kernel(q.r);
  return ((q.n + 1) & 2) ? -v : v;
}
static inline __attribute__((unused)) double mcc_tan_scalar(double x) {
  const mcc_quadrant q = mcc_reduce_angle(x);
  const double s = mcc_sin_kernel(q.r), c = mcc_cos_kernel(q.r);
  return x == 0 ? x : (q.n & 1) ? -c / s : s / c;
}
// atan: to |x| <= tan(pi/8) by subtracting pi/4 or taking the reciprocal
static inline __attribute__((unused)) double mcc_atan_scalar(double x) {
  const double a = mcc_abs(x);
  double base = 0, low = 0, y = a;
  if (a > 2.414213562373095) {
    base = 1.5707963267948966;
    low = 6.123233995736766e-17;
    y = -1 / a;
  } else if (a > 0.41421356237309503) {
    base = 0.78539816339744828;
    low = 3.061616997868383e-17;
    y = (a - 1) / (a + 1);
  }
  const double z = y * y;
  const double p =
      mcc_poly(z, -0.33333333333333331, 0.19999999999999801, -0.14285714285658824,
               0.11111111105057618, -0.090909087486376786, 0.076922962345621043,
               -0.066664223652985355, 0.058789000468626215, -0.052302412575139907,
               0.045506225250304518, -0.034545622575104518, 0.016258145857267047);
  return mcc_copysign(base + (y + (y * z * p + low)), x);
}
// asin(y) for |y| <= 1/2
MCC_INLINE double mcc_asin_kernel(double y) {
  const double z = y * y;
  return y + y * z *
                 mcc_poly(z, 0.16666666666666669, 0.074999999999983885, 0.044642857146446051,
                          0.030381944131237199, 0.022372173243832207, 0.017352385393480947,
                          0.013971325328728771, 0.011478047472510145, 0.010330370295404406,
                          0.005424230839804001, 0.017493569476248205, -0.014999855783811349,
                          0.02886097438799853);
}
static inline __attribute__((unused)) double mcc_asin_scalar(double x) {
  const double a = mcc_abs(x);
  if (a <= 0.5) return mcc_asin_kernel(x);
  if (!(a <= 1)) return __builtin_nan("");
  const double r = 2 * mcc_asin_kernel(mcc_sqrt(0.5 * (1 - a)));
  return mcc_copysign(1.5707963267948966 - (r - 6.123233995736766e-17), x);
}
static inline __attribute__((unused)) double mcc_acos_scalar(double x) {
  const double a = mcc_abs(x);
  if (a <= 0.5) return 1.5707963267948966 - (mcc_asin_kernel(x) - 6.123233995736766e-17);
  if (!(a <= 1)) return __builtin_nan("");
  const double r = 2 * mcc_asin_kernel(mcc_sqrt(0.5 * (1 - a)));
  return x > 0 ? r : 3.1415926535897931 - (r - 1.2246467991473532e-16);
}
static inline __attribute__((unused)) double mcc_sinh_scalar(double x) {
  const double a = mcc_abs(x);
  if (a > 700) {
    const double w = mcc_exp(0.5 * a);
    return mcc_copysign(0.5 * w * w, x);
  }
  const double t = mcc_expm1(a);
  return mcc_copysign(0.5 * (t + t / (t + 1)), x);
}
static inline __attribute__((unused)) double mcc_cosh_scalar(double x) {
  const double a = mcc_abs(x);
  if (a > 700) {
    const double w = mcc_exp(0.5 * a);
    return 0.5 * w * w;
  }
  const double e = mcc_exp(a);
  return 0.5 * e + 0.5 / e;
}
static inline __attribute__((unused)) double mcc_asinh_scalar(double x) {
  const double a = mcc_abs(x);
  if (a > 268435456.0) return mcc_copysign(mcc_log(a) + 0.69314718055994531, x);
  const double z = a * a;
  return mcc_copysign(mcc_log1p(a + z / (1 + mcc_sqrt(1 + z))), x);
}
static inline __attribute__((unused)) double mcc_acosh_scalar(double x) {
  if (x > 268435456.0) return mcc_log(x) + 0.69314718055994531;
  if (!(x >= 1)) return __builtin_nan("");
  const double t = x - 1;
  return mcc_log1p(t + mcc_sqrt(2 * t + t * t));
}
static inline __attribute__((unused)) double mcc_atanh_scalar(double x) {
  const double a = mcc_abs(x);
  return mcc_copysign(0.5 * mcc_log1p(2 * a / (1 - a)), x);
}

// x^y = e^(y log x); the logarithm's rounding error is scaled by |y log x|, so f64 results have up
// to about |y log x| units in the last place of error, f32 results none of it.
static inline __attribute__((unused)) double mcc_pow_scalar(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const bool integral = mcc_trunc(y) == y;
  const bool odd = integral && mcc_abs(y) < 9007199254740992.0 && ((mcc_i64)y & 1);
  const bool negative = mcc_bitcast<mcc_i64>(x) < 0;
  if (integral && mcc_abs(y) <= 64) {  // exact small powers stay exact
    const int n = (int)mcc_abs(y);
    double result = 1, square = x;
    for (int i = n; i; i >>= 1, square *= square) {
      if (i & 1) result *= square;
    }
    return y < 0 ? 1 / result : result;
  }
  if (y == 0.5 && x >= 0) return mcc_sqrt(x);
  if (negative && x != 0 && !integral && mcc_abs(y) < __builtin_inf() &&
      mcc_abs(x) < __builtin_inf()) {
    return __builtin_nan("");
  }
  const double a = mcc_abs(x);
  if (a == 1) return odd && negative ? -1 : 1;
  const double result = mcc_exp(y * mcc_log(a));
  return odd && negative ? -result : result;
}

// Exact remainder of truncating division, bit by bit (as C's fmod).
static inline __attribute__((unused)) double mcc_fmod_scalar(double x, double y) {
  double a = mcc_abs(x), b = mcc_abs(y);
  if (!(a < __builtin_inf()) || !(b > 0)) return __builtin_nan("");
  if (b == __builtin_inf()) return x;
  while (a >= b) {
    // The largest b * 2^k <= a, subtracted exactly.
    const mcc_i64 ea = mcc_bitcast<mcc_i64>(a) >> 52, eb = mcc_bitcast<mcc_i64>(b) >> 52;
    mcc_i64 k = ea - eb - 1;
    double t = b;
    for (; k > 0; k -= 512) t *= mcc_power_of_two<double>(k > 512 ? 512 : k);
    while (t + t <= a) t += t;
    a -= t;
  }
  return mcc_copysign(a, x);
}
static inline __attribute__((unused)) double mcc_mod_scalar(double x, double y) {
  const double r = mcc_fmod_scalar(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

#define MCC_LANES(name)                                                                      \
  template <class V> MCC_INLINE V mcc_##name(V x) {                                          \
    typedef mcc_element<V> E;                                                                \
    return mcc_each(x, [](E e) { return (E)mcc_##name##_scalar((double)e); });               \
  }
MCC_LANES(sin)
MCC_LANES(cos)
MCC_LANES(tan)
MCC_LANES(asin)
MCC_LANES(acos)
MCC_LANES(atan)
MCC_LANES(sinh)
MCC_LANES(cosh)
MCC_LANES(asinh)
MCC_LANES(acosh)
MCC_LANES(atanh)
#undef MCC_LANES

// Integer powers wrap; negative exponents truncate 1 / x^n.
template <class E> MCC_INLINE E mcc_integer_pow(E base, E exponent) {
  if (exponent < E(0)) {
    if (base == E(1)) return 1;
    return base == E(-1) ? ((exponent & 1) ? E(-1) : E(1)) : E(0);
  }
  mcc_u64 result = 1, square = (mcc_u64)base;
  for (mcc_u64 n = (mcc_u64)exponent; n; n >>= 1, square *= square) {
    if (n & 1) result *= square;
  }
  return (E)result;
}
template <class V> MCC_INLINE V mcc_pow(V x, V y) {
  typedef mcc_element<V> E;
  return mcc_each2(x, y, [](E a, E b) {
    if constexpr (mcc_is_float<E>) return (E)mcc_pow_scalar((double)a, (double)b);
    else return mcc_integer_pow(a, b);
  });
}
// Remainders: fmod takes the dividend's sign, mod the divisor's.
template <class V> MCC_INLINE V mcc_fmod(V x, V y) {
  typedef mcc_element<V> E;
  return mcc_each2(x, y, [](E a, E b) {
    if constexpr (mcc_is_float<E>) return (E)mcc_fmod_scalar((double)a, (double)b);
    else return mcc_rem_element(a, b);
  });
}
template <class V> MCC_INLINE V mcc_mod(V x, V y) {
  typedef mcc_element<V> E;
  return mcc_each2(x, y, [](E a, E b) {
    if constexpr (mcc_is_float<E>) {
      return (E)mcc_mod_scalar((double)a, (double)b);
    } else {
      const E r = mcc_rem_element(a, b);
      return (E)(r != E(0) && (r < E(0)) != (b < E(0)) ? r + b : r);
    }
  });
}
