// Schedules that are the same on every target but for the loop over independent items.
#pragma once

#include <functional>

#include "lib/backend/lowering.h"

namespace mcc::backend {

// Wraps body(indices) into the target's loops over all items of a shape and sets the launch.
using ItemLoops = Block (*)(GroupLowering& lowering, const Shape& shape,
                            const std::function<Block(const Indices&)>& body);

// conv_transpose in gather form: an item is an output element.
LoopKernel conv_transpose_items(const Group& group, ItemLoops items);
// scan: an item is a row along the axis, walked in order.
LoopKernel scan_items(const Group& group, ItemLoops items);

}  // namespace mcc::backend
