// The operator families; each file exports its entries.
#pragma once

#include <span>

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

std::span<const OperatorEntry> elementwise_operators();
std::span<const OperatorEntry> activation_operators();
std::span<const OperatorEntry> shape_operators();
std::span<const OperatorEntry> view_operators();
std::span<const OperatorEntry> indexing_operators();
std::span<const OperatorEntry> contraction_operators();
std::span<const OperatorEntry> conv_operators();
std::span<const OperatorEntry> pool_operators();
std::span<const OperatorEntry> reduction_operators();
std::span<const OperatorEntry> normalization_operators();
std::span<const OperatorEntry> resize_operators();
std::span<const OperatorEntry> quantization_operators();

}  // namespace mcc::frontend
