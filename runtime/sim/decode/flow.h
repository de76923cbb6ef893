// Control flow of a function in terms of statements: basic blocks, post-dominators, liveness.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/sim/text/syntax.h"

namespace mcc::sim {

struct BasicBlock {
  int first = 0;
  int end = 0;  // one past the last statement
  std::vector<int> successors;
};

struct Flow {
  std::vector<BasicBlock> blocks;
  std::vector<int> block_of;      // statement -> block
  std::vector<int> reconverge;    // block -> statement where its branch's paths meet, -1: never
};

bool is_branch(const Statement& s);
bool ends_thread(const Statement& s);  // ret, exit, trap

// SimError for a branch to an unknown label.
Flow analyze_flow(const ParsedFunction& function);

// Registers that a statement writes and reads (ids), guards included.
void registers_of(const Statement& s, std::vector<int>& writes, std::vector<int>& reads);

// Slots for the function's registers: byte offsets for values, dense numbers for predicates.
struct Allocation {
  std::vector<int32_t> slot;
  uint32_t bytes = 0;
  uint32_t predicates = 0;
  uint32_t peak_words = 0;  // 32-bit registers live at once, the lower bound of what ptxas needs
};
Allocation allocate_registers(const ParsedFunction& function, const Flow& flow);

}  // namespace mcc::sim
