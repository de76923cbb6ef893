// Reading an image at fractional positions: the core of GridSample, DeformConv and RoiAlign.
#pragma once

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

enum class Outside : uint8_t { zeros, border, reflection };

struct Sampling {
  std::string kind = "linear";  // nearest, linear, cubic
  Outside outside = Outside::zeros;
  bool align_corners = false;  // of reflections: about pixel centers instead of edges
};

// x [N, C, spatial...] sampled at `positions`, one tensor [N, P] of pixel coordinates for each
// spatial axis (of a floating type) → [N, C, P].
Operand sample(Builder& b, const Operand& x, const Operands& positions, const Sampling& how);

}  // namespace mcc::frontend
