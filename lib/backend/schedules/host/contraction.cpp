// Host contraction: the choice of a path and what the paths share.
#include <algorithm>

#include "lib/backend/schedules/common/access.h"
#include "lib/backend/schedules/host/contraction_paths.h"
#include "lib/backend/schedules/host/host_schedules.h"

namespace mcc::backend {
namespace {

// A panel of so many rows (256 KB) still fits the second-level cache beside the left operand.
constexpr int64_t kMaximumPackedDepth = 1024;

}  // namespace

HostContraction::HostContraction(const Group& group, const Target& target)
    : target_(target), lowering_(group, kernel_), node_(*lowering_.anchor()),
      view_(lowering_.body(), node_), shape_(tile_shape(target)) {}

LoopKernel HostContraction::run() {
  const Graph& body = lowering_.body();
  const bool real = compute_type(body.dtype(view_.lhs)) == DType::f32 &&
                    compute_type(body.dtype(view_.rhs)) == DType::f32;
  panel_parameter_ = request_panels(lowering_, view_.rhs, view_.rhs_batch, view_.rhs_depth,
                                    view_.rhs_columns, kPanelWidth);
  const bool deep = !view_.k.is_constant() || view_.k.constant() > kMaximumPackedDepth;
  // With few registers a tile reads its operands more often: a deep panel must come in blocks that
  // the cache holds.
  const bool whole_panels = panel_parameter_ >= 0 && !(deep && shape_.lanes < 16);
  if (!real) {
    plain();
  } else if (whole_panels || !deep) {
    tiled();
  } else {
    blocked();
  }
  return std::move(kernel_);
}

ScalarPtr HostContraction::right(const Indices& b, const Expr& depth, const Expr& column) {
  if (panel_parameter_ < 0) {
    return lowering_.element(view_.rhs, view_.rhs_indices(b, delinearize(depth, view_.depth),
                                                          delinearize(column, view_.columns)));
  }
  const Expr panel = linear_index(b, view_.batch) * panels() + floordiv(column, kPanelWidth);
  const Expr index = (panel * view_.k + depth) * Expr(kPanelWidth) + mod(column, kPanelWidth);
  return load(panel_parameter_, lowering_.body().dtype(view_.rhs), lowering_.simplified(index));
}

ScalarPtr HostContraction::panel_element(const Item& at, const Expr& depth, const Expr& column) {
  const Expr number = linear_index(at.batch, view_.batch) * panels() + at.panel;
  const Expr index = lowering_.simplified((number * view_.k + depth) * Expr(kPanelWidth)) + column;
  return cast_scalar(load(panel_parameter_, lowering_.body().dtype(view_.rhs), index), DType::f32);
}

ScalarPtr HostContraction::left(const Indices& b, const Expr& row, const Expr& depth) {
  const Indices at = view_.lhs_indices(b, delinearize(row, view_.rows), delinearize(depth, view_.depth));
  return cast_scalar(lowering_.element(view_.lhs, at), DType::f32);
}

Block HostContraction::finish(const Indices& b, const Expr& row, const Expr& column, const ScalarPtr& value) {
  return lowering_.finish(
      ContractionView::output_indices(b, delinearize(row, view_.rows), delinearize(column, view_.columns)), value);
}

HostContraction::Item HostContraction::item(const Expr& blocks) {
  kernel_.parallel = view_.batch_count * panels() * blocks;
  item_variable_ = lowering_.new_variable("p", kernel_.parallel);
  const Expr at = Expr::symbol(item_variable_);
  Item result;
  result.block = lowering_.simplified(mod(at, blocks));
  result.panel = lowering_.simplified(mod(floordiv(at, blocks), panels()));
  result.batch = delinearize(lowering_.simplified(floordiv(at, blocks * panels())), view_.batch);
  for (Expr& index : result.batch) index = lowering_.simplified(index);
  return result;
}

void HostContraction::finish_kernel(Block body) {
  kernel_.body = {make_loop(item_variable_, kernel_.parallel, LoopTag::parallel, std::move(body))};
}

Block HostContraction::pack(const Indices& b, const Expr& panel, const Expr& first, const Expr& count, int64_t most) {
  const std::string depth = lowering_.new_variable("d", Expr(most));
  const std::string column = lowering_.new_variable("v", kPanelWidth);
  const Expr d = Expr::symbol(depth);
  const Expr to = d * Expr(kPanelWidth);
  const Expr existing =
      lowering_.simplified(min(Expr(kPanelWidth), view_.n - panel * Expr(kPanelWidth)));
  const ScalarPtr value =
      cast_scalar(right(b, first + d, panel * Expr(kPanelWidth) + Expr::symbol(column)), DType::f32);
  const StmtPtr copy = make_store_memory("panel", DType::f32, to + Expr::symbol(column), value);
  Block block;
  // The vector runs along whichever axis is contiguous in the source.
  if (!accesses_linearly(value, column) && accesses_linearly(value, depth)) {
    block.push_back(make_loop(column, existing, LoopTag::serial,
                              {make_loop(depth, count, LoopTag::vector, {copy}, shape_.lanes)}));
  } else {
    block.push_back(make_loop(depth, count, LoopTag::serial,
                              {make_loop(column, existing, LoopTag::vector, {copy}, shape_.lanes)}));
  }
  if (exact_division(view_.n, kPanelWidth).has_value()) return block;
  const std::string zero_depth = lowering_.new_variable("d", Expr(most));
  const std::string zero = lowering_.new_variable("v", kPanelWidth);
  const Expr zero_at = Expr::symbol(zero_depth) * Expr(kPanelWidth) + existing + Expr::symbol(zero);
  block.push_back(make_loop(
      zero_depth, count, LoopTag::serial,
      {make_loop(zero, lowering_.simplified(Expr(kPanelWidth) - existing), LoopTag::serial,
                 {make_store_memory("panel", DType::f32, zero_at, literal(DType::f32, 0))})}));
  return block;
}

LoopKernel host_contraction(const Group& group, const Target& target) {
  return HostContraction(group, target).run();
}

}  // namespace mcc::backend
