// In-place analysis: which inputs of a fused node its output may overwrite.
#pragma once

#include <vector>

#include "lib/ir/graph.h"

namespace mcc {

// Indices of the inputs of `fused` (Op::fused, one output) whose memory the output may take over:
// every element of such an input is read only to compute the output element at the same linear
// position, so a thread that stores an element has read what it overwrites before. Softmax and
// normalize qualify too: they finish reading a row's statistics before storing the row, and the
// last pass reads and stores position by position. Sizes in bytes are provably equal.
std::vector<int> inplace_candidates(const Node& fused);

}  // namespace mcc
