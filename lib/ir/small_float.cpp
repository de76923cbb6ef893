// Encoding and decoding of the 8- and 4-bit floating formats by their parameters.
#include "lib/ir/small_float.h"

#include <array>
#include <cmath>
#include <limits>

#include "lib/support/error.h"

namespace mcc {
namespace {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  double largest;     // greatest finite value
  bool has_infinity;  // all-ones exponent is reserved, as in IEEE formats
  bool fnuz;
};

const Format& format_of(DType dtype) {
  static constexpr Format kE4m3fn{4, 3, 7, 448, false, false};
  static constexpr Format kE4m3fnuz{4, 3, 8, 240, false, true};
  static constexpr Format kE5m2{5, 2, 15, 57344, true, false};
  static constexpr Format kE5m2fnuz{5, 2, 16, 57344, false, true};
  static constexpr Format kE2m1{2, 1, 1, 6, false, false};
  switch (dtype) {
    case DType::f8e4m3fn: return kE4m3fn;
    case DType::f8e4m3fnuz: return kE4m3fnuz;
    case DType::f8e5m2: return kE5m2;
    case DType::f8e5m2fnuz: return kE5m2fnuz;
    case DType::f4e2m1: return kE2m1;
    default: throw InternalError("a type is not a small floating format");
  }
}

double decode(DType dtype, uint8_t code) {
  const Format& format = format_of(dtype);
  const int sign_at = format.exponent_bits + format.mantissa_bits;
  const bool negative = ((code >> sign_at) & 1) != 0;
  const int exponent = (code >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
  const int mantissa = code & ((1 << format.mantissa_bits) - 1);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (format.fnuz && code == 0x80) return kNan;
  const int top = (1 << format.exponent_bits) - 1;
  if (format.has_infinity && exponent == top) {
    if (mantissa != 0) return kNan;
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  if (dtype == DType::f8e4m3fn && exponent == top && mantissa == 7) return kNan;
  const int scale = 1 - format.bias - format.mantissa_bits;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, scale)
                    : std::ldexp(mantissa + (1 << format.mantissa_bits), scale + exponent - 1);
  return negative ? -magnitude : magnitude;
}

}  // namespace

double small_float_value(DType dtype, uint8_t code) {
  using Table = std::array<std::array<double, 256>, 5>;
  static const Table values = [] {
    Table table{};
    for (size_t row = 0; row < table.size(); ++row) {
      for (int i = 0; i < 256; ++i) {
        const auto format = static_cast<DType>(static_cast<size_t>(DType::f8e4m3fn) + row);
        table[row][static_cast<size_t>(i)] = decode(format, static_cast<uint8_t>(i));
      }
    }
    return table;
  }();
  const size_t row = static_cast<size_t>(dtype) - static_cast<size_t>(DType::f8e4m3fn);
  check_internal(row < values.size(), "a type is not a small floating format");
  return values[row][code];
}

uint8_t small_float_code(DType dtype, double value, bool saturate) {
  const Format& format = format_of(dtype);
  const int sign_at = format.exponent_bits + format.mantissa_bits;
  const int sign = std::signbit(value) ? 1 << sign_at : 0;
  const auto code = [](int bits) { return static_cast<uint8_t>(bits); };
  const int infinity = ((1 << format.exponent_bits) - 1) << format.mantissa_bits;
  const int nan = format.fnuz ? 0x80 : sign | (format.has_infinity ? infinity | 2 : 0x7f);
  if (dtype == DType::f4e2m1) {
    saturate = true;
    if (std::isnan(value)) return 7;
  }
  if (std::isnan(value)) return code(nan);

  double magnitude = std::fabs(value);
  int exponent = 0;
  if (std::isinf(magnitude)) {
    magnitude = std::numeric_limits<double>::max();
  }
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, m in [0.5, 1)
  const int lowest = 1 - format.bias;
  exponent = exponent - 1 < lowest ? lowest : exponent - 1;
  // Round in units of the last place; a carry into the next binade stays exact.
  const double unit = std::ldexp(1.0, exponent - format.mantissa_bits);
  const double rounded = std::nearbyint(magnitude / unit) * unit;
  if (rounded > format.largest) {
    if (!saturate) return format.has_infinity ? code(sign | infinity) : code(nan);
    magnitude = format.largest;
  } else {
    magnitude = rounded;
  }
  if (magnitude == 0) return format.fnuz ? uint8_t{0} : code(sign);
  std::frexp(magnitude, &exponent);
  exponent -= 1;
  if (exponent < lowest) {  // subnormal
    return code(sign | static_cast<int>(std::ldexp(magnitude, format.mantissa_bits - lowest)));
  }
  const int mantissa = static_cast<int>(std::ldexp(magnitude, format.mantissa_bits - exponent)) -
                       (1 << format.mantissa_bits);
  return code(sign | ((exponent + format.bias) << format.mantissa_bits) | mantissa);
}

}  // namespace mcc
