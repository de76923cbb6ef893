// Symbolic evaluation of IR operators on known values (dimensions and arithmetic on them).
#pragma once

#include <optional>

#include "lib/frontend/operand.h"
#include "lib/frontend/symbols.h"

namespace mcc::frontend {

// The output's elements when all inputs are known and the operator has a symbolic meaning, else
// nullopt. Values are exact; integer overflow of the model's own type is not modelled.
std::optional<KnownValues> evaluate_symbolically(const Node& node,
                                                 const std::vector<Operand>& inputs,
                                                 const TensorType& type, const Symbols& symbols);

// Scalars; nullopt when the result has no such form.
std::optional<Known> map_known(std::string_view fn, const KnownValues& operands, DType operand_type,
                               DType result_type, const Ranges& ranges);

}  // namespace mcc::frontend
