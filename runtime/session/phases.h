// Sizes that depend on data split a program into phases: at the start of a phase some symbols are
// read from buffers that earlier phases (or the caller, for inputs) have written; all sizes and
// launches of the phase follow from the symbols known by then.
#pragma once

#include <vector>

#include "runtime/plan/manifest.h"

namespace mcc::runtime {

struct Phase {
  size_t begin = 0;          // program instructions [begin, end)
  size_t end = 0;
  std::vector<int> symbols;  // become known at the start of the phase, in this order
};

struct PhaseTable {
  std::vector<Phase> phases;  // cover the program; at least one
  // Per symbol: the phase that makes it known, or -1 when the input shapes do.
  std::vector<int> phase_of_symbol;

  // A plan without data-dependent sizes: one phase, all from the input shapes.
  bool is_static() const { return phases.size() == 1 && phases[0].symbols.empty(); }
  // The phase after whose start the expression can be evaluated; -1: from the input shapes alone.
  int phase_of(const Expression& expression) const;
};

PhaseTable split_phases(const Manifest& manifest);

}  // namespace mcc::runtime
