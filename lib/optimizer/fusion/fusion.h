// Fusion: every node that computes becomes part of one `fused` node = one kernel.
//
// A group holds at most one anchor (a contraction, convolution, reduction, scan, sort, ...) and any
// number of maps, views and gathers around it:
//  - epilogue: nodes after the anchor whose elements map one-to-one to its elements; grown along
//    immediate post-dominators, so that diamonds such as x * clip(x + 3) are absorbed whole
//    (the post-dominator formulation follows TVM, Chen et al., OSDI 2018, section 3);
//  - prologue: nodes before it that are cheap to compute element by element where they are read.
// Everything else becomes groups without an anchor ("pointwise").
//
// Invariant: the result computes the same values; all remaining top-level nodes are `constant`,
// `fused`, `reshape` of a materialised value (an alias, no kernel), or control flow.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/ir/graph.h"
#include "lib/ir/op.h"

namespace mcc {

// Returns true if the graph changed. Calling it again on its own output does nothing.
bool fuse_operators(Graph& graph);

// What a kernel of an anchor may compute element by element on the way to the anchor's operands.
enum class Prologue : uint8_t {
  any,        // every operand element is read once or a few times
  cheap_map,  // elements are read several times: views and cheap maps
  cast,       // elements are read many times: views and casts
  view,       // only re-indexing
};

// The single place that says how an anchor is scheduled and what fuses with it.
struct ScheduleTraits {
  Op op;
  std::string_view schedule;  // lib/backend/schedules
  bool epilogue;              // maps after the anchor may join its kernel
  Prologue prologue;
};
// nullptr for operators that are no anchors.
const ScheduleTraits* schedule_traits(Op op);

}  // namespace mcc
