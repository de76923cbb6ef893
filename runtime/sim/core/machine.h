// The machine that decoded code runs on: instructions, warps, blocks, memory windows and shadows,
// as plain structures that the executor's files (compiled once per instruction set) share with the
// rest.
//
// Invariants:
// - A register is 32 lanes side by side: 128 bytes for types up to 32 bits (narrow values are
//   zero-extended), 256 bytes for 64-bit ones, two 64-bit planes for .b128. A predicate is one bit
//   per lane. Operand numbers are byte offsets from the frame's registers; negative ones, with the
//   top bit cleared, are offsets into the pool of constants.
// - An address is 64 bits: bits 36 and up number the window, bits below are the offset in it. Window
//   0 is never mapped (null and small integers fault); 1 is the block's shared memory, 2 the
//   thread's local memory, 3 the kernel's parameters.
// - Only plain data here: no function below may be a weak symbol that differs per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/sim/core/types.h"

namespace mcc::sim {

constexpr int kLanes = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;
constexpr int kWindowShift = 36;
constexpr uint64_t kWindowMask = (uint64_t{1} << kWindowShift) - 1;
constexpr uint64_t kSharedBase = uint64_t{1} << kWindowShift;
constexpr uint64_t kLocalBase = uint64_t{2} << kWindowShift;
constexpr uint64_t kParamBase = uint64_t{3} << kWindowShift;
constexpr uint32_t kFirstWindow = 4;
constexpr int32_t kConstantBit = INT32_MIN;
constexpr int kNoPredicate = -1;
constexpr int kBarriers = 16;

struct Warp;
struct Block;
struct Inst;
using Handler = void (*)(Warp&, const Inst&);

// What an instruction is counted as.
enum class InstClass : uint8_t {
  integer, fp32, fp64, fp16, special_function, conversion, move, predicate, control, load_global, store_global,
  load_shared, store_shared, local_memory, load_constant, atomic, barrier, warp_communication, matrix, async_copy, other,
  count,
};

// One decoded instruction. Fields without a fixed meaning are the operation's own: its selector
// and its handler agree on them.
struct Inst {
  Handler run = nullptr;
  int32_t dst = 0;
  int32_t a = 0;
  int32_t b = 0;
  int32_t c = 0;
  int64_t imm = 0;
  const int32_t* list = nullptr;  // further operand numbers (vectors, mma fragments)
  int32_t target = 0;             // branches: code index
  int32_t reconverge = 0;         // branches: code index of the immediate post-dominator
  int16_t guard = kNoPredicate;
  int16_t pdst = kNoPredicate;    // predicate results
  int16_t pdst2 = kNoPredicate;
  int16_t pa = kNoPredicate;      // predicate operands
  int16_t pb = kNoPredicate;
  uint8_t guard_negated = 0;
  uint8_t negate = 0;             // bit 0: pa is negated, bit 1: pb
  uint8_t width = 0;              // list entries or vector elements
  uint8_t flags = 0;
  uint8_t flags2 = 0;
  InstClass klass = InstClass::other;
  int32_t index = 0;              // its own code index: statistics, line numbers
};

// Per static instruction and worker; summed after the launch.
struct InstStats {
  uint64_t warps = 0;
  uint64_t threads = 0;
  uint64_t sectors = 0;   // global: 32-byte sectors; shared: passes over the banks
  uint64_t requests = 0;
  uint64_t bytes = 0;     // asked for by active lanes
  uint64_t diverged = 0;
};

// Shadow of global memory for races: who wrote and who read a granule last in this launch.
struct RaceCell {
  uint64_t write = 0;
  uint64_t read = 0;
};
struct SharedRaceCell {
  uint32_t write = 0;
  uint32_t read = 0;
};

// A range of global memory that kernels may use. Flags say what checks apply.
struct Window {
  uint8_t* host = nullptr;       // null: not mapped
  uint64_t bytes = 0;
  uint8_t* init = nullptr;       // one byte per 4 bytes of memory: 4 bits "initialised"
  RaceCell* race = nullptr;      // null: not tracked
  uint8_t* read_sectors = nullptr;   // one byte per 32-byte sector, set when touched in the launch
  uint8_t* write_sectors = nullptr;
  uint8_t writable = 1;
  uint8_t sector_phase = 0;      // (storage offset of the window) mod 32
};

enum class Event : uint8_t { none, barrier, exited, blocked, trapped, budget };

enum class EntryKind : uint8_t { path, join, call };

// Reconvergence stack: the top entry describes what runs once the current path ends.
struct StackEntry {
  int32_t pc = 0;
  int32_t reconverge = -1;
  uint32_t mask = 0;
  EntryKind kind = EntryKind::path;
  // call entries: the caller's frame
  uint32_t frame_registers = 0;
  uint32_t frame_predicates = 0;
  uint32_t frame_params = 0;
  uint32_t frame_local = 0;
  int32_t function = 0;
  int32_t call_site = 0;
};

// A copy whose effect is still to come: cp.async. Its group is the number of groups that the lane
// had closed when it was issued.
struct PendingCopy {
  uint32_t to = 0;  // shared address
  uint32_t bytes = 0;
  uint32_t lane = 0;
  uint32_t group = 0;
  uint8_t data[16] = {};
};

struct Warp {
  uint8_t* registers = nullptr;        // current frame
  const uint8_t* constants = nullptr;
  uint32_t* predicates = nullptr;      // current frame
  uint32_t mask = 0;                   // lanes that execute the current instruction
  uint32_t active = 0;                 // lanes on the current path
  int32_t pc = 0;
  int32_t reconverge = -1;
  const Inst* code = nullptr;
  Block* block = nullptr;
  InstStats* stats = nullptr;
  const uint32_t* special = nullptr;   // [special][32]
  uint32_t carry = 0;
  uint32_t live = 0;                   // lanes that have not exited
  uint32_t index = 0;                  // in the block
  uint32_t thread_base = 0;            // index * 32
  Event event = Event::none;
  bool counting = true;                // memory counters
  // Local memory: [word][lane]
  uint32_t* local = nullptr;
  uint8_t* local_init = nullptr;
  uint32_t local_words = 0;
  uint32_t local_base = 0;             // of the current frame, bytes
  // .param space of device functions: [byte offset / 4][lane] words
  uint32_t* params = nullptr;
  uint32_t params_base = 0;            // of the current frame, words
  // Race detection: the warp's logical time, and what it knows of the others.
  uint32_t clock = 1;
  uint32_t safe_clock = 1;             // accesses with an earlier clock precede everything from now on
  uint32_t* known = nullptr;           // [warps of the block]
  // Reconvergence stack
  StackEntry* stack = nullptr;
  int32_t depth = 0;
  int32_t capacity = 0;
  int32_t function = 0;
  // Buffers that frames live in
  uint8_t* register_file = nullptr;
  uint32_t register_bytes = 0;
  uint32_t* predicate_file = nullptr;
  uint32_t predicate_count = 0;
  uint32_t param_words = 0;
  // Barriers
  int32_t waiting_barrier = -1;
  uint32_t arrived_mask = 0;
  uint64_t executed = 0;
  uint64_t budget = 0;
  void* async = nullptr;               // AsyncQueue of this warp
  uint64_t wait_address = 0;           // of the mbarrier whose test failed last, 0: none
};

struct BarrierState {
  uint32_t arrived = 0;    // threads
  uint32_t expected = 0;   // 0: not in use
  uint32_t waiting = 0;    // bit per warp that waits
  uint32_t members = 0;    // bit per warp that arrived or waits
  uint32_t reduce_and = 0;
  uint32_t reduce_or = 0;
  uint32_t reduce_count = 0;
  uint32_t first_line = 0;
};

struct LaunchState;

struct Block {
  LaunchState* launch = nullptr;
  void* worker = nullptr;
  Warp* warps = nullptr;
  uint32_t warp_count = 0;
  uint32_t threads = 0;
  uint32_t id[3] = {0, 0, 0};
  uint8_t* shared = nullptr;
  uint32_t shared_bytes = 0;
  uint8_t* shared_init = nullptr;        // one byte per word: low nibble initialised, high nibble pending
  SharedRaceCell* shared_race = nullptr;
  uint32_t serial = 0;                   // number of the block since the memory was made, for stamps
  uint32_t first_serial = 0;             // of the launch
  const Window* windows = nullptr;
  uint32_t window_count = 0;
  const uint8_t* params = nullptr;
  uint32_t param_bytes = 0;
  BarrierState barriers[kBarriers];
  int granule_shift_global = 2;          // bytes per race cell, log2
  int granule_shift_shared = 2;
  const uint8_t* lane_order = nullptr;   // permutation of 32 lanes for conflicting accesses
};

}  // namespace mcc::sim
