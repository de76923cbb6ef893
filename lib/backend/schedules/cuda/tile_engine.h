// The shared-memory matrix product behind CUDA contractions and convolutions.
//
// A block of 256 threads computes a tile of rows x 64 columns; each step stages a slice of 16 of
// the depth of both operands in shared memory, then every thread accumulates (rows / 16) x 4 values
// in registers. Edges are guarded when staging (zeros) and when storing.
#pragma once

#include <functional>

#include "lib/backend/lowering.h"

namespace mcc::backend {

struct BlockTile {
  DType accumulator = DType::f32;
  Expr batches = 1;
  Expr rows, columns, depth;
  // Operand elements, asked for within bounds only.
  std::function<ScalarPtr(const Expr& batch, const Expr& row, const Expr& depth)> left;
  std::function<ScalarPtr(const Expr& batch, const Expr& depth, const Expr& column)> right;
  bool right_is_padded = false;  // the right operand may be read up to the next multiple of 64 columns
  std::function<Block(const Expr& batch, const Expr& row, const Expr& column, const ScalarPtr& value)> finish;
};

// At most this many rows go through emit_few_rows when the right operand is padded panels.
constexpr int64_t kFewRows = 8;
// Sets grid, block and body of the kernel; tile.rows must be provably at most kFewRows.
void emit_few_rows(GroupLowering& lowering, const BlockTile& tile);
// Sets grid, block and body of the kernel.
void emit_block_tile(GroupLowering& lowering, const BlockTile& tile);

}  // namespace mcc::backend
