// Pieces of convolutions that quantized and vendor operators use too.
#pragma once

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

// Convolution with the node's strides, pads, dilations and group; no bias.
Operand convolution(const NodeContext& c, const Operand& x, const Operand& w);
// x + bias along axis 1; x itself without a bias.
Operand with_channel_bias(Builder& b, const Operand& x, const Operand& bias);
// Absent, or a constant of zeros.
bool is_zero(const Operand& operand);
// conv(x - x_zero, w - w_zero) in i32; absent zero points are 0.
Operand integer_convolution(const NodeContext& c, const Operand& x, const Operand& w,
                            const Operand& x_zero, const Operand& w_zero);

}  // namespace mcc::frontend
