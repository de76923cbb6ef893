// copy_by_tables: rows of the last axis in a tight loop per element width.
#include "lib/ir/ops/view_copy.h"

#include <array>

#include "lib/ir/elements.h"

namespace mcc::ops {
namespace {

using Wide = std::array<uint64_t, 2>;

// Calls row(input base or kOutside, first output index) for every row along the last axis.
template <typename Row>
void for_each_row(const AxisTables& tables, int64_t rows, int64_t length, const Row& row) {
  std::vector<size_t> index(tables.size(), 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t base = 0;
    for (size_t a = 0; a + 1 < tables.size() && base != kOutside; ++a) {
      const int64_t part = tables[a][index[a]];
      base = part == kOutside ? kOutside : base + part;
    }
    row(base, r * length);
    for (size_t a = tables.size() - 1; a-- > 0;) {
      if (++index[a] < tables[a].size()) break;
      index[a] = 0;
    }
  }
}

template <typename T>
void copy_typed(const Tensor& in, Tensor& out, const AxisTables& tables, const Tensor* fill,
                int64_t rows, int64_t length) {
  const T* source = in.as<T>();
  T* target = out.mutable_as<T>();
  const T padding = fill == nullptr ? T{} : *fill->as<T>();
  const std::vector<int64_t>& last = tables.back();
  for_each_row(tables, rows, length, [&](int64_t base, int64_t first) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t part = last[static_cast<size_t>(i)];
      target[first + i] = base == kOutside || part == kOutside ? padding : source[base + part];
    }
  });
}

}  // namespace

std::vector<int64_t> linear_table(int64_t count, int64_t base, int64_t step) {
  std::vector<int64_t> table(static_cast<size_t>(count));
  for (size_t i = 0; i < table.size(); ++i) table[i] = base + static_cast<int64_t>(i) * step;
  return table;
}

void copy_by_tables(const Tensor& in, Tensor& out, const AxisTables& tables, const Tensor* fill) {
  if (out.elements() == 0) return;
  if (tables.empty()) {
    copy_elements(in, 0, out, 0, 1);
    return;
  }
  const int64_t length = out.shape().back();
  const int64_t rows = out.elements() / length;
  switch (dtype_info(in.dtype()).bits) {
    case 8:
      return copy_typed<uint8_t>(in, out, tables, fill, rows, length);
    case 16:
      return copy_typed<uint16_t>(in, out, tables, fill, rows, length);
    case 32:
      return copy_typed<uint32_t>(in, out, tables, fill, rows, length);
    case 64:
      return copy_typed<uint64_t>(in, out, tables, fill, rows, length);
    case 128:
      return copy_typed<Wide>(in, out, tables, fill, rows, length);
    default:
      break;
  }
  // Packed types and strings, one element at a time.
  for_each_row(tables, rows, length, [&](int64_t base, int64_t first) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t part = tables.back()[static_cast<size_t>(i)];
      const bool outside = base == kOutside || part == kOutside;
      if (outside && fill == nullptr) continue;
      copy_elements(outside ? *fill : in, outside ? 0 : base + part, out, first + i, 1);
    }
  });
}

}  // namespace mcc::ops
