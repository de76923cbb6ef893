// Tensor storage and element access.
#include "lib/ir/tensor.h"

#include <cmath>
#include <cstring>

#include "lib/ir/low_precision.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

int64_t checked_elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 0) throw ModelError("a tensor has a negative dimension");
    if (__builtin_mul_overflow(count, dim, &count)) throw ModelError("a tensor's size overflows 64 bits");
  }
  if (count > (int64_t{1} << 56)) throw ModelError("a tensor's size overflows 64 bits");
  return count;
}

// Position of packed sub-byte elements, low bits first.
struct PackedPosition {
  int64_t byte;
  int shift;
};
PackedPosition packed_position(int64_t index, int bits) {
  const int per_byte = 8 / bits;
  return {index / per_byte, static_cast<int>(index % per_byte) * bits};
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  const int64_t count = checked_elements(shape_);
  if (dtype == DType::string) {
    strings = std::make_shared<std::vector<std::string>>(static_cast<size_t>(count));
    return;
  }
  bytes_ = static_cast<size_t>(dtype_bytes(dtype, count));
  // Aligned as kernels want their buffers, so that the runtime can use tensors without a copy.
  constexpr std::align_val_t kAlignment{64};
  auto* memory = static_cast<std::byte*>(::operator new(bytes_ + 1, kAlignment));
  std::memset(memory, 0, bytes_ + 1);
  const std::shared_ptr<std::byte> storage(
      memory, [](std::byte* bytes) { ::operator delete(bytes, std::align_val_t{64}); });
  writable_ = storage.get();
  data_ = writable_;
  owner_ = storage;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, std::shared_ptr<const void> owner,
               const std::byte* data, size_t bytes)
    : dtype_(dtype), shape_(std::move(shape)), owner_(std::move(owner)), data_(data), bytes_(bytes) {
  const int64_t count = checked_elements(shape_);
  if (dtype == DType::string) throw ModelError("string tensors cannot share raw storage");
  if (static_cast<size_t>(dtype_bytes(dtype, count)) != bytes) {
    throw ModelError("a tensor's data has " + std::to_string(bytes) + " bytes where its shape needs " +
                     std::to_string(dtype_bytes(dtype, count)));
  }
}

Tensor Tensor::scalar(DType dtype, double value) {
  Tensor tensor(dtype, {});
  tensor.set_double(0, value);
  return tensor;
}

Tensor Tensor::from_int64(const std::vector<int64_t>& values) {
  Tensor tensor(DType::i64, {static_cast<int64_t>(values.size())});
  if (!values.empty()) std::memcpy(tensor.mutable_data(), values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t dim : shape_) count *= dim;
  return count;
}

std::byte* Tensor::mutable_data() {
  check_internal(writable_ != nullptr, "writing to a tensor that shares its storage");
  return writable_;
}

Tensor Tensor::reshaped(std::vector<int64_t> shape) const {
  check_internal(checked_elements(shape) == elements(), "a reshape changes the element count");
  Tensor result = *this;
  result.shape_ = std::move(shape);
  // The storage is shared from here on: nobody may write through the view.
  result.writable_ = nullptr;
  return result;
}

double Tensor::get_double(int64_t index) const {
  const auto* raw = reinterpret_cast<const uint8_t*>(data_);
  switch (dtype_) {
    case DType::f64: return as<double>()[index];
    case DType::f32: return static_cast<double>(as<float>()[index]);
    case DType::f16: return static_cast<double>(half_to_float(as<uint16_t>()[index]));
    case DType::bf16: return static_cast<double>(bfloat16_to_float(as<uint16_t>()[index]));
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz: return small_float_to_double(dtype_, raw[index]);
    case DType::f4e2m1: {
      const PackedPosition at = packed_position(index, 4);
      return small_float_to_double(dtype_, static_cast<uint8_t>(raw[at.byte] >> at.shift & 15));
    }
    default: return dtype_ == DType::u64 ? static_cast<double>(as<uint64_t>()[index])
                                         : static_cast<double>(get_int64(index));
  }
}

int64_t Tensor::get_int64(int64_t index) const {
  const auto* raw = reinterpret_cast<const uint8_t*>(data_);
  const auto packed = [&](int bits, bool is_signed) -> int64_t {
    const PackedPosition at = packed_position(index, bits);
    const int value = raw[at.byte] >> at.shift & ((1 << bits) - 1);
    return is_signed && (value >> (bits - 1)) != 0 ? value - (1 << bits) : value;
  };
  switch (dtype_) {
    case DType::i64:
    case DType::u64: return as<int64_t>()[index];
    case DType::i32: return as<int32_t>()[index];
    case DType::i16: return as<int16_t>()[index];
    case DType::i8: return as<int8_t>()[index];
    case DType::u32: return as<uint32_t>()[index];
    case DType::u16: return as<uint16_t>()[index];
    case DType::u8: return raw[index];
    case DType::boolean: return raw[index] != 0 ? 1 : 0;
    case DType::i4: return packed(4, true);
    case DType::u4: return packed(4, false);
    case DType::i2: return packed(2, true);
    case DType::u2: return packed(2, false);
    case DType::string:
    case DType::c64:
    case DType::c128: throw ModelError("a " + std::string(dtype_info(dtype_).name) + " tensor has no numbers");
    default: return static_cast<int64_t>(get_double(index));
  }
}

void Tensor::set_double(int64_t index, double value) {
  auto* raw = reinterpret_cast<uint8_t*>(mutable_data());
  switch (dtype_) {
    case DType::f64: mutable_as<double>()[index] = value; return;
    case DType::f32: mutable_as<float>()[index] = static_cast<float>(value); return;
    case DType::f16: mutable_as<uint16_t>()[index] = double_to_half(value); return;
    case DType::bf16: mutable_as<uint16_t>()[index] = double_to_bfloat16(value); return;
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz: raw[index] = double_to_small_float(dtype_, value); return;
    case DType::f4e2m1: {
      const PackedPosition at = packed_position(index, 4);
      const int bits = double_to_small_float(dtype_, value);
      raw[at.byte] = static_cast<uint8_t>((raw[at.byte] & ~(15 << at.shift)) | bits << at.shift);
      return;
    }
    case DType::boolean: raw[index] = value != 0 ? 1 : 0; return;
    default: set_int64(index, saturate_to_integer(dtype_, value)); return;
  }
}

void Tensor::set_int64(int64_t index, int64_t value) {
  auto* raw = reinterpret_cast<uint8_t*>(mutable_data());
  const auto packed = [&](int bits) {
    const PackedPosition at = packed_position(index, bits);
    const int mask = (1 << bits) - 1;
    raw[at.byte] = static_cast<uint8_t>((raw[at.byte] & ~(mask << at.shift)) |
                                        (static_cast<int>(value) & mask) << at.shift);
  };
  switch (dtype_) {
    case DType::i64:
    case DType::u64: mutable_as<int64_t>()[index] = value; return;
    case DType::i32:
    case DType::u32: mutable_as<uint32_t>()[index] = static_cast<uint32_t>(value); return;
    case DType::i16:
    case DType::u16: mutable_as<uint16_t>()[index] = static_cast<uint16_t>(value); return;
    case DType::i8:
    case DType::u8: raw[index] = static_cast<uint8_t>(value); return;
    case DType::boolean: raw[index] = value != 0 ? 1 : 0; return;
    case DType::i4:
    case DType::u4: packed(4); return;
    case DType::i2:
    case DType::u2: packed(2); return;
    default: set_double(index, static_cast<double>(value)); return;
  }
}

}  // namespace mcc
