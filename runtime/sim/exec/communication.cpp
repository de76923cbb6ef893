// Lanes of a warp exchanging values: shfl, vote, match, redux, elect. PTX ISA 9.7.9, 9.7.13.
//
// The .sync forms name their participants; a lane that executes but is not named, or a named lane
// that is alive but not there, is a finding: on hardware it hangs or reads garbage.
#include "runtime/sim/check/report.h"
#include "runtime/sim/exec/float_ops.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

// The member mask of this execution; checks that it agrees with who is here.
u32 members(Warp& w, const Inst& in, i32 operand) {
  const u32* masks = lanes<u32>(w, operand);
  const u32 mask = masks[__builtin_ctz(w.mask)];
  if ((mask & w.live) != w.mask) {
    for (u32 m = w.mask; m != 0; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      if (((masks[lane] >> lane) & 1u) == 0) {
        report_lane(w, in, lane, FindingKind::divergent_barrier, "the executing lane is not in the member mask");
        return w.mask;
      }
    }
    if ((mask & w.live & ~w.mask) != 0) {
      report_lane(w, in, __builtin_ctz(mask & w.live & ~w.mask), FindingKind::divergent_barrier,
                  "a lane named in the member mask does not execute this instruction with the others");
    }
  }
  return mask;
}

// in.a value, in.b lane operand, in.c clamp and segment mask, in.list[0] member mask.
template <ShuffleMode Mode> void shuffle(Warp& w, const Inst& in) {
  members(w, in, in.list[0]);
  const u32* a = lanes<u32>(w, in.a);
  const u32* b = lanes<u32>(w, in.b);
  const u32* c = lanes<u32>(w, in.c);
  alignas(64) u32 value[kLanes];
  u32 in_range = 0;
  bool inactive = false;
  for (int i = 0; i < kLanes; ++i) {
    const u32 lane = static_cast<u32>(i), offset = b[i] & 31u, clamp = c[i] & 31u, segment = (c[i] >> 8) & 31u;
    const u32 most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    u32 from;
    bool ok;
    switch (Mode) {
      case ShuffleMode::up:
        from = lane - offset;
        ok = static_cast<i32>(from) >= static_cast<i32>(most);
        break;
      case ShuffleMode::down:
        from = lane + offset;
        ok = from <= most;
        break;
      case ShuffleMode::bfly:
        from = lane ^ offset;
        ok = from <= most;
        break;
      default:
        from = least | (offset & ~segment);
        ok = from <= most;
        break;
    }
    if (!ok) from = lane;
    in_range |= ok ? u32{1} << i : 0u;
    inactive = inactive || (((w.mask >> i) & 1u) != 0 && ((w.mask >> (from & 31u)) & 1u) == 0);
    value[i] = a[from & 31u];
  }
  if (inactive) report_warp(w, in, FindingKind::uninitialised_read, "a shuffle reads the register of a lane that does not take part");
  fill<u32>(w, in.dst, [&](int i) { return value[i]; });
  set_predicate(w, in.pdst, in_range);
}

template <VoteMode Mode> void vote(Warp& w, const Inst& in) {
  const u32 mask = members(w, in, in.b) & w.mask;
  const u32 p = predicate(w, in.pa, (in.negate & 1) != 0) & mask;
  switch (Mode) {
    case VoteMode::all: return set_predicate(w, in.pdst, p == mask ? kAllLanes : 0u);
    case VoteMode::any: return set_predicate(w, in.pdst, p != 0 ? kAllLanes : 0u);
    case VoteMode::uni: return set_predicate(w, in.pdst, p == 0 || p == mask ? kAllLanes : 0u);
    default: return fill<u32>(w, in.dst, [=](int) { return p; });
  }
}

template <class T, bool All> void match(Warp& w, const Inst& in) {
  const u32 mask = members(w, in, in.b) & w.mask;
  const Storage<T>* a = lanes<T>(w, in.a);
  alignas(64) u32 found[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const Storage<T> mine = a[i];
    found[i] = collect([=](int k) { return a[k] == mine; }) & mask;
  }
  if (All) {
    const bool same = found[__builtin_ctz(mask)] == mask;
    fill<u32>(w, in.dst, [=](int) { return same ? mask : 0u; });
    set_predicate(w, in.pdst, same ? kAllLanes : 0u);
  } else {
    fill<u32>(w, in.dst, [&](int i) { return found[i]; });
  }
}

enum class Fold { add, min, max, smin, smax, and_, or_, xor_ };
template <Fold Kind> void reduce(Warp& w, const Inst& in) {
  const u32 mask = members(w, in, in.b) & w.mask;
  const u32* a = lanes<u32>(w, in.a);
  u32 total = a[__builtin_ctz(mask)];
  for (u32 m = mask & (mask - 1); m != 0; m &= m - 1) {
    const u32 x = a[__builtin_ctz(m)];
    switch (Kind) {
      case Fold::add: total += x; break;
      case Fold::min: total = x < total ? x : total; break;
      case Fold::max: total = x > total ? x : total; break;
      case Fold::smin: total = static_cast<i32>(x) < static_cast<i32>(total) ? x : total; break;
      case Fold::smax: total = static_cast<i32>(x) > static_cast<i32>(total) ? x : total; break;
      case Fold::and_: total &= x; break;
      case Fold::or_: total |= x; break;
      default: total ^= x; break;
    }
  }
  fill<u32>(w, in.dst, [=](int) { return total; });
}
// redux.sync.{min,max}{.abs}{.NaN}.f32 (sm_100a)
template <bool Max, bool Nan, bool Abs> void reduce_float(Warp& w, const Inst& in) {
  const u32 mask = members(w, in, in.b) & w.mask;
  const u32* a = lanes<u32>(w, in.a);
  float total = 0;
  bool first = true, invalid = false;
  for (u32 m = mask; m != 0; m &= m - 1) {
    const u32 bits = a[__builtin_ctz(m)];
    const float x = from_bits<float>(Abs ? bits & 0x7fffffffu : bits);
    invalid = invalid || x != x;
    total = first ? canonical(x) : Max ? maximum(total, x) : minimum(total, x);
    first = false;
  }
  if (Nan && invalid) total = canonical(__builtin_nanf(""));
  fill<float>(w, in.dst, [=](int) { return total; });
}
void elect(Warp& w, const Inst& in) {
  const u32 mask = members(w, in, in.b) & w.mask;
  const u32 leader = static_cast<u32>(__builtin_ctz(mask));
  if (in.dst != kConstantBit) fill<u32>(w, in.dst, [=](int) { return leader; });
  set_predicate(w, in.pdst, u32{1} << leader);
}

Handler pick_reduce(const Form& form) {
  if (form.type == Type::f32) {
    if (form.mode == "min") return form.nan ? (form.abs ? &reduce_float<false, true, true> : &reduce_float<false, true, false>) : (form.abs ? &reduce_float<false, false, true> : &reduce_float<false, false, false>);
    if (form.mode == "max") return form.nan ? (form.abs ? &reduce_float<true, true, true> : &reduce_float<true, true, false>) : (form.abs ? &reduce_float<true, false, true> : &reduce_float<true, false, false>);
    return nullptr;
  }
  const bool sign = form.type == Type::s32;
  if (size_of(form.type) != 4) return nullptr;
  if (form.mode == "add") return &reduce<Fold::add>;
  if (form.mode == "min") return sign ? &reduce<Fold::smin> : &reduce<Fold::min>;
  if (form.mode == "max") return sign ? &reduce<Fold::smax> : &reduce<Fold::max>;
  if (form.mode == "and") return &reduce<Fold::and_>;
  if (form.mode == "or") return &reduce<Fold::or_>;
  return form.mode == "xor" ? &reduce<Fold::xor_> : nullptr;
}

}  // namespace

Handler select_communication(const Form& form) {
  switch (form.op) {
    case Op::shfl:
      switch (form.shuffle) {
        case ShuffleMode::up: return &shuffle<ShuffleMode::up>;
        case ShuffleMode::down: return &shuffle<ShuffleMode::down>;
        case ShuffleMode::bfly: return &shuffle<ShuffleMode::bfly>;
        default: return &shuffle<ShuffleMode::idx>;
      }
    case Op::vote:
      switch (form.vote) {
        case VoteMode::all: return &vote<VoteMode::all>;
        case VoteMode::any: return &vote<VoteMode::any>;
        case VoteMode::uni: return &vote<VoteMode::uni>;
        default: return &vote<VoteMode::ballot>;
      }
    case Op::match:
      if (form.mode == "all") return size_of(form.type) == 8 ? &match<u64, true> : &match<u32, true>;
      return size_of(form.type) == 8 ? &match<u64, false> : &match<u32, false>;
    case Op::redux: return pick_reduce(form);
    case Op::elect: return &elect;
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
