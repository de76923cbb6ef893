// The executor as one instruction set offers it: how to find handlers and run warps.
#pragma once

#include "runtime/sim/core/form.h"
#include "runtime/sim/core/machine.h"

namespace mcc::sim {

struct Isa {
  const char* name;                    // "x86-64-v4"
  Handler (*select)(const Form& form);  // nullptr: no handler for this combination
  void (*run)(Warp& w);                // until an event
};

// The widest instruction set that this processor has, or the named one; SimError for a name that
// was not built in or cannot run here.
const Isa& choose_isa(const char* name = nullptr);

}  // namespace mcc::sim
