// Questions about the memory accesses of a value.
#pragma once

#include <string>

#include "lib/backend/loop_ir.h"

namespace mcc::backend {

// Whether every load of the value is at an index linear in `variable` with slope 0 or 1 (or, for
// anything computed from indirect indices, at least linear), and no guard splits it.
bool accesses_linearly(const ScalarPtr& value, const std::string& variable);

// Whether `lanes` consecutive values of `variable`, from 0 on, can be loaded together: some load is of
// f32 parameters, contiguous and aligned to the group, all others do not depend on the variable, and
// neither does any guard.
bool loads_wide(const LoopKernel& kernel, const ScalarPtr& value, const std::string& variable, int lanes);

// Bits of the widest type that the value is computed through, at least 32.
int widest_bits(const ScalarPtr& value);

// Cost of computing the value once, as the scalar functions' table counts it.
int flops(const ScalarPtr& value);

}  // namespace mcc::backend
