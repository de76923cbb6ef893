// The arena planner: one block of memory for all activations of a program, with offsets such that
// buffers share space whenever their lifetimes allow it. The compiler runs it for static graphs,
// the runtime when shapes are bound: both get the same offsets from the same input.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/manifest.h"

namespace mcc::runtime {

struct ArenaRequest {
  int64_t bytes = 0;    // >= 0; 0 takes no space and gets offset 0
  int first = 0;        // first and last instruction that use it, inclusive
  int last = 0;
  int inplace_of = -1;  // index of the request whose storage this one may take over; it must end
                        // at the instruction where this one begins, else the wish is ignored
};

struct ArenaPlan {
  std::vector<int64_t> offsets;  // multiples of kBufferAlignment
  int64_t bytes = 0;             // the arena's size
  int64_t lower_bound_bytes = 0; // the largest sum of bytes live at one instruction, in-place
                                 // pairs counted once: no plan can be smaller
  int64_t sum_bytes = 0;         // of all requests: what no sharing at all would take
};

// Deterministic. Guarantee: requests that are live at a common instruction do not overlap, except
// that a request may start exactly where its inplace_of starts.
ArenaPlan plan_arena(std::span<const ArenaRequest> requests);

// Plans the arena buffers of a manifest whose lifetimes are set, for the given symbol values
// (empty when everything is constant). offsets has one entry per manifest buffer, -1 for those
// that are not in the arena.
ArenaPlan plan_arena(const Manifest& manifest, std::span<const int64_t> symbols);
// The same for buffers of known sizes (per manifest buffer) that are first used by instructions
// [begin, end).
ArenaPlan plan_arena(const Manifest& manifest, std::span<const int64_t> bytes, size_t begin,
                     size_t end);

}  // namespace mcc::runtime
