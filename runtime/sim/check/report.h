// What the executor calls when a check fails or needs a precise decision. Compiled once, for the
// baseline instruction set: none of this is on the fast path.
#pragma once

#include "runtime/sim/core/machine.h"

namespace mcc::sim {

enum class FindingKind : uint8_t {
  out_of_bounds, misaligned, uninitialised_read, read_only_write, race, divergent_barrier, deadlock, launch_limit, trap,
  pending_copy, invalid_instruction, no_progress, nondeterministic, invalid_argument,
};

// Where an access goes, for messages: an address as the instruction's space numbers it.
struct Access {
  Space space = Space::global;  // global, shared, local or param once resolved
  uint64_t address = 0;
  int bytes = 0;
  bool write = false;
};

void report_access(Warp& w, const Inst& in, int lane, FindingKind kind, const Access& access);
// `message` must be a literal.
void report_warp(Warp& w, const Inst& in, FindingKind kind, const char* message);
void report_lane(Warp& w, const Inst& in, int lane, FindingKind kind, const char* message);

// The old stamp is not obviously ordered before this access: decides by the warp's knowledge, and
// reports a race. `same_value`: a store that does not change memory, which is benign against writes.
void race_global(Warp& w, const Inst& in, int lane, uint64_t old_stamp, bool old_is_write, bool write, bool strong,
                 uint64_t address, bool same_value);
void race_shared(Warp& w, const Inst& in, int lane, uint32_t old_stamp, bool old_is_write, bool write, bool strong,
                 uint64_t address, bool same_value);

// Stamps of strong operations (release and acquire patterns).
void strong_access(Warp& w, const Inst& in, uint64_t address, bool read, bool write, Order order);
void fence(Warp& w);

// Queues of asynchronous copies.
void queue_copy(Warp& w, const PendingCopy& copy);
void close_groups(Warp& w);                                  // for lanes of w.mask
// Takes out the oldest copy that must be complete when at most `keep` groups of its lane (of w.mask)
// stay pending; `all` includes the open group. False when there is none.
bool take_copy(Warp& w, uint32_t keep, bool all, PendingCopy& copy);

}  // namespace mcc::sim
