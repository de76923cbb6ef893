// CUDA schedule of groups without an anchor: one thread for one or four neighbouring elements.
#include "lib/backend/schedules/common/access.h"
#include "lib/backend/schedules/cuda/cuda_schedules.h"
#include "lib/backend/schedules/cuda/launch.h"
#include "lib/backend/schedules/cuda/transposing.h"

namespace mcc::backend {
namespace {

constexpr int kLanes = 4;

// Indices of element kLanes * `group` + `lane`, when the innermost axis is a multiple of kLanes.
Indices grouped_indices(GroupLowering& lowering, const Shape& shape, const Expr& group, const Expr& lane) {
  Shape groups = shape;
  groups.back() = *exact_division(shape.back(), Expr(kLanes));
  Indices indices = delinearize(group, groups);
  for (Expr& index : indices) index = lowering.simplified(index);
  indices.back() = indices.back() * Expr(kLanes) + lane;
  return indices;
}

bool groups_well(const Group& group, const Shape& shape) {
  if (shape.empty() || group.body->dtype(group.body->outputs[0]) != DType::f32) return false;
  if (!exact_division(shape.back(), Expr(kLanes))) return false;
  LoopKernel trial;
  GroupLowering lowering(group, trial);
  const std::string at = lowering.new_variable("q", floordiv(product(shape), kLanes));
  const std::string lane = lowering.new_variable("v", kLanes);
  const Indices indices = grouped_indices(lowering, shape, Expr::symbol(at), Expr::symbol(lane));
  return accesses_linearly(lowering.element(group.body->outputs[0], indices), lane);
}

}  // namespace

LoopKernel cuda_pointwise(const Group& group, const Target&) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const Shape& shape = group.body->shape(group.body->outputs[0]);
  if (!groups_well(group, shape)) {
    if (std::optional<LoopKernel> transposing = cuda_transposing(group)) return std::move(*transposing);
    kernel.body = one_thread_per_element(lowering, shape, [&](const Indices& indices) {
      return Block{lowering.store_output(0, indices)};
    });
    return kernel;
  }
  Shape groups = shape;
  groups.back() = *exact_division(shape.back(), Expr(kLanes));
  kernel.body = one_thread_per_element(lowering, groups, [&](const Indices& at) {
    const std::string lane = lowering.new_variable("v", kLanes);
    Indices indices = at;
    indices.back() = indices.back() * Expr(kLanes) + Expr::symbol(lane);
    return Block{make_loop(lane, kLanes, LoopTag::vector, {lowering.store_output(0, indices)}, kLanes)};
  });
  return kernel;
}

}  // namespace mcc::backend
