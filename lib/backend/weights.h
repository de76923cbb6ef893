// The plan's weights: constants, each stored once in the form that its kernels read.
//
// Invariants: slots are 64-byte aligned and in order of first use; equal contents in equal form
// share a slot; nothing is packed until it is written, so that compiling needs no second copy of a
// model's weights in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "lib/backend/loop_ir.h"
#include "lib/ir/attribute.h"

namespace mcc::backend {

struct WeightSlot {
  TensorPtr tensor;
  KernelBuffer layout;  // packing fields only
  int64_t offset = 0;   // bytes into the weights section
  int64_t bytes = 0;    // stored size
};

// Elements that a constant of this layout occupies: the tensor's own for plain, else
// batch * ceil(N / width) * K * width.
int64_t stored_elements(const Tensor& tensor, const KernelBuffer& layout);

// Writes the stored form of `tensor` to `out` (stored_elements() elements of the tensor's type).
// Panels: out[b][p][k][w] = view[b][k][p * width + w], zero where p * width + w >= N, where view is
// the tensor with its axes permuted to [batch..., K..., N...].
void pack_weight(const Tensor& tensor, const KernelBuffer& layout, std::byte* out);

class WeightTable {
 public:
  // Returns the slot's number; reuses a slot with equal contents and form.
  int add(const TensorPtr& tensor, const KernelBuffer& layout);
  const std::vector<WeightSlot>& slots() const { return slots_; }
  int64_t bytes() const { return bytes_; }

 private:
  using Key = std::tuple<uint64_t, int, std::vector<int64_t>, int, int64_t, std::vector<int64_t>, int, int>;
  std::vector<WeightSlot> slots_;
  std::map<Key, int> by_content_;
  // Hashing a big tensor once per use would dominate compiling: remember it per storage.
  std::map<std::pair<const std::byte*, size_t>, uint64_t> digests_;
  int64_t bytes_ = 0;
};

}  // namespace mcc::backend
