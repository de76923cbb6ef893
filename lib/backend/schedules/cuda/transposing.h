// Pointwise groups that read some operand transposed, through a tile in shared memory.
#pragma once

#include <optional>

#include "lib/backend/lowering.h"

namespace mcc::backend {

// nullopt when the group reads no operand that way, or in a way that a tile cannot help.
std::optional<LoopKernel> cuda_transposing(const Group& group);

}  // namespace mcc::backend
