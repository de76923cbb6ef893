// Packing and deduplication of weights.
#include "lib/backend/weights.h"

#include <algorithm>
#include <cstring>

#include "lib/support/error.h"
#include "runtime/support/hash.h"

namespace mcc::backend {
namespace {

constexpr int64_t kAlignment = 64;

// Offsets (in elements) of all index combinations of the axes [begin, end) of the permutation, in
// row-major order.
std::vector<int64_t> axis_offsets(const Tensor& tensor, const std::vector<int64_t>& permutation,
                                  size_t begin, size_t end) {
  std::vector<int64_t> strides(tensor.shape().size(), 1);
  for (size_t axis = strides.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * tensor.shape()[axis];
  std::vector<int64_t> offsets{0};
  for (size_t i = begin; i < end; ++i) {
    const auto axis = static_cast<size_t>(permutation[i]);
    std::vector<int64_t> extended;
    extended.reserve(offsets.size() * static_cast<size_t>(tensor.shape()[axis]));
    for (int64_t offset : offsets) {
      for (int64_t index = 0; index < tensor.shape()[axis]; ++index) {
        extended.push_back(offset + index * strides[axis]);
      }
    }
    offsets = std::move(extended);
  }
  return offsets;
}

struct PanelView {
  std::vector<int64_t> batch, contract, columns;
};

PanelView panel_view(const Tensor& tensor, const KernelBuffer& layout) {
  const auto batch_end = static_cast<size_t>(layout.batch_axes);
  const size_t contract_end = batch_end + static_cast<size_t>(layout.contract_axes);
  check_internal(layout.permutation.size() == tensor.shape().size(), "packing permutes other axes");
  return {axis_offsets(tensor, layout.permutation, 0, batch_end),
          axis_offsets(tensor, layout.permutation, batch_end, contract_end),
          axis_offsets(tensor, layout.permutation, contract_end, layout.permutation.size())};
}

template <size_t kSize>
void pack_panels(const std::byte* in, const PanelView& view, int64_t width, std::byte* out) {
  const auto depth = static_cast<int64_t>(view.contract.size());
  const auto columns = static_cast<int64_t>(view.columns.size());
  // Strided sources are walked in blocks of rows so that both sides stay in the first-level cache.
  constexpr int64_t kBlock = 64;
  for (int64_t batch : view.batch) {
    for (int64_t first = 0; first < columns; first += width) {
      const int64_t used = std::min(width, columns - first);
      for (int64_t k0 = 0; k0 < depth; k0 += kBlock) {
        const int64_t k1 = std::min(depth, k0 + kBlock);
        for (int64_t w = 0; w < used; ++w) {
          const int64_t base = batch + view.columns[static_cast<size_t>(first + w)];
          for (int64_t k = k0; k < k1; ++k) {
            const int64_t from = base + view.contract[static_cast<size_t>(k)];
            std::memcpy(out + static_cast<size_t>(k * width + w) * kSize,
                        in + static_cast<size_t>(from) * kSize, kSize);
          }
        }
        if (used == width) continue;
        for (int64_t k = k0; k < k1; ++k) {
          std::memset(out + static_cast<size_t>(k * width + used) * kSize, 0,
                      static_cast<size_t>(width - used) * kSize);
        }
      }
      out += static_cast<size_t>(depth * width) * kSize;
    }
  }
}

}  // namespace

int64_t stored_elements(const Tensor& tensor, const KernelBuffer& layout) {
  if (layout.packing == Packing::plain) return tensor.elements();
  int64_t batch = 1;
  int64_t depth = 1;
  int64_t columns = 1;
  for (size_t i = 0; i < layout.permutation.size(); ++i) {
    const int64_t dim = tensor.shape()[static_cast<size_t>(layout.permutation[i])];
    const auto position = static_cast<int>(i);
    if (position < layout.batch_axes) {
      batch *= dim;
    } else if (position < layout.batch_axes + layout.contract_axes) {
      depth *= dim;
    } else {
      columns *= dim;
    }
  }
  const int64_t width = layout.panel_width;
  return batch * ((columns + width - 1) / width) * depth * width;
}

void pack_weight(const Tensor& tensor, const KernelBuffer& layout, std::byte* out) {
  if (layout.packing == Packing::plain) {
    if (tensor.bytes() != 0) std::memcpy(out, tensor.data(), tensor.bytes());
    return;
  }
  const PanelView view = panel_view(tensor, layout);
  switch (dtype_info(tensor.dtype()).bits) {
    case 8: return pack_panels<1>(tensor.data(), view, layout.panel_width, out);
    case 16: return pack_panels<2>(tensor.data(), view, layout.panel_width, out);
    case 32: return pack_panels<4>(tensor.data(), view, layout.panel_width, out);
    case 64: return pack_panels<8>(tensor.data(), view, layout.panel_width, out);
    default: throw InternalError("weights of packed element types cannot be stored in panels");
  }
}

int WeightTable::add(const TensorPtr& tensor, const KernelBuffer& layout) {
  const auto storage = std::make_pair(tensor->data(), tensor->bytes());
  auto digest = digests_.find(storage);
  if (digest == digests_.end()) {
    digest = digests_.emplace(storage, runtime::xxh64(tensor->data(), tensor->bytes())).first;
  }
  const bool plain = layout.packing == Packing::plain;
  Key key{digest->second,
          static_cast<int>(tensor->dtype()),
          plain ? std::vector<int64_t>{tensor->elements()} : tensor->shape(),
          static_cast<int>(layout.packing),
          plain ? 0 : layout.panel_width,
          plain ? std::vector<int64_t>{} : layout.permutation,
          plain ? 0 : layout.batch_axes,
          plain ? 0 : layout.contract_axes};
  auto found = by_content_.find(key);
  if (found != by_content_.end()) return found->second;
  WeightSlot slot;
  slot.tensor = tensor;
  slot.layout = layout;
  slot.offset = bytes_;
  slot.bytes = dtype_bytes(tensor->dtype(), stored_elements(*tensor, layout));
  bytes_ = (bytes_ + slot.bytes + kAlignment - 1) / kAlignment * kAlignment;
  slots_.push_back(std::move(slot));
  const int number = static_cast<int>(slots_.size()) - 1;
  by_content_.emplace(std::move(key), number);
  return number;
}

}  // namespace mcc::backend
