// The normalization that several operators are made of.
#pragma once

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

// (x - mean) / sqrt(var + epsilon) for kind "layer", x / sqrt(mean(x^2) + epsilon) for "rms".
Operand normalized(Builder& b, const Operand& x, const Ints& axes, double epsilon,
                   const char* kind);

}  // namespace mcc::frontend
