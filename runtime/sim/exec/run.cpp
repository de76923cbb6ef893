// The interpreter's loop, and the table of selectors of one instruction set.
//
// Invariant: a warp leaves the loop only with an event set; its program counter is then that of the
// next instruction to execute (or of the same one, when a wait must be tried again).
#include "runtime/sim/exec/isa.h"
#include "runtime/sim/exec/lanes.h"

namespace mcc::sim {

// control.cpp
void reconverge(Warp& w);

namespace MCC_SIM_ISA {
namespace {

Handler select(const Form& form) {
  static constexpr Handler (*kFamilies[])(const Form&) = {
      &select_float, &select_rounded, &select_approximate, &select_half, &select_compare, &select_convert, &select_memory,
      &select_atomic, &select_communication, &select_matrix, &select_async, &select_move, &select_bits,
  };
  // Integer families also know add, mul... and come last: they refuse floating types.
  for (auto family : kFamilies) {
    if (Handler found = family(form)) return found;
  }
  return is_float(form.type) ? nullptr : select_integer(form);
}

void run(Warp& w) {
  const Inst* code = w.code;
  InstStats* stats = w.stats;
  w.event = Event::none;
  while (true) {
    if (w.pc == w.reconverge) {
      reconverge(w);
      if (w.event != Event::none) return;
      continue;
    }
    const Inst& in = code[w.pc];
    ++w.pc;
    u32 mask = w.active;
    if (in.guard >= 0) mask &= w.predicates[in.guard] ^ (in.guard_negated != 0 ? kAllLanes : 0u);
    ++w.executed;
    InstStats& s = stats[in.index];
    s.warps += 1;
    s.threads += static_cast<u64>(__builtin_popcount(mask));
    if (mask == 0) continue;
    w.mask = mask;
    in.run(w, in);
    if (w.event != Event::none) return;
  }
}

}  // namespace

extern const Isa kIsa;
const Isa kIsa = {MCC_SIM_ISA_NAME, &select, &run};

}  // namespace MCC_SIM_ISA
}  // namespace mcc::sim
