// Logic, shifts, bit fields and byte permutation: PTX ISA 9.7.1 (bit counting and fields), 9.7.8.
#include "runtime/sim/exec/lanes.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

struct And { template <class T> static T f(T a, T b) { return a & b; } };
struct Or { template <class T> static T f(T a, T b) { return a | b; } };
struct Xor { template <class T> static T f(T a, T b) { return a ^ b; } };

template <class O, class T> void binary(Warp& w, const Inst& in) {
  map2<T, T, T>(w, in, [](T a, T b) { return static_cast<T>(O::template f<T>(a, b)); });
}
template <class O> void predicates(Warp& w, const Inst& in) {
  set_predicate(w, in.pdst, O::template f<u32>(predicate(w, in.pa, (in.negate & 1) != 0), predicate(w, in.pb, (in.negate & 2) != 0)));
}
void predicate_not(Warp& w, const Inst& in) {
  set_predicate(w, in.pdst, ~predicate(w, in.pa, (in.negate & 1) != 0));
}
template <class T> void invert(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) { return static_cast<T>(~a); });
}
template <class T> void is_zero(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) { return static_cast<T>(a == 0 ? 1 : 0); });
}
// Shift amounts are 32-bit unsigned and clamp at the width.
template <class T> void shift_left(Warp& w, const Inst& in) {
  constexpr u32 bits = 8 * sizeof(T);
  map2<T, T, u32>(w, in, [](T a, u32 b) { return static_cast<T>(b >= bits ? T{0} : static_cast<T>(a << (b & (bits - 1)))); });
}
template <class T> void shift_right(Warp& w, const Inst& in) {
  constexpr u32 bits = 8 * sizeof(T);
  map2<T, T, u32>(w, in, [](T a, u32 b) {
    if (std::is_signed_v<T>) return static_cast<T>(a >> (b >= bits ? bits - 1 : b));
    return static_cast<T>(b >= bits ? T{0} : static_cast<T>(a >> (b & (bits - 1))));
  });
}
template <bool Left, bool Wrap> void funnel(Warp& w, const Inst& in) {
  map3<u32, u32, u32, u32>(w, in, [](u32 low, u32 high, u32 c) {
    const u32 n = Wrap ? c & 31u : (c > 32u ? 32u : c);
    const u64 both = static_cast<u64>(high) << 32 | low;
    return Left ? static_cast<u32>((both << n) >> 32) : static_cast<u32>(both >> n);
  });
}
template <class T> void count_bits(Warp& w, const Inst& in) {
  map1<u32, T>(w, in, [](T a) { return static_cast<u32>(sizeof(T) == 8 ? __builtin_popcountll(a) : __builtin_popcount(static_cast<u32>(a))); });
}
template <class T> void leading_zeros(Warp& w, const Inst& in) {
  map1<u32, T>(w, in, [](T a) {
    if (a == 0) return static_cast<u32>(8 * sizeof(T));
    return static_cast<u32>(sizeof(T) == 8 ? __builtin_clzll(a) : __builtin_clz(static_cast<u32>(a)));
  });
}
// in.flags: 1 = .shiftamt
template <class T> void find_bit(Warp& w, const Inst& in) {
  const bool amount = in.flags != 0;
  map1<u32, T>(w, in, [=](T a) {
    using U = std::make_unsigned_t<T>;
    U x = static_cast<U>(a);
    if (std::is_signed_v<T> && a < 0) x = static_cast<U>(~x);
    if (x == 0) return 0xffffffffu;
    const int top = sizeof(T) == 8 ? 63 - __builtin_clzll(x) : 31 - __builtin_clz(static_cast<u32>(x));
    return static_cast<u32>(amount ? static_cast<int>(8 * sizeof(T)) - 1 - top : top);
  });
}
template <class T> void reverse_bits(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) {
    u64 x = a;
    x = ((x >> 1) & 0x5555555555555555u) | ((x & 0x5555555555555555u) << 1);
    x = ((x >> 2) & 0x3333333333333333u) | ((x & 0x3333333333333333u) << 2);
    x = ((x >> 4) & 0x0f0f0f0f0f0f0f0fu) | ((x & 0x0f0f0f0f0f0f0f0fu) << 4);
    x = __builtin_bswap64(x);
    return static_cast<T>(sizeof(T) == 8 ? x : x >> 32);
  });
}
template <class T> void extract_field(Warp& w, const Inst& in) {
  map3<T, T, u32, u32>(w, in, [](T a, u32 b, u32 c) {
    constexpr u32 bits = 8 * sizeof(T);
    const u32 at = b & 0xffu, length = c & 0xffu;
    using U = std::make_unsigned_t<T>;
    const U x = static_cast<U>(a);
    const U field = at >= bits ? U{0} : static_cast<U>(x >> at);
    const u32 top = at + length > bits ? bits - 1 : at + length - 1;  // position of the sign bit in a
    const U mask = length >= bits ? ~U{0} : static_cast<U>((U{1} << length) - 1);
    if (!std::is_signed_v<T> || length == 0) return static_cast<T>(field & mask);
    const bool negative = ((x >> (top > bits - 1 ? bits - 1 : top)) & 1u) != 0;
    // Bits beyond the field, or beyond the value's end, repeat the sign.
    const u32 have = at >= bits ? 0 : (bits - at < length ? bits - at : length);
    const U keep = have >= bits ? ~U{0} : static_cast<U>((U{1} << have) - 1);
    return static_cast<T>((field & keep) | (negative ? static_cast<U>(~keep) : U{0}));
  });
}
// d = bits of a inserted into b at position c, length d: operands a, b, c and list[0].
template <class T> void insert_field(Warp& w, const Inst& in) {
  const u32* length = lanes<u32>(w, in.list[0]);
  const u32* position = lanes<u32>(w, in.c);
  const Storage<T>* a = lanes<T>(w, in.a);
  const Storage<T>* b = lanes<T>(w, in.b);
  fill<T>(w, in.dst, [=](int i) {
    constexpr u32 bits = 8 * sizeof(T);
    const u32 at = position[i] & 0xffu, n = length[i] & 0xffu;
    const T mask = n >= bits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << n) - 1);
    if (at >= bits) return static_cast<T>(b[i]);
    return static_cast<T>((b[i] & ~(mask << at)) | ((a[i] & mask) << at));
  });
}
// in.flags: 1 wraps instead of clamping
void bit_mask(Warp& w, const Inst& in) {
  const bool wrap = in.flags != 0;
  map2<u32, u32, u32>(w, in, [=](u32 a, u32 b) {
    const u32 at = wrap ? a & 31u : a, n = wrap ? b & 31u : (b > 32u ? 32u : b);
    if (at >= 32u) return 0u;
    const u32 mask = n >= 32u ? ~0u : (1u << n) - 1u;
    return mask << at;
  });
}
template <class T> void extend_sign(Warp& w, const Inst& in) {
  const bool wrap = in.flags != 0;
  map2<T, T, u32>(w, in, [=](T a, u32 b) {
    const u32 n = wrap ? b & 31u : b;
    if (n >= 32u) return a;
    if (n == 0) return T{0};
    return static_cast<T>(static_cast<T>(static_cast<u32>(a) << (32u - n)) >> (32u - n));
  });
}
void logic3(Warp& w, const Inst& in) {
  const auto table = static_cast<u32>(in.imm);
  map3<u32, u32, u32, u32>(w, in, [=](u32 a, u32 b, u32 c) {
    u32 r = 0;
    r |= (table & 1u) != 0 ? ~a & ~b & ~c : 0u;
    r |= (table & 2u) != 0 ? ~a & ~b & c : 0u;
    r |= (table & 4u) != 0 ? ~a & b & ~c : 0u;
    r |= (table & 8u) != 0 ? ~a & b & c : 0u;
    r |= (table & 16u) != 0 ? a & ~b & ~c : 0u;
    r |= (table & 32u) != 0 ? a & ~b & c : 0u;
    r |= (table & 64u) != 0 ? a & b & ~c : 0u;
    r |= (table & 128u) != 0 ? a & b & c : 0u;
    return r;
  });
}

u32 select_bytes(u32 a, u32 b, u32 selector) {
  const u64 bytes = static_cast<u64>(b) << 32 | a;
  u32 r = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 s = (selector >> (4 * i)) & 15u;
    u32 byte = static_cast<u32>(bytes >> (8 * (s & 7u))) & 0xffu;
    if ((s & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0u;
    r |= byte << (8 * i);
  }
  return r;
}
// in.imm: the mode's table of four selectors for each value of c's low bits, or -1 for the plain mode
void permute_bytes(Warp& w, const Inst& in) {
  map3<u32, u32, u32, u32>(w, in, [](u32 a, u32 b, u32 c) { return select_bytes(a, b, c); });
}
template <int Mode> void permute_mode(Warp& w, const Inst& in) {
  map3<u32, u32, u32, u32>(w, in, [](u32 a, u32 b, u32 c) {
    static constexpr u16 kTables[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
        {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
        {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
        {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
        {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
        {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
    };
    return select_bytes(a, b, kTables[Mode][c & 3u]);
  });
}

// The n-th set bit from a base: PTX ISA "fns".
void find_nth(Warp& w, const Inst& in) {
  map3<u32, u32, u32, i32>(w, in, [](u32 mask, u32 base, i32 offset) {
    if (offset == 0) return ((mask >> (base & 31u)) & 1u) != 0 ? base : 0xffffffffu;
    const int step = offset > 0 ? 1 : -1;
    int left = offset > 0 ? offset : -offset;
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
      if (((mask >> at) & 1u) != 0 && --left == 0) return static_cast<u32>(at);
    }
    return 0xffffffffu;
  });
}

template <class O> Handler any_width(const Form& form) {
  switch (form.type) {
    case Type::pred: return &predicates<O>;
    case Type::b16: return &binary<O, u16>;
    case Type::b32: return &binary<O, u32>;
    case Type::b64: return &binary<O, u64>;
    default: return nullptr;
  }
}
#define MCC_SIM_WIDTHS(HANDLER)                                  \
  switch (size_of(form.type)) {                                  \
    case 2: return &HANDLER<u16>;                                \
    case 4: return &HANDLER<u32>;                                \
    case 8: return &HANDLER<u64>;                                \
    default: return nullptr;                                     \
  }

Handler select_shift_right(const Form& form) {
  switch (form.type) {
    case Type::s16: return &shift_right<i16>;
    case Type::s32: return &shift_right<i32>;
    case Type::s64: return &shift_right<i64>;
    default: MCC_SIM_WIDTHS(shift_right)
  }
}
Handler select_funnel(const Form& form) {
  const bool wrap = form.mode == "wrap";
  if (!wrap && form.mode != "clamp") return nullptr;
  if (form.part == Part::lo) return wrap ? &funnel<true, true> : &funnel<true, false>;  // shf.l
  return wrap ? &funnel<false, true> : &funnel<false, false>;
}
Handler select_permute(const Form& form) {
  if (form.mode.empty()) return &permute_bytes;
  if (form.mode == "f4e") return &permute_mode<0>;
  if (form.mode == "b4e") return &permute_mode<1>;
  if (form.mode == "rc8") return &permute_mode<2>;
  if (form.mode == "ecl") return &permute_mode<3>;
  if (form.mode == "ecr") return &permute_mode<4>;
  return form.mode == "rc16" ? &permute_mode<5> : nullptr;
}

}  // namespace

Handler select_bits(const Form& form) {
  switch (form.op) {
    case Op::and_: return any_width<And>(form);
    case Op::or_: return any_width<Or>(form);
    case Op::xor_: return any_width<Xor>(form);
    case Op::not_:
      if (form.type == Type::pred) return &predicate_not;
      MCC_SIM_WIDTHS(invert)
    case Op::cnot: MCC_SIM_WIDTHS(is_zero)
    case Op::shl: MCC_SIM_WIDTHS(shift_left)
    case Op::shr: return select_shift_right(form);
    case Op::shf: return select_funnel(form);
    case Op::popc: return size_of(form.type) == 8 ? &count_bits<u64> : &count_bits<u32>;
    case Op::clz: return size_of(form.type) == 8 ? &leading_zeros<u64> : &leading_zeros<u32>;
    case Op::brev: return size_of(form.type) == 8 ? &reverse_bits<u64> : &reverse_bits<u32>;
    case Op::bfind:
      return form.type == Type::u32 ? &find_bit<u32> : form.type == Type::s32 ? &find_bit<i32>
             : form.type == Type::u64 ? &find_bit<u64> : form.type == Type::s64 ? &find_bit<i64> : nullptr;
    case Op::bfe:
      return form.type == Type::u32 ? &extract_field<u32> : form.type == Type::s32 ? &extract_field<i32>
             : form.type == Type::u64 ? &extract_field<u64> : form.type == Type::s64 ? &extract_field<i64> : nullptr;
    case Op::bfi: return size_of(form.type) == 8 ? &insert_field<u64> : &insert_field<u32>;
    case Op::bmsk: return &bit_mask;
    case Op::szext: return form.type == Type::s32 ? &extend_sign<i32> : &extend_sign<u32>;
    case Op::lop3: return &logic3;
    case Op::prmt: return select_permute(form);
    case Op::fns: return &find_nth;
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
