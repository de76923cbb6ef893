// Directed rounding (.rz .rm .rp) for single and double precision, and flushing of subnormals
// (.ftz). The host's SSE unit rounds in the same four ways, and flushes like the GPU: what is below
// the least normal number after rounding to 24 bits with no limit to the exponent. So its mode is
// set around the loop; the loops are never inlined, which keeps the compiler from moving arithmetic
// across the change of mode.
#include <immintrin.h>

#include "runtime/sim/exec/float_ops.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

class Mode {
 public:
  Mode(Rounding rounding, bool ftz) : saved_(_mm_getcsr()) {
    const u32 bits = rounding == Rounding::rm   ? 1u
                     : rounding == Rounding::rp ? 2u
                     : rounding == Rounding::rz ? 3u
                                                : 0u;
    // Subnormal results and operands count as zeros.
    _mm_setcsr((saved_ & ~0x6000u) | bits << 13 | (ftz ? 0x8040u : 0u));
    asm volatile("" ::: "memory");
  }
  ~Mode() {
    asm volatile("" ::: "memory");
    _mm_setcsr(saved_);
  }

 private:
  u32 saved_;
};

struct Add2 { template <class T> static T f(T a, T b, T) { return a + b; } };
struct Sub2 { template <class T> static T f(T a, T b, T) { return a - b; } };
struct Mul2 { template <class T> static T f(T a, T b, T) { return a * b; } };
struct Div2 { template <class T> static T f(T a, T b, T) { return a / b; } };
struct Fma3 { template <class T> static T f(T a, T b, T c) { return fused(a, b, c); } };
struct Sqrt1 { template <class T> static T f(T a, T, T) { return root(a); } };
struct Rcp1 { template <class T> static T f(T a, T, T) { return T{1} / a; } };

template <class O, class T, int Count = kLanes>
__attribute__((noinline)) void compute(T* to, const T* a, const T* b, const T* c) {
  MCC_SIM_LANES
  for (int i = 0; i < Count; ++i) to[i] = O::template f<T>(a[i], b[i], c[i]);
}

// in.flags: Rounding; in.flags2: 1 saturates. Unused operands repeat the first.
template <class O, class T, bool Ftz> void rounded(Warp& w, const Inst& in) {
  alignas(64) T t[kLanes];
  {
    const Mode mode(static_cast<Rounding>(in.flags), Ftz);
    compute<O, T>(t, reinterpret_cast<const T*>(source(w, in.a)),
                  reinterpret_cast<const T*>(source(w, in.b)),
                  reinterpret_cast<const T*>(source(w, in.c)));
  }
  const bool sat = (in.flags2 & 1u) != 0;
  fill<T>(w, in.dst, [&](int i) { return sat ? saturated(t[i]) : canonical(t[i]); });
}

// f32x2: 64 singles, since the halves of a register lie side by side.
template <class O, bool Ftz>
void rounded_pairs(Warp& w, const Inst& in) {
  alignas(64) float t[2 * kLanes];
  {
    const Mode mode(static_cast<Rounding>(in.flags), Ftz);
    compute<O, float, 2 * kLanes>(t, reinterpret_cast<const float*>(source(w, in.a)),
                                  reinterpret_cast<const float*>(source(w, in.b)),
                                  reinterpret_cast<const float*>(source(w, in.c)));
  }
  fill<u64>(w, in.dst, [&](int i) {
    return static_cast<u64>(bits_of(canonical(t[2 * i]))) |
           static_cast<u64>(bits_of(canonical(t[2 * i + 1]))) << 32;
  });
}

template <class O>
Handler pick_pairs(const Form& form) {
  if (form.saturate) return nullptr;
  return form.ftz ? &rounded_pairs<O, true> : &rounded_pairs<O, false>;
}
template <class O> Handler pick(const Form& form) {
  if (form.type == Type::f64) return form.ftz ? nullptr : &rounded<O, double, false>;
  if (form.type != Type::f32) return nullptr;
  return form.ftz ? &rounded<O, float, true> : &rounded<O, float, false>;
}

}  // namespace

Handler select_rounded(const Form& form) {
  const bool directed = form.rounding == Rounding::rz || form.rounding == Rounding::rm ||
                        form.rounding == Rounding::rp;
  if (form.rounding == Rounding::rna || form.rounding == Rounding::rs || (!directed && !form.ftz))
    return nullptr;
  if (form.approx) return nullptr;
  if (form.type == Type::f32x2) {
    switch (form.op) {
      case Op::add:
        return pick_pairs<Add2>(form);
      case Op::sub:
        return pick_pairs<Sub2>(form);
      case Op::mul:
        return pick_pairs<Mul2>(form);
      case Op::fma:
        return pick_pairs<Fma3>(form);
      default:
        return nullptr;
    }
  }
  switch (form.op) {
    case Op::add: return pick<Add2>(form);
    case Op::sub: return pick<Sub2>(form);
    case Op::mul: return pick<Mul2>(form);
    case Op::fma: case Op::mad: return pick<Fma3>(form);
    case Op::div: return pick<Div2>(form);
    case Op::sqrt: return pick<Sqrt1>(form);
    case Op::rcp: return pick<Rcp1>(form);
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
