// Pads, strides and output sizes that convolutions and pools share.
#pragma once

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

struct WindowGeometry {
  Ints window, strides, dilations;
  Shape low, high;  // padding before and after each spatial axis
};

// Reads strides, dilations, pads and auto_pad; `spatial` are the sizes of the spatial axes.
// ModelError when list lengths do not fit.
WindowGeometry window_geometry(const NodeContext& c, const Ints& window, const Shape& spatial);
// The size of a window over the input, dilation included.
inline int64_t reach(const WindowGeometry& g, size_t i) {
  return g.dilations[i] * (g.window[i] - 1) + 1;
}

}  // namespace mcc::frontend
