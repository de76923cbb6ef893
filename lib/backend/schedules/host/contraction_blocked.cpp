// Host contraction of any depth: blocks of the depth (packed one after the other, unless the right
// operand is stored in panels) add to partial sums in scratch, which stay in the first-level cache.
// The epilogue is a pass of its own over finished rows, so that the text does not grow with the
// number of tile sizes.
#include <algorithm>

#include "lib/backend/schedules/host/contraction_paths.h"

namespace mcc::backend {
namespace {

constexpr int64_t kDepthBlock = 256;
constexpr int64_t kRows = 112;

}  // namespace

void HostContraction::blocked() {
  const bool packs = panel_parameter_ < 0;
  const int64_t block_rows = packs ? rows_per_item(view_.m, view_.batch_count * panels(), kRows)
                                   : rows_per_item(view_.m, view_.batch_count * panels());
  const Item at = item(ceildiv(view_.m, block_rows));
  kernel_.scratch_bytes = (kDepthBlock + block_rows) * kPanelWidth * 4;
  const Expr first_row = at.block * Expr(block_rows);
  const Expr rows = lowering_.simplified(min(Expr(block_rows), view_.m - first_row));

  Block body{make_allocate("panel", DType::f32, kDepthBlock * kPanelWidth, MemorySpace::scratch),
             make_allocate("sums", DType::f32, block_rows * kPanelWidth, MemorySpace::scratch)};
  body.back()->index = Expr(kDepthBlock * kPanelWidth * 4);
  auto sum_index = [&](const Expr& row, const Expr& column) { return row * Expr(kPanelWidth) + column; };

  const std::string clear = lowering_.new_variable("v", Expr(block_rows * kPanelWidth));
  body.push_back(make_loop(clear, rows * Expr(kPanelWidth), LoopTag::vector,
                           {make_store_memory("sums", DType::f32, Expr::symbol(clear), literal(DType::f32, 0))},
                           shape_.lanes));

  const Expr depth_blocks = ceildiv(view_.k, kDepthBlock);
  const std::string depth_block = lowering_.new_variable("k", depth_blocks);
  const Expr first_depth = Expr::symbol(depth_block) * Expr(kDepthBlock);
  const Expr depth = lowering_.simplified(min(Expr(kDepthBlock), view_.k - first_depth));
  Block step;
  if (packs) step = pack(at.batch, at.panel, first_depth, depth, kDepthBlock);
  const auto tiles = kPanelWidth / shape_.columns();
  const std::string tile = lowering_.new_variable("u", tiles);
  const Expr first_column = Expr::symbol(tile) * Expr(shape_.columns());
  Block products = cover_rows(lowering_, rows, shape_.rows(shape_.vectors), [&](const Expr& row_in_block, int count) {
    const std::string variable = lowering_.new_variable("d", Expr(kDepthBlock));
    const Expr d = Expr::symbol(variable);
    TileSpec spec;
    spec.rows = count;
    spec.vectors = shape_.vectors;
    spec.lanes = shape_.lanes;
    spec.columns_left = shape_.columns();
    spec.depth = {{variable, depth, {}}};
    spec.left = [&](int row) { return left(at.batch, first_row + row_in_block + Expr(row), first_depth + d); };
    spec.right = [&](const Expr& column) {
      if (!packs) return panel_element(at, first_depth + d, first_column + column);
      return load_memory("panel", DType::f32, d * Expr(kPanelWidth) + first_column + column);
    };
    spec.initial = [&](int row, const Expr& column) {
      return load_memory("sums", DType::f32, sum_index(row_in_block + Expr(row), first_column + column));
    };
    spec.finish = [&](const Expr& row, const Expr& column, const ScalarPtr& value) {
      return Block{make_store_memory("sums", DType::f32, sum_index(row_in_block + row, first_column + column), value)};
    };
    return emit_tile(lowering_, spec);
  });
  step.push_back(make_loop(tile, tiles, LoopTag::serial, std::move(products)));
  body.push_back(make_loop(depth_block, depth_blocks, LoopTag::serial, std::move(step)));

  const std::string row = lowering_.new_variable("r", Expr(block_rows));
  const std::string column = lowering_.new_variable("v", kPanelWidth);
  const Expr c = Expr::symbol(column);
  const Expr panel_start = at.panel * Expr(kPanelWidth);
  const Expr columns = exact_division(view_.n, kPanelWidth).has_value()
                           ? Expr(kPanelWidth)
                           : lowering_.simplified(min(Expr(kPanelWidth), view_.n - panel_start));
  Block stores = finish(at.batch, first_row + Expr::symbol(row), panel_start + c,
                        load_memory("sums", DType::f32, sum_index(Expr::symbol(row), c)));
  body.push_back(make_loop(row, rows, LoopTag::serial,
                           {make_loop(column, columns, LoopTag::vector, std::move(stores), shape_.lanes)}));
  finish_kernel(std::move(body));
}

}  // namespace mcc::backend
