// Host contraction of any type: a vector loop over columns around the depth loop.
#include "lib/backend/schedules/host/contraction_paths.h"

namespace mcc::backend {
namespace {

ScalarPtr accumulate(const ScalarPtr& left, const ScalarPtr& right, const std::string& name, DType type) {
  return apply("fma", {cast_scalar(left, type), cast_scalar(right, type), register_value(name, type)});
}

}  // namespace

void HostContraction::plain() {
  const DType left = lowering_.body().dtype(view_.lhs);
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

}  // namespace mcc::backend
