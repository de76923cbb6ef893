// The blocked engine behind contract, conv and conv_transpose.
//
// Blocking after K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008): panels of the right operand are packed to stay in the second-level cache, rows of the
// left one in the first; a 4x4 block of sums stays in registers.
#include <algorithm>

#include "lib/ir/elements.h"
#include "lib/ir/ops/contraction.h"
#include "lib/support/error.h"
#include "lib/support/parallel.h"

namespace mcc::ops {
namespace {

constexpr int64_t kColumns = 64;  // of a packed panel
constexpr int64_t kDepth = 256;   // 64 * 256 doubles = 128 KiB
constexpr int64_t kRows = 4;
constexpr int64_t kLanes = 4;

using Lanes __attribute__((vector_size(kLanes * sizeof(double)), aligned(8))) = double;
using IntegerLanes __attribute__((vector_size(kLanes * sizeof(int64_t)), aligned(8))) = uint64_t;

// sums[4][kColumns] += rows[depth][4] * panel[depth][kColumns], for `columns` columns.
template <typename T, typename Vector>
inline __attribute__((always_inline)) void multiply_block(const T* rows, const T* panel,
                                                          int64_t depth, int64_t columns, T* sums) {
  // A template argument loses its type's attributes: packed memory is only element-aligned.
  typedef Vector Unaligned __attribute__((aligned(8), may_alias));
  for (int64_t j = 0; j < columns; j += kLanes) {
    Vector s0 = {}, s1 = {}, s2 = {}, s3 = {};
    for (int64_t k = 0; k < depth; ++k) {
      const Vector right = *reinterpret_cast<const Unaligned*>(panel + k * kColumns + j);
      const T* left = rows + k * kRows;
      s0 += left[0] * right;
      s1 += left[1] * right;
      s2 += left[2] * right;
      s3 += left[3] * right;
    }
    for (Vector* s : {&s0, &s1, &s2, &s3}) {
      T* row = sums + (s == &s0 ? 0 : s == &s1 ? 1 : s == &s2 ? 2 : 3) * kColumns + j;
      *reinterpret_cast<Unaligned*>(row) += *s;
    }
  }
}

// One copy per instruction set, chosen by the dynamic loader: this loop is all of the run time.
// Without FMA both give the same bits, so folded constants do not depend on the machine.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
__attribute__((target_clones("avx2", "default")))
#endif
void multiply_reals(const double* rows, const double* panel, int64_t depth, int64_t columns,
                    double* sums) {
  multiply_block<double, Lanes>(rows, panel, depth, columns, sums);
}

void multiply_integers(const uint64_t* rows, const uint64_t* panel, int64_t depth, int64_t columns,
                       uint64_t* sums) {
  multiply_block<uint64_t, IntegerLanes>(rows, panel, depth, columns, sums);
}

// Packs a column panel; columns beyond the operand's are zero.
template <typename T, typename Source>
void pack_panel(const Source* values, const ContractionOperand& places, int64_t batch,
                int64_t first_depth, int64_t depth, int64_t first_column, int64_t columns,
                std::vector<T>& panel) {
  for (int64_t k = 0; k < depth; ++k) {
    T* row = panel.data() + k * kColumns;
    const int64_t base = batch + places.depth[static_cast<size_t>(first_depth + k)];
    for (int64_t j = 0; j < columns; ++j) {
      row[j] = static_cast<T>(values[base + places.free[static_cast<size_t>(first_column + j)]]);
    }
    std::fill(row + columns, row + kColumns, T{});
  }
}

// Packs four rows, interleaved; rows beyond the operand's are zero.
template <typename T, typename Source>
void pack_rows(const Source* values, const ContractionOperand& places, int64_t batch,
               int64_t first_depth, int64_t depth, int64_t first_row, int64_t rows,
               std::vector<T>& packed) {
  for (int64_t r = 0; r < kRows; ++r) {
    if (r >= rows) {
      for (int64_t k = 0; k < depth; ++k) packed[static_cast<size_t>(k * kRows + r)] = T{};
      continue;
    }
    const int64_t base = batch + places.free[static_cast<size_t>(first_row + r)];
    for (int64_t k = 0; k < depth; ++k) {
      packed[static_cast<size_t>(k * kRows + r)] =
          static_cast<T>(values[base + places.depth[static_cast<size_t>(first_depth + k)]]);
    }
  }
}

// T: accumulator; multiply: the block product.
template <typename T, typename Source, typename Multiply>
void contract_typed(const Source* lhs, const ContractionOperand& lhs_places, const Source* rhs,
                    const ContractionOperand& rhs_places, T* sums, const Multiply& multiply) {
  const auto batches = static_cast<int64_t>(lhs_places.batch.size());
  const auto rows = static_cast<int64_t>(lhs_places.free.size());
  const auto columns = static_cast<int64_t>(rhs_places.free.size());
  const auto depth = static_cast<int64_t>(lhs_places.depth.size());
  const int64_t panels = (columns + kColumns - 1) / kColumns;
  // Row ranges give parallel work where there are few panels.
  const int64_t row_range = std::clamp<int64_t>((rows / 8 + kRows) / kRows * kRows, kRows, 4096);
  const int64_t ranges = (rows + row_range - 1) / row_range;
  const int64_t cost = std::max<int64_t>(1, row_range * kColumns * depth);
  parallel_for(batches * panels * ranges, std::max<int64_t>(1, 200000 / cost),
               [&](int64_t begin, int64_t end) {
                 std::vector<T> panel(static_cast<size_t>(kDepth * kColumns));
                 std::vector<T> packed(static_cast<size_t>(kDepth * kRows));
                 std::vector<T> block(static_cast<size_t>(kRows * kColumns));
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t b = task / (panels * ranges);
                   const int64_t n0 = task / ranges % panels * kColumns;
                   const int64_t m_begin = task % ranges * row_range;
                   const int64_t m_end = std::min(m_begin + row_range, rows);
                   const int64_t width = std::min(kColumns, columns - n0);
                   const int64_t lhs_base = lhs_places.batch[static_cast<size_t>(b)];
                   const int64_t rhs_base = rhs_places.batch[static_cast<size_t>(b)];
                   for (int64_t k0 = 0; k0 < depth; k0 += kDepth) {
                     const int64_t span = std::min(kDepth, depth - k0);
                     pack_panel(rhs, rhs_places, rhs_base, k0, span, n0, width, panel);
                     for (int64_t m = m_begin; m < m_end; m += kRows) {
                       const int64_t height = std::min(kRows, m_end - m);
                       pack_rows(lhs, lhs_places, lhs_base, k0, span, m, height, packed);
                       std::fill(block.begin(), block.end(), T{});
                       multiply(packed.data(), panel.data(), span, width, block.data());
                       for (int64_t r = 0; r < height; ++r) {
                         T* target = sums + (b * rows + m + r) * columns + n0;
                         for (int64_t j = 0; j < width; ++j)
                           target[j] += block[static_cast<size_t>(r * kColumns + j)];
                       }
                     }
                   }
                 }
               });
}

}  // namespace

ContractionValues contraction_values(const Tensor& tensor) {
  ContractionValues values;
  const DType dtype = tensor.dtype();
  const int bits = dtype_info(dtype).bits;
  if (dtype == DType::f32) {
    values.reals = tensor.as<float>();
  } else if (dtype == DType::f64) {
    values.doubles = tensor.as<double>();
  } else if (is_floating(dtype) || bits <= 16) {
    const std::vector<double> exact = all_doubles(tensor);
    values.real_storage.assign(exact.begin(), exact.end());
    values.reals = values.real_storage.data();
  } else {
    values.integer_storage = all_integers(tensor);
    values.integers = values.integer_storage.data();
  }
  return values;
}

ContractionSums contract_values(const ContractionValues& lhs, const ContractionOperand& lhs_places,
                                const ContractionValues& rhs,
                                const ContractionOperand& rhs_places) {
  const size_t count = lhs_places.batch.size() * lhs_places.free.size() * rhs_places.free.size();
  ContractionSums sums;
  if (lhs.integers != nullptr) {
    check_internal(rhs.integers != nullptr, "operands of a contraction are of different kinds");
    sums.integers.assign(count, 0);
    contract_typed(lhs.integers, lhs_places, rhs.integers, rhs_places,
                   reinterpret_cast<uint64_t*>(sums.integers.data()), multiply_integers);
    return sums;
  }
  sums.reals.assign(count, 0);
  if (lhs.doubles != nullptr) {
    check_internal(rhs.doubles != nullptr, "operands of a contraction are of different kinds");
    contract_typed(lhs.doubles, lhs_places, rhs.doubles, rhs_places, sums.reals.data(),
                   multiply_reals);
  } else {
    check_internal(rhs.reals != nullptr, "operands of a contraction are of different kinds");
    contract_typed(lhs.reals, lhs_places, rhs.reals, rhs_places, sums.reals.data(), multiply_reals);
  }
  return sums;
}

void store_sums(const ContractionSums& sums, const std::vector<int64_t>& order, Tensor& out) {
  const auto reordered = [&order](const auto& values) {
    auto result = values;
    for (size_t i = 0; i < order.size(); ++i) result[i] = values[static_cast<size_t>(order[i])];
    return result;
  };
  if (!sums.integers.empty()) {
    store_elements(out, 0, order.empty() ? sums.integers : reordered(sums.integers));
  } else {
    store_elements(out, 0, order.empty() ? sums.reals : reordered(sums.reals));
  }
}

}  // namespace mcc::ops
