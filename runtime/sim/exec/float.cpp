// Single and double precision, rounding to nearest even: PTX ISA 9.7.3. Directed rounding is in
// rounded.cpp, approximations are in approximate.cpp.
#include "runtime/sim/exec/float_ops.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

template <class O, class T, bool Sat>
void binary(Warp& w, const Inst& in) {
  map2<T, T, T>(w, in, [](T a, T b) { return finish<T, false, Sat>(O::template f<T>(a, b)); });
}
template <class T, bool Sat>
void multiply_add(Warp& w, const Inst& in) {
  map3<T, T, T, T>(w, in, [](T a, T b, T c) { return finish<T, false, Sat>(fused(a, b, c)); });
}
template <class T>
void square_root(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) { return finish<T, false, false>(root(a)); });
}
template <class T>
void reciprocal(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) { return finish<T, false, false>(T{1} / a); });
}
template <class T, bool Ftz> void absolute(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) { return taken<Ftz>(from_bits<T>(bits_of(a) & ~kSignBit<T>)); });
}
template <class T, bool Ftz> void negate(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) { return taken<Ftz>(from_bits<T>(bits_of(a) ^ kSignBit<T>)); });
}
template <class T> void copy_sign(Warp& w, const Inst& in) {
  map2<T, T, T>(w, in, [](T a, T b) {
    return from_bits<T>((bits_of(a) & kSignBit<T>) | (bits_of(b) & ~kSignBit<T>));
  });
}

// Nan: a NaN operand wins. Xor: .xorsign.abs, the sign is the xor of the operands' signs.
template <class T, bool Max, bool Ftz, bool Nan, bool Xor> MCC_SIM_INLINE T extreme(T a, T b) {
  a = taken<Ftz>(a);
  b = taken<Ftz>(b);
  const Storage<T> sign = (bits_of(a) ^ bits_of(b)) & kSignBit<T>;
  if (Xor) {
    a = from_bits<T>(bits_of(a) & ~kSignBit<T>);
    b = from_bits<T>(bits_of(b) & ~kSignBit<T>);
  }
  T r = Max ? maximum(a, b) : minimum(a, b);
  if (Nan) r = a == a && b == b ? r : canonical(from_bits<T>(~Storage<T>{0} >> 1));
  if (Xor) r = r == r ? from_bits<T>(bits_of(r) | sign) : r;
  return r;
}
template <class T, bool Max, bool Ftz, bool Nan, bool Xor> void extremes(Warp& w, const Inst& in) {
  map2<T, T, T>(w, in, [](T a, T b) { return extreme<T, Max, Ftz, Nan, Xor>(a, b); });
}
template <bool Max, bool Ftz, bool Nan> void extremes3(Warp& w, const Inst& in) {
  map3<float, float, float, float>(w, in, [](float a, float b, float c) {
    return extreme<float, Max, Ftz, Nan, false>(extreme<float, Max, Ftz, Nan, false>(a, b), c);
  });
}

enum class Test { finite, infinite, number, nan, normal, subnormal };
template <class T, Test Kind> void test_property(Warp& w, const Inst& in) {
  const Storage<T>* a = lanes<T>(w, in.a);
  constexpr int mantissa = sizeof(T) == 8 ? 52 : 23;
  constexpr Storage<T> infinity = (sizeof(T) == 8 ? Storage<T>{0x7ff} : Storage<T>{0xff}) << mantissa;
  const u32 bits = collect([=](int i) {
    const Storage<T> x = a[i] & ~kSignBit<T>;
    switch (Kind) {
      case Test::finite: return x < infinity;
      case Test::infinite: return x == infinity;
      case Test::number: return x <= infinity;
      case Test::nan: return x > infinity;
      case Test::normal: return x < infinity && x >= (Storage<T>{1} << mantissa);
      default: return x != 0 && x < (Storage<T>{1} << mantissa);
    }
  });
  set_predicate(w, in.pdst, bits);
}

// Two singles in a 64-bit register.
template <class F> MCC_SIM_INLINE u64 both(F f) {
  return static_cast<u64>(bits_of<float>(f(0))) | static_cast<u64>(bits_of<float>(f(32))) << 32;
}
template <class O>
void pair(Warp& w, const Inst& in) {
  map2<u64, u64, u64>(w, in, [](u64 a, u64 b) {
    return both([=](int s) {
      const auto x = from_bits<float>(static_cast<u32>(a >> s)), y = from_bits<float>(static_cast<u32>(b >> s));
      return canonical(O::template f<float>(x, y));
    });
  });
}
void pair_fma(Warp& w, const Inst& in) {
  map3<u64, u64, u64, u64>(w, in, [](u64 a, u64 b, u64 c) {
    return both([=](int s) {
      const auto x = from_bits<float>(static_cast<u32>(a >> s)), y = from_bits<float>(static_cast<u32>(b >> s));
      return canonical(fused(x, y, from_bits<float>(static_cast<u32>(c >> s))));
    });
  });
}

// With .ftz they are in rounded.cpp.
template <class O> Handler pick_binary(const Form& form) {
  if (form.ftz) return nullptr;
  if (form.type == Type::f64) return form.saturate ? nullptr : &binary<O, double, false>;
  if (form.type == Type::f32x2) return form.saturate ? nullptr : &pair<O>;
  if (form.type != Type::f32) return nullptr;
  return form.saturate ? &binary<O, float, true> : &binary<O, float, false>;
}
Handler pick_fma(const Form& form) {
  if (form.ftz) return nullptr;
  if (form.type == Type::f64) return form.saturate ? nullptr : &multiply_add<double, false>;
  if (form.type == Type::f32x2) return form.saturate ? nullptr : &pair_fma;
  if (form.type != Type::f32) return nullptr;
  return form.saturate ? &multiply_add<float, true> : &multiply_add<float, false>;
}
template <class T, bool Max, bool Ftz> Handler pick_extreme(const Form& form) {
  if (form.nan) return form.xorsign ? &extremes<T, Max, Ftz, true, true> : &extremes<T, Max, Ftz, true, false>;
  return form.xorsign ? &extremes<T, Max, Ftz, false, true> : &extremes<T, Max, Ftz, false, false>;
}
template <bool Max> Handler pick_extremes(const Form& form) {
  if (form.type == Type::f64) return form.nan || form.xorsign ? nullptr : &extremes<double, Max, false, false, false>;
  if (form.type != Type::f32) return nullptr;
  if (form.three) {
    if (form.xorsign) return nullptr;
    if (form.nan) return form.ftz ? &extremes3<Max, true, true> : &extremes3<Max, false, true>;
    return form.ftz ? &extremes3<Max, true, false> : &extremes3<Max, false, false>;
  }
  return form.ftz ? pick_extreme<float, Max, true>(form) : pick_extreme<float, Max, false>(form);
}
template <class T> Handler pick_test(const Form& form) {
  if (form.mode == "finite") return &test_property<T, Test::finite>;
  if (form.mode == "infinite") return &test_property<T, Test::infinite>;
  if (form.mode == "number") return &test_property<T, Test::number>;
  if (form.mode == "notanumber") return &test_property<T, Test::nan>;
  if (form.mode == "normal") return &test_property<T, Test::normal>;
  return form.mode == "subnormal" ? &test_property<T, Test::subnormal> : nullptr;
}

}  // namespace

Handler select_float(const Form& form) {
  const bool single = form.type == Type::f32, twice = form.type == Type::f64;
  const bool packed = form.type == Type::f32x2;
  if (!single && !twice && !packed) return nullptr;
  const bool nearest = form.rounding == Rounding::none || form.rounding == Rounding::rn;
  switch (form.op) {
    case Op::add: return nearest ? pick_binary<FAdd>(form) : nullptr;
    case Op::sub: return nearest ? pick_binary<FSub>(form) : nullptr;
    case Op::mul: return nearest ? pick_binary<FMul>(form) : nullptr;
    case Op::fma: case Op::mad: return nearest ? pick_fma(form) : nullptr;
    // .full is allowed 2 ulp: the exact quotient is within the bound. .approx is in
    // approximate.cpp.
    case Op::div:
      if (packed || form.saturate || form.approx) return nullptr;
      return nearest ? pick_binary<FDiv>(form) : nullptr;
    case Op::sqrt:
      if (form.approx || packed || !nearest || form.ftz) return nullptr;
      return twice ? &square_root<double> : &square_root<float>;
    case Op::rcp:
      if (form.approx || packed || !nearest || form.ftz) return nullptr;
      return twice ? &reciprocal<double> : &reciprocal<float>;
    case Op::abs:
      if (packed) return nullptr;
      return twice ? &absolute<double, false> : form.ftz ? &absolute<float, true> : &absolute<float, false>;
    case Op::neg:
      if (packed) return nullptr;
      return twice ? &negate<double, false> : form.ftz ? &negate<float, true> : &negate<float, false>;
    case Op::copysign: return packed ? nullptr : twice ? &copy_sign<double> : &copy_sign<float>;
    case Op::min: return pick_extremes<false>(form);
    case Op::max: return pick_extremes<true>(form);
    case Op::testp: return packed ? nullptr : twice ? pick_test<double>(form) : pick_test<float>(form);
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
