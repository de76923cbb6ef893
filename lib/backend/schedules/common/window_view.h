// One output element of a window_reduce node, the same on every target.
#pragma once

#include <functional>

#include "lib/backend/lowering.h"

namespace mcc::backend {

// Statements that fold the window of the output element `at` and store the group's outputs. The
// registers have `lanes` lanes (host vector loops; 1 elsewhere).
Block window_element(GroupLowering& lowering, const Indices& at, int lanes);

// The same for `fold`, a statement that combines the element at `position`: loops over the taps,
// guarded where a tap may be outside of the input.
Block over_taps(GroupLowering& lowering, const Indices& at,
                const std::function<Block(const Indices& position)>& fold);

}  // namespace mcc::backend
