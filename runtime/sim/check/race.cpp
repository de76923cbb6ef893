// The precise half of race detection, and ordering by fences and strong operations.
//
// Within a block the order is a vector clock per warp (see block.cpp); between blocks it is the set
// of blocks whose published work a block has acquired, which serves the "last block finishes" and
// flag-passing patterns. Synchronization is tracked per warp and per block rather than per thread:
// a barrier missing between a thread that acquires and its own warp's other threads is not seen.
#include <algorithm>

#include "runtime/sim/core/state.h"

namespace mcc::sim {
namespace {

constexpr uint32_t kClockMask = 0xfffffu;

uint32_t clock_of(uint64_t stamp) { return static_cast<uint32_t>(stamp >> 12) & kClockMask; }
uint32_t thread_of(uint64_t stamp) { return static_cast<uint32_t>(stamp >> 2) & 0x3ffu; }

bool ordered_in_block(const Warp& w, uint64_t stamp) {
  const uint32_t other = thread_of(stamp) / kLanes;
  return other < w.block->warp_count && clock_of(stamp) < w.known[other];
}

}  // namespace

// In report.cpp.
void report_race(Warp& w, const Inst& in, int lane, bool old_is_write, const Access& access, uint32_t other_thread, int64_t other_block);

void race_shared(Warp& w, const Inst& in, int lane, uint32_t old_stamp, bool old_is_write, bool write, bool, uint64_t address, bool same_value) {
  if (ordered_in_block(w, old_stamp)) return;
  if (same_value && old_is_write && write) return;
  report_race(w, in, lane, old_is_write, {Space::shared, address, 0, write}, thread_of(old_stamp), -1);
}

void race_global(Warp& w, const Inst& in, int lane, uint64_t old_stamp, bool old_is_write, bool write, bool, uint64_t address, bool same_value) {
  const auto serial = static_cast<uint32_t>(old_stamp >> 32);
  if (same_value && old_is_write && write) return;
  const bool several_blocks = !old_is_write && (old_stamp & 3u) == 3;
  if (serial == w.block->serial && !several_blocks) {
    if (ordered_in_block(w, old_stamp)) return;
    return report_race(w, in, lane, old_is_write, {Space::global, address, 0, write}, thread_of(old_stamp), -1);
  }
  LaunchState& state = launch_of(w);
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    auto known = state.block_knows.find(w.block->serial);
    if (known != state.block_knows.end()) {
      if (std::find(known->second.begin(), known->second.end(), serial) != known->second.end()) return;
    }
  }
  if (serial == w.block->serial) return;  // several readers, the last of them this block's: not decidable
  report_race(w, in, lane, old_is_write, {Space::global, address, 0, write}, thread_of(old_stamp), static_cast<int64_t>(serial - w.block->first_serial));
}

// A fence publishes what came before it with the warp's next strong write, and makes what strong
// reads have seen valid for what follows.
void fence(Warp& w) {
  WarpBuffers& buffers = worker_of(w).buffers[w.index];
  buffers.fenced.assign(w.known, w.known + w.block->warp_count);
  buffers.fenced[w.index] = w.clock + 1;
  synchronize_warp(w);
  if (!buffers.acquired.empty()) {
    join_clocks(w, buffers.acquired);
    buffers.acquired.clear();
  }
  if (!buffers.block_acquired.empty()) {
    LaunchState& state = launch_of(w);
    const std::lock_guard<std::mutex> lock(state.mutex);
    std::vector<uint32_t>& knows = state.block_knows[w.block->serial];
    for (const auto& [serial, ignored] : buffers.block_acquired) {
      if (std::find(knows.begin(), knows.end(), serial) == knows.end()) knows.push_back(serial);
    }
    buffers.block_acquired.clear();
  }
}

void strong_access(Warp& w, const Inst&, uint64_t address, bool read, bool write, Order order) {
  Worker& worker = worker_of(w);
  WarpBuffers& buffers = worker.buffers[w.index];
  const bool releases = order == Order::release || order == Order::acq_rel;
  const bool acquires = order == Order::acquire || order == Order::acq_rel;
  const bool global = address >> kWindowShift != 1;
  const bool publishes = write && (releases || !buffers.fenced.empty());
  if (read) {
    auto found = worker.sync.find(address);
    if (found != worker.sync.end()) {
      if (acquires) {
        join_clocks(w, found->second.clocks);
      } else {
        buffers.acquired.resize(w.block->warp_count, 0);
        for (size_t u = 0; u < buffers.acquired.size(); ++u) buffers.acquired[u] = std::max(buffers.acquired[u], found->second.clocks[u]);
      }
    }
    LaunchState& state = launch_of(w);
    if (global && state.block_count > 1) {
      const std::lock_guard<std::mutex> lock(state.mutex);
      auto published = state.published.find(address);
      if (published != state.published.end()) {
        if (acquires) {
          std::vector<uint32_t>& knows = state.block_knows[w.block->serial];
          for (uint32_t serial : published->second) {
            if (std::find(knows.begin(), knows.end(), serial) == knows.end()) knows.push_back(serial);
          }
        } else {
          for (uint32_t serial : published->second) buffers.block_acquired[serial] = 1;
        }
      }
    }
  }
  if (!publishes) return;
  SyncPoint& point = worker.sync[address];
  point.clocks.resize(w.block->warp_count, 0);
  if (releases) {
    for (size_t u = 0; u < point.clocks.size(); ++u) point.clocks[u] = std::max(point.clocks[u], u == w.index ? w.clock + 1 : w.known[u]);
    synchronize_warp(w);
  } else {
    for (size_t u = 0; u < point.clocks.size(); ++u) point.clocks[u] = std::max(point.clocks[u], buffers.fenced[u]);
  }
  LaunchState& state = launch_of(w);
  if (global && state.block_count > 1) {
    const std::lock_guard<std::mutex> lock(state.mutex);
    std::vector<uint32_t>& serials = state.published[address];
    auto add = [&](uint32_t serial) {
      if (std::find(serials.begin(), serials.end(), serial) == serials.end()) serials.push_back(serial);
    };
    // What this block knows travels on with what it publishes.
    auto known = state.block_knows.find(w.block->serial);
    if (known != state.block_knows.end()) {
      for (uint32_t serial : known->second) add(serial);
    }
    add(w.block->serial);
  }
}

}  // namespace mcc::sim
