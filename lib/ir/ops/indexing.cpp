// Index tensors of gather and scatter, checked.
#include "lib/ir/ops/indexing.h"

#include "lib/ir/elements.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {

int64_t checked_index(const Node& node, int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    refuse(node, "index " + std::to_string(index) + " is outside of an axis of size " +
                     std::to_string(size) + ".");
  }
  return index < 0 ? index + size : index;
}

void for_each_indexed(const Node& node, const std::vector<int64_t>& data_shape,
                      const Tensor& indices, size_t axis,
                      const std::function<void(int64_t, int64_t)>& visit) {
  const std::vector<int64_t> strides = strides_of(data_shape);
  const std::vector<int64_t> values = all_integers(indices);
  std::vector<int64_t> position(data_shape.size(), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t linear = 0;
    for (size_t a = 0; a < position.size(); ++a) {
      const int64_t coordinate =
          a == axis ? checked_index(node, values[i], data_shape[a]) : position[a];
      linear += coordinate * strides[a];
    }
    visit(linear, static_cast<int64_t>(i));
    for (size_t a = position.size(); a-- > 0;) {
      if (++position[a] < indices.shape()[a]) break;
      position[a] = 0;
    }
  }
}

TupleIndices::TupleIndices(const Node& node, const Tensor& indices,
                           const std::vector<int64_t>& data_shape, size_t first) {
  const std::vector<int64_t> strides = strides_of(data_shape);
  const std::vector<int64_t> values = all_integers(indices);
  const auto depth = static_cast<size_t>(indices.shape().back());
  block_ = strides[first + depth - 1];
  for (size_t i = 0; i < values.size(); i += depth) {
    int64_t offset = 0;
    for (size_t d = 0; d < depth; ++d) {
      offset += checked_index(node, values[i + d], data_shape[first + d]) * strides[first + d];
    }
    offsets_.push_back(offset);
  }
}

}  // namespace mcc::ops
