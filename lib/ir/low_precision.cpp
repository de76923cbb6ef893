// Small floating formats by one parametrised encoder.
#include "lib/ir/low_precision.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/ir/tensor.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  double largest;     // largest finite value
  bool has_infinity;  // exponent all ones, mantissa zero
  int nan_bits;       // a quiet NaN's code, -1 when the format has none
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {5, 10, 15, 65504.0, true, 0x7e00};
    case DType::bf16: return {8, 7, 127, 3.3895313892515355e38, true, 0x7fc0};
    case DType::f8e4m3fn: return {4, 3, 7, 448.0, false, 0x7f};
    case DType::f8e4m3fnuz: return {4, 3, 8, 240.0, false, 0x80};
    case DType::f8e5m2: return {5, 2, 15, 57344.0, true, 0x7e};
    case DType::f8e5m2fnuz: return {5, 2, 16, 57344.0, false, 0x80};
    case DType::f4e2m1: return {2, 1, 1, 6.0, false, -1};
    default: throw InternalError("not a small floating format");
  }
}

bool is_unsigned_zero_format(DType dtype) {
  return dtype == DType::f8e4m3fnuz || dtype == DType::f8e5m2fnuz;
}

// Magnitude bits of `value` (finite, >= 0), rounded to nearest even; may exceed the largest finite.
int64_t encode_magnitude(const Format& format, double value) {
  const int smallest = 1 - format.bias;
  if (value < std::ldexp(1.0, smallest)) {
    // Subnormal: in units of the last place; adding 2^52 rounds. A carry gives the least normal.
    return static_cast<int64_t>((std::ldexp(value, format.mantissa_bits - smallest) + 0x1p52) -
                                0x1p52);
  }
  // Normal: change the exponent's bias and round the dropped bits; a carry moves into the exponent.
  const int shift = 52 - format.mantissa_bits;
  const auto bits = std::bit_cast<int64_t>(value) - (int64_t{1023 - format.bias} << 52);
  return (bits + ((int64_t{1} << (shift - 1)) - 1) + ((bits >> shift) & 1)) >> shift;
}

double decode_magnitude(const Format& format, int64_t bits) {
  const int64_t field = bits >> format.mantissa_bits;
  if (field == 0) {
    return std::ldexp(static_cast<double>(bits), 1 - format.bias - format.mantissa_bits);
  }
  return std::bit_cast<double>((bits << (52 - format.mantissa_bits)) +
                               (int64_t{1023 - format.bias} << 52));
}

uint16_t encode_ieee(DType dtype, double value) {
  const Format format = format_of(dtype);
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | format.nan_bits);
  const int64_t infinity = ((int64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  int64_t bits = std::isinf(value) ? infinity : encode_magnitude(format, std::fabs(value));
  bits = std::min(bits, infinity);
  return static_cast<uint16_t>(sign | bits);
}

double decode_ieee(DType dtype, uint16_t bits) {
  const Format format = format_of(dtype);
  const int64_t magnitude = bits & 0x7fff;
  const int64_t infinity = ((int64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  double value = 0;
  if (magnitude > infinity) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (magnitude == infinity) {
    value = std::numeric_limits<double>::infinity();
  } else {
    value = decode_magnitude(format, magnitude);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace

double small_float_to_double(DType dtype, uint8_t bits) {
  const Format format = format_of(dtype);
  const int width = dtype == DType::f4e2m1 ? 4 : 8;
  const int sign_bit = 1 << (width - 1);
  const bool negative = (bits & sign_bit) != 0;
  const int magnitude = bits & (sign_bit - 1);
  if (is_unsigned_zero_format(dtype)) {
    if (bits == 0x80) return std::numeric_limits<double>::quiet_NaN();
  } else if (dtype == DType::f8e4m3fn) {
    if (magnitude == 0x7f) return std::numeric_limits<double>::quiet_NaN();
  } else if (dtype == DType::f8e5m2) {
    if (magnitude > 0x7c) return std::numeric_limits<double>::quiet_NaN();
    if (magnitude == 0x7c) {
      return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    }
  }
  const double value = decode_magnitude(format, magnitude);
  return negative ? -value : value;
}

uint8_t double_to_small_float(DType dtype, double value, bool saturate) {
  const Format format = format_of(dtype);
  const int width = dtype == DType::f4e2m1 ? 4 : 8;
  const int sign = std::signbit(value) ? 1 << (width - 1) : 0;
  if (std::isnan(value)) {
    // A format without NaN gets its largest value, as ONNX's reference does for float4.
    if (format.nan_bits < 0) return static_cast<uint8_t>(encode_magnitude(format, format.largest));
    return static_cast<uint8_t>(is_unsigned_zero_format(dtype) ? 0x80 : sign | format.nan_bits);
  }
  const int64_t largest = encode_magnitude(format, format.largest);
  int64_t bits = std::isinf(value) ? largest + 1 : encode_magnitude(format, std::fabs(value));
  if (bits > largest) {
    // largest + 1 is the infinity of f8e5m2 and the NaN of f8e4m3fn.
    if (!saturate && is_unsigned_zero_format(dtype)) return 0x80;
    bits = saturate || format.nan_bits < 0 ? largest : largest + 1;
  }
  if (bits == 0 && is_unsigned_zero_format(dtype)) return 0;
  return static_cast<uint8_t>(sign | static_cast<int>(bits));
}

uint16_t double_to_half(double value) { return encode_ieee(DType::f16, value); }
uint16_t double_to_bfloat16(double value) { return encode_ieee(DType::bf16, value); }

float half_to_float(uint16_t bits) { return static_cast<float>(decode_ieee(DType::f16, bits)); }
uint16_t float_to_half(float value) { return double_to_half(static_cast<double>(value)); }

float bfloat16_to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}
uint16_t float_to_bfloat16(float value) { return double_to_bfloat16(static_cast<double>(value)); }

int64_t saturate_to_integer(DType dtype, double value) {
  if (std::isnan(value)) return 0;
  const DTypeInfo& info = dtype_info(dtype);
  const bool is_signed = info.kind == DTypeKind::signed_integer;
  const double high = std::ldexp(1.0, is_signed ? info.bits - 1 : info.bits);
  const double low = is_signed ? -high : 0.0;
  if (value <= low) return is_signed ? -(int64_t{1} << (info.bits - 1)) : 0;
  if (value >= high) {
    if (!is_signed && info.bits == 64) return -1;
    return is_signed ? static_cast<int64_t>((uint64_t{1} << (info.bits - 1)) - 1)
                     : static_cast<int64_t>((uint64_t{1} << info.bits) - 1);
  }
  if (!is_signed && info.bits == 64) return static_cast<int64_t>(static_cast<uint64_t>(value));
  return static_cast<int64_t>(value);
}

}  // namespace mcc
