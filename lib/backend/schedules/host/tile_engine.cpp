// Register tiles of host contractions and convolutions.
#include "lib/backend/schedules/host/tile_engine.h"

#include <algorithm>

#include "lib/backend/schedules/common/access.h"
#include "lib/backend/schedules/common/contraction_view.h"

namespace mcc::backend {
namespace {

std::string accumulator(int row, int vector) {
  return "acc" + std::to_string(row) + "_" + std::to_string(vector);
}

// Multiply-adds of one step. AVX-512 multiplies by a scalar in memory: vector by vector, only one
// vector of the right operand is live. AVX2 needs a register for the broadcast scalar: row by row,
// only one of those is live. The other way round the accumulators would be spilled.
StmtPtr step(GroupLowering& lowering, const TileSpec& spec) {
  const std::string lane = lowering.new_variable("v", spec.lanes);
  Block body;
  std::vector<ScalarPtr> left;
  std::vector<ScalarPtr> right;
  for (int row = 0; row < spec.rows; ++row) left.push_back(spec.left(row));
  for (int vector = 0; vector < spec.vectors; ++vector) {
    right.push_back(spec.right(Expr::symbol(lane) + Expr(vector * spec.lanes)));
  }
  auto multiply = [&](int row, int vector) {
    const std::string name = accumulator(row, vector);
    body.push_back(make_assign(name, apply("fma", {left[static_cast<size_t>(row)], right[static_cast<size_t>(vector)],
                                                   register_value(name, DType::f32)})));
  };
  if (spec.lanes == 16) {
    for (int vector = 0; vector < spec.vectors; ++vector) {
      for (int row = 0; row < spec.rows; ++row) multiply(row, vector);
    }
  } else {
    for (int row = 0; row < spec.rows; ++row) {
      for (int vector = 0; vector < spec.vectors; ++vector) multiply(row, vector);
    }
  }
  return make_loop(lane, spec.lanes, LoopTag::vector, std::move(body), spec.lanes);
}

// Stores the accumulators [first, last) of every row straight from their registers.
Block store_whole(GroupLowering& lowering, const TileSpec& spec, int first, int last) {
  Block block;
  for (int vector = first; vector < last; ++vector) {
    for (int row = 0; row < spec.rows; ++row) {
      const std::string lane = lowering.new_variable("v", spec.lanes);
      Block stores = spec.finish(row, Expr(vector * spec.lanes) + Expr::symbol(lane),
                                 register_value(accumulator(row, vector), DType::f32));
      block.push_back(make_loop(lane, spec.lanes, LoopTag::vector, std::move(stores), spec.lanes));
    }
  }
  return block;
}

// Accumulators from number `first` on go through memory, so that one loop over the rows and the
// columns that exist stores them: unrolled, this rare case would be most of the kernel's text.
Block store_partly(GroupLowering& lowering, const TileSpec& spec, int first, const Expr& columns) {
  const int width = (spec.vectors - first) * spec.lanes;
  Block block{make_allocate("tail", DType::f32, spec.rows * width, MemorySpace::registers)};
  for (int row = 0; row < spec.rows; ++row) {
    for (int vector = first; vector < spec.vectors; ++vector) {
      const std::string lane = lowering.new_variable("v", spec.lanes);
      const Expr at = Expr(row * width + (vector - first) * spec.lanes) + Expr::symbol(lane);
      block.push_back(make_loop(lane, spec.lanes, LoopTag::vector,
                                {make_store_memory("tail", DType::f32, at,
                                                   register_value(accumulator(row, vector), DType::f32))},
                                spec.lanes));
    }
  }
  const std::string row = lowering.new_variable("r", spec.rows);
  const std::string column = lowering.new_variable("c", width);
  Block stores = spec.finish(Expr::symbol(row), Expr(first * spec.lanes) + Expr::symbol(column),
                             load_memory("tail", DType::f32, Expr::symbol(row) * Expr(width) + Expr::symbol(column)));
  block.push_back(make_loop(row, spec.rows, LoopTag::serial,
                            {make_loop(column, columns, LoopTag::vector, std::move(stores), spec.lanes)}));
  return block;
}

// Whether the epilogue is more than a few instructions.
bool costs_much(GroupLowering& lowering, const TileSpec& spec) {
  constexpr int kMuch = 12;
  const std::string lane = lowering.new_variable("v", spec.lanes);
  int total = 0;
  for (const StmtPtr& store : spec.finish(0, Expr::symbol(lane), register_value(accumulator(0, 0), DType::f32))) {
    if (store->value) total += flops(store->value);
  }
  return total > kMuch;
}

}  // namespace

int TileShape::rows(int used) const {
  if (lanes == 16) return used >= 4 ? 7 : used == 3 ? 9 : 14;
  return used >= 2 ? 6 : 12;
}

TileShape tile_shape(const Target& target) {
  return target.vector_bytes >= 64 ? TileShape{4, 16} : TileShape{2, 8};
}

Block emit_tile(GroupLowering& lowering, const TileSpec& spec) {
  Block block;
  for (int row = 0; row < spec.rows; ++row) {
    for (int vector = 0; vector < spec.vectors; ++vector) {
      block.push_back(make_define(accumulator(row, vector), literal(DType::f32, 0), spec.lanes));
      if (!spec.initial) continue;
      const std::string lane = lowering.new_variable("v", spec.lanes);
      const ScalarPtr value = spec.initial(row, Expr(vector * spec.lanes) + Expr::symbol(lane));
      block.push_back(make_loop(lane, spec.lanes, LoopTag::vector,
                                {make_assign(accumulator(row, vector), value)}, spec.lanes));
    }
  }
  Block inner{step(lowering, spec)};
  for (size_t i = spec.depth.size(); i-- > 0;) {
    const TileLoop& loop = spec.depth[i];
    if (!loop.guard.empty()) inner = {make_if(loop.guard, std::move(inner))};
    inner = {make_loop(loop.variable, loop.extent, LoopTag::serial, std::move(inner))};
  }
  block.insert(block.end(), inner.begin(), inner.end());

  const int width = spec.vectors * spec.lanes;
  if (costs_much(lowering, spec)) {
    const Expr columns = spec.columns_left.is_constant()
                             ? Expr(std::min<int64_t>(spec.columns_left.constant(), width))
                             : max(Expr(0), min(Expr(width), spec.columns_left));
    Block stores = store_partly(lowering, spec, 0, columns);
    block.insert(block.end(), stores.begin(), stores.end());
    return block;
  }
  if (!spec.columns_left.is_constant()) {
    block.push_back(make_if({spec.columns_left - Expr(width)}, store_whole(lowering, spec, 0, spec.vectors),
                            store_partly(lowering, spec, 0, max(Expr(0), spec.columns_left))));
    return block;
  }
  const auto columns = static_cast<int>(std::min<int64_t>(spec.columns_left.constant(), width));
  const int whole = columns / spec.lanes;
  Block stores = store_whole(lowering, spec, 0, whole);
  block.insert(block.end(), stores.begin(), stores.end());
  if (whole < spec.vectors) {
    stores = store_partly(lowering, spec, whole, columns - whole * spec.lanes);
    block.insert(block.end(), stores.begin(), stores.end());
  }
  return block;
}

Block cover_rows(GroupLowering& lowering, const Expr& extent, int most,
                 const std::function<Block(const Expr& first_row, int rows)>& body) {
  Block block;
  if (extent.is_constant()) {
    const int64_t rows = extent.constant();
    if (rows == 0) return block;
    const int64_t tiles = (rows + most - 1) / most;
    const int64_t small = rows / tiles;
    const int64_t large_tiles = rows % tiles;
    if (large_tiles > 0) {
      const std::string tile = lowering.new_variable("t", large_tiles);
      block.push_back(make_loop(tile, large_tiles, LoopTag::serial,
                                body(Expr::symbol(tile) * Expr(small + 1), static_cast<int>(small + 1))));
    }
    if (tiles > large_tiles) {
      const std::string tile = lowering.new_variable("t", tiles - large_tiles);
      block.push_back(make_loop(
          tile, tiles - large_tiles, LoopTag::serial,
          body(Expr(large_tiles * (small + 1)) + Expr::symbol(tile) * Expr(small), static_cast<int>(small))));
    }
    return block;
  }
  const Expr tiles = floordiv(extent, most);
  const std::string tile = lowering.new_variable("t", tiles);
  block.push_back(make_loop(tile, tiles, LoopTag::serial, body(Expr::symbol(tile) * Expr(most), most)));
  // What is left is less than twice the largest power of two below `most`.
  Expr first = tiles * Expr(most);
  Expr rest = mod(extent, most);
  for (int rows = 8; rows >= 1; rows /= 2) {
    if (rows >= most) continue;
    block.push_back(make_if({rest - Expr(rows)}, body(first, rows)));
    first = first + Expr(rows) * floordiv(rest, rows);
    rest = mod(rest, rows);
    if (rows == 1) break;
  }
  return block;
}

Block cover_columns(GroupLowering& lowering, const TileShape& shape, const Expr& panel, const Expr& columns,
                    const std::function<Block(const Expr& first_column, int vectors,
                                              const Expr& columns_left)>& body) {
  const int width = shape.columns();
  const int tiles = static_cast<int>(kPanelWidth) / width;
  auto all = [&](const Expr& left) {
    const std::string tile = lowering.new_variable("u", tiles);
    const Expr first = Expr::symbol(tile) * Expr(width);
    return Block{make_loop(tile, tiles, LoopTag::serial,
                           body(first, shape.vectors, left.is_constant() ? Expr(width) : left - first))};
  };
  if (!columns.is_constant()) return all(columns - panel * Expr(kPanelWidth));
  const int64_t rest = columns.constant() % kPanelWidth;
  if (rest == 0) return all(kPanelWidth);
  Block last;
  const int64_t whole = rest / width;
  if (whole > 0) {
    const std::string tile = lowering.new_variable("u", whole);
    last.push_back(make_loop(tile, whole, LoopTag::serial, body(Expr::symbol(tile) * Expr(width), shape.vectors, width)));
  }
  if (const int64_t left = rest % width; left > 0) {
    const auto vectors = static_cast<int>((left + shape.lanes - 1) / shape.lanes);
    Block tile = body(whole * width, vectors, left);
    last.insert(last.end(), tile.begin(), tile.end());
  }
  if (columns.constant() < kPanelWidth) return last;
  return {make_if({Expr(columns.constant() / kPanelWidth - 1) - panel}, all(kPanelWidth), std::move(last))};
}

Block cover_block(GroupLowering& lowering, const Expr& block, int64_t size, const Expr& extent, int most,
                  const std::function<Block(const Expr& first_row, int rows)>& body) {
  const Expr first = block * Expr(size);
  auto from_first = [&](const Expr& row, int rows) { return body(first + row, rows); };
  if (!extent.is_constant()) return cover_rows(lowering, min(Expr(size), extent - first), most, from_first);
  const int64_t rest = extent.constant() % size;
  if (extent.constant() < size) return cover_rows(lowering, rest, most, body);
  Block whole = cover_rows(lowering, size, most, from_first);
  if (rest == 0) return whole;
  return {make_if({extent - first - Expr(size)}, std::move(whole), cover_rows(lowering, rest, most, from_first))};
}

int64_t rows_per_item(const Expr& rows, const Expr& others, int64_t longest) {
  constexpr int64_t kItems = 24;
  constexpr int64_t kStep = 14;
  if (!rows.is_constant() || !others.is_constant()) return longest;
  const int64_t blocks = std::max<int64_t>(1, (kItems + others.constant() - 1) / std::max<int64_t>(1, others.constant()));
  const int64_t balanced = (rows.constant() + blocks - 1) / blocks;
  return std::clamp<int64_t>((balanced + kStep - 1) / kStep * kStep, kStep, longest);
}

}  // namespace mcc::backend
