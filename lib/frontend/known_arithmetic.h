// Arithmetic on integers (and fractions) known at import as symbolic expressions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

// The result of an elementwise ONNX operator ("Add", "Cast", "Equal", ...) over operands whose
// values are all known; nullopt when the operator or a value has no symbolic form (a comparison
// that the symbols' ranges do not decide, for example).
std::optional<Operand> known_elementwise(const NodeContext& node, const Ranges& ranges);

// The result of an operator that only moves elements, computed on element numbers: `run` imports
// the operator over the substituted operands in a builder of its own.
std::optional<Results> known_moves(NodeContext& node, const OperatorEntry& entry, const Ranges& ranges);

}  // namespace mcc::frontend
