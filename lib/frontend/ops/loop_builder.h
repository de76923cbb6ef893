// Building If and Loop nodes of the IR from bodies that import functions describe.
#pragma once

#include <functional>

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

struct LoopResult {
  Operand condition;  // whether to go on; absent: yes
  Operands carried;
  Operands scans;
};
// Emits one iteration into `builder` (the model's graph when unrolled, else a subgraph).
using LoopBody = std::function<LoopResult(Builder& builder, const Operand& iteration,
                                          const Operand& condition, const Operands& carried)>;

struct LoopSpec {
  Operand trip_count;   // i64 scalar; absent: until the condition is false
  Operand condition;    // bool scalar; absent: true
  Operands carried;
  size_t scan_count = 0;
  int64_t body_nodes = 0;  // decides about unrolling
  LoopBody body;
};

// The final carried values, then the scan outputs stacked along a new first axis. Short loops with
// known trip counts are unrolled. Any poison in the result: problems have been reported.
Operands emit_loop(NodeContext& c, const LoopSpec& spec);

using BranchBody = std::function<Operands(Builder& builder)>;
// One of two branches, chosen at run time.
Operands emit_if(NodeContext& c, const Operand& condition, const BranchBody& then_branch,
                 const BranchBody& else_branch);

bool any_poison(const Operands& operands);

}  // namespace mcc::frontend
