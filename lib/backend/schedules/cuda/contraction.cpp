// CUDA contraction over shared-memory tiles.
#include "lib/backend/schedules/common/contraction_view.h"
#include "lib/backend/schedules/cuda/cuda_schedules.h"
#include "lib/backend/schedules/cuda/tile_engine.h"

namespace mcc::backend {

LoopKernel cuda_contraction(const Group& group, const Target&) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const Node& node = *lowering.anchor();
  const Graph& body = lowering.body();
  const ContractionView view(body, node);
  const int panels = request_panels(lowering, view.rhs, view.rhs_batch, view.rhs_depth, view.rhs_columns, kPanelWidth);
  const DType out = body.dtype(node.outputs[0]);
  const auto unpack = [&](const Expr& linear, const Shape& dims) {
    Indices indices = delinearize(linear, dims);
    for (Expr& index : indices) index = lowering.simplified(index);
    return indices;
  };
  BlockTile tile;
  tile.accumulator = body.dtype(view.lhs) == DType::f64 ? DType::f64 : compute_type(out);
  tile.batches = view.batch_count;
  tile.rows = view.m;
  tile.columns = view.n;
  tile.depth = view.k;
  tile.left = [&](const Expr& batch, const Expr& row, const Expr& depth) {
    return lowering.element(view.lhs, view.lhs_indices(unpack(batch, view.batch), unpack(row, view.rows),
                                                       unpack(depth, view.depth)));
  };
  tile.right_is_padded = panels >= 0;
  tile.right = [&](const Expr& batch, const Expr& depth, const Expr& column) {
    if (panels >= 0) {
      const Expr panel = batch * ceildiv(view.n, kPanelWidth) + floordiv(column, kPanelWidth);
      return load(panels, body.dtype(view.rhs),
                  lowering.simplified((panel * view.k + depth) * Expr(kPanelWidth) + mod(column, kPanelWidth)));
    }
    return lowering.element(view.rhs, view.rhs_indices(unpack(batch, view.batch), unpack(depth, view.depth),
                                                       unpack(column, view.columns)));
  };
  tile.finish = [&](const Expr& batch, const Expr& row, const Expr& column, const ScalarPtr& value) {
    return lowering.finish(ContractionView::output_indices(unpack(batch, view.batch), unpack(row, view.rows),
                                                           unpack(column, view.columns)),
                           cast_scalar(value, compute_type(out)));
  };
  if (panels >= 0 && bounds(tile.rows, lowering.ranges()).high <= kFewRows) {
    emit_few_rows(lowering, tile);
  } else {
    emit_block_tile(lowering, tile);
  }
  return kernel;
}

}  // namespace mcc::backend
