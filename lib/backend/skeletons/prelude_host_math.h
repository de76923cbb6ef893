// Prelude of generated host kernels, part 2: exp, log, tanh, erf and the activations built on
// them, for f32 and f64 scalars and vectors.
//
// Coefficients are near-minimax polynomials (Chebyshev interpolation in extended precision) of the
// functions that the comments name. Largest errors found (units in the last place; f32 by all or
// millions of arguments, f64 by millions; with and without FMA): see the table in
// test/unit/backend/prelude_test.cpp, which enforces them.

// c0 + x*(c1 + x*(...))
template <class V> MCC_INLINE V mcc_poly(V, double c) { return mcc_splat<V>(mcc_element<V>(c)); }
template <class V, class... C> MCC_INLINE V mcc_poly(V x, double c0, C... rest) {
  return mcc_element<V>(c0) + x * mcc_poly(x, rest...);
}

// ---- exp and expm1: x = n ln 2 + r, |r| <= ln(2)/2 (W. J. Cody and W. Waite, "Software Manual for
// the Elementary Functions", 1980)
template <class V> struct mcc_exp_parts {
  V expm1;        // e^r - 1
  mcc_bits<V> n;
};
template <class V> MCC_INLINE mcc_exp_parts<V> mcc_reduce_exp(V x) {
  typedef mcc_element<V> E;
  if constexpr (mcc_is_double<V>) {
    const V magic = mcc_splat<V>(6755399441055744.0);  // 1.5 * 2^52: the integer lands in the low bits
    const V shifted = x * E(1.4426950408889634) + magic;
    const V n = shifted - magic;
    const V r = (x - n * E(0x1.62e42feep-1)) - n * E(0x1.a39ef35793c76p-33);
    const V q = mcc_poly(r, 0.5, 0.16666666666666666, 0.041666666666666678, 0.0083333333333333332,
                         0.0013888888888879004, 0.00019841269841263252, 2.4801587336630949e-05,
                         2.7557319247344507e-06, 2.755726307730941e-07, 2.5052070959803662e-08,
                         2.091821231913398e-09, 1.6086677666787362e-10);
    return {r + r * r * q, mcc_bitcast<mcc_bits<V>>(shifted) - mcc_bitcast<mcc_bits<V>>(magic)};
  } else {
    const V magic = mcc_splat<V>(12582912.0F);  // 1.5 * 2^23
    const V shifted = x * E(1.44269504F) + magic;
    const V n = shifted - magic;
    const V r = (x - n * E(0x1.62e4p-1F)) - n * E(1.42860682e-06F);
    const V q = mcc_poly(r, 0.5, 0.166666667, 0.0416664642, 0.00833331084, 0.00139337307,
                         0.000198910805);
    return {r + r * r * q, mcc_bitcast<mcc_bits<V>>(shifted) - mcc_bitcast<mcc_bits<V>>(magic)};
  }
}
// 2^n for n inside the exponent's range
template <class V> MCC_INLINE V mcc_power_of_two(mcc_bits<V> n) {
  if constexpr (mcc_is_double<V>) {
    return mcc_bitcast<V>((n + 1023LL) << 52);
  } else {
    return mcc_bitcast<V>((n + 127) << 23);
  }
}
// x * 2^n in two steps, so that results may be subnormal, zero or infinite
template <class V> MCC_INLINE V mcc_scale(V x, mcc_bits<V> n) {
  const mcc_bits<V> half = n >> 1;
  return x * mcc_power_of_two<V>(half) * mcc_power_of_two<V>(n - half);
}
template <class V> MCC_INLINE V mcc_exp(V x) {
  const V low = mcc_splat<V>(mcc_is_double<V> ? -746.0 : -104.0F);
  const V high = mcc_splat<V>(mcc_is_double<V> ? 710.0 : 89.0F);
  x = x < low ? low : x;  // NaN passes
  x = x > high ? high : x;
  const mcc_exp_parts<V> parts = mcc_reduce_exp(x);
  return mcc_scale(parts.expm1 + mcc_element<V>(1), parts.n);
}
// e^x for |x| well inside the range (no overflow, no subnormal result): one multiplication less.
template <class V> MCC_INLINE V mcc_exp_narrow(V x) {
  const mcc_exp_parts<V> parts = mcc_reduce_exp(x);
  return (parts.expm1 + mcc_element<V>(1)) * mcc_power_of_two<V>(parts.n);
}
// e^x - 1 for x inside [-40, 80] (f32) or [-40, 700] (f64)
template <class V> MCC_INLINE V mcc_expm1_narrow(V x) {
  const mcc_exp_parts<V> parts = mcc_reduce_exp(x);
  const V two = mcc_power_of_two<V>(parts.n);
  return two * parts.expm1 + (two - mcc_element<V>(1));
}
template <class V> MCC_INLINE V mcc_expm1(V x) {
  typedef mcc_element<V> E;
  const V low = mcc_splat<V>(E(-40));
  const V high = mcc_splat<V>(mcc_is_double<V> ? E(700) : E(80));
  const V inside = x < low ? low : (x > high ? high : x);
  const V result = x > high ? mcc_exp(x) : mcc_expm1_narrow(inside);
  return x == V{} ? x : result;  // keeps the sign of zero
}

// ---- log: x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); log(1+f) = f - (f^2/2 - s (f^2/2 + R)),
// s = f / (2 + f) (the decomposition of fdlibm's e_log.c)
template <class V> MCC_INLINE V mcc_log(V x) {
  typedef mcc_element<V> E;
  typedef mcc_bits<V> I;
  const V zero = V{};
  const V infinity = mcc_splat<V>(E(__builtin_inf()));
  V k, f, tail;
  if constexpr (mcc_is_double<V>) {
    const V tiny = mcc_splat<V>(2.2250738585072014e-308);
    const V y = x < tiny ? x * E(18014398509481984.0) : x;  // 2^54
    const I bits = mcc_bitcast<I>(y) + (0x3ff0000000000000LL - 0x3fe6a09e667f3bcdLL);
    const I exponent = (bits >> 52) - 1023LL;
    f = mcc_bitcast<V>((bits & 0xfffffffffffffLL) + 0x3fe6a09e667f3bcdLL) - E(1);
    const V magic = mcc_splat<V>(6755399441055744.0);
    k = mcc_bitcast<V>(exponent + mcc_bitcast<I>(magic)) - magic;
    k = x < tiny ? k - E(54) : k;
  } else {
    const V tiny = mcc_splat<V>(1.17549435e-38F);
    const V y = x < tiny ? x * E(33554432.0F) : x;  // 2^25
    const I bits = mcc_bitcast<I>(y) + (0x3f800000 - 0x3f3504f3);
    const I exponent = (bits >> 23) - 127;
    f = mcc_bitcast<V>((bits & 0x7fffff) + 0x3f3504f3) - E(1);
    const V magic = mcc_splat<V>(12582912.0F);
    k = mcc_bitcast<V>(exponent + mcc_bitcast<I>(magic)) - magic;
    k = x < tiny ? k - E(25) : k;
  }
  const V s = f / (f + E(2));
  const V z = s * s;
  const V half_square = E(0.5F) * f * f;
  V result;
  if constexpr (mcc_is_double<V>) {
    const V r = z * mcc_poly(z, 0.66666666666666663, 0.4000000000000089, 0.28571428570795937,
                             0.22222222393451754, 0.18181795454619548, 0.15386249783145214,
                             0.13268503447792365, 0.1308944373626974);
    tail = s * (half_square + r) + k * E(0x1.a39ef35793c76p-33);
    result = ((tail - half_square) + f) + k * E(0x1.62e42feep-1);
  } else {
    const V r = z * mcc_poly(z, 0.666666666, 0.400001226, 0.285507364, 0.233327618);
    tail = s * (half_square + r) + k * E(1.42860682e-06F);
    result = ((tail - half_square) + f) + k * E(0x1.62e4p-1F);
  }
  result = x == zero ? -infinity : result;
  result = x < zero ? mcc_splat<V>(E(__builtin_nan(""))) : result;
  return (x == infinity || x != x) ? x : result;
}
// log(u) plus what rounding 1 + x to u lost (W. Kahan's correction)
template <class V> MCC_INLINE V mcc_log1p(V x) {
  typedef mcc_element<V> E;
  const V zero = V{};
  const V u = x + E(1);
  const V correction = (x - (u - E(1))) / u;
  const mcc_mask<V> usable = (u > zero) & (mcc_abs(u) < mcc_splat<V>(E(__builtin_inf())));
  const V result = mcc_log(u) + (usable ? correction : zero);
  return x == zero ? x : result;
}

// ---- Hyperbolic tangent through expm1: no cancellation for small arguments
template <class V> MCC_INLINE V mcc_tanh(V x) {
  typedef mcc_element<V> E;
  const V limit = mcc_splat<V>(mcc_is_double<V> ? E(20) : E(10));
  const V a = mcc_abs(x);
  const V t = mcc_expm1_narrow((a > limit ? limit : a) * E(2));
  return mcc_copysign(t / (t + E(2)), x);
}
template <class V> MCC_INLINE V mcc_sigmoid(V x) {
  typedef mcc_element<V> E;
  const V e = mcc_exp(-mcc_abs(x));  // never overflows
  const V one = mcc_splat<V>(E(1));
  return (x < V{} ? e : one) / (one + e);
}

// ---- Error function
// |x| below the split: x + x P(x^2); above: 1 - exp(-t + t Q(t)) in f32, 1 - exp(-t^2) G(u) with
// u = (t - 2) / (t + 2) in f64.
template <class V> MCC_INLINE V mcc_erf(V x) {
  typedef mcc_element<V> E;
  const V z = x * x;
  V small, large;
  mcc_mask<V> is_small;
  if constexpr (mcc_is_double<V>) {
    small = x + x * mcc_poly(z, 0.12837916709551259, -0.37612638903183754, 0.11283791670955121,
                             -0.02686617064512984, 0.0052239776254232985, -0.00085483270219348297,
                             0.00012055332902888736, -1.4925647567519332e-05,
                             1.6462045441468418e-06, -1.6364642158167616e-07,
                             1.4792401209404813e-08, -1.216456005728345e-09,
                             8.7090451290531062e-11, -4.2309458242953377e-12);
    const V limit = mcc_splat<V>(6.0);
    const V a = mcc_abs(x);
    const V t = a > limit ? limit : a;
    const V u = (t - E(2)) / (t + E(2));
    const V g = mcc_poly(u, 0.25539567631050575, -0.42718584741395838, 0.24165819424246635,
                         -0.078978581015733074, 0.0037328924043446379, 0.0069974617392893814,
                         -0.00084714325198074819, -0.00098197703003883316, 4.3555636320891465e-05,
                         0.00017436123013354343, 2.7524856545609582e-05, -2.7580408687691935e-05,
                         -1.3961414937945803e-05, 1.3933407403615878e-06, 3.7490955844258394e-06,
                         1.1957999044815744e-06, -4.1088608938658673e-07, -5.1606182873000173e-07,
                         -1.366952594480825e-07, 9.9740436927183915e-08, 5.2612815070104715e-08);
    large = E(1) - mcc_exp_narrow(-t * t) * g;
    is_small = a < mcc_splat<V>(1.0);
  } else {
    small = x + x * mcc_poly(z, 0.128379167, -0.376126335, 0.112836915, -0.0268591515,
                             0.00520036859, -0.000813470933, 8.33471862e-05);
    const V limit = mcc_splat<V>(4.0F);
    const V a = mcc_abs(x);
    const V t = a > limit ? limit : a;
    const V q = mcc_poly(t, -0.128909759, -0.634125244, -0.107886721, 0.0251620284,
                         -0.00431320368, 0.000501114956, -3.46889652e-05, 1.0625166e-06);
    large = E(1) - mcc_exp_narrow(t * q - t);
    is_small = a < mcc_splat<V>(0.93F);
  }
  const V result = is_small ? small : mcc_copysign(large, x);
  return x != x ? x : result;
}

// ---- Activations
// x, but not below a bound under which the functions are zero anyway: keeps 0 * infinity away.
template <class V> MCC_INLINE V mcc_at_least(V x, float f32_bound, double f64_bound) {
  const V bound = mcc_splat<V>(mcc_is_double<V> ? mcc_element<V>(f64_bound)
                                                : mcc_element<V>(f32_bound));
  return x < bound ? bound : x;  // NaN passes
}
template <class V> MCC_INLINE V mcc_gelu(V x) {
  typedef mcc_element<V> E;
  x = mcc_at_least(x, -40, -40);
  return E(0.5F) * x * (E(1) + mcc_erf(x * E(0.70710678118654752)));
}
template <class V> MCC_INLINE V mcc_gelu_tanh(V x) {
  typedef mcc_element<V> E;
  x = mcc_at_least(x, -40, -40);
  // 0.5 x (1 + tanh(y)) = x sigmoid(2y)
  const V y = x * (E(1) + E(0.044715) * x * x) * E(1.5957691216057308);
  return x * mcc_sigmoid(y);
}
template <class V> MCC_INLINE V mcc_silu(V x) {
  x = mcc_at_least(x, -120, -800);
  return x * mcc_sigmoid(x);
}
template <class V> MCC_INLINE V mcc_softplus(V x) {
  return mcc_log1p(mcc_exp(-mcc_abs(x))) + mcc_relu(x);
}
// x tanh(log(1 + e^x)) = x n / (n + 2) with n = (1 + e^x)^2 - 1
template <class V> MCC_INLINE V mcc_mish(V x) {
  typedef mcc_element<V> E;
  x = mcc_at_least(x, -120, -800);
  const V limit = mcc_splat<V>(E(40));
  const V e = mcc_exp(x > limit ? limit : x);
  const V n = e * (e + E(2));
  return x * (n / (n + E(2)));
}
