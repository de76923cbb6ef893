// What a launch in flight consists of, beyond the plain structures of machine.h: the worker threads'
// buffers, findings, output of printf, and knowledge between blocks.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/sim/check/report.h"
#include "runtime/sim/core/program.h"
#include "runtime/sim/exec/isa.h"
#include "runtime/sim/sim.h"

namespace mcc::sim {

// Memory aligned for vector loads; contents zero.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t bytes);
  AlignedBytes(AlignedBytes&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; other.bytes_ = 0; }
  AlignedBytes& operator=(AlignedBytes&& other) noexcept;
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  ~AlignedBytes();
  // Grows, keeping the old contents.
  void grow(size_t bytes);
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

struct AsyncQueue {
  std::vector<PendingCopy> copies;
  size_t first = 0;                 // copies before it are done
  uint32_t committed[kLanes] = {};  // groups closed so far, per lane
};

// What a release published under an address: how far each warp of the block had come.
struct SyncPoint {
  std::vector<uint32_t> clocks;
};

struct WarpBuffers {
  AlignedBytes registers;
  std::vector<uint32_t> predicates;
  AlignedBytes local;
  std::vector<uint8_t> local_init;
  AlignedBytes params;
  std::vector<StackEntry> stack;
  std::vector<uint32_t> known;
  std::vector<uint32_t> special;
  AsyncQueue async;
  std::vector<uint32_t> fenced;     // clocks published by the warp's last fence
  std::vector<uint32_t> acquired;   // clocks read, to be taken over at the next fence
  std::map<uint32_t, uint32_t> block_acquired;
};

struct FindingKey {
  FindingKind kind;
  int32_t inst;
  bool operator<(const FindingKey& o) const { return kind != o.kind ? kind < o.kind : inst < o.inst; }
};

struct Worker;

struct LaunchState {
  const Program* program = nullptr;
  const FunctionInfo* kernel = nullptr;
  const Inst* code = nullptr;
  const LaunchOptions* options = nullptr;
  Dim3 grid, block;
  uint32_t threads = 0;
  uint32_t warps = 0;
  uint32_t dynamic_shared = 0;
  uint32_t shared_bytes = 0;
  bool checks = true;
  std::vector<Window> windows;
  std::vector<std::string> window_names;
  const uint8_t* params = nullptr;
  const uint8_t* constants = nullptr;  // the program's, aligned
  uint32_t first_serial = 0;
  uint64_t block_count = 0;

  std::mutex mutex;
  std::map<FindingKey, Finding> findings;
  bool stop = false;                       // a fatal finding: no further blocks
  std::map<uint64_t, std::string> output;  // by block

  // Release and acquire between blocks: address -> serials whose work was published there.
  std::unordered_map<uint64_t, std::vector<uint32_t>> published;
  std::unordered_map<uint32_t, std::vector<uint32_t>> block_knows;  // serial -> serials it has acquired
};

struct Worker {
  LaunchState* launch = nullptr;
  const Isa* isa = nullptr;
  Block block;
  std::vector<Warp> warps;
  std::vector<WarpBuffers> buffers;
  AlignedBytes shared;
  std::vector<uint8_t> shared_init;
  std::vector<SharedRaceCell> shared_race;
  std::vector<InstStats> stats;
  std::vector<uint8_t> lane_order;
  std::unordered_map<uint64_t, SyncPoint> sync;   // shared addresses of this block, and global ones
  uint32_t clock = 1;                             // grows over blocks, so that shadows need no clearing
  uint64_t random = 0;
  uint64_t barriers = 0;
  uint64_t executed = 0;
  bool dead = false;                              // the current block was stopped by a finding

  explicit Worker(LaunchState& state);
  void run_block(uint64_t index);

 private:
  void start_block(uint64_t index);
  void start_warp(uint32_t index);
  bool schedule();
};

inline Worker& worker_of(Warp& w) { return *static_cast<Worker*>(w.block->worker); }
inline LaunchState& launch_of(Warp& w) { return *w.block->launch; }

// Barriers, in block.cpp.
void arrive_at_barrier(Warp& w, const Inst& in, uint32_t id, uint32_t count);
void synchronize_warp(Warp& w);
void stop_block(Warp& w);
// The warp joins clocks of others; recomputes its safe time.
void join_clocks(Warp& w, const std::vector<uint32_t>& clocks);

}  // namespace mcc::sim
