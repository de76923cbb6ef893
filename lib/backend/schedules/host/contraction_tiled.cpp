// Host contraction over whole panels of the right operand.
#include "lib/backend/schedules/host/contraction_paths.h"

namespace mcc::backend {

void HostContraction::tiled() {
  const bool packs = panel_parameter_ < 0;
  // Every row block packs the panel again: make few.
  const int64_t block_rows = rows_per_item(view_.m, view_.batch_count * panels(), packs ? 224 : 56);
  const Item at = item(ceildiv(view_.m, block_rows));

  Block body;
  if (packs) {
    const int64_t depth = view_.k.constant();
    kernel_.scratch_bytes = depth * kPanelWidth * 4;
    body.push_back(make_allocate("panel", DType::f32, depth * kPanelWidth, MemorySpace::scratch));
    Block copy = pack(at.batch, at.panel, 0, view_.k, depth);
    body.insert(body.end(), copy.begin(), copy.end());
  }
  auto tile = [&](const Expr& first_row, int rows, const Expr& first_column, int vectors, const Expr& columns_left) {
    const std::string depth = lowering_.new_variable("d", view_.k);
    const Expr d = Expr::symbol(depth);
    TileSpec spec;
    spec.rows = rows;
    spec.vectors = vectors;
    spec.lanes = shape_.lanes;
    spec.columns_left = columns_left;
    spec.depth = {{depth, view_.k, {}}};
    spec.left = [&](int row) { return left(at.batch, first_row + Expr(row), d); };
    spec.right = [&](const Expr& column) {
      const Expr in_panel = first_column + column;
      if (packs) return load_memory("panel", DType::f32, d * Expr(kPanelWidth) + in_panel);
      return panel_element(at, d, in_panel);
    };
    spec.finish = [&](const Expr& row, const Expr& column, const ScalarPtr& value) {
      return finish(at.batch, first_row + row, at.panel * Expr(kPanelWidth) + first_column + column, value);
    };
    return emit_tile(lowering_, spec);
  };
  Block tiles = cover_columns(
      lowering_, shape_, at.panel, view_.n,
      [&](const Expr& first_column, int vectors, const Expr& columns_left) {
        return cover_block(lowering_, at.block, block_rows, view_.m, shape_.rows(vectors),
                           [&](const Expr& first_row, int rows) {
                             return tile(first_row, rows, first_column, vectors, columns_left);
                           });
      });
  body.insert(body.end(), tiles.begin(), tiles.end());
  finish_kernel(std::move(body));
}

}  // namespace mcc::backend
