// Comparison and selection: PTX ISA 9.7.6 (set, setp, selp, slct) and half-precision setp.
// Comparison results are bits of a 32-bit word; combining with a predicate is bit logic.
#include "runtime/sim/exec/float_ops.h"
#include "runtime/sim/exec/half_ops.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

template <Compare C, class T> MCC_SIM_INLINE bool holds(T a, T b) {
  const bool unordered = a != a || b != b;
  switch (C) {
    case Compare::eq: return a == b;
    case Compare::ne: return a != b && !unordered;
    case Compare::lt: return a < b;
    case Compare::le: return a <= b;
    case Compare::gt: return a > b;
    case Compare::ge: return a >= b;
    case Compare::equ: return a == b || unordered;
    case Compare::neu: return a != b;
    case Compare::ltu: return !(a >= b);
    case Compare::leu: return !(a > b);
    case Compare::gtu: return !(a <= b);
    case Compare::geu: return !(a < b);
    case Compare::num: return !unordered;
    default: return unordered;
  }
}

template <Compare C, class T, bool Ftz> u32 compare(Warp& w, const Inst& in) {
  const Storage<T>* a = lanes<T>(w, in.a);
  const Storage<T>* b = lanes<T>(w, in.b);
  return collect([=](int i) {
    if constexpr (std::is_floating_point_v<T>) {
      return holds<C>(taken<Ftz>(unpack<T>(a[i])), taken<Ftz>(unpack<T>(b[i])));
    } else {
      return holds<C>(unpack<T>(a[i]), unpack<T>(b[i]));
    }
  });
}
// Half operands: in.imm = 0 f16, 1 bf16; the second half of a pair goes to the second predicate.
template <Compare C> u32 compare_half(Warp& w, const Inst& in, int shift) {
  const u32* a = lanes<u32>(w, in.a);
  const u32* b = lanes<u32>(w, in.b);
  const bool brain = (in.imm & 1) != 0, ftz = (in.imm & 2) != 0;
  return collect([=](int i) {
    const float x = half_to_float(static_cast<u16>(a[i] >> shift), brain);
    const float y = half_to_float(static_cast<u16>(b[i] >> shift), brain);
    const float least = brain ? 0.0f : 0x1p-14f;
    const auto tiny = [&](float v) { return ftz && v < least && v > -least ? 0.0f : v; };
    return holds<C>(tiny(x), tiny(y));
  });
}

MCC_SIM_INLINE u32 combined(const Warp& w, const Inst& in, u32 bits) {
  if (in.pa < 0) return bits;
  const u32 other = predicate(w, in.pa, (in.negate & 1) != 0);
  switch (static_cast<Combine>(in.flags)) {
    case Combine::and_: return bits & other;
    case Combine::or_: return bits | other;
    case Combine::xor_: return bits ^ other;
    default: return bits;
  }
}
// in.imm from bit 8: what set writes for true.
MCC_SIM_INLINE void write_set(Warp& w, const Inst& in, u32 bits) {
  const u32 yes = static_cast<u32>(in.imm >> 8);
  fill<u32>(w, in.dst, [=](int i) { return ((bits >> i) & 1u) != 0 ? yes : 0u; });
}

template <Compare C, class T, bool Ftz> void set_predicates(Warp& w, const Inst& in) {
  const u32 bits = compare<C, T, Ftz>(w, in);
  set_predicate(w, in.pdst, combined(w, in, bits));
  if (in.pdst2 >= 0) set_predicate(w, in.pdst2, combined(w, in, ~bits));
}
template <Compare C, class T, bool Ftz> void set_register(Warp& w, const Inst& in) {
  write_set(w, in, combined(w, in, compare<C, T, Ftz>(w, in)));
}
template <Compare C, bool Pair> void set_half_predicates(Warp& w, const Inst& in) {
  const u32 bits = compare_half<C>(w, in, 0);
  const u32 second = Pair ? compare_half<C>(w, in, 16) : ~bits;
  const u32 first = combined(w, in, bits);
  if (in.pdst2 >= 0) {
    const u32 other = combined(w, in, second);
    set_predicate(w, in.pdst2, other);
  }
  set_predicate(w, in.pdst, first);
}
// Pairs: one result per half of the register.
template <Compare C, bool Pair> void set_half_register(Warp& w, const Inst& in) {
  const u32 low = combined(w, in, compare_half<C>(w, in, 0));
  const u32 high = Pair ? combined(w, in, compare_half<C>(w, in, 16)) : 0;
  const u32 yes = static_cast<u32>(in.imm >> 8);
  fill<u32>(w, in.dst, [=](int i) {
    return (((low >> i) & 1u) != 0 ? yes : 0u) | (((high >> i) & 1u) != 0 ? yes << 16 : 0u);
  });
}

template <class T> void select_value(Warp& w, const Inst& in) {
  const u32 p = predicate(w, in.pa, (in.negate & 1) != 0);
  const Storage<T>* a = lanes<T>(w, in.a);
  const Storage<T>* b = lanes<T>(w, in.b);
  fill<T>(w, in.dst, [=](int i) { return unpack<T>(((p >> i) & 1u) != 0 ? a[i] : b[i]); });
}
template <class T, class C> void select_by_sign(Warp& w, const Inst& in) {
  map3<T, T, T, C>(w, in, [](T a, T b, C c) { return c >= C{0} ? a : b; });
}
template <class T>
void select_by_sign_flushed(Warp& w, const Inst& in) {
  map3<T, T, T, float>(w, in, [](T a, T b, float c) { return flush(c) >= 0.0f ? a : b; });
}

template <bool Set, class T, bool Ftz> Handler pick_compare(Compare c) {
#define ROW(NAME) \
  case Compare::NAME: return Set ? &set_register<Compare::NAME, T, Ftz> : &set_predicates<Compare::NAME, T, Ftz>;
  switch (c) {
    ROW(eq) ROW(ne) ROW(lt) ROW(le) ROW(gt) ROW(ge)
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (c) {
      ROW(equ) ROW(neu) ROW(ltu) ROW(leu) ROW(gtu) ROW(geu) ROW(num) ROW(nan)
      default: break;
    }
  }
#undef ROW
  return nullptr;
}
template <bool Set, bool Pair> Handler pick_half(Compare c) {
#define ROW(NAME) \
  case Compare::NAME: return Set ? &set_half_register<Compare::NAME, Pair> : &set_half_predicates<Compare::NAME, Pair>;
  switch (c) {
    ROW(eq) ROW(ne) ROW(lt) ROW(le) ROW(gt) ROW(ge) ROW(equ) ROW(neu) ROW(ltu) ROW(leu) ROW(gtu) ROW(geu) ROW(num) ROW(nan)
  }
#undef ROW
  return nullptr;
}
template <bool Set> Handler pick_type(const Form& form, Type type) {
  switch (type) {
    case Type::u16: case Type::b16: return pick_compare<Set, u16, false>(form.compare);
    case Type::s16: return pick_compare<Set, i16, false>(form.compare);
    case Type::u32: case Type::b32: return pick_compare<Set, u32, false>(form.compare);
    case Type::s32: return pick_compare<Set, i32, false>(form.compare);
    case Type::u64: case Type::b64: return pick_compare<Set, u64, false>(form.compare);
    case Type::s64: return pick_compare<Set, i64, false>(form.compare);
    case Type::f32:
      return form.ftz ? pick_compare<Set, float, true>(form.compare) : pick_compare<Set, float, false>(form.compare);
    case Type::f64: return pick_compare<Set, double, false>(form.compare);
    case Type::f16: case Type::bf16: return pick_half<Set, false>(form.compare);
    case Type::f16x2: case Type::bf16x2: return pick_half<Set, true>(form.compare);
    default: return nullptr;
  }
}
template <class C> Handler pick_slct(const Form& form) {
  switch (size_of(form.type)) {
    case 2: return &select_by_sign<u16, C>;
    case 4: return &select_by_sign<u32, C>;
    case 8: return &select_by_sign<u64, C>;
    default: return nullptr;
  }
}

}  // namespace

Handler select_compare(const Form& form) {
  switch (form.op) {
    case Op::setp: return pick_type<false>(form, form.type);
    case Op::set: return pick_type<true>(form, form.type2);
    case Op::selp:
      switch (size_of(form.type)) {
        case 2: return &select_value<u16>;
        case 4: return &select_value<u32>;
        case 8: return &select_value<u64>;
        default: return nullptr;
      }
    case Op::slct:
      if (form.type2 == Type::s32) return pick_slct<i32>(form);
      if (form.type2 != Type::f32) return nullptr;
      if (form.ftz) {
        switch (size_of(form.type)) {
          case 2:
            return &select_by_sign_flushed<u16>;
          case 4:
            return &select_by_sign_flushed<u32>;
          default:
            return &select_by_sign_flushed<u64>;
        }
      }
      return pick_slct<float>(form);
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
