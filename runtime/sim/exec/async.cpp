// cp.async and mbarrier: PTX ISA 9.7.9.25 and 9.7.13.15.
//
// A copy's source is read when it is issued; its destination changes only when the thread waits for
// its group (or when its mbarrier arrival is due), which is the latest moment that the hardware may
// take. Until then the destination counts as pending: reading it is a finding. The state of an
// mbarrier in memory: bits 0-19 arrivals still missing, 20-39 arrivals of a phase, 40-61
// transaction bytes still missing (two's complement), 63 the phase.
#include "runtime/sim/exec/access.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

// in.a destination, in.b source address (64 bits), in.imm and list[0] their offsets, list[1] the
// bytes to copy, in.width the size, in.pa: copy nothing where true. flags2 bit 0: list[2] is a
// register with the number of source bytes.
template <bool Checked> void copy_async(Warp& w, const Inst& in) {
  Addresses to;
  addresses(w, in, to);
  Block& block = *w.block;
  const u64* from = lanes<u64>(w, in.b);
  const u32* source_bytes = (in.flags2 & 1u) != 0 ? lanes<u32>(w, in.list[1]) : nullptr;
  const u32 ignore = in.pa >= 0 ? predicate(w, in.pa, (in.negate & 1) != 0) : 0;
  u64 sector[kLanes] = {};
  u32 read = 0;
  u64 total = 0;
  for (u32 m = w.mask; m != 0; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    PendingCopy copy;
    copy.to = static_cast<u32>(to.at[lane]);
    copy.bytes = in.width;
    copy.lane = static_cast<u32>(lane);
    const u64 size = in.width;
    if (to.at[lane] + size > block.shared_bytes || (to.at[lane] & (size - 1)) != 0) {
      report_access(w, in, lane, to.at[lane] + size > block.shared_bytes ? FindingKind::out_of_bounds : FindingKind::misaligned,
                    {Space::shared, to.at[lane], static_cast<int>(size), true});
      continue;
    }
    u64 wanted = source_bytes != nullptr ? source_bytes[lane] : size;
    if (wanted > size) wanted = size;
    if (((ignore >> lane) & 1u) != 0) wanted = 0;
    if (wanted != 0) {
      const u64 address = from[lane] + static_cast<u64>(static_cast<i64>(in.list[0]));
      const Window* window = window_of(block, address);
      const u64 offset = address & kWindowMask;
      const bool outside = window == nullptr || offset + wanted > window->bytes;
      if (outside || (offset & (size - 1)) != 0) {
        report_access(w, in, lane, outside ? FindingKind::out_of_bounds : FindingKind::misaligned, {Space::global, address, static_cast<int>(wanted), false});
      } else {
        if (Checked && window->init != nullptr && !all_initialised(window->init, offset, wanted)) {
          report_access(w, in, lane, FindingKind::uninitialised_read, {Space::global, address, static_cast<int>(wanted), false});
        }
        if (Checked && window->race != nullptr) {
          const int shift = block.granule_shift_global;
          const Horizon<u64> h = global_horizon(w);
          for (u64 c = offset >> shift; c <= (offset + wanted - 1) >> shift; ++c) touch_read<u64>(w, in, h, window->race[c], lane, false, address);
        }
        __builtin_memcpy(copy.data, window->host + offset, wanted);
        if (w.counting) touch_sectors(*window, offset, wanted, false);
        sector[lane] = address >> 5;
        read |= u32{1} << lane;
        total += wanted;
      }
    }
    if (Checked) {
      for (u64 word = to.at[lane] >> 2; word < (to.at[lane] + size) >> 2; ++word) block.shared_init[word] |= 0xf0u;
    }
    queue_copy(w, copy);
  }
  if (w.counting && read != 0) count_request(w, in, count_distinct(sector, read), total);
}

template <bool Checked> void finish_copies(Warp& w, const Inst& in, u32 keep, bool all) {
  Block& block = *w.block;
  PendingCopy copy;
  while (take_copy(w, keep, all, copy)) {
    __builtin_memcpy(block.shared + copy.to, copy.data, copy.bytes);
    if (!Checked) continue;
    for (u32 word = copy.to >> 2; word < (copy.to + copy.bytes) >> 2; ++word) block.shared_init[word] = 0x0f;
    const Horizon<u32> h = shared_horizon(w);
    const int shift = block.granule_shift_shared;
    for (u32 c = copy.to >> shift; c <= (copy.to + copy.bytes - 1) >> shift; ++c) {
      touch_write<u32>(w, in, h, block.shared_race[c], static_cast<int>(copy.lane), false, copy.to, false);
    }
  }
}
void commit_group(Warp& w, const Inst&) { close_groups(w); }
// in.imm: groups that may stay pending; in.flags: 1 = wait for everything
template <bool Checked> void wait_group(Warp& w, const Inst& in) {
  finish_copies<Checked>(w, in, static_cast<u32>(in.imm), in.flags != 0);
}

constexpr u64 kPhase = u64{1} << 63;
constexpr u64 kCountMask = 0xfffffu;

struct State {
  u64 missing, expected;
  i64 bytes;
  u64 phase;
};
State decode_state(u64 x) {
  return {x & kCountMask, (x >> 20) & kCountMask, static_cast<i64>(x << 2) >> 42, x & kPhase};
}
u64 encode_state(const State& s) {
  return s.missing | s.expected << 20 | (static_cast<u64>(s.bytes) & 0x3fffffu) << 40 | s.phase;
}
void complete_phase(State& s) {
  if (s.missing != 0 || s.bytes != 0) return;
  s.phase ^= kPhase;
  s.missing = s.expected;
}

// The barrier's place, or null after a report.
template <bool Checked> u8* barrier_at(Warp& w, const Inst& in, int lane, u64 address, bool initialises) {
  Block& block = *w.block;
  if (address >> kWindowShift == 1) address &= kWindowMask;
  const bool outside = address + 8 > block.shared_bytes;
  if (outside || (address & 7u) != 0) {
    report_access(w, in, lane, outside ? FindingKind::out_of_bounds : FindingKind::misaligned, {Space::shared, address, 8, true});
    return nullptr;
  }
  if (Checked) {
    if (initialises) {
      set_initialised(block.shared_init, address, 8);
      // Later operations on the barrier must be ordered after its initialisation.
      const Horizon<u32> h = shared_horizon(w);
      for (u64 c = address >> block.granule_shift_shared; c <= (address + 7) >> block.granule_shift_shared; ++c) touch_write<u32>(w, in, h, block.shared_race[c], lane, false, address, false);
    } else if (!all_initialised(block.shared_init, address, 8)) {
      report_access(w, in, lane, FindingKind::uninitialised_read, {Space::shared, address, 8, false});
      return nullptr;
    } else {
      const Horizon<u32> h = shared_horizon(w);
      for (u64 c = address >> block.granule_shift_shared; c <= (address + 7) >> block.granule_shift_shared; ++c) touch_read<u32>(w, in, h, block.shared_race[c], lane, true, address);
    }
  }
  return block.shared + address;
}
u64 load_state(const u8* p) {
  u64 x;
  __builtin_memcpy(&x, p, 8);
  return x;
}
void store_state(u8* p, u64 x) { __builtin_memcpy(p, &x, 8); }

// in.b: count; in.dst: where the state before goes, kConstantBit: nowhere.
enum class Action { init, arrive, drop, expect, complete, arrive_expect };
template <Action Kind, bool Checked> void update(Warp& w, const Inst& in) {
  Addresses a;
  addresses(w, in, a);
  const u32* count = lanes<u32>(w, in.b);
  for (u32 m = w.mask; m != 0; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    u8* p = barrier_at<Checked>(w, in, lane, a.at[lane], Kind == Action::init);
    if (p == nullptr) continue;
    const u64 before = load_state(p);
    State s = decode_state(before);
    if (in.dst != kConstantBit) result<u64>(w, in.dst)[lane] = before;
    const u64 n = count[lane];
    if (Kind == Action::init) {
      if (n == 0 || n > kCountMask) report_lane(w, in, lane, FindingKind::invalid_argument, "the arrival count of an mbarrier must be between 1 and 2^20 - 1");
      s = {n, n, 0, 0};
    } else if (Kind == Action::expect) {
      s.bytes += static_cast<i64>(n);
    } else if (Kind == Action::complete) {
      s.bytes -= static_cast<i64>(n);
      complete_phase(s);
    } else {
      const u64 arrivals = Kind == Action::arrive_expect ? 1 : n;
      if (Kind == Action::arrive_expect) s.bytes += static_cast<i64>(n);
      if (arrivals > s.missing) {
        report_lane(w, in, lane, FindingKind::invalid_argument, "more threads arrive at an mbarrier than its count says");
        continue;
      }
      s.missing -= arrivals;
      if (Kind == Action::drop) s.expected -= arrivals;
      complete_phase(s);
    }
    store_state(p, encode_state(s));
    const u64 address = a.at[lane] >> kWindowShift == 1 ? a.at[lane] & kWindowMask : a.at[lane];
    if (Checked && Kind != Action::init) strong_access(w, in, kSharedBase | address, false, true, Order::release);
  }
}
// in.b: state (64 bits) or parity (flags2 bit 0); in.pdst: whether the phase has completed.
template <bool Checked> void test_wait(Warp& w, const Inst& in) {
  Addresses a;
  addresses(w, in, a);
  u32 done = 0;
  for (u32 m = w.mask; m != 0; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    const u8* p = barrier_at<Checked>(w, in, lane, a.at[lane], false);
    if (p == nullptr) {
      done |= u32{1} << lane;
      continue;
    }
    const bool phase = (load_state(p) & kPhase) != 0;
    const bool asked = (in.flags2 & 1u) != 0 ? (lanes<u32>(w, in.b)[lane] & 1u) != 0 : (lanes<u64>(w, in.b)[lane] & kPhase) != 0;
    if (phase == asked) continue;
    done |= u32{1} << lane;
    const u64 address = a.at[lane] >> kWindowShift == 1 ? a.at[lane] & kWindowMask : a.at[lane];
    if (Checked) strong_access(w, in, kSharedBase | address, true, false, Order::acquire);
  }
  set_predicate(w, in.pdst, done);
  const bool all = done == w.mask;
  w.wait_address = all ? 0 : a.at[first_lane(w.mask)] + 1;
  // Nothing will change before other warps run: hand over at the next backward jump.
  if (!all) w.budget = w.executed;
}
void pending_count(Warp& w, const Inst& in) {
  map1<u32, u64>(w, in, [](u64 state) { return static_cast<u32>(state & kCountMask); });
}
// cp.async.mbarrier.arrive.noinc: the thread's copies are complete, then it arrives.
template <bool Checked> void copies_arrive(Warp& w, const Inst& in) {
  finish_copies<Checked>(w, in, 0, true);
  if (in.flags2 != 0) return update<Action::arrive, Checked>(w, in);
  // Without .noinc the pending count is first raised by the arrival: no net change.
}

template <bool Checked> Handler pick(const Form& form) {
  switch (form.op) {
    case Op::cp_async: return &copy_async<Checked>;
    case Op::cp_async_commit: return &commit_group;
    case Op::cp_async_wait: return &wait_group<Checked>;
    case Op::cp_async_mbarrier: return &copies_arrive<Checked>;
    case Op::mbarrier_init: return &update<Action::init, Checked>;
    case Op::mbarrier_arrive: return form.mode == "expect_tx" ? &update<Action::arrive_expect, Checked> : &update<Action::arrive, Checked>;
    case Op::mbarrier_arrive_drop: return &update<Action::drop, Checked>;
    case Op::mbarrier_expect: return &update<Action::expect, Checked>;
    case Op::mbarrier_complete: return &update<Action::complete, Checked>;
    case Op::mbarrier_test: return &test_wait<Checked>;
    case Op::mbarrier_pending: return &pending_count;
    default: return nullptr;
  }
}

}  // namespace

Handler select_async(const Form& form) { return form.checked ? pick<true>(form) : pick<false>(form); }

}  // namespace mcc::sim::MCC_SIM_ISA
