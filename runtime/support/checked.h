// Integer arithmetic that reports overflow instead of wrapping: sizes read from a file or derived
// from a user's shapes go through these.
#pragma once

#include <cstdint>

#include "runtime/support/error.h"

namespace mcc::runtime {

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) fail_usage("a size overflows 64 bits");
  return result;
}

inline int64_t checked_subtract(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) fail_usage("a size overflows 64 bits");
  return result;
}

inline int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) fail_usage("a size overflows 64 bits");
  return result;
}

// Smallest multiple of `alignment` (positive) that is >= value (non-negative).
inline int64_t align_up(int64_t value, int64_t alignment) {
  return checked_add(value, alignment - 1) / alignment * alignment;
}

}  // namespace mcc::runtime
