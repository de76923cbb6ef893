// See compare.h.
#include "tools/io/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mcc::tools {

namespace {

double distance(double expected, double actual) {
  if (std::isnan(expected) && std::isnan(actual)) return 0;
  if (expected == actual) return 0;
  const double difference = std::abs(expected - actual);
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

}  // namespace

Difference compare(const Tensor& expected, const Tensor& actual) {
  Difference result;
  double magnitude = 0;
  const bool integers = is_integer(expected.dtype());
  for (int64_t i = 0; i < expected.elements(); ++i) {
    double a = expected.get_double(i);
    double b = actual.get_double(i);
    double gap = distance(a, b);
    if (integers) {
      // 64-bit integers do not fit a double: subtract first.
      const int64_t left = expected.get_int64(i);
      const int64_t right = actual.get_int64(i);
      const auto high = static_cast<uint64_t>(std::max(left, right));
      gap = static_cast<double>(high - static_cast<uint64_t>(std::min(left, right)));
    }
    if (std::isfinite(a)) magnitude = std::max(magnitude, std::abs(a));
    if (gap > result.max_abs) {
      result.max_abs = gap;
      result.index = i;
      result.expected = a;
      result.actual = b;
    }
  }
  // Against an all-zero reference the absolute difference counts.
  result.relative = result.max_abs == 0 ? 0 : result.max_abs / (magnitude > 0 ? magnitude : 1);
  return result;
}

double default_tolerance(DType dtype) {
  switch (dtype_info(dtype).kind) {
    case DTypeKind::floating:
    case DTypeKind::complex: break;
    default: return 0;
  }
  // A few units in the last place of each type, with room for long sums in another order.
  const int bits = dtype_info(dtype).bits;
  if (dtype == DType::bf16) return 3e-2;
  if (bits == 16) return 5e-3;
  if (bits < 16) return 0.25;
  return 1e-4;
}

}  // namespace mcc::tools
