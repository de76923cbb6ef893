// Converting loads and stores, one switch over element types for all evaluators.
#include "lib/ir/elements.h"

#include <cstring>

#include "lib/ir/low_precision.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

// Calls action(T{}) for types that are stored as a C type T of their own; false otherwise.
template <typename Action>
bool with_plain_type(DType dtype, const Action& action) {
  switch (dtype) {
    case DType::f64:
      action(double{});
      return true;
    case DType::f32:
      action(float{});
      return true;
    case DType::i64:
      action(int64_t{});
      return true;
    case DType::i32:
      action(int32_t{});
      return true;
    case DType::i16:
      action(int16_t{});
      return true;
    case DType::i8:
      action(int8_t{});
      return true;
    case DType::u64:
      action(uint64_t{});
      return true;
    case DType::u32:
      action(uint32_t{});
      return true;
    case DType::u16:
      action(uint16_t{});
      return true;
    case DType::u8:
      action(uint8_t{});
      return true;
    default:
      return false;
  }
}

// The bits of element `index` of a type narrower than a byte, low bits first.
uint8_t packed_bits(const Tensor& tensor, int64_t index, int bits) {
  const int64_t at = index * bits;
  const auto byte = tensor.as<uint8_t>()[at / 8];
  return static_cast<uint8_t>((byte >> (at % 8)) & ((1 << bits) - 1));
}

void set_packed_bits(uint8_t* data, int64_t index, int bits, uint8_t value) {
  const int64_t at = index * bits;
  const int mask = ((1 << bits) - 1) << (at % 8);
  data[at / 8] = static_cast<uint8_t>((data[at / 8] & ~mask) | ((value << (at % 8)) & mask));
}

int64_t sign_extended(uint8_t value, int bits) {
  const int sign = 1 << (bits - 1);
  return (value ^ sign) - sign;
}

uint8_t code_at(const Tensor& tensor, int64_t index) {
  const int bits = dtype_info(tensor.dtype()).bits;
  return bits == 8 ? tensor.as<uint8_t>()[index] : packed_bits(tensor, index, bits);
}

[[noreturn]] void no_numbers(DType dtype) {
  throw InternalError("elements of type " + std::string(dtype_info(dtype).name) +
                      " are not numbers");
}

bool is_small_float(DType dtype) { return is_floating(dtype) && dtype_info(dtype).bits <= 8; }
bool is_packed_integer(DType dtype) { return is_integer(dtype) && dtype_info(dtype).bits < 8; }

template <typename Out>
void load_packed_integers(const Tensor& tensor, int64_t first, std::span<Out> out) {
  const DTypeInfo& info = dtype_info(tensor.dtype());
  for (size_t i = 0; i < out.size(); ++i) {
    const uint8_t bits = packed_bits(tensor, first + static_cast<int64_t>(i), info.bits);
    out[i] = static_cast<Out>(
        info.kind == DTypeKind::signed_integer ? sign_extended(bits, info.bits) : int64_t{bits});
  }
}

}  // namespace

void load_elements(const Tensor& tensor, int64_t first, std::span<double> out) {
  const DType dtype = tensor.dtype();
  const bool plain = with_plain_type(dtype, [&](auto zero) {
    const auto* data = tensor.as<decltype(zero)>() + first;
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(data[i]);
  });
  if (plain) return;
  if (dtype == DType::f16 || dtype == DType::bf16) {
    const uint16_t* data = tensor.as<uint16_t>() + first;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = double{dtype == DType::f16 ? half_to_float(data[i]) : bfloat16_to_float(data[i])};
    }
  } else if (is_small_float(dtype)) {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = small_float_to_double(dtype, code_at(tensor, first + static_cast<int64_t>(i)));
    }
  } else if (dtype == DType::boolean) {
    const uint8_t* data = tensor.as<uint8_t>() + first;
    for (size_t i = 0; i < out.size(); ++i) out[i] = data[i] != 0 ? 1 : 0;
  } else if (is_packed_integer(dtype)) {
    load_packed_integers(tensor, first, out);
  } else {
    no_numbers(dtype);
  }
}

void load_elements(const Tensor& tensor, int64_t first, std::span<int64_t> out) {
  const DType dtype = tensor.dtype();
  if (is_floating(dtype)) {
    std::vector<double> values(out.size());
    load_elements(tensor, first, values);
    for (size_t i = 0; i < out.size(); ++i) out[i] = truncate_to_integer(values[i]);
    return;
  }
  const bool plain = with_plain_type(dtype, [&](auto zero) {
    const auto* data = tensor.as<decltype(zero)>() + first;
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(data[i]);
  });
  if (plain) return;
  if (dtype == DType::boolean) {
    const uint8_t* data = tensor.as<uint8_t>() + first;
    for (size_t i = 0; i < out.size(); ++i) out[i] = data[i] != 0 ? 1 : 0;
  } else if (is_packed_integer(dtype)) {
    load_packed_integers(tensor, first, out);
  } else {
    no_numbers(dtype);
  }
}

void store_elements(Tensor& tensor, int64_t first, std::span<const double> values, bool saturate) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::boolean) {
    uint8_t* data = tensor.mutable_as<uint8_t>() + first;
    for (size_t i = 0; i < values.size(); ++i) data[i] = values[i] != 0 ? 1 : 0;
    return;
  }
  if (is_integer(dtype)) {
    std::vector<int64_t> integers(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      // The upper half of u64 is beyond int64_t: it goes through unsigned conversion.
      integers[i] = dtype == DType::u64 && values[i] >= 0x1p63
                        ? static_cast<int64_t>(
                              values[i] >= 0x1p64 ? ~uint64_t{0} : static_cast<uint64_t>(values[i]))
                        : truncate_to_integer(values[i]);
    }
    store_elements(tensor, first, integers);
    return;
  }
  switch (dtype) {
    case DType::f64:
      std::memcpy(tensor.mutable_as<double>() + first, values.data(), values.size_bytes());
      return;
    case DType::f32: {
      float* data = tensor.mutable_as<float>() + first;
      for (size_t i = 0; i < values.size(); ++i) data[i] = static_cast<float>(values[i]);
      return;
    }
    case DType::f16:
    case DType::bf16: {
      uint16_t* data = tensor.mutable_as<uint16_t>() + first;
      for (size_t i = 0; i < values.size(); ++i) {
        data[i] = dtype == DType::f16 ? double_to_half(values[i]) : double_to_bfloat16(values[i]);
      }
      return;
    }
    default:
      break;
  }
  if (!is_small_float(dtype)) no_numbers(dtype);
  const int bits = dtype_info(dtype).bits;
  uint8_t* data = tensor.mutable_as<uint8_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    const uint8_t code = double_to_small_float(dtype, values[i], saturate);
    const int64_t index = first + static_cast<int64_t>(i);
    if (bits == 8) {
      data[index] = code;
    } else {
      set_packed_bits(data, index, bits, code);
    }
  }
}

void store_elements(Tensor& tensor, int64_t first, std::span<const int64_t> values) {
  const DType dtype = tensor.dtype();
  if (is_floating(dtype)) {
    std::vector<double> reals(values.begin(), values.end());
    store_elements(tensor, first, reals);
    return;
  }
  const bool plain = with_plain_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* data = tensor.mutable_as<T>() + first;
    for (size_t i = 0; i < values.size(); ++i) data[i] = static_cast<T>(values[i]);
  });
  if (plain) return;
  uint8_t* data = tensor.mutable_as<uint8_t>();
  if (dtype == DType::boolean) {
    for (size_t i = 0; i < values.size(); ++i)
      data[first + static_cast<int64_t>(i)] = values[i] != 0;
  } else if (is_packed_integer(dtype)) {
    for (size_t i = 0; i < values.size(); ++i) {
      set_packed_bits(data, first + static_cast<int64_t>(i), dtype_info(dtype).bits,
                      static_cast<uint8_t>(values[i]));
    }
  } else {
    no_numbers(dtype);
  }
}

std::vector<double> all_doubles(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  load_elements(tensor, 0, values);
  return values;
}

std::vector<int64_t> all_integers(const Tensor& tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.elements()));
  load_elements(tensor, 0, values);
  return values;
}

void copy_elements(const Tensor& from, int64_t from_first, Tensor& to, int64_t to_first,
                   int64_t count) {
  check_internal(from.dtype() == to.dtype(), "elements of different types are copied");
  const int bits = dtype_info(from.dtype()).bits;
  if (from.dtype() == DType::string) {
    for (int64_t i = 0; i < count; ++i) {
      (*to.strings)[static_cast<size_t>(to_first + i)] =
          (*from.strings)[static_cast<size_t>(from_first + i)];
    }
  } else if (bits < 8) {
    uint8_t* data = to.mutable_as<uint8_t>();
    for (int64_t i = 0; i < count; ++i) {
      set_packed_bits(data, to_first + i, bits, packed_bits(from, from_first + i, bits));
    }
  } else if (count > 0) {
    const int64_t width = bits / 8;
    std::memcpy(to.mutable_data() + to_first * width, from.data() + from_first * width,
                static_cast<size_t>(count * width));
  }
}

int64_t truncate_to_integer(double value) {
  if (value != value) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value < -0x1p63) return INT64_MIN;
  return static_cast<int64_t>(value);
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * shape[i - 1];
  return strides;
}

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}

std::vector<int64_t> axis_offsets(const std::vector<int64_t>& shape,
                                  const std::vector<int64_t>& strides,
                                  const std::vector<int64_t>& axes) {
  std::vector<int64_t> offsets{0};
  for (int64_t axis : axes) {
    const auto a = static_cast<size_t>(axis);
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(shape[a]));
    for (int64_t base : offsets) {
      for (int64_t i = 0; i < shape[a]; ++i) next.push_back(base + i * strides[a]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace mcc
