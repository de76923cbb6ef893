// Index tensors of gather and scatter.
#pragma once

#include <functional>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc::ops {

// `index` counted from the start; ModelError when it is outside of [-size, size).
int64_t checked_index(const Node& node, int64_t index, int64_t size);

// For every element i of `indices` (row-major): visit(linear index into `data_shape` of the same
// position with the coordinate of `axis` replaced by the index, i).
void for_each_indexed(const Node& node, const std::vector<int64_t>& data_shape,
                      const Tensor& indices, size_t axis,
                      const std::function<void(int64_t, int64_t)>& visit);

// The last axis of an index tensor as coordinates of `data_shape` from axis `first` on.
class TupleIndices {
 public:
  TupleIndices(const Node& node, const Tensor& indices, const std::vector<int64_t>& data_shape,
               size_t first);
  int64_t count() const { return static_cast<int64_t>(offsets_.size()); }
  int64_t offset(int64_t tuple) const { return offsets_[static_cast<size_t>(tuple)]; }
  int64_t block() const { return block_; }  // elements that one tuple addresses

 private:
  std::vector<int64_t> offsets_;
  int64_t block_ = 1;
};

}  // namespace mcc::ops
