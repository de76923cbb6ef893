// Bounds of an expression from the bounds of its symbols, for describing signatures.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/plan/expression.h"

namespace mcc::runtime {

struct ValueRange {
  int64_t low = 0;
  int64_t high = 0;
};

// Interval arithmetic: sound, not always tight; saturates at the limits of 64 bits.
ValueRange range_of(const Expression& expression, std::span<const ValueRange> symbols);

}  // namespace mcc::runtime
