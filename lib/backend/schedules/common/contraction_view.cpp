// The canonical view of a contraction.
#include "lib/backend/schedules/common/contraction_view.h"

#include <algorithm>

namespace mcc::backend {
namespace {

Shape dims_of(const Shape& shape, const std::vector<int64_t>& axes) {
  Shape dims;
  for (int64_t axis : axes) dims.push_back(shape[static_cast<size_t>(axis)]);
  return dims;
}

std::vector<int64_t> other_axes(size_t rank, const Ints& first, const Ints& second) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < static_cast<int64_t>(rank); ++axis) {
    if (std::count(first.begin(), first.end(), axis) + std::count(second.begin(), second.end(), axis) == 0) {
      axes.push_back(axis);
    }
  }
  return axes;
}

void place(Indices& to, const std::vector<int64_t>& axes, const Indices& from) {
  for (size_t i = 0; i < axes.size(); ++i) to[static_cast<size_t>(axes[i])] = from[i];
}

}  // namespace

ContractionView::ContractionView(const Graph& body, const Node& contract)
    : lhs(contract.inputs[0]), rhs(contract.inputs[1]),
      lhs_batch(contract.attributes.ints("lhs_batch")),
      lhs_depth(contract.attributes.ints("lhs_contract")),
      rhs_batch(contract.attributes.ints("rhs_batch")),
      rhs_depth(contract.attributes.ints("rhs_contract")) {
  const Shape& left = body.shape(lhs);
  const Shape& right = body.shape(rhs);
  lhs_rows = other_axes(left.size(), lhs_batch, lhs_depth);
  rhs_columns = other_axes(right.size(), rhs_batch, rhs_depth);
  batch = dims_of(left, lhs_batch);
  rows = dims_of(left, lhs_rows);
  depth = dims_of(left, lhs_depth);
  columns = dims_of(right, rhs_columns);
  batch_count = product(batch);
  m = product(rows);
  n = product(columns);
  k = product(depth);
}

Indices ContractionView::lhs_indices(const Indices& b, const Indices& r, const Indices& d) const {
  Indices at(lhs_batch.size() + lhs_rows.size() + lhs_depth.size());
  place(at, lhs_batch, b);
  place(at, lhs_rows, r);
  place(at, lhs_depth, d);
  return at;
}

Indices ContractionView::rhs_indices(const Indices& b, const Indices& d, const Indices& c) const {
  Indices at(rhs_batch.size() + rhs_depth.size() + rhs_columns.size());
  place(at, rhs_batch, b);
  place(at, rhs_depth, d);
  place(at, rhs_columns, c);
  return at;
}

Indices ContractionView::output_indices(const Indices& b, const Indices& r, const Indices& c) {
  Indices at = b;
  at.insert(at.end(), r.begin(), r.end());
  at.insert(at.end(), c.begin(), c.end());
  return at;
}

int request_panels(GroupLowering& lowering, ValueId value, const std::vector<int64_t>& batch,
                   const std::vector<int64_t>& depth, const std::vector<int64_t>& columns,
                   int64_t panel_width) {
  const Graph& body = lowering.body();
  const auto input = std::find(body.inputs.begin(), body.inputs.end(), value);
  if (input == body.inputs.end()) return -1;
  const auto parameter = static_cast<size_t>(input - body.inputs.begin());
  if (!lowering.group().constant_input[parameter]) return -1;
  const DTypeInfo& info = dtype_info(body.dtype(value));
  if (info.bits < 8) return -1;
  if (body.use_counts()[static_cast<size_t>(value)] != 1) return -1;
  KernelBuffer& buffer = lowering.kernel().buffers[parameter];
  buffer.packing = Packing::panels;
  buffer.panel_width = panel_width;
  buffer.permutation = batch;
  buffer.permutation.insert(buffer.permutation.end(), depth.begin(), depth.end());
  buffer.permutation.insert(buffer.permutation.end(), columns.begin(), columns.end());
  buffer.batch_axes = static_cast<int>(batch.size());
  buffer.contract_axes = static_cast<int>(depth.size());
  return static_cast<int>(parameter);
}

}  // namespace mcc::backend
