// CUDA schedules of the operators without heavy reuse: conv_transpose, scan, scatter, sort.
#include "lib/backend/schedules/common/items.h"

#include "lib/backend/schedules/common/order_terms.h"
#include "lib/backend/schedules/common/scatter_view.h"
#include "lib/backend/schedules/cuda/cuda_schedules.h"
#include "lib/backend/schedules/cuda/launch.h"

namespace mcc::backend {
namespace {

// Every block owns a part of a scatter's output and walks all updates: more blocks read more.
constexpr int64_t kScatterPart = 1024;
constexpr int64_t kScatterParts = 256;

// A loop of one thread over positions thread, thread + 256, ... below `extent`.
Block strided(GroupLowering& lowering, const std::string& thread, const Expr& most, const Expr& extent,
              const std::function<Block(const Expr&)>& body) {
  const Expr steps = ceildiv(most, kThreadsPerBlock);
  const std::string step = lowering.new_variable("r", steps);
  const Expr position = Expr::symbol(step) * Expr(kThreadsPerBlock) + Expr::symbol(thread);
  return {make_loop(step, steps, LoopTag::serial, {make_if({extent - 1 - position}, body(position))})};
}

}  // namespace

LoopKernel cuda_conv_transpose(const Group& group, const Target&) {
  return conv_transpose_items(group, one_thread_per_element);
}
LoopKernel cuda_scan(const Group& group, const Target&) { return scan_items(group, one_thread_per_element); }

LoopKernel cuda_scatter(const Group& group, const Target&) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  ScatterView view(lowering);
  const Expr parts = min(Expr(kScatterParts), ceildiv(view.elements, kScatterPart));
  const Expr length = ceildiv(view.elements, max(parts, 1));
  kernel.grid[0] = parts;
  kernel.block[0] = kThreadsPerBlock;
  const std::string part = lowering.new_variable("p", parts);
  const std::string thread = lowering.new_variable("t", kThreadsPerBlock);
  const Expr first = Expr::symbol(part) * length;
  const Expr count = max(Expr(0), min(length, view.elements - first));
  Block body = strided(lowering, thread, length, count, [&](const Expr& at) { return view.copy(first + at); });
  body.push_back(make_barrier());
  const Block updates = strided(lowering, thread, view.updates, view.updates,
                                [&](const Expr& at) { return view.update(at, first, count); });
  body.insert(body.end(), updates.begin(), updates.end());
  kernel.body = {make_loop(part, parts, LoopTag::grid_x,
                           {make_loop(thread, kThreadsPerBlock, LoopTag::block_x, std::move(body))})};
  return kernel;
}

// Every thread counts the elements of its row that come before its own: that is its element's rank.
LoopKernel cuda_sort(const Group& group, const Target&) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const OrderView order(lowering);
  const Node& node = *lowering.anchor();
  const Shape& shape = lowering.body().shape(node.inputs[0]);
  kernel.body = one_thread_per_element(lowering, shape, [&](const Indices& at) {
    const std::string position = lowering.new_variable("r", order.size);
    Indices other_at = at;
    other_at[order.axis] = Expr::symbol(position);
    const ScalarPtr mine = lowering.element(node.inputs[0], at);
    const ScalarPtr other = lowering.element(node.inputs[0], other_at);
    const ScalarPtr place = index_value(at[order.axis]);
    const ScalarPtr rank = register_value("rank", DType::i64);
    const ScalarPtr tie = apply("and", {apply("not", {order.before(mine, other)}),
                                        apply("lt", {index_value(Expr::symbol(position)), place})});
    const ScalarPtr precedes = apply("or", {order.before(other, mine), tie});
    const std::string target = lowering.new_variable("g", order.size);
    Indices to = at;
    to[order.axis] = Expr::symbol(target);
    Block stores = lowering.finish(to, mine, 0);
    for (const StmtPtr& store : lowering.finish(to, place, 1)) stores.push_back(store);
    Block work{make_define("rank", literal_integer(DType::i64, 0)),
               make_loop(position, order.size, LoopTag::serial,
                         {make_accumulate("rank", "add", cast_scalar(precedes, DType::i64))}),
               make_let(target, rank, lowering.ranges().at(target))};
    if (order.count == order.size) {
      work.insert(work.end(), stores.begin(), stores.end());
    } else {
      work.push_back(make_if({order.count - 1 - Expr::symbol(target)}, std::move(stores)));
    }
    return work;
  });
  return kernel;
}

}  // namespace mcc::backend
