// Questions about the memory accesses of a value.
#pragma once

#include <string>

#include "lib/backend/loop_ir.h"

namespace mcc::backend {

// Whether every load of the value is at an index linear in `variable` with slope 0 or 1 (or, for
// anything computed from indirect indices, at least linear), and no guard splits it.
bool accesses_linearly(const ScalarPtr& value, const std::string& variable);

}  // namespace mcc::backend
