// One block: its warps, their schedule, barriers and logical clocks.
//
// Invariants of the clocks: a warp's accesses carry its clock; known[u] of a warp is the clock before
// which everything warp u did precedes what the warp does from now on; safe_clock is the least of
// them. At a barrier of the whole block all clocks meet at one value, so that the check on the fast
// path is a single comparison.
#include <algorithm>
#include <cstring>

#include "runtime/sim/core/state.h"

namespace mcc::sim {
namespace {

constexpr uint32_t kClockLimit = 1u << 20;
constexpr uint64_t kQuantum = 1u << 16;

uint64_t next_random(uint64_t& state) {  // xorshift64*, Vigna 2016
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dull;
}

uint64_t mix(uint64_t x) {  // splitmix64's finalizer
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

void refresh_safe(Warp& w) { w.safe_clock = *std::min_element(w.known, w.known + w.block->warp_count); }

}  // namespace

void check_barriers_after_exit(Worker& worker);

namespace {

// The instruction that a stuck warp waits in: a barrier that it has executed, or the test of an
// mbarrier in the loop at whose head it stands.
int32_t waiting_at(const LaunchState& state, const Warp& w) {
  const std::vector<std::string>& texts = state.program->texts;
  if (w.waiting_barrier < 0) {
    for (int32_t at = w.pc; at < w.pc + 64 && at < static_cast<int32_t>(texts.size()); ++at) {
      const std::string& text = texts[static_cast<size_t>(at)];
      if (text.compare(0, 18, "mbarrier.test_wait") == 0 ||
          text.compare(0, 17, "mbarrier.try_wait") == 0)
        return at;
    }
  }
  return std::max(0, w.pc - 1);
}

}  // namespace

Worker::Worker(LaunchState& state) : launch(&state) {
  warps.resize(state.warps);
  buffers.resize(state.warps);
  const size_t shared_words = state.shared_bytes / 4 + 64;
  shared = AlignedBytes(state.shared_bytes + 256);
  if (state.checks) {
    shared_init.resize(shared_words);
    shared_race.resize((shared_words * 4) >> state.kernel->granule_shift_shared);
  }
  stats.resize(state.program->lines.size());
  lane_order.resize(kLanes);
  for (int i = 0; i < kLanes; ++i) lane_order[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
  block.launch = &state;
  block.worker = this;
  block.warps = warps.data();
  block.warp_count = state.warps;
  block.threads = state.threads;
  block.shared = shared.data();
  block.shared_bytes = state.shared_bytes;
  block.shared_init = shared_init.data();
  block.shared_race = shared_race.data();
  block.windows = state.windows.data();
  block.window_count = static_cast<uint32_t>(state.windows.size());
  block.params = state.params;
  block.param_bytes = state.kernel->param_bytes;
  block.first_serial = state.first_serial;
  block.granule_shift_global = state.kernel->granule_shift_global;
  block.granule_shift_shared = state.kernel->granule_shift_shared;
  block.lane_order = lane_order.data();
}

void Worker::start_warp(uint32_t index) {
  LaunchState& state = *launch;
  const FunctionInfo& kernel = *state.kernel;
  Warp& w = warps[index];
  WarpBuffers& b = buffers[index];
  w = Warp{};
  b.registers.grow(kernel.register_bytes + 256);
  if (b.predicates.size() < kernel.predicates) b.predicates.resize(kernel.predicates);
  std::fill(b.predicates.begin(), b.predicates.end(), 0u);
  b.params.grow((kernel.param_words + 4) * size_t{kLanes} * 4);
  b.local.grow((kernel.local_bytes + 16) * size_t{kLanes});
  const size_t local_cells = kernel.local_bytes / 4 * size_t{kLanes};
  if (b.local_init.size() < local_cells) b.local_init.resize(local_cells);
  std::fill(b.local_init.begin(), b.local_init.begin() + static_cast<std::ptrdiff_t>(local_cells), uint8_t{0});
  if (b.stack.empty()) b.stack.resize(32);
  b.known.assign(state.warps, clock);
  b.fenced.clear();
  b.acquired.clear();
  b.block_acquired.clear();
  b.async.copies.clear();
  b.async.first = 0;
  std::memset(b.async.committed, 0, sizeof b.async.committed);
  b.special.resize(kSpecialCount * kLanes);
  w.register_file = w.registers = b.registers.data();
  w.predicate_file = w.predicates = b.predicates.data();
  w.constants = state.constants;
  w.params = reinterpret_cast<uint32_t*>(b.params.data());
  w.local = reinterpret_cast<uint32_t*>(b.local.data());
  w.local_init = b.local_init.data();
  w.local_words = kernel.local_bytes / 4;
  w.stack = b.stack.data();
  w.capacity = static_cast<int32_t>(b.stack.size());
  w.known = b.known.data();
  w.special = b.special.data();
  w.async = &b.async;
  w.code = state.code;
  w.block = &block;
  w.stats = stats.data();
  w.index = index;
  w.thread_base = index * kLanes;
  w.clock = w.safe_clock = clock;
  w.counting = state.options->counters;
  w.pc = kernel.first;
  w.function = static_cast<int32_t>(&kernel - state.program->functions.data());
  const uint32_t here = std::min<uint32_t>(kLanes, state.threads - w.thread_base);
  w.live = w.active = here == kLanes ? kAllLanes : (1u << here) - 1;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t thread = w.thread_base + lane;
    auto set = [&](int special, uint32_t value) { b.special[static_cast<size_t>(special) * kLanes + lane] = value; };
    set(kTidX, thread % state.block.x);
    set(kTidY, thread / state.block.x % state.block.y);
    set(kTidZ, thread / state.block.x / state.block.y);
    set(kLaneId, lane);
    set(kWarpId, index);
    set(kNumWarps, state.warps);
    set(kNtidX, state.block.x);
    set(kNtidY, state.block.y);
    set(kNtidZ, state.block.z);
    set(kCtaidX, block.id[0]);
    set(kCtaidY, block.id[1]);
    set(kCtaidZ, block.id[2]);
    set(kNctaidX, state.grid.x);
    set(kNctaidY, state.grid.y);
    set(kNctaidZ, state.grid.z);
    set(kMaskEq, 1u << lane);
    set(kMaskLt, (1u << lane) - 1);
    set(kMaskLe, (2u << lane) - 1);
    set(kMaskGe, ~((1u << lane) - 1));
    set(kMaskGt, ~((2u << lane) - 1));
    set(kSmId, 0);
    set(kNumSm, 1);
    set(kGridId, 0);
    set(kDynamicBytes, state.dynamic_shared);
    set(kTotalBytes, state.shared_bytes);
    set(kDynamicBase, state.shared_bytes - state.dynamic_shared);
    set(kZero, 0);
    set(kOne, 1);
  }
}

void Worker::start_block(uint64_t index) {
  LaunchState& state = *launch;
  block.id[0] = static_cast<uint32_t>(index % state.grid.x);
  block.id[1] = static_cast<uint32_t>(index / state.grid.x % state.grid.y);
  block.id[2] = static_cast<uint32_t>(index / state.grid.x / state.grid.y);
  block.serial = state.first_serial + static_cast<uint32_t>(index);
  if (state.checks) {
    // The clock goes on from the block before, so old stamps in the shadow are in the past.
    if (clock > kClockLimit / 2) {
      std::fill(shared_race.begin(), shared_race.end(), SharedRaceCell{});
      clock = 1;
    }
    std::fill(shared_init.begin(), shared_init.end(), uint8_t{0});
  }
  sync.clear();
  std::fill(std::begin(block.barriers), std::end(block.barriers), BarrierState{});
  dead = false;
  random = state.options->seed == 0 ? 0 : mix(state.options->seed * 0x100000001b3ull + index) | 1;
  if (random != 0) {
    for (size_t i = kLanes - 1; i > 0; --i) std::swap(lane_order[i], lane_order[next_random(random) % (i + 1)]);
  }
  for (uint32_t i = 0; i < state.warps; ++i) start_warp(i);
}

// Runs warps until all have exited or nothing can move.
bool Worker::schedule() {
  LaunchState& state = *launch;
  std::vector<uint32_t> order(state.warps);
  for (uint32_t i = 0; i < state.warps; ++i) order[i] = i;
  int stuck = 0;
  while (true) {
    bool any = false, progress = false;
    if (random != 0) {
      for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[next_random(random) % (i + 1)]);
    }
    for (uint32_t i : order) {
      Warp& w = warps[i];
      if (w.event == Event::exited) continue;
      any = true;
      if (w.waiting_barrier >= 0) continue;
      const uint64_t before = w.executed;
      w.budget = w.executed + (random != 0 ? 16 + next_random(random) % 512 : kQuantum);
      isa->run(w);
      executed += w.executed - before;
      if (dead) return false;
      if (w.event == Event::exited) check_barriers_after_exit(*this);
      // A wait that only looked again is no progress.
      progress = progress || w.event != Event::budget || w.wait_address == 0;
      if (w.executed > state.options->max_warp_instructions) {
        // A warp that used up its budget stands at the head of a loop.
        report_warp(w, state.code[w.event == Event::budget ? w.pc : std::max(0, w.pc - 1)],
                    FindingKind::no_progress,
                    "the warp exceeds the limit of instructions: an endless loop, or a wait for "
                    "something that cannot happen");
        return false;
      }
    }
    if (!any) return true;
    // Polling an mbarrier is no progress, but a few rounds may pass before the others arrive.
    stuck = progress ? 0 : stuck + 1;
    if (stuck < 64 && std::any_of(warps.begin(), warps.end(), [](const Warp& w) { return w.event != Event::exited && w.waiting_barrier < 0; })) continue;
    if (progress) continue;
    for (uint32_t i : order) {
      Warp& w = warps[i];
      if (w.event == Event::exited) continue;
      report_warp(w, state.code[waiting_at(state, w)], FindingKind::deadlock,
                  w.waiting_barrier >= 0
                      ? "the warp waits at a barrier that the rest of the block never reaches"
                      : "the warp waits for an mbarrier phase that never completes");
      break;
    }
    return false;
  }
}

void Worker::run_block(uint64_t index) {
  start_block(index);
  const bool finished = schedule();
  if (!finished) {
    const std::lock_guard<std::mutex> lock(launch->mutex);
    launch->stop = true;
  }
  for (const Warp& w : warps) clock = std::max(clock, w.clock);
  clock += 1;
}

void stop_block(Warp& w) {
  w.event = Event::trapped;
  worker_of(w).dead = true;
}

void join_clocks(Warp& w, const std::vector<uint32_t>& clocks) {
  for (size_t u = 0; u < clocks.size(); ++u) {
    if (u != w.index) w.known[u] = std::max(w.known[u], clocks[u]);
  }
  refresh_safe(w);
}

void synchronize_warp(Warp& w) {
  w.clock += 1;
  w.known[w.index] = w.clock;
  if (w.block->warp_count == 1) w.safe_clock = w.clock;
}

namespace {

void release(Worker& worker, BarrierState& barrier) {
  worker.barriers += 1;
  const uint32_t members = barrier.members, waiting = barrier.waiting;
  uint32_t live = 0;
  for (const Warp& w : worker.warps) live |= w.live != 0 ? 1u << w.index : 0u;
  if (members == waiting && (members & live) == live) {
    uint32_t now = 0;
    for (const Warp& w : worker.warps) now = std::max(now, w.clock);
    now += 1;
    // What one warp has read from other blocks is there for the fences of all.
    std::map<uint32_t, uint32_t> acquired;
    for (Warp& w : worker.warps)
      acquired.insert(worker.buffers[w.index].block_acquired.begin(),
                      worker.buffers[w.index].block_acquired.end());
    for (Warp& w : worker.warps) {
      if (!acquired.empty()) worker.buffers[w.index].block_acquired = acquired;
      w.clock = w.safe_clock = now;
      std::fill(w.known, w.known + worker.warps.size(), now);
    }
  } else {
    std::vector<uint32_t> joined(worker.warps.size(), 0);
    for (Warp& w : worker.warps) {
      if (((members >> w.index) & 1u) == 0) continue;
      for (size_t u = 0; u < joined.size(); ++u) joined[u] = std::max(joined[u], w.known[u]);
      // Arrivals have already moved on by one; waiters move now.
      if (((waiting >> w.index) & 1u) != 0) synchronize_warp(w);
      joined[w.index] = std::max(joined[w.index], w.clock);
    }
    for (Warp& w : worker.warps) {
      if (((waiting >> w.index) & 1u) != 0) join_clocks(w, joined);
    }
  }
  for (Warp& w : worker.warps) {
    if (((waiting >> w.index) & 1u) == 0) continue;
    const Inst& in = *static_cast<const Inst*>(w.code + w.pc - 1);
    w.waiting_barrier = -1;
    w.arrived_mask = 0;
    if ((in.flags & 8) == 0) continue;
    if (in.flags2 == 2) {
      auto* d = reinterpret_cast<uint32_t*>(w.registers + in.dst);
      for (int i = 0; i < kLanes; ++i) d[i] = ((w.active >> i) & 1u) != 0 ? barrier.reduce_count : d[i];
    } else {
      const bool yes = in.flags2 == 1 ? barrier.reduce_or != 0 : barrier.reduce_and != 0;
      uint32_t& p = w.predicates[in.pdst];
      p = yes ? p | w.active : p & ~w.active;
    }
  }
  barrier = BarrierState{};
}

bool complete(const Worker& worker, const BarrierState& barrier) {
  if (barrier.expected != 0) return barrier.arrived >= barrier.expected;
  for (const Warp& w : worker.warps) {
    if (w.live != 0 && w.event != Event::exited && ((barrier.members >> w.index) & 1u) == 0) return false;
  }
  return true;
}

}  // namespace

void arrive_at_barrier(Warp& w, const Inst& in, uint32_t id, uint32_t count) {
  Worker& worker = worker_of(w);
  BarrierState& barrier = w.block->barriers[id];
  if (barrier.members == 0) {
    barrier.expected = count;
    barrier.reduce_and = 1;
  } else if (barrier.expected != count) {
    report_warp(w, in, FindingKind::divergent_barrier, "warps give the same barrier different thread counts");
    return stop_block(w);
  }
  const bool waits = (in.flags & 4) == 0;
  barrier.arrived += kLanes;
  barrier.members |= 1u << w.index;
  if ((in.flags & 8) != 0) {
    const uint32_t p = (w.predicates[in.pa] ^ ((in.negate & 1) != 0 ? kAllLanes : 0u)) & w.live;
    barrier.reduce_count += static_cast<uint32_t>(__builtin_popcount(p));
    barrier.reduce_or |= p != 0 ? 1u : 0u;
    barrier.reduce_and &= p == w.live ? 1u : 0u;
  }
  if (waits) {
    barrier.waiting |= 1u << w.index;
    w.waiting_barrier = static_cast<int32_t>(id);
    w.event = Event::barrier;
  } else {
    w.arrived_mask = 0;
    synchronize_warp(w);
  }
  if (complete(worker, barrier)) release(worker, barrier);
}

// A warp that exits may complete barriers that wait for it.
void check_barriers_after_exit(Worker& worker) {
  for (BarrierState& barrier : worker.block.barriers) {
    if (barrier.members != 0 && barrier.expected == 0 && complete(worker, barrier)) release(worker, barrier);
  }
}

}  // namespace mcc::sim
