// Host contraction: register tiles over panels of 64 columns.
//
// Constant right operands come in panels from the plan; others are packed into scratch, one panel
// per work item. Contractions whose depth is unknown or too deep for scratch, or of other types
// than f32, take the plain path: a vector loop over columns around the depth loop.
#include "lib/backend/schedules/common/contraction_view.h"
#include "lib/backend/schedules/host/host_schedules.h"
#include "lib/backend/schedules/host/tile_engine.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

constexpr int64_t kMaximumPackedDepth = 4096;
// Rows that one work item computes at most, when rows are what parallelism comes from.
constexpr int64_t kRowsPerItem = 28;

ScalarPtr accumulate(const ScalarPtr& left, const ScalarPtr& right, const std::string& name, DType type) {
  return apply("fma", {cast_scalar(left, type), cast_scalar(right, type), register_value(name, type)});
}

class Contraction {
 public:
  Contraction(const Group& group, const Target& target)
      : target_(target), lowering_(group, kernel_), node_(*lowering_.anchor()),
        view_(lowering_.body(), node_) {}

  LoopKernel run() {
    const Graph& body = lowering_.body();
    const DType left = body.dtype(view_.lhs);
    const bool real = compute_type(left) == DType::f32 && compute_type(body.dtype(view_.rhs)) == DType::f32;
    panel_parameter_ = request_panels(lowering_, view_.rhs, view_.rhs_batch, view_.rhs_depth,
                                      view_.rhs_columns, kPanelWidth);
    const bool packs = view_.k.is_constant() && view_.k.constant() <= kMaximumPackedDepth;
    if (real && (panel_parameter_ >= 0 || packs)) {
      tiled();
    } else {
      plain(left);
    }
    return std::move(kernel_);
  }

 private:
  // Element of the right operand; constants are read from their panel.
  ScalarPtr right(const Indices& b, const Expr& depth, const Expr& column) {
    if (panel_parameter_ < 0) {
      return lowering_.element(view_.rhs, view_.rhs_indices(b, delinearize(depth, view_.depth),
                                                            delinearize(column, view_.columns)));
    }
    const Expr panels = ceildiv(view_.n, kPanelWidth);
    const Expr panel = linear_index(b, view_.batch) * panels + floordiv(column, kPanelWidth);
    const Expr index = (panel * view_.k + depth) * Expr(kPanelWidth) + mod(column, kPanelWidth);
    return load(panel_parameter_, lowering_.body().dtype(view_.rhs), lowering_.simplified(index));
  }

  void tiled() {
    const TileShape shape = tile_shape(target_);
    const Expr panels = ceildiv(view_.n, kPanelWidth);
    // Work items: batches x panels x row blocks, panels of a batch together so that the left
    // operand is reused from the cache, row blocks innermost so that a thread keeps its panel.
    const bool few_panels = !panels.is_constant() || panels.constant() < 8;
    const Expr row_blocks = few_panels ? ceildiv(view_.m, kRowsPerItem) : Expr(1);
    kernel_.parallel = view_.batch_count * panels * row_blocks;
    const std::string item = lowering_.new_variable("p", kernel_.parallel);
    const Expr at = Expr::symbol(item);
    const Expr block = lowering_.simplified(mod(at, row_blocks));
    const Expr panel = lowering_.simplified(mod(floordiv(at, row_blocks), panels));
    const Indices b = delinearize(lowering_.simplified(floordiv(at, row_blocks * panels)), view_.batch);

    Block body;
    if (panel_parameter_ < 0) pack(b, panel, body);
    const Expr first_row = block * Expr(kRowsPerItem);
    const Expr rows = few_panels ? min(Expr(kRowsPerItem), view_.m - first_row) : view_.m;
    const int sub_tiles = static_cast<int>(kPanelWidth) / shape.columns();
    // Narrow outputs do not need the whole panel.
    int used_tiles = sub_tiles;
    int used_vectors = shape.vectors;
    if (view_.n.is_constant() && view_.n.constant() < kPanelWidth) {
      const auto columns = static_cast<int>(view_.n.constant());
      used_tiles = (columns + shape.columns() - 1) / shape.columns();
      if (columns < shape.columns()) used_vectors = (columns + shape.lanes - 1) / shape.lanes;
    }
    const std::string sub = lowering_.new_variable("u", used_tiles);
    const Expr first_column = Expr::symbol(sub) * Expr(shape.columns());
    auto tile = [&](const Expr& row_in_block, int tile_rows) {
      return emit(shape, used_vectors, b, panel, first_row + row_in_block, tile_rows, first_column);
    };
    // A block of known size is covered exactly; the last one may be smaller.
    Block inner;
    if (!few_panels || !view_.m.is_constant()) {
      inner = cover_rows(lowering_, rows, shape.rows, tile);
    } else if (view_.m.constant() % kRowsPerItem == 0 || view_.m.constant() < kRowsPerItem) {
      inner = cover_rows(lowering_, std::min(view_.m.constant(), kRowsPerItem), shape.rows, tile);
    } else {
      const Expr full_left = view_.m - first_row - Expr(kRowsPerItem);
      inner = {make_if({full_left}, cover_rows(lowering_, kRowsPerItem, shape.rows, tile),
                       cover_rows(lowering_, view_.m.constant() % kRowsPerItem, shape.rows, tile))};
    }
    body.push_back(make_loop(sub, used_tiles, LoopTag::serial, std::move(inner)));
    kernel_.body = {make_loop(item, kernel_.parallel, LoopTag::parallel, std::move(body))};
  }

  // Copies one panel of a computed right operand into scratch, zero beyond the last column.
  void pack(const Indices& b, const Expr& panel, Block& body) {
    kernel_.scratch_bytes = view_.k.constant() * kPanelWidth * 4;
    body.push_back(make_allocate("panel", DType::f32, view_.k.constant() * kPanelWidth, MemorySpace::scratch));
    const std::string depth = lowering_.new_variable("d", view_.k);
    const std::string lane = lowering_.new_variable("v", kPanelWidth);
    const Expr column = panel * Expr(kPanelWidth) + Expr::symbol(lane);
    const ScalarPtr value = cast_scalar(right(b, Expr::symbol(depth), column), DType::f32);
    const Expr to = Expr::symbol(depth) * Expr(kPanelWidth);
    // Existing columns, then zeros.
    const Expr existing = min(Expr(kPanelWidth), view_.n - panel * Expr(kPanelWidth));
    const std::string zero = lowering_.new_variable("v", kPanelWidth);
    Block copy{make_loop(lane, lowering_.simplified(existing), LoopTag::vector,
                         {make_store_memory("panel", DType::f32, to + Expr::symbol(lane), value)},
                         tile_shape(target_).lanes)};
    const bool full = exact_division(view_.n, kPanelWidth).has_value();
    if (!full) {
      copy.push_back(make_loop(zero, lowering_.simplified(Expr(kPanelWidth) - existing), LoopTag::serial,
                               {make_store_memory("panel", DType::f32, to + existing + Expr::symbol(zero),
                                                  literal(DType::f32, 0))}));
    }
    body.push_back(make_loop(depth, view_.k, LoopTag::serial, std::move(copy)));
  }

  Block emit(const TileShape& shape, int vectors, const Indices& b, const Expr& panel,
             const Expr& first_row, int rows, const Expr& first_column) {
    const std::string depth = lowering_.new_variable("d", view_.k);
    const Expr d = Expr::symbol(depth);
    TileSpec spec;
    spec.rows = rows;
    spec.vectors = vectors;
    spec.lanes = shape.lanes;
    spec.depth = {{depth, view_.k, {}}};
    const Indices depth_indices = delinearize(d, view_.depth);
    spec.left = [&](int row) {
      const Indices r = delinearize(first_row + Expr(row), view_.rows);
      return cast_scalar(lowering_.element(view_.lhs, view_.lhs_indices(b, r, depth_indices)), DType::f32);
    };
    spec.right = [&](const Expr& column) {
      const Expr in_panel = first_column + column;
      if (panel_parameter_ < 0) {
        return load_memory("panel", DType::f32, d * Expr(kPanelWidth) + in_panel);
      }
      const Expr number = linear_index(b, view_.batch) * ceildiv(view_.n, kPanelWidth) + panel;
      return cast_scalar(load(panel_parameter_, lowering_.body().dtype(view_.rhs),
                              lowering_.simplified((number * view_.k + d) * Expr(kPanelWidth)) + in_panel),
                         DType::f32);
    };
    const Expr panel_start = panel * Expr(kPanelWidth);
    spec.columns_left = exact_division(view_.n, kPanelWidth).has_value()
                            ? Expr(kPanelWidth)
                            : view_.n - panel_start - first_column;
    spec.finish = [&](int row, const Expr& column, const ScalarPtr& value) {
      const Indices r = delinearize(first_row + Expr(row), view_.rows);
      const Indices c = delinearize(panel_start + first_column + column, view_.columns);
      return lowering_.finish(ContractionView::output_indices(b, r, c), value);
    };
    return emit_tile(lowering_, spec);
  }

  void plain(DType left) {
    const DType out = lowering_.body().dtype(node_.outputs[0]);
    const DType accumulator = left == DType::f64 ? DType::f64 : compute_type(out);
    const bool vectors = accumulator == DType::f32;
    constexpr int kRows = 4;
    const Expr blocks = ceildiv(view_.m, kRows);
    kernel_.parallel = view_.batch_count * blocks;
    const std::string item = lowering_.new_variable("p", kernel_.parallel);
    const Indices b = delinearize(lowering_.simplified(floordiv(Expr::symbol(item), blocks)), view_.batch);
    const Expr first_row = lowering_.simplified(mod(Expr::symbol(item), blocks)) * Expr(kRows);
    auto rows_at = [&](const Expr& row_in_block, int rows) {
      const std::string column = lowering_.new_variable("c", view_.n);
      const std::string depth = lowering_.new_variable("d", view_.k);
      const int lanes = vectors ? target_.vector_bytes / 4 : 1;
      Block work;
      Block inner;
      for (int row = 0; row < rows; ++row) {
        const std::string name = "acc" + std::to_string(row);
        work.push_back(make_define(name, literal(accumulator, 0), lanes));
        const Indices r = delinearize(first_row + row_in_block + Expr(row), view_.rows);
        const ScalarPtr a = lowering_.element(
            view_.lhs, view_.lhs_indices(b, r, delinearize(Expr::symbol(depth), view_.depth)));
        inner.push_back(make_assign(
            name, accumulate(a, right(b, Expr::symbol(depth), Expr::symbol(column)), name, accumulator)));
      }
      work.push_back(make_loop(depth, view_.k, LoopTag::serial, std::move(inner)));
      for (int row = 0; row < rows; ++row) {
        const Indices r = delinearize(first_row + row_in_block + Expr(row), view_.rows);
        Block stores = lowering_.finish(
            ContractionView::output_indices(b, r, delinearize(Expr::symbol(column), view_.columns)),
            cast_scalar(register_value("acc" + std::to_string(row), accumulator), compute_type(out)));
        work.insert(work.end(), stores.begin(), stores.end());
      }
      return Block{make_loop(column, view_.n, vectors ? LoopTag::vector : LoopTag::serial, std::move(work), lanes)};
    };
    Block whole = rows_at(0, kRows);
    Block rest;
    const std::string single = lowering_.new_variable("r", kRows);
    rest.push_back(make_loop(single, view_.m - first_row, LoopTag::serial, rows_at(Expr::symbol(single), 1)));
    kernel_.body = {make_loop(item, kernel_.parallel, LoopTag::parallel,
                              {make_if({view_.m - first_row - Expr(kRows)}, std::move(whole), std::move(rest))})};
  }

  const Target& target_;
  LoopKernel kernel_;
  GroupLowering lowering_;
  const Node& node_;
  ContractionView view_;
  int panel_parameter_ = -1;
};

}  // namespace

LoopKernel host_contraction(const Group& group, const Target& target) {
  return Contraction(group, target).run();
}

}  // namespace mcc::backend
