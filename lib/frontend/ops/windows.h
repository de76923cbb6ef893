// Window attributes of convolutions and pools.
#pragma once

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

struct Window {
  Ints size, strides, dilations;
  Shape low, high;  // padding
};

// Reads strides, dilations, pads and auto_pad for windows of `size` over the spatial dims `in`.
// With `ceil_mode`, high padding is extended so that the last partial window counts.
Window read_window(const NodeContext& n, const Ints& size, const Shape& in, bool ceil_mode);

}  // namespace mcc::frontend
