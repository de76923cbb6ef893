// The fast half of race detection: cells of the shadow are compared with the warp's safe time; what
// is not obviously ordered goes to check/race.cpp.
//
// A stamp is [block serial : 32 (global only)] [clock : 20] [thread : 10] [kind : 2]. Kinds of a write
// cell: 0 plain, 1 strong. Kinds of a read cell: 0 one thread, 1 several lanes of a warp, 2 several
// warps of a block, 3 several blocks.
// Invariant: a cell is fine when its access happened in an earlier launch, or in this block before
// the warp's safe time, or in this very thread.
#pragma once

#include "runtime/sim/check/report.h"
#include "runtime/sim/exec/lanes.h"

namespace mcc::sim::MCC_SIM_ISA {

constexpr u32 kKindBits = 3;
constexpr u32 kThreadBits = 0xffcu;

// The launch's and block's constants of the comparison; zero for shared memory.
template <class S>
struct Horizon {
  S floor;   // stamps below belong to earlier launches
  S base;    // stamp of this block at time 0
  S safe;    // safe_clock << 12
  S now;     // base | clock << 12
};

MCC_SIM_INLINE Horizon<u64> global_horizon(const Warp& w) {
  const u64 base = static_cast<u64>(w.block->serial) << 32;
  return {static_cast<u64>(w.block->first_serial) << 32, base, static_cast<u64>(w.safe_clock) << 12,
          base | static_cast<u64>(w.clock) << 12};
}
MCC_SIM_INLINE Horizon<u32> shared_horizon(const Warp& w) { return {0, 0, w.safe_clock << 12, w.clock << 12}; }

template <class S> MCC_SIM_INLINE bool ordered(const Horizon<S>& h, S cell) {
  return cell < h.floor || static_cast<S>(cell - h.base) < h.safe;
}
// The same thread of the same block, whatever the time.
template <class S> MCC_SIM_INLINE bool same_thread(S cell, S stamp) {
  const S kTime = static_cast<S>(0xfffff000u) | kKindBits;
  return ((cell ^ stamp) & static_cast<S>(~kTime)) == 0;
}

template <class S>
MCC_SIM_INLINE void slow(Warp& w, const Inst& in, int lane, S old, bool old_write, bool write, bool strong, u64 address, bool same) {
  if constexpr (sizeof(S) == 8) race_global(w, in, lane, old, old_write, write, strong, address, same);
  else race_shared(w, in, lane, old, old_write, write, strong, address, same);
}

// One lane, one cell. address: for messages.
template <class S, class Cell>
MCC_SIM_INLINE void touch_write(Warp& w, const Inst& in, const Horizon<S>& h, Cell& cell, int lane, bool strong, u64 address, bool same) {
  const S stamp = h.now | static_cast<S>((w.thread_base + static_cast<u32>(lane)) << 2);
  const S before = cell.write, readers = cell.read;
  if (!ordered<S>(h, before) && !same_thread<S>(before, stamp) && !(strong && (before & kKindBits) == 1)) {
    slow<S>(w, in, lane, before, true, true, strong, address, same);
  }
  if (!ordered<S>(h, readers) && !(same_thread<S>(readers, stamp) && (readers & kKindBits) == 0)) {
    slow<S>(w, in, lane, readers, false, true, strong, address, false);
  }
  cell.write = stamp | (strong ? 1u : 0u);
}
template <class S, class Cell>
MCC_SIM_INLINE void touch_read(Warp& w, const Inst& in, const Horizon<S>& h, Cell& cell, int lane, bool strong, u64 address) {
  const S stamp = h.now | static_cast<S>((w.thread_base + static_cast<u32>(lane)) << 2);
  const S before = cell.write, readers = cell.read;
  if (!ordered<S>(h, before) && !same_thread<S>(before, stamp) && !(strong && (before & kKindBits) == 1)) {
    slow<S>(w, in, lane, before, true, false, strong, address, false);
  }
  // A strong read is ordered with strong writes only; plain writes are checked against it through
  // the cell like any other read.
  if (strong) return;
  u32 kind = 0;
  if (!ordered<S>(h, readers)) {
    const u32 old_kind = static_cast<u32>(readers) & kKindBits;
    if (sizeof(S) == 8 && static_cast<u64>(readers) >> 32 != static_cast<u64>(stamp) >> 32) {
      kind = 3;
    } else if (((readers ^ stamp) & kThreadBits) != 0) {
      kind = ((readers ^ stamp) & (kThreadBits & ~0x7fu)) != 0 ? 2 : 1;
    }
    kind = old_kind > kind ? old_kind : kind;
  }
  cell.read = stamp | kind;
}

// 32 lanes with adjacent elements of 2^lane_shift cells each; true when every cell was fine and has
// been updated, false when nothing was changed and the lanes must go one by one.
template <bool Write, class S, class Cell>
MCC_SIM_INLINE bool touch_range(const Warp& w, const Horizon<S>& h, Cell* cells, int lane_shift) {
  const int count = kLanes << lane_shift;
  const S first = h.now | static_cast<S>(w.thread_base << 2);
  u32 bad = 0;
  for (int at = 0; at < count; at += kLanes) {
    u32 wrong = 0;
    MCC_SIM_LANES
    for (int i = 0; i < kLanes; ++i) {
      const S stamp = first + static_cast<S>(((at + i) >> lane_shift) << 2);
      const S before = cells[at + i].write, readers = cells[at + i].read;
      const bool write_ok = ordered<S>(h, before) || same_thread<S>(before, stamp);
      const bool read_ok = ordered<S>(h, readers) || (same_thread<S>(readers, stamp) && (readers & kKindBits) == 0);
      wrong |= write_ok && read_ok ? 0u : 1u;
    }
    bad |= wrong;
  }
  if (bad != 0) return false;
  for (int at = 0; at < count; at += kLanes) {
    MCC_SIM_LANES
    for (int i = 0; i < kLanes; ++i) {
      const S stamp = first + static_cast<S>(((at + i) >> lane_shift) << 2);
      if (Write) cells[at + i].write = stamp;
      else cells[at + i].read = stamp;
    }
  }
  return true;
}

}  // namespace mcc::sim::MCC_SIM_ISA
