// Contractions with few rows and packed weights: the weights are read once, by all threads of many
// blocks, straight into registers.
//
// A block owns one panel of 64 columns: 16 threads cover its columns, 4 each, and 16 groups of them
// take every 16th step of the depth; their partial sums meet in shared memory.
#include "lib/backend/schedules/cuda/launch.h"
#include "lib/backend/schedules/cuda/tile_engine.h"

namespace mcc::backend {
namespace {

constexpr int kColumns = 64;
constexpr int kWide = 4;
constexpr int kThreadColumns = kColumns / kWide;
constexpr int kSlices = kThreadsPerBlock / kThreadColumns;
constexpr int kUnroll = 4;  // loads in flight

}  // namespace

void emit_few_rows(GroupLowering& lowering, const BlockTile& tile) {
  LoopKernel& kernel = lowering.kernel();
  const DType type = tile.accumulator;
  const auto rows = static_cast<int>(bounds(tile.rows, kernel.ranges).high);
  const Expr panels = ceildiv(tile.columns, kColumns);
  kernel.grid[0] = tile.batches * panels;
  kernel.block[0] = kThreadsPerBlock;
  const std::string grid = lowering.new_variable("p", kernel.grid[0]);
  const std::string thread = lowering.new_variable("t", kThreadsPerBlock);
  const Expr t = Expr::symbol(thread);
  const Expr batch = lowering.simplified(floordiv(Expr::symbol(grid), panels));
  const Expr first_column = lowering.simplified(mod(Expr::symbol(grid), panels)) * Expr(kColumns);
  const Expr column = mod(t, kThreadColumns) * Expr(kWide);
  const Expr slice = floordiv(t, kThreadColumns);
  auto open = [&](std::vector<Expr> conditions) {
    Guard guard;
    for (const Expr& condition : conditions) {
      const Expr simple = lowering.simplified(condition);
      if (bounds(simple, lowering.ranges()).low < 0) guard.push_back(simple);
    }
    return guard;
  };
  const ScalarPtr zero = literal_integer(type, 0);

  Block body{make_allocate("partial", type, int64_t{rows} * kSlices * kColumns, MemorySpace::shared),
             make_allocate("weights", type, kWide, MemorySpace::registers),
             make_allocate("acc", type, int64_t{rows} * kWide, MemorySpace::registers)};
  for (int i = 0; i < rows * kWide; ++i) body.push_back(make_store_memory("acc", type, i, zero));

  const Expr steps = ceildiv(tile.depth, kSlices);
  const std::string step = lowering.new_variable("z", steps);
  const std::string lane = lowering.new_variable("v", kWide);
  const Expr k = Expr::symbol(step) * Expr(kSlices) + slice;
  const Guard in_depth = open({tile.depth - 1 - k});
  const ScalarPtr weight = cast_scalar(tile.right(batch, k, first_column + column + Expr::symbol(lane)), type);
  Block multiply{make_loop(lane, kWide, LoopTag::vector,
                           {make_store_memory("weights", type, Expr::symbol(lane), guarded(in_depth, weight, zero))}, kWide)};
  for (int row = 0; row < rows; ++row) {
    Guard inside = in_depth;
    for (Expr& condition : open({tile.rows - 1 - row})) inside.push_back(condition);
    const ScalarPtr left = guarded(inside, cast_scalar(tile.left(batch, row, k), type), zero);
    for (int i = 0; i < kWide; ++i) {
      const Expr place = row * kWide + i;
      multiply.push_back(make_store_memory(
          "acc", type, place, apply("fma", {left, load_memory("weights", type, i), load_memory("acc", type, place)})));
    }
  }
  body.push_back(make_loop(step, steps, LoopTag::serial, std::move(multiply), kUnroll));
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < kWide; ++i) {
      body.push_back(make_store_memory("partial", type, (slice + Expr(row * kSlices)) * Expr(kColumns) + column + Expr(i),
                                       load_memory("acc", type, row * kWide + i)));
    }
  }
  body.push_back(make_barrier());
  // Each thread finishes the element of one column and every fourth row.
  constexpr int kRowsTogether = kThreadsPerBlock / kColumns;
  for (int first = 0; first < rows; first += kRowsTogether) {
    const Expr row = floordiv(t, kColumns) + Expr(first);
    const Expr n = mod(t, kColumns);
    const std::string total = "total" + std::to_string(first);
    const std::string part = lowering.new_variable("k", kSlices);
    Block finish{make_define(total, zero),
                 make_loop(part, kSlices, LoopTag::serial,
                           {make_accumulate(total, "add", load_memory("partial", type,
                                                                      (row * Expr(kSlices) + Expr::symbol(part)) * Expr(kColumns) + n))})};
    const Block stores = tile.finish(batch, row, first_column + n, register_value(total, type));
    finish.insert(finish.end(), stores.begin(), stores.end());
    const Guard inside = open({tile.rows - 1 - row, tile.columns - 1 - first_column - n});
    body.push_back(make_if(inside, std::move(finish)));
  }
  kernel.body = {make_loop(grid, kernel.grid[0], LoopTag::grid_x,
                           {make_loop(thread, kThreadsPerBlock, LoopTag::block_x, std::move(body))})};
}

}  // namespace mcc::backend
