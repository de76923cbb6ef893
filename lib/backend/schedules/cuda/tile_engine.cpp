// Shared-memory tiles of CUDA contractions and convolutions.
#include "lib/backend/schedules/cuda/tile_engine.h"

#include "lib/backend/schedules/common/contraction_view.h"
#include "lib/backend/schedules/cuda/launch.h"

namespace mcc::backend {
namespace {

constexpr int kColumns = 64;
constexpr int kDepth = 16;
constexpr int kThreadRows = 16;     // threads along the rows of a tile
constexpr int kThreadColumns = 16;  // and along its columns
constexpr int kValuesWide = kColumns / kThreadColumns;
// Rows of the staged left operand are this much longer than needed, so that the threads that store
// a column of it fall into different banks.
constexpr int kPadding = 4;

std::string accumulator(int row, int column) { return "acc" + std::to_string(row) + "_" + std::to_string(column); }

Guard open_conditions(const GroupLowering& lowering, const std::vector<Expr>& conditions) {
  Guard guard;
  for (const Expr& condition : conditions) {
    const Expr simple = lowering.simplified(condition);
    if (bounds(simple, lowering.ranges()).low < 0) guard.push_back(simple);
  }
  return guard;
}

}  // namespace

void emit_block_tile(GroupLowering& lowering, const BlockTile& tile) {
  LoopKernel& kernel = lowering.kernel();
  const DType type = tile.accumulator;
  const Range row_range = bounds(tile.rows, kernel.ranges);
  const int values_high = row_range.high <= kThreadRows ? 1 : 4;
  const int rows = kThreadRows * values_high;
  const int stride = rows + kPadding;
  const Expr row_tiles = ceildiv(tile.rows, rows);
  const Expr column_tiles = ceildiv(tile.columns, kColumns);
  kernel.grid[0] = tile.batches * row_tiles * column_tiles;
  kernel.block[0] = kThreadsPerBlock;
  const std::string grid = lowering.new_variable("p", kernel.grid[0]);
  const std::string thread = lowering.new_variable("t", kThreadsPerBlock);
  const Expr p = Expr::symbol(grid);
  const Expr t = Expr::symbol(thread);
  const Expr first_row = lowering.simplified(mod(p, row_tiles)) * Expr(rows);
  const Expr first_column = lowering.simplified(mod(floordiv(p, row_tiles), column_tiles)) * Expr(kColumns);
  const Expr batch = lowering.simplified(floordiv(p, row_tiles * column_tiles));

  Block body{make_allocate("left", type, int64_t{kDepth} * stride, MemorySpace::shared),
             make_allocate("right", type, int64_t{kDepth} * kColumns, MemorySpace::shared)};
  for (int row = 0; row < values_high; ++row) {
    for (int column = 0; column < kValuesWide; ++column) {
      body.push_back(make_define(accumulator(row, column), literal_integer(type, 0)));
    }
  }

  const Expr slices = ceildiv(tile.depth, kDepth);
  const std::string slice = lowering.new_variable("z", slices);
  const Expr first_depth = Expr::symbol(slice) * Expr(kDepth);
  const ScalarPtr zero = literal_integer(type, 0);
  Block step;
  // Staging: neighbouring threads read neighbouring depth (left) or columns (right).
  for (int i = 0; i < rows * kDepth / kThreadsPerBlock; ++i) {
    const Expr at = t + Expr(i * kThreadsPerBlock);
    const Expr k = lowering.simplified(mod(at, kDepth));
    const Expr row = lowering.simplified(floordiv(at, kDepth));
    const Guard inside = open_conditions(
        lowering, {tile.rows - 1 - first_row - row, tile.depth - 1 - first_depth - k});
    const ScalarPtr value = cast_scalar(tile.left(batch, first_row + row, first_depth + k), type);
    step.push_back(make_store_memory("left", type, k * Expr(stride) + row, guarded(inside, value, zero)));
  }
  for (int i = 0; i < kColumns * kDepth / kThreadsPerBlock; ++i) {
    const Expr at = t + Expr(i * kThreadsPerBlock);
    const Expr k = lowering.simplified(floordiv(at, kColumns));
    const Expr column = lowering.simplified(mod(at, kColumns));
    std::vector<Expr> conditions{tile.depth - 1 - first_depth - k};
    if (!tile.right_is_padded) conditions.push_back(tile.columns - 1 - first_column - column);
    const ScalarPtr value = cast_scalar(tile.right(batch, first_depth + k, first_column + column), type);
    step.push_back(make_store_memory("right", type, k * Expr(kColumns) + column,
                                     guarded(open_conditions(lowering, conditions), value, zero)));
  }
  step.push_back(make_barrier());
  const Expr thread_row = floordiv(t, kThreadColumns) * Expr(values_high);
  const Expr thread_column = mod(t, kThreadColumns) * Expr(kValuesWide);
  const std::string k = lowering.new_variable("k", kDepth);
  Block inner;
  for (int row = 0; row < values_high; ++row) {
    const ScalarPtr a = load_memory("left", type, Expr::symbol(k) * Expr(stride) + thread_row + Expr(row));
    for (int column = 0; column < kValuesWide; ++column) {
      const ScalarPtr b =
          load_memory("right", type, Expr::symbol(k) * Expr(kColumns) + thread_column + Expr(column));
      const std::string name = accumulator(row, column);
      inner.push_back(make_assign(name, apply("fma", {a, b, register_value(name, type)})));
    }
  }
  step.push_back(make_loop(k, kDepth, LoopTag::unroll, std::move(inner)));
  step.push_back(make_barrier());
  body.push_back(make_loop(slice, slices, LoopTag::serial, std::move(step)));

  for (int row = 0; row < values_high; ++row) {
    for (int column = 0; column < kValuesWide; ++column) {
      const Expr m = first_row + thread_row + Expr(row);
      const Expr n = first_column + thread_column + Expr(column);
      const Guard inside = open_conditions(lowering, {tile.rows - 1 - m, tile.columns - 1 - n});
      Block stores = tile.finish(batch, m, n, register_value(accumulator(row, column), type));
      if (!inside.empty()) stores = {make_if(inside, std::move(stores))};
      body.insert(body.end(), stores.begin(), stores.end());
    }
  }
  kernel.body = {make_loop(grid, kernel.grid[0], LoopTag::grid_x,
                           {make_loop(thread, kThreadsPerBlock, LoopTag::block_x, std::move(body))})};
}

}  // namespace mcc::backend
