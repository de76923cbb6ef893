// Integer arithmetic: PTX ISA 9.7.1 (integer) and 9.7.2 (extended precision).
// Division by zero gives all ones, quotient and remainder, as ptxas folds it and the hardware's
// division routines do; PTX leaves both unspecified.
#include "runtime/sim/exec/lanes.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

struct Add { template <class T> static T f(T a, T b) { return static_cast<T>(a + b); } };
struct Sub { template <class T> static T f(T a, T b) { return static_cast<T>(a - b); } };
struct MulLo {
  template <class T> static T f(T a, T b) {
    if constexpr (sizeof(T) == 2) return static_cast<T>(static_cast<u32>(a) * static_cast<u32>(b));
    else return static_cast<T>(a * b);
  }
};
template <class T> struct Wider;
template <> struct Wider<u16> { using type = u32; };
template <> struct Wider<i16> { using type = i32; };
template <> struct Wider<u32> { using type = u64; };
template <> struct Wider<i32> { using type = i64; };
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;
template <> struct Wider<u64> { using type = u128; };
template <> struct Wider<i64> { using type = i128; };
template <class T> using Wide = typename Wider<T>::type;

struct MulHi {
  template <class T> static T f(T a, T b) {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
  }
};
struct Min { template <class T> static T f(T a, T b) { return a < b ? a : b; } };
struct Max { template <class T> static T f(T a, T b) { return a > b ? a : b; } };
struct Div {
  template <class T> static T f(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - a);
    }
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T> static T f(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};
struct AddSat {
  template <class T> static T f(T a, T b) {
    const i64 sum = static_cast<i64>(a) + b;
    return static_cast<T>(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
  }
};
struct SubSat {
  template <class T> static T f(T a, T b) {
    const i64 sum = static_cast<i64>(a) - b;
    return static_cast<T>(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
  }
};
// 24-bit operands: their upper eight bits are ignored.
template <class T> T low24(T a) {
  return std::is_signed_v<T> ? static_cast<T>(static_cast<i32>(static_cast<u32>(a) << 8) >> 8)
                             : static_cast<T>(static_cast<u32>(a) & 0xffffffu);
}
struct Mul24Lo { template <class T> static T f(T a, T b) { return static_cast<T>(low24(a) * low24(b)); } };
struct Mul24Hi {
  template <class T> static T f(T a, T b) {
    return static_cast<T>((static_cast<Wide<T>>(low24(a)) * static_cast<Wide<T>>(low24(b))) >> 16);
  }
};

template <class O, class T> void binary(Warp& w, const Inst& in) {
  map2<T, T, T>(w, in, [](T a, T b) { return O::template f<T>(a, b); });
}
template <class O, class T> void multiply_add(Warp& w, const Inst& in) {
  map3<T, T, T, T>(w, in, [](T a, T b, T c) { return static_cast<T>(O::template f<T>(a, b) + c); });
}
template <class O, class T>
void multiply_add_saturated(Warp& w, const Inst& in) {
  map3<T, T, T, T>(w, in, [](T a, T b, T c) { return AddSat::f<T>(O::template f<T>(a, b), c); });
}
template <class T> void multiply_wide(Warp& w, const Inst& in) {
  using W = Wide<T>;
  map2<W, T, T>(w, in, [](T a, T b) { return static_cast<W>(static_cast<W>(a) * static_cast<W>(b)); });
}
template <class T> void multiply_add_wide(Warp& w, const Inst& in) {
  using W = Wide<T>;
  map3<W, T, T, W>(w, in, [](T a, T b, W c) {
    return static_cast<W>(static_cast<W>(a) * static_cast<W>(b) + c);
  });
}
template <class T> void absolute(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) { return static_cast<T>(a < 0 ? 0 - a : a); });
}
template <class T> void negate(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) { return static_cast<T>(0 - a); });
}
template <class T> void sum_of_differences(Warp& w, const Inst& in) {
  map3<T, T, T, T>(w, in, [](T a, T b, T c) { return static_cast<T>(c + (a < b ? b - a : a - b)); });
}
// min.relu, max.relu: negative results become zero.
template <class O>
struct Relu {
  template <class T>
  static T f(T a, T b) {
    const T r = O::template f<T>(a, b);
    return r < 0 ? T{0} : r;
  }
};
template <class O, class T> void ternary_extreme(Warp& w, const Inst& in) {
  map3<T, T, T, T>(w, in, [](T a, T b, T c) { return O::template f<T>(O::template f<T>(a, b), c); });
}

// Pairs of 16-bit integers in one register (add.u16x2, min.s16x2): flags hold nothing.
template <class O, class T> void pair(Warp& w, const Inst& in) {
  map2<u32, u32, u32>(w, in, [](u32 a, u32 b) {
    const auto low = static_cast<u16>(O::template f<T>(static_cast<T>(a), static_cast<T>(b)));
    const auto high = static_cast<u16>(O::template f<T>(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return static_cast<u32>(low) | static_cast<u32>(high) << 16;
  });
}

// Extended precision: the carry is one bit per lane. Subtraction's carry is the borrow.
template <class T, bool Subtract, bool In, bool Out> void add_carry(Warp& w, const Inst& in) {
  const Storage<T>* a = lanes<T>(w, in.a);
  const Storage<T>* b = lanes<T>(w, in.b);
  const u32 carry = w.carry;
  const u32 out = collect([=](int i) {
    const T x = unpack<T>(a[i]), y = unpack<T>(b[i]);
    const T c = In ? (carry >> i) & 1u : 0u;
    if (Subtract) return x < y || (x == y && c != 0);
    const T sum = x + y;
    return sum < x || static_cast<T>(sum + c) < sum;
  });
  fill<T>(w, in.dst, [=](int i) {
    const T c = In ? (carry >> i) & 1u : 0u;
    return static_cast<T>(Subtract ? unpack<T>(a[i]) - unpack<T>(b[i]) - c : unpack<T>(a[i]) + unpack<T>(b[i]) + c);
  });
  if (Out) w.carry = (w.carry & ~w.mask) | (out & w.mask);
}
template <class T, bool High, bool In, bool Out> void multiply_add_carry(Warp& w, const Inst& in) {
  const Storage<T>* a = lanes<T>(w, in.a);
  const Storage<T>* b = lanes<T>(w, in.b);
  const Storage<T>* c = lanes<T>(w, in.c);
  using U = std::make_unsigned_t<T>;
  const u32 carry = w.carry;
  alignas(64) Storage<T> product[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const T x = unpack<T>(a[i]), y = unpack<T>(b[i]);
    product[i] = pack<T>(High ? MulHi::f<T>(x, y) : MulLo::f<T>(x, y));
  }
  const u32 out = collect([&](int i) {
    const U x = static_cast<U>(product[i]), y = static_cast<U>(c[i]);
    const U sum = x + y;
    return sum < x || static_cast<U>(sum + (In ? (carry >> i) & 1u : 0u)) < sum;
  });
  fill<T>(w, in.dst, [&](int i) {
    return static_cast<T>(static_cast<U>(product[i]) + static_cast<U>(c[i]) + (In ? (carry >> i) & 1u : 0u));
  });
  if (Out) w.carry = (w.carry & ~w.mask) | (out & w.mask);
}

template <class A, class B> void dot4(Warp& w, const Inst& in) {
  map3<u32, u32, u32, u32>(w, in, [](u32 a, u32 b, u32 c) {
    for (int k = 0; k < 4; ++k) {
      c += static_cast<u32>(static_cast<i32>(static_cast<A>(a >> (8 * k))) * static_cast<i32>(static_cast<B>(b >> (8 * k))));
    }
    return c;
  });
}
// in.flags: 1 takes the upper half of b
template <class A, class B> void dot2(Warp& w, const Inst& in) {
  const int shift = in.flags != 0 ? 16 : 0;
  map3<u32, u32, u32, u32>(w, in, [=](u32 a, u32 b, u32 c) {
    for (int k = 0; k < 2; ++k) {
      c += static_cast<u32>(static_cast<i32>(static_cast<A>(a >> (16 * k))) *
                            static_cast<i32>(static_cast<B>(b >> (shift + 8 * k))));
    }
    return c;
  });
}

// A table over the six integer types; narrow() leaves out 64 bits, small() keeps 32 bits only.
#define MCC_SIM_ALL_INTEGERS(HANDLER, ...)                       \
  switch (form.type) {                                           \
    case Type::u16: case Type::b16: return HANDLER(u16);         \
    case Type::s16: return HANDLER(i16);                         \
    case Type::u32: case Type::b32: return HANDLER(u32);         \
    case Type::s32: return HANDLER(i32);                         \
    case Type::u64: case Type::b64: return HANDLER(u64);         \
    case Type::s64: return HANDLER(i64);                         \
    default: return nullptr;                                     \
  }

template <class O> Handler any_integer(const Form& form) {
#define HANDLER(T) (&binary<O, T>)
  MCC_SIM_ALL_INTEGERS(HANDLER)
#undef HANDLER
}
template <class O> Handler any_multiply_add(const Form& form) {
#define HANDLER(T) (&multiply_add<O, T>)
  MCC_SIM_ALL_INTEGERS(HANDLER)
#undef HANDLER
}
template <class O> Handler only_32(const Form& form) {
  return form.type == Type::u32 ? &binary<O, u32> : form.type == Type::s32 ? &binary<O, i32> : nullptr;
}

Handler select_extreme(const Form& form) {
  const bool minimum = form.op == Op::min;
  if (form.relu) {
    if (form.mode == "s16x2") return minimum ? &pair<Relu<Min>, i16> : &pair<Relu<Max>, i16>;
    if (form.type != Type::s32 || form.three) return nullptr;
    return minimum ? &binary<Relu<Min>, i32> : &binary<Relu<Max>, i32>;
  }
  if (form.mode == "u16x2") return minimum ? &pair<Min, u16> : &pair<Max, u16>;
  if (form.mode == "s16x2") return minimum ? &pair<Min, i16> : &pair<Max, i16>;
  if (form.three) {
    if (form.type == Type::u32) return minimum ? &ternary_extreme<Min, u32> : &ternary_extreme<Max, u32>;
    if (form.type == Type::s32) return minimum ? &ternary_extreme<Min, i32> : &ternary_extreme<Max, i32>;
    return nullptr;
  }
  return minimum ? any_integer<Min>(form) : any_integer<Max>(form);
}

Handler select_multiply(const Form& form) {
  if (form.part == Part::hi) return any_integer<MulHi>(form);
  if (form.part == Part::lo) return any_integer<MulLo>(form);
  if (form.part != Part::wide) return nullptr;
  switch (form.type) {
    case Type::u16: return &multiply_wide<u16>;
    case Type::s16: return &multiply_wide<i16>;
    case Type::u32: return &multiply_wide<u32>;
    case Type::s32: return &multiply_wide<i32>;
    default: return nullptr;
  }
}

Handler select_multiply_add(const Form& form) {
  if (form.saturate) {
    return form.type == Type::s32 && form.part == Part::hi ? &multiply_add_saturated<MulHi, i32>
                                                           : nullptr;
  }
  if (form.part == Part::hi) return any_multiply_add<MulHi>(form);
  if (form.part == Part::lo) return any_multiply_add<MulLo>(form);
  if (form.part != Part::wide) return nullptr;
  switch (form.type) {
    case Type::u16: return &multiply_add_wide<u16>;
    case Type::s16: return &multiply_add_wide<i16>;
    case Type::u32: return &multiply_add_wide<u32>;
    case Type::s32: return &multiply_add_wide<i32>;
    default: return nullptr;
  }
}

template <bool Subtract, bool In> Handler select_carry(const Form& form) {
  const bool wide = size_of(form.type) == 8;
  if (!wide && size_of(form.type) != 4) return nullptr;
  if (form.carry_out) return wide ? &add_carry<u64, Subtract, In, true> : &add_carry<u32, Subtract, In, true>;
  return wide ? &add_carry<u64, Subtract, In, false> : &add_carry<u32, Subtract, In, false>;
}

template <class T, bool In> Handler carry_multiply(const Form& form) {
  if (form.part == Part::hi) {
    return form.carry_out ? &multiply_add_carry<T, true, In, true> : &multiply_add_carry<T, true, In, false>;
  }
  if (form.part != Part::lo) return nullptr;
  return form.carry_out ? &multiply_add_carry<T, false, In, true> : &multiply_add_carry<T, false, In, false>;
}
template <bool In> Handler select_carry_multiply(const Form& form) {
  switch (form.type) {
    case Type::u32: case Type::b32: return carry_multiply<u32, In>(form);
    case Type::s32: return carry_multiply<i32, In>(form);
    case Type::u64: case Type::b64: return carry_multiply<u64, In>(form);
    case Type::s64: return carry_multiply<i64, In>(form);
    default: return nullptr;
  }
}

Handler select_dot(const Form& form) {
  const bool four = form.op == Op::dp4a;
  const bool sa = form.type == Type::s32, sb = form.type2 == Type::s32;
  if (four) return sa ? (sb ? &dot4<i8, i8> : &dot4<i8, u8>) : (sb ? &dot4<u8, i8> : &dot4<u8, u8>);
  return sa ? (sb ? &dot2<i16, i8> : &dot2<i16, u8>) : (sb ? &dot2<u16, i8> : &dot2<u16, u8>);
}

}  // namespace

Handler select_integer(const Form& form) {
  const bool packed = form.mode == "u16x2" || form.mode == "s16x2";
  switch (form.op) {
    case Op::add:
      if (packed) return &pair<Add, u16>;
      if (is_float(form.type)) return nullptr;
      if (form.saturate) return form.type == Type::s32 ? &binary<AddSat, i32> : nullptr;
      return form.carry_out ? select_carry<false, false>(form) : any_integer<Add>(form);
    case Op::sub:
      if (is_float(form.type)) return nullptr;
      if (form.saturate) return form.type == Type::s32 ? &binary<SubSat, i32> : nullptr;
      return form.carry_out ? select_carry<true, false>(form) : any_integer<Sub>(form);
    case Op::addc: return select_carry<false, true>(form);
    case Op::subc: return select_carry<true, true>(form);
    case Op::mad: return form.carry_out ? select_carry_multiply<false>(form) : select_multiply_add(form);
    case Op::madc: return select_carry_multiply<true>(form);
    case Op::mul: return select_multiply(form);
    case Op::mul24: return form.part == Part::hi ? only_32<Mul24Hi>(form) : only_32<Mul24Lo>(form);
    case Op::mad24:
      if (form.saturate)
        return form.type == Type::s32 && form.part == Part::hi
                   ? &multiply_add_saturated<Mul24Hi, i32>
                   : nullptr;
      if (form.type == Type::u32) return form.part == Part::hi ? &multiply_add<Mul24Hi, u32> : &multiply_add<Mul24Lo, u32>;
      if (form.type == Type::s32) return form.part == Part::hi ? &multiply_add<Mul24Hi, i32> : &multiply_add<Mul24Lo, i32>;
      return nullptr;
    case Op::div: return any_integer<Div>(form);
    case Op::rem: return any_integer<Rem>(form);
    case Op::min: case Op::max: return select_extreme(form);
    case Op::abs:
      return form.type == Type::s32 ? &absolute<i32> : form.type == Type::s64 ? &absolute<i64>
             : form.type == Type::s16 ? &absolute<i16> : nullptr;
    case Op::neg:
      return form.type == Type::s32 ? &negate<i32> : form.type == Type::s64 ? &negate<i64>
             : form.type == Type::s16 ? &negate<i16> : nullptr;
    case Op::sad:
#define HANDLER(T) (&sum_of_differences<T>)
      MCC_SIM_ALL_INTEGERS(HANDLER)
#undef HANDLER
    case Op::dp4a: case Op::dp2a: return select_dot(form);
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
