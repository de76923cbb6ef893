// Loops over the 32 lanes of a warp, written so that the compiler turns them into vector code.
//
// Invariant: everything here has internal linkage or lives in the namespace of its instruction set,
// so that code for a wider instruction set can never be linked into another's.
#pragma once

#include <cstring>
#include <type_traits>

#include "runtime/sim/core/form.h"
#include "runtime/sim/core/machine.h"

#ifndef MCC_SIM_ISA
#error "compile the executor's files with MCC_SIM_ISA set to a namespace name"
#endif

#if defined(__clang__)
#define MCC_SIM_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define MCC_SIM_LANES _Pragma("GCC ivdep")
#endif
#define MCC_SIM_INLINE inline __attribute__((always_inline))

namespace mcc::sim::MCC_SIM_ISA {

using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

template <class T>
using Storage = std::conditional_t<(sizeof(T) > 4), u64, u32>;

template <class T>
MCC_SIM_INLINE T unpack(Storage<T> bits) {
  if constexpr (sizeof(T) >= 4) {
    return __builtin_bit_cast(T, bits);
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
MCC_SIM_INLINE Storage<T> pack(T value) {
  if constexpr (sizeof(T) >= 4) {
    return __builtin_bit_cast(Storage<T>, value);
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<u16>(value);
  } else {
    return static_cast<u8>(value);
  }
}

MCC_SIM_INLINE const u8* source(const Warp& w, i32 operand) {
  return (operand < 0 ? w.constants : w.registers) + (operand & 0x7fffffff);
}
template <class T>
MCC_SIM_INLINE const Storage<T>* lanes(const Warp& w, i32 operand) {
  return reinterpret_cast<const Storage<T>*>(source(w, operand));
}
template <class T>
MCC_SIM_INLINE Storage<T>* result(const Warp& w, i32 operand) {
  return reinterpret_cast<Storage<T>*>(w.registers + operand);
}
MCC_SIM_INLINE bool lane_on(u32 mask, int lane) { return ((mask >> lane) & 1u) != 0; }

template <class S>
MCC_SIM_INLINE void blend(S* to, const S* from, u32 mask) {
  MCC_SIM_LANES
  for (int i = 0; i < kLanes; ++i) to[i] = ((mask >> i) & 1u) != 0 ? from[i] : to[i];
}

// Calls f(lane) for every lane and stores what it returns in active lanes.
template <class R, class F>
MCC_SIM_INLINE void fill(Warp& w, i32 operand, F f) {
  Storage<R>* d = result<R>(w, operand);
  if (w.mask == kAllLanes) {
    MCC_SIM_LANES
    for (int i = 0; i < kLanes; ++i) d[i] = pack<R>(f(i));
  } else {
    alignas(64) Storage<R> t[kLanes];
    MCC_SIM_LANES
    for (int i = 0; i < kLanes; ++i) t[i] = pack<R>(f(i));
    blend(d, t, w.mask);
  }
}

template <class R, class A, class F>
MCC_SIM_INLINE void map1(Warp& w, const Inst& in, F f) {
  const Storage<A>* a = lanes<A>(w, in.a);
  fill<R>(w, in.dst, [=](int i) { return f(unpack<A>(a[i])); });
}
template <class R, class A, class B, class F>
MCC_SIM_INLINE void map2(Warp& w, const Inst& in, F f) {
  const Storage<A>* a = lanes<A>(w, in.a);
  const Storage<B>* b = lanes<B>(w, in.b);
  fill<R>(w, in.dst, [=](int i) { return f(unpack<A>(a[i]), unpack<B>(b[i])); });
}
template <class R, class A, class B, class C, class F>
MCC_SIM_INLINE void map3(Warp& w, const Inst& in, F f) {
  const Storage<A>* a = lanes<A>(w, in.a);
  const Storage<B>* b = lanes<B>(w, in.b);
  const Storage<C>* c = lanes<C>(w, in.c);
  fill<R>(w, in.dst, [=](int i) { return f(unpack<A>(a[i]), unpack<B>(b[i]), unpack<C>(c[i])); });
}

// One bit per lane for which f(lane) is true.
template <class F>
MCC_SIM_INLINE u32 collect(F f) {
  alignas(64) u32 t[kLanes];
  MCC_SIM_LANES
  for (int i = 0; i < kLanes; ++i) t[i] = f(i) ? (u32{1} << i) : 0u;
  u32 bits = 0;
  MCC_SIM_LANES
  for (int i = 0; i < kLanes; ++i) bits |= t[i];
  return bits;
}

MCC_SIM_INLINE u32 predicate(const Warp& w, int index, bool negated) {
  return w.predicates[index] ^ (negated ? kAllLanes : 0u);
}
MCC_SIM_INLINE void set_predicate(Warp& w, int index, u32 bits) {
  if (index >= 0) w.predicates[index] = (w.predicates[index] & ~w.mask) | (bits & w.mask);
}

// Each family's file defines one selector; isa.cpp lists them.
Handler select_integer(const Form& form);
Handler select_bits(const Form& form);
Handler select_float(const Form& form);
Handler select_rounded(const Form& form);
Handler select_approximate(const Form& form);
Handler select_half(const Form& form);
Handler select_compare(const Form& form);
Handler select_move(const Form& form);
Handler select_convert(const Form& form);
Handler select_memory(const Form& form);
Handler select_atomic(const Form& form);
Handler select_communication(const Form& form);
Handler select_control(const Form& form);
Handler select_matrix(const Form& form);
Handler select_async(const Form& form);

}  // namespace mcc::sim::MCC_SIM_ISA
