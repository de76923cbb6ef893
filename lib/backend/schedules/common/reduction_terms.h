// What reductions fold with: the scalar function and the neutral element.
#pragma once

#include <string>

#include "lib/backend/loop_ir.h"

namespace mcc::backend {

// "sum" -> "add", "any" -> "or", ...
std::string fold_function(const std::string& reduction);
// The value that leaves every other unchanged under the fold.
ScalarPtr neutral_element(const std::string& reduction, DType dtype);

}  // namespace mcc::backend
