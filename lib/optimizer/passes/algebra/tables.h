// The pattern tables of simplify_algebra, one per family of operators.
#pragma once

#include <span>

#include "lib/optimizer/rewrite/patterns.h"

namespace mcc::algebra {

std::span<const Pattern> view_patterns();     // reshape, transpose, broadcast
std::span<const Pattern> slice_patterns();    // slice, pad, concat, gather
std::span<const Pattern> map_patterns();      // identities of scalar functions
std::span<const Pattern> operand_patterns();  // maps whose operands share a view; folds, conv

}  // namespace mcc::algebra
