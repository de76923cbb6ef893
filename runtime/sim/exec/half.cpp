// Half-precision arithmetic, scalar and packed: PTX ISA 9.7.4, and approximations in half precision.
#include "runtime/sim/exec/half_ops.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

// in.flags of every handler here
constexpr u32 kFtz = 1, kSat = 2, kRelu = 4, kNan = 8, kXorSign = 16;

template <bool Brain> MCC_SIM_INLINE float adjust(float x, u32 flags) {
  const float least = Brain ? 0x1p-126f : 0x1p-14f;
  if ((flags & kFtz) != 0 && x < least && x > -least) x = __builtin_bit_cast(float, bits_of(x) & 0x80000000u);
  return x;
}
template <bool Brain> MCC_SIM_INLINE u16 finish_half(float x, u32 flags) {
  if ((flags & kSat) != 0) x = saturated(x);
  if ((flags & kRelu) != 0) x = x < 0.0f ? 0.0f : x;
  u16 h = narrow<Brain>(x);
  if ((flags & kFtz) != 0 && (h & (Brain ? 0x7f80u : 0x7c00u)) == 0) h &= 0x8000u;
  return h;
}

struct HAdd { template <bool B> static u16 f(u16 a, u16 b, u32 k) { return finish_half<B>(adjust<B>(widen<B>(a), k) + adjust<B>(widen<B>(b), k), k); } };
struct HSub { template <bool B> static u16 f(u16 a, u16 b, u32 k) { return finish_half<B>(adjust<B>(widen<B>(a), k) - adjust<B>(widen<B>(b), k), k); } };
struct HMul { template <bool B> static u16 f(u16 a, u16 b, u32 k) { return finish_half<B>(adjust<B>(widen<B>(a), k) * adjust<B>(widen<B>(b), k), k); } };
template <bool Max> struct HExtreme {
  template <bool B> static u16 f(u16 ha, u16 hb, u32 k) {
    float a = adjust<B>(widen<B>(ha), k), b = adjust<B>(widen<B>(hb), k);
    const u32 sign = (bits_of(a) ^ bits_of(b)) & 0x80000000u;
    const bool unordered = a != a || b != b;
    if ((k & kXorSign) != 0) {
      a = from_bits<float>(bits_of(a) & 0x7fffffffu);
      b = from_bits<float>(bits_of(b) & 0x7fffffffu);
    }
    float r = Max ? maximum(a, b) : minimum(a, b);
    if ((k & kXorSign) != 0 && r == r) r = from_bits<float>(bits_of(r) | sign);
    if ((k & kNan) != 0 && unordered) return 0x7fffu;
    return narrow<B>(r);
  }
};
template <class O, bool B> void binary(Warp& w, const Inst& in) {
  const u32 k = in.flags;
  map2<u16, u16, u16>(w, in, [=](u16 a, u16 b) { return O::template f<B>(a, b, k); });
}
template <class O, bool B> void binary_pair(Warp& w, const Inst& in) {
  const u32 k = in.flags;
  map2<u32, u32, u32>(w, in, [=](u32 a, u32 b) {
    const u32 low = O::template f<B>(static_cast<u16>(a), static_cast<u16>(b), k);
    const u32 high = O::template f<B>(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16), k);
    return low | high << 16;
  });
}
template <bool B> MCC_SIM_INLINE u16 fma_half(u16 a, u16 b, u16 c, u32 k) {
  const double r = fused_to_odd(adjust<B>(widen<B>(a), k), adjust<B>(widen<B>(b), k), adjust<B>(widen<B>(c), k));
  return finish_half<B>(to_odd(r), k);
}
template <bool B> void multiply_add(Warp& w, const Inst& in) {
  const u32 k = in.flags;
  map3<u16, u16, u16, u16>(w, in, [=](u16 a, u16 b, u16 c) { return fma_half<B>(a, b, c, k); });
}
template <bool B> void multiply_add_pair(Warp& w, const Inst& in) {
  const u32 k = in.flags;
  map3<u32, u32, u32, u32>(w, in, [=](u32 a, u32 b, u32 c) {
    const u32 low = fma_half<B>(static_cast<u16>(a), static_cast<u16>(b), static_cast<u16>(c), k);
    const u32 high = fma_half<B>(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16), static_cast<u16>(c >> 16), k);
    return low | high << 16;
  });
}
// in.imm: mask to keep (abs) and bits to flip (neg) in the upper half
void sign_bits(Warp& w, const Inst& in) {
  const auto keep = static_cast<u32>(in.imm), flip = static_cast<u32>(in.imm >> 32);
  const u32 exponent = in.flags2 != 0 ? 0x7f80u : 0x7c00u;
  const bool ftz = (in.flags & kFtz) != 0;
  map1<u32, u32>(w, in, [=](u32 a) {
    u32 r = (a & keep) ^ flip;
    if (ftz && (r & exponent) == 0) r &= 0xffff8000u;
    if (ftz && (r & (exponent << 16)) == 0) r &= 0x8000ffffu;
    return r;
  });
}

// Functions through single precision: exact rounding of the nearly exact value.
struct Ex2 { static double f(double x) { return __builtin_exp2(x); } };
struct Tanh { static double f(double x) { return __builtin_tanh(x); } };
template <class O, bool B> u16 function_half(u16 a, u32 k) {
  const float x = adjust<B>(widen<B>(a), k);
  return x != x ? u16{0x7fff} : finish_half<B>(to_odd(O::f(static_cast<double>(x))), k);
}
template <class O, bool B> void function(Warp& w, const Inst& in) {
  const u32 k = in.flags;
  alignas(64) u32 t[kLanes];
  const u32* a = lanes<u32>(w, in.a);
  const bool both = in.flags2 != 0;
  for (int i = 0; i < kLanes; ++i) {
    t[i] = function_half<O, B>(static_cast<u16>(a[i]), k);
    if (both) t[i] |= static_cast<u32>(function_half<O, B>(static_cast<u16>(a[i] >> 16), k)) << 16;
  }
  fill<u32>(w, in.dst, [&](int i) { return t[i]; });
}

template <class O> Handler pick(Type type) {
  switch (type) {
    case Type::f16: return &binary<O, false>;
    case Type::bf16: return &binary<O, true>;
    case Type::f16x2: return &binary_pair<O, false>;
    case Type::bf16x2: return &binary_pair<O, true>;
    default: return nullptr;
  }
}

}  // namespace

Handler select_half(const Form& form) {
  const bool brain = form.type == Type::bf16 || form.type == Type::bf16x2;
  if (!brain && form.type != Type::f16 && form.type != Type::f16x2) return nullptr;
  if (form.rounding != Rounding::none && form.rounding != Rounding::rn) return nullptr;
  if (form.relu && form.op != Op::fma) return nullptr;
  if (form.saturate && form.op != Op::add && form.op != Op::sub && form.op != Op::mul &&
      form.op != Op::fma)
    return nullptr;
  switch (form.op) {
    case Op::add: return pick<HAdd>(form.type);
    case Op::sub: return pick<HSub>(form.type);
    case Op::mul: return pick<HMul>(form.type);
    case Op::min: return form.three ? nullptr : pick<HExtreme<false>>(form.type);
    case Op::max: return form.three ? nullptr : pick<HExtreme<true>>(form.type);
    case Op::fma:
      if (form.type == Type::f16) return &multiply_add<false>;
      if (form.type == Type::bf16) return &multiply_add<true>;
      return form.type == Type::f16x2 ? &multiply_add_pair<false> : &multiply_add_pair<true>;
    case Op::abs: case Op::neg: return &sign_bits;
    case Op::ex2: return brain ? &function<Ex2, true> : &function<Ex2, false>;
    case Op::tanh: return brain ? &function<Tanh, true> : &function<Tanh, false>;
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
