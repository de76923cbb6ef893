// Launch shapes shared by the CUDA schedules.
#include "lib/backend/schedules/cuda/launch.h"

namespace mcc::backend {

Block one_thread_per_element(GroupLowering& lowering, const Shape& shape,
                             const std::function<Block(const Indices&)>& body) {
  LoopKernel& kernel = lowering.kernel();
  const Expr total = product(shape);
  kernel.grid[0] = ceildiv(total, kThreadsPerBlock);
  kernel.block[0] = kThreadsPerBlock;
  const std::string grid = lowering.new_variable("p", kernel.grid[0]);
  const std::string thread = lowering.new_variable("t", kThreadsPerBlock);
  const Expr at = Expr::symbol(grid) * Expr(kThreadsPerBlock) + Expr::symbol(thread);
  Indices indices = delinearize(at, shape);
  for (Expr& index : indices) index = lowering.simplified(index);
  Block inner = body(indices);
  const bool exact = exact_division(total, kThreadsPerBlock).has_value();
  if (!exact) inner = {make_if({total - 1 - at}, std::move(inner))};
  return {make_loop(grid, kernel.grid[0], LoopTag::grid_x,
                    {make_loop(thread, kThreadsPerBlock, LoopTag::block_x, std::move(inner))})};
}

}  // namespace mcc::backend
