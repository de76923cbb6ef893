// cvt: PTX ISA 9.7.9. Integer to integer truncates or saturates; float to integer rounds and clamps
// (NaN becomes 0, or only the top bit where 64 bits are involved); everything to a narrow float
// goes through one exact rounding.
#include <immintrin.h>

#include "runtime/sim/exec/half_ops.h"
#include "runtime/sim/exec/small_float.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

template <class T> constexpr T kLowest = std::is_signed_v<T> ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
template <class T> constexpr T kHighest = static_cast<T>(~kLowest<T>);

template <class D, class S> MCC_SIM_INLINE D clamp_integer(S x) {
  if constexpr (std::is_signed_v<S> && !std::is_signed_v<D>) {
    if (x < 0) return 0;
    const auto u = static_cast<std::make_unsigned_t<S>>(x);
    return sizeof(S) > sizeof(D) && u > kHighest<D> ? kHighest<D> : static_cast<D>(u);
  } else if constexpr (!std::is_signed_v<S>) {
    return static_cast<u64>(x) > static_cast<u64>(kHighest<D>) ? kHighest<D> : static_cast<D>(x);
  } else {
    const i64 v = x;
    return v < static_cast<i64>(kLowest<D>) ? kLowest<D> : v > static_cast<i64>(kHighest<D>) ? kHighest<D> : static_cast<D>(v);
  }
}

// R: the destination register's element, wide enough to sign-extend into.
template <class R, class D, class S, bool Sat> void integer(Warp& w, const Inst& in) {
  map1<R, S>(w, in, [](S x) { return static_cast<R>(Sat ? clamp_integer<D, S>(x) : static_cast<D>(x)); });
}

template <class F> MCC_SIM_INLINE F integral(F x, Rounding mode) {
  if constexpr (sizeof(F) == 4) {
    switch (mode) {
      case Rounding::rz: return __builtin_truncf(x);
      case Rounding::rm: return __builtin_floorf(x);
      case Rounding::rp: return __builtin_ceilf(x);
      default: return __builtin_rintf(x);
    }
  } else {
    switch (mode) {
      case Rounding::rz: return __builtin_trunc(x);
      case Rounding::rm: return __builtin_floor(x);
      case Rounding::rp: return __builtin_ceil(x);
      default: return __builtin_rint(x);
    }
  }
}
template <class D, class F> MCC_SIM_INLINE D clamp_float(F x) {
  constexpr F low = static_cast<F>(kLowest<D>);
  // 2^bits, one above the highest value, is exact in every format.
  constexpr F end = static_cast<F>(u64{1} << (8 * sizeof(D) - 1)) * (std::is_signed_v<D> ? F{1} : F{2});
  constexpr bool wide = sizeof(D) == 8 || sizeof(F) == 8;
  if (!(x > low))
    return x == x ? kLowest<D> : wide ? static_cast<D>(D{1} << (8 * sizeof(D) - 1)) : D{0};
  return x >= end ? kHighest<D> : static_cast<D>(x);
}
template <class R, class D, class F, Rounding Mode, bool Ftz> void float_to_integer(Warp& w, const Inst& in) {
  map1<R, F>(w, in, [](F x) { return static_cast<R>(clamp_float<D, F>(integral<F>(taken<Ftz>(x), Mode))); });
}
template <class F, class S> void integer_to_float(Warp& w, const Inst& in) {
  map1<F, S>(w, in, [](S x) { return static_cast<F>(x); });
}
// Rounding in in.flags; the conversion runs with the host's rounding mode changed.
template <class F, class S> __attribute__((noinline)) void convert_lanes(F* to, const Storage<S>* from) {
  for (int i = 0; i < kLanes; ++i) to[i] = static_cast<F>(unpack<S>(from[i]));
}
template <class F, class S> void rounded_to_float(Warp& w, const Inst& in) {
  alignas(64) F t[kLanes];
  const u32 saved = _mm_getcsr();
  const auto mode = static_cast<Rounding>(in.flags);
  // With .ftz results are flushed as in rounded.cpp.
  const u32 flushing = (in.flags2 & 2u) != 0 ? 0x8040u : 0u;
  _mm_setcsr((saved & ~0x6000u) |
             (mode == Rounding::rm   ? 1u
              : mode == Rounding::rp ? 2u
              : mode == Rounding::rz ? 3u
                                     : 0u)
                 << 13 |
             flushing);
  asm volatile("" ::: "memory");
  convert_lanes<F, S>(t, lanes<S>(w, in.a));
  asm volatile("" ::: "memory");
  _mm_setcsr(saved);
  const bool sat = (in.flags2 & 1u) != 0;
  fill<F>(w, in.dst, [&](int i) { return sat ? saturated(t[i]) : canonical(t[i]); });
}
template <class F, Rounding Mode, bool Integral, bool Ftz, bool Sat> void same_float(Warp& w, const Inst& in) {
  map1<F, F>(w, in, [](F x) {
    x = taken<Ftz>(x);
    if (Integral) x = integral<F>(x, Mode);
    return Sat ? saturated(x) : Integral ? canonical(x) : x;
  });
}
template <bool Ftz, bool Sat> void single_to_double(Warp& w, const Inst& in) {
  map1<double, float>(w, in, [](float x) {
    const auto d = static_cast<double>(taken<Ftz>(x));
    return Sat ? saturated(d) : d;
  });
}
template <bool Sat>
void double_to_single(Warp& w, const Inst& in) {
  map1<float, double>(w, in,
                      [](double x) { return finish<float, false, Sat>(static_cast<float>(x)); });
}
template <bool Brain> void half_to_single(Warp& w, const Inst& in) {
  const bool sat = (in.flags2 & 1u) != 0, ftz = (in.flags2 & 2u) != 0;
  map1<float, u16>(w, in, [=](u16 h) {
    const float x = widen<Brain>(h);
    return sat ? saturated(x) : canonical(ftz ? flush(x) : x);
  });
}
template <bool Brain> void single_to_half(Warp& w, const Inst& in) {
  map1<u16, float>(w, in, [](float x) { return narrow<Brain>(x); });
}

// Any source to a narrow float, one lane at a time. in.imm: bits 0-7 the source, 8-15 the
// destination (Type); in.flags: Rounding; in.flags2: 1 sat, 2 relu, 4 satfinite, 8 ftz, 16 integral.
double any_source(Type type, const u8* from, int lane) {
  const u32 word = reinterpret_cast<const u32*>(from)[lane];
  const u64 wide = size_of(type) == 8 ? reinterpret_cast<const u64*>(from)[lane] : 0;
  switch (type) {
    case Type::u8: return static_cast<u8>(word);
    case Type::s8: return static_cast<i8>(word);
    case Type::u16: return static_cast<u16>(word);
    case Type::s16: return static_cast<i16>(word);
    case Type::u32: return word;
    case Type::s32: return static_cast<i32>(word);
    case Type::f16: return static_cast<double>(f16_to_float(static_cast<u16>(word)));
    case Type::bf16: return static_cast<double>(bf16_to_float(static_cast<u16>(word)));
    case Type::f32: return static_cast<double>(__builtin_bit_cast(float, word));
    case Type::f64: return __builtin_bit_cast(double, wide);
    // 64-bit integers: keep 53 bits and make the last one sticky, so that the second rounding is exact.
    case Type::u64: case Type::s64: {
      const bool minus = type == Type::s64 && static_cast<i64>(wide) < 0;
      u64 x = minus ? 0 - wide : wide;
      if (x >> 53 != 0) x = (x & ~u64{0x7ff}) | ((x & 0x7ff) != 0 ? 0x800 : 0);
      return minus ? -static_cast<double>(x) : static_cast<double>(x);
    }
    default: return 0;
  }
}
u32 to_narrow(Type type, double x, Rounding mode, u32 flags) {
  // Only single-precision sources are flushed, and only they can be so small.
  if ((flags & 8u) != 0 && x < 0x1p-126 && x > -0x1p-126)
    x = x < 0 || __builtin_signbit(x) ? -0.0 : 0.0;
  if ((flags & 1u) != 0) x = saturated(x);
  if ((flags & 2u) != 0 && x < 0) x = 0;
  if ((flags & 16u) != 0) {
    x = integral<double>(x, mode);
    mode = Rounding::rn;
  }
  if (type == Type::f32) return __builtin_bit_cast(u32, canonical(static_cast<float>(x)));
  const u32 r = round_to_small(format_of(type), x, mode, (flags & 4u) != 0);
  return r;
}
void to_small(Warp& w, const Inst& in) {
  const auto from = static_cast<Type>(in.imm & 0xff), to = static_cast<Type>((in.imm >> 8) & 0xff);
  const u8* a = source(w, in.a);
  alignas(64) u32 t[kLanes];
  for (int i = 0; i < kLanes; ++i) t[i] = to_narrow(to, any_source(from, a, i), static_cast<Rounding>(in.flags), in.flags2);
  fill<u32>(w, in.dst, [&](int i) { return t[i]; });
}
// Half to integer or double, and 8-bit pairs to f16x2: exact values, any rounding to an integer.
template <class R, class D, bool Brain> void half_to_integer(Warp& w, const Inst& in) {
  const auto mode = static_cast<Rounding>(in.flags);
  map1<R, u16>(w, in, [=](u16 h) { return static_cast<R>(clamp_float<D, float>(integral<float>(widen<Brain>(h), mode))); });
}
template <bool Brain> void half_to_double(Warp& w, const Inst& in) {
  const bool sat = (in.flags2 & 1u) != 0;
  map1<double, u16>(w, in, [=](u16 h) {
    const auto x = static_cast<double>(widen<Brain>(h));
    return sat ? saturated(x) : x;
  });
}
// cvt of pairs: d = {a in the upper half, b in the lower}. in.imm as above.
void pair_to_small(Warp& w, const Inst& in) {
  const auto from = static_cast<Type>(in.imm & 0xff), to = static_cast<Type>((in.imm >> 8) & 0xff);
  const int shift = to == Type::e4m3 || to == Type::e5m2 ? 8 : 16;
  const u8* a = source(w, in.a);
  const u8* b = source(w, in.b);
  alignas(64) u32 t[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    t[i] = to_narrow(to, any_source(from, b, i), static_cast<Rounding>(in.flags), in.flags2) |
           to_narrow(to, any_source(from, a, i), static_cast<Rounding>(in.flags), in.flags2) << shift;
  }
  fill<u32>(w, in.dst, [&](int i) { return t[i]; });
}
template <bool Brain> void singles_to_pair(Warp& w, const Inst& in) {
  map2<u32, float, float>(w, in, [](float a, float b) {
    return static_cast<u32>(narrow<Brain>(b)) | static_cast<u32>(narrow<Brain>(a)) << 16;
  });
}
// One packed register to another: f16x2 to e4m3x2 and back.
void packed_to_packed(Warp& w, const Inst& in) {
  const auto from = static_cast<Type>(in.imm & 0xff), to = static_cast<Type>((in.imm >> 8) & 0xff);
  const bool narrowing = to == Type::e4m3 || to == Type::e5m2;
  const u32* a = lanes<u32>(w, in.a);
  alignas(64) u32 t[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    u32 r = 0;
    for (int k = 0; k < 2; ++k) {
      const u32 part = (a[i] >> (narrowing ? 16 * k : 8 * k)) & (narrowing ? 0xffffu : 0xffu);
      r |= to_narrow(to, small_to_double(format_of(from), part), static_cast<Rounding>(in.flags), in.flags2)
           << (narrowing ? 8 * k : 16 * k);
    }
    t[i] = r;
  }
  fill<u32>(w, in.dst, [&](int i) { return t[i]; });
}
// cvt.pack.sat: d = c shifted up, with a and b clamped to narrow integers below. in.flags: 0 u8,
// 1 s8, 2 u16, 3 s16; sources are s32.
void pack_integers(Warp& w, const Inst& in) {
  const int kind = in.flags;
  map3<u32, i32, i32, u32>(w, in, [=](i32 a, i32 b, u32 c) {
    switch (kind) {
      case 0: return c << 16 | static_cast<u32>(clamp_integer<u8, i32>(a)) << 8 | clamp_integer<u8, i32>(b);
      case 1: return c << 16 | static_cast<u32>(static_cast<u8>(clamp_integer<i8, i32>(a))) << 8 | static_cast<u8>(clamp_integer<i8, i32>(b));
      case 2: return static_cast<u32>(clamp_integer<u16, i32>(a)) << 16 | clamp_integer<u16, i32>(b);
      default: return static_cast<u32>(static_cast<u16>(clamp_integer<i16, i32>(a))) << 16 | static_cast<u16>(clamp_integer<i16, i32>(b));
    }
  });
}

// A register at least as wide as D that keeps D's sign.
template <class D> Handler pick_integer_source(const Form& form) {
  using Own = std::conditional_t<(sizeof(D) <= 2), D, D>;
  using Ext = std::conditional_t<std::is_signed_v<D>, i32, u32>;
  using Ext64 = std::conditional_t<std::is_signed_v<D>, i64, u64>;
#define ROW(TYPE, S)                                                                                        \
  case Type::TYPE:                                                                                          \
    if (form.dst_bytes > 4 && sizeof(D) <= 4) return form.saturate ? &integer<Ext64, D, S, true> : &integer<Ext64, D, S, false>; \
    if (form.dst_bytes == 4 && sizeof(D) < 4) return form.saturate ? &integer<Ext, D, S, true> : &integer<Ext, D, S, false>; \
    if (form.dst_bytes == 2 && sizeof(D) == 1) return form.saturate ? &integer<std::conditional_t<std::is_signed_v<D>, i16, u16>, D, S, true> : &integer<std::conditional_t<std::is_signed_v<D>, i16, u16>, D, S, false>; \
    return form.saturate ? &integer<Own, D, S, true> : &integer<Own, D, S, false>;
  switch (form.type2) {
    ROW(u8, u8) ROW(s8, i8) ROW(u16, u16) ROW(s16, i16) ROW(u32, u32) ROW(s32, i32) ROW(u64, u64) ROW(s64, i64)
    default: return nullptr;
  }
#undef ROW
}
template <class R, class D, class F, bool Ftz> Handler pick_rounding(const Form& form) {
  switch (form.rounding) {
    case Rounding::rn: return &float_to_integer<R, D, F, Rounding::rn, Ftz>;
    case Rounding::rz: return &float_to_integer<R, D, F, Rounding::rz, Ftz>;
    case Rounding::rm: return &float_to_integer<R, D, F, Rounding::rm, Ftz>;
    case Rounding::rp: return &float_to_integer<R, D, F, Rounding::rp, Ftz>;
    default: return nullptr;
  }
}
template <class D> Handler pick_float_source(const Form& form) {
  // Narrow results are sign-extended to the register.
  using R = std::conditional_t<(sizeof(D) >= 4), D, std::conditional_t<std::is_signed_v<D>, i32, u32>>;
  if (form.dst_bytes > 4 && sizeof(D) < 8) return nullptr;
  switch (form.type2) {
    case Type::f32: return form.ftz ? pick_rounding<R, D, float, true>(form) : pick_rounding<R, D, float, false>(form);
    case Type::f64: return pick_rounding<R, D, double, false>(form);
    case Type::f16: return &half_to_integer<R, D, false>;
    case Type::bf16: return &half_to_integer<R, D, true>;
    default: return nullptr;
  }
}
template <class D> Handler pick_integer(const Form& form) {
  return is_integer(form.type2) ? pick_integer_source<D>(form) : pick_float_source<D>(form);
}
template <class F> Handler pick_to_float(const Form& form) {
  const bool plain = (form.rounding == Rounding::rn || form.rounding == Rounding::none) && !form.saturate;
#define ROW(TYPE, S) \
  case Type::TYPE: return plain ? &integer_to_float<F, S> : &rounded_to_float<F, S>;
  switch (form.type2) {
    ROW(u8, u8) ROW(s8, i8) ROW(u16, u16) ROW(s16, i16) ROW(u32, u32) ROW(s32, i32) ROW(u64, u64) ROW(s64, i64)
    default: return nullptr;
  }
#undef ROW
}
template <class F, bool Ftz, bool Sat> Handler pick_same(const Form& form) {
  if (!form.to_integral) return &same_float<F, Rounding::rn, false, Ftz, Sat>;
  switch (form.rounding) {
    case Rounding::rn: return &same_float<F, Rounding::rn, true, Ftz, Sat>;
    case Rounding::rz: return &same_float<F, Rounding::rz, true, Ftz, Sat>;
    case Rounding::rm: return &same_float<F, Rounding::rm, true, Ftz, Sat>;
    case Rounding::rp: return &same_float<F, Rounding::rp, true, Ftz, Sat>;
    default: return nullptr;
  }
}
template <class F> Handler pick_same(const Form& form) {
  if (form.ftz) return form.saturate ? pick_same<F, true, true>(form) : pick_same<F, true, false>(form);
  return form.saturate ? pick_same<F, false, true>(form) : pick_same<F, false, false>(form);
}
bool is_pair(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::e4m3x2 || type == Type::e5m2x2;
}

Handler select_cvt(const Form& form) {
  const Type to = form.type, from = form.type2;
  switch (to) {
    case Type::u8: return pick_integer<u8>(form);
    case Type::s8: return pick_integer<i8>(form);
    case Type::u16: return pick_integer<u16>(form);
    case Type::s16: return pick_integer<i16>(form);
    case Type::u32: return pick_integer<u32>(form);
    case Type::s32: return pick_integer<i32>(form);
    case Type::u64: return pick_integer<u64>(form);
    case Type::s64: return pick_integer<i64>(form);
    default: break;
  }
  const bool nearest = form.rounding == Rounding::rn || form.rounding == Rounding::none;
  if (to == Type::f32) {
    if (is_integer(from)) return pick_to_float<float>(form);
    if (from == Type::f32) return pick_same<float>(form);
    if (from == Type::f16) return &half_to_single<false>;
    if (from == Type::bf16) return &half_to_single<true>;
    if (from != Type::f64 || form.to_integral) return nullptr;
    if (!nearest || form.ftz) return &rounded_to_float<float, double>;
    return form.saturate ? &double_to_single<true> : &double_to_single<false>;
  }
  if (to == Type::f64) {
    if (is_integer(from)) return pick_to_float<double>(form);
    if (from == Type::f64) return pick_same<double>(form);
    if (from == Type::f16) return &half_to_double<false>;
    if (from == Type::bf16) return &half_to_double<true>;
    if (from != Type::f32) return nullptr;
    if (form.ftz) return form.saturate ? &single_to_double<true, true> : &single_to_double<true, false>;
    return form.saturate ? &single_to_double<false, true> : &single_to_double<false, false>;
  }
  if (to == Type::f16 || to == Type::bf16 || to == Type::tf32) {
    const bool plain = nearest && !form.saturate && !form.relu && !form.satfinite && !form.ftz && from == Type::f32;
    if (plain && to == Type::f16) return &single_to_half<false>;
    if (plain && to == Type::bf16) return &single_to_half<true>;
    return is_pair(from) ? nullptr : &to_small;
  }
  if (is_pair(to) && is_pair(from)) return &packed_to_packed;
  return nullptr;
}

Handler select_pair(const Form& form) {
  const bool plain = form.rounding == Rounding::rn && !form.relu && !form.satfinite && !form.saturate && !form.ftz;
  if (form.type2 != Type::f32) return nullptr;
  if (plain && form.type == Type::f16x2) return &singles_to_pair<false>;
  if (plain && form.type == Type::bf16x2) return &singles_to_pair<true>;
  return is_pair(form.type) ? &pair_to_small : nullptr;
}

}  // namespace

Handler select_convert(const Form& form) {
  switch (form.op) {
    case Op::cvt: return select_cvt(form);
    case Op::cvt_pack2: return select_pair(form);
    case Op::cvt_pack_int: return &pack_integers;
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
