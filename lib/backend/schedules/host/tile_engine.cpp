// Register tiles of host contractions and convolutions.
#include "lib/backend/schedules/host/tile_engine.h"

#include "lib/support/error.h"

namespace mcc::backend {
namespace {

std::string accumulator(int row, int vector) {
  return "acc" + std::to_string(row) + "_" + std::to_string(vector);
}

// Multiply-adds of one step.
StmtPtr step(GroupLowering& lowering, const TileSpec& spec) {
  const std::string lane = lowering.new_variable("v", spec.lanes);
  Block body;
  std::vector<ScalarPtr> left;
  for (int row = 0; row < spec.rows; ++row) left.push_back(spec.left(row));
  for (int vector = 0; vector < spec.vectors; ++vector) {
    const ScalarPtr right = spec.right(Expr::symbol(lane) + Expr(vector * spec.lanes));
    for (int row = 0; row < spec.rows; ++row) {
      const std::string name = accumulator(row, vector);
      body.push_back(make_assign(name, apply("fma", {left[static_cast<size_t>(row)], right,
                                                     register_value(name, DType::f32)})));
    }
  }
  return make_loop(lane, spec.lanes, LoopTag::vector, std::move(body), spec.lanes);
}

}  // namespace

TileShape tile_shape(const Target& target) {
  return target.vector_bytes >= 64 ? TileShape{7, 4, 16} : TileShape{6, 2, 8};
}

Block emit_tile(GroupLowering& lowering, const TileSpec& spec) {
  Block block;
  for (int row = 0; row < spec.rows; ++row) {
    for (int vector = 0; vector < spec.vectors; ++vector) {
      block.push_back(make_define(accumulator(row, vector), literal(DType::f32, 0), spec.lanes));
    }
  }
  Block inner{step(lowering, spec)};
  for (size_t i = spec.depth.size(); i-- > 0;) {
    const TileLoop& loop = spec.depth[i];
    if (!loop.guard.empty()) inner = {make_if(loop.guard, std::move(inner))};
    inner = {make_loop(loop.variable, loop.extent, LoopTag::serial, std::move(inner))};
  }
  block.insert(block.end(), inner.begin(), inner.end());

  const bool all_columns = spec.columns_left.is_constant() &&
                           spec.columns_left.constant() >= spec.vectors * spec.lanes;
  const std::string spill = "tail" ;
  if (!all_columns) {
    block.push_back(make_allocate(spill, DType::f32, spec.lanes, MemorySpace::registers));
  }
  for (int vector = 0; vector < spec.vectors; ++vector) {
    const Expr first = vector * spec.lanes;
    Block whole;
    for (int row = 0; row < spec.rows; ++row) {
      const std::string lane = lowering.new_variable("v", spec.lanes);
      Block stores = spec.finish(row, first + Expr::symbol(lane),
                                 register_value(accumulator(row, vector), DType::f32));
      whole.push_back(make_loop(lane, spec.lanes, LoopTag::vector, std::move(stores), spec.lanes));
    }
    if (all_columns) {
      block.insert(block.end(), whole.begin(), whole.end());
      continue;
    }
    // A vector that crosses the last column goes through memory and is stored element by element.
    Block partial;
    const Expr left = max(Expr(0), min(Expr(spec.lanes), spec.columns_left - first));
    for (int row = 0; row < spec.rows; ++row) {
      const std::string lane = lowering.new_variable("v", spec.lanes);
      partial.push_back(make_loop(lane, spec.lanes, LoopTag::vector,
                                  {make_store_memory(spill, DType::f32, Expr::symbol(lane),
                                                     register_value(accumulator(row, vector), DType::f32))},
                                  spec.lanes));
      const std::string at = lowering.new_variable("c", spec.lanes);
      partial.push_back(make_loop(at, left, LoopTag::serial,
                                  spec.finish(row, first + Expr::symbol(at),
                                              load_memory(spill, DType::f32, Expr::symbol(at)))));
    }
    block.push_back(make_if({spec.columns_left - first - Expr(spec.lanes)}, std::move(whole), std::move(partial)));
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
  Expr first = tiles * Expr(most);
  Expr rest = mod(extent, most);
  for (int rows = 4; rows >= 1; rows /= 2) {
    if (rows >= most) continue;
    block.push_back(make_if({rest - Expr(rows)}, body(first, rows)));
    first = first + Expr(rows) * floordiv(rest, rows);
    rest = mod(rest, rows);
    if (rows == 1) break;
  }
  return block;
}

}  // namespace mcc::backend
