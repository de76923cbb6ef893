// The folding functions of reduce, scan and window_reduce, by name.
// Invariant: min and max propagate NaN; integers wrap.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "lib/ir/dtype.h"

namespace mcc::ops {

// The neutral element of `fn` for a type; integers: the extreme values of that very type.
template <typename T>
T fold_start(std::string_view fn, DType dtype) {
  if (fn == "sum" || fn == "any") return T(0);
  if (fn == "prod" || fn == "all") return T(1);
  if constexpr (std::is_floating_point_v<T>) {
    const T infinity = std::numeric_limits<T>::infinity();
    return fn == "min" ? infinity : -infinity;
  } else {
    const DTypeInfo& info = dtype_info(dtype);
    const bool is_unsigned = info.kind == DTypeKind::unsigned_integer;
    const int digits = is_unsigned ? info.bits : info.bits - 1;
    const uint64_t largest = digits == 64 ? ~uint64_t{0} : (uint64_t{1} << digits) - 1;
    if (fn == "min") return static_cast<T>(largest);
    return is_unsigned ? T(0) : static_cast<T>(-static_cast<T>(largest) - 1);
  }
}

template <typename T>
T fold(std::string_view fn, T a, T b, bool is_unsigned) {
  if constexpr (std::is_floating_point_v<T>) {
    if (fn == "sum") return a + b;
    if (fn == "prod") return a * b;
    if (b != b) return b;
    return fn == "min" ? (b < a ? b : a) : (b > a ? b : a);  // keeps a NaN in a
  } else {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    if (fn == "sum") return static_cast<T>(x + y);
    if (fn == "prod") return static_cast<T>(x * y);
    if (fn == "any") return a | b;
    if (fn == "all") return a & b;
    const bool less = is_unsigned ? y < x : b < a;
    return (fn == "min") == less ? b : a;
  }
}

}  // namespace mcc::ops
