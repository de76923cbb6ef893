// A dense row-major tensor in host memory: weights, evaluator values, test inputs.
// Invariant: data() holds exactly dtype_bytes(dtype, elements()) bytes. Storage is shared and
// immutable once shared; mapped weight files stay mapped as long as a Tensor refers to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/ir/dtype.h"

namespace mcc {

class Tensor {
 public:
  Tensor() = default;
  // Zero-filled, owning. ModelError when the size overflows.
  Tensor(DType dtype, std::vector<int64_t> shape);
  // Shares storage: `data` points into memory that `owner` keeps alive (a file mapping, another
  // tensor's buffer). `bytes` must be the exact size, else ModelError.
  Tensor(DType dtype, std::vector<int64_t> shape, std::shared_ptr<const void> owner,
         const std::byte* data, size_t bytes);

  // Rank-0 tensor of one value, converted (rounded, saturated as a cast would) to dtype.
  static Tensor scalar(DType dtype, double value);
  static Tensor from_int64(const std::vector<int64_t>& values);  // rank 1

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t elements() const;
  size_t bytes() const { return bytes_; }

  const std::byte* data() const { return data_; }
  // Writable access; only for tensors made by the owning constructor, InternalError otherwise.
  std::byte* mutable_data();
  template <typename T>
  const T* as() const { return reinterpret_cast<const T*>(data_); }
  template <typename T>
  T* mutable_as() { return reinterpret_cast<T*>(mutable_data()); }

  // Element access by linear index through conversion; any numeric dtype (packed ones too).
  double get_double(int64_t index) const;
  int64_t get_int64(int64_t index) const;
  void set_double(int64_t index, double value);
  void set_int64(int64_t index, int64_t value);

  // Same storage under another shape with the same element count.
  Tensor reshaped(std::vector<int64_t> shape) const;

  // String tensors keep their elements here instead of in data().
  std::shared_ptr<std::vector<std::string>> strings;

 private:
  DType dtype_ = DType::f32;
  std::vector<int64_t> shape_;
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  std::byte* writable_ = nullptr;
  size_t bytes_ = 0;
};

// Conversions between f32 and the 16-bit and smaller formats (round to nearest even).
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);

}  // namespace mcc
