// Copying a re-indexed tensor: the one loop behind all views.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/ir/tensor.h"

namespace mcc::ops {

// For each output axis and index along it the contribution to the input's linear index.
using AxisTables = std::vector<std::vector<int64_t>>;
// The table entry of indices that show the fill value instead of an element.
constexpr int64_t kOutside = INT64_MIN;

// base, base + step, ... (count entries)
std::vector<int64_t> linear_table(int64_t count, int64_t base, int64_t step);

// out[i0, i1, ...] = in[tables[0][i0] + tables[1][i1] + ...], or *fill (rank 0) where an entry is
// kOutside. Types are equal; any element type.
void copy_by_tables(const Tensor& in, Tensor& out, const AxisTables& tables,
                    const Tensor* fill = nullptr);

}  // namespace mcc::ops
