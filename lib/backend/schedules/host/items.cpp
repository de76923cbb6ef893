// Host schedules whose items are independent scalars or rows: conv_transpose, scan, scatter, sort.
#include "lib/backend/schedules/common/items.h"

#include "lib/backend/schedules/common/order_terms.h"
#include "lib/backend/schedules/common/scatter_view.h"
#include "lib/backend/schedules/host/host_schedules.h"

namespace mcc::backend {
namespace {

constexpr int64_t kItemGrain = 16;
// Every owner of a part of a scatter's output walks all updates.
constexpr int64_t kScatterPart = 4096;
constexpr int64_t kScatterParts = 8;

Block host_items(GroupLowering& lowering, const Shape& shape, const std::function<Block(const Indices&)>& body) {
  LoopKernel& kernel = lowering.kernel();
  kernel.parallel = product(shape);
  kernel.grain = kItemGrain;
  const std::string item = lowering.new_variable("p", kernel.parallel);
  Indices at = delinearize(Expr::symbol(item), shape);
  for (Expr& index : at) index = lowering.simplified(index);
  return {make_loop(item, kernel.parallel, LoopTag::parallel, body(at))};
}

}  // namespace

LoopKernel host_conv_transpose(const Group& group, const Target&) { return conv_transpose_items(group, host_items); }
LoopKernel host_scan(const Group& group, const Target&) { return scan_items(group, host_items); }

LoopKernel host_scatter(const Group& group, const Target&) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  ScatterView view(lowering);
  const Expr parts = min(Expr(kScatterParts), ceildiv(view.elements, kScatterPart));
  const Expr length = ceildiv(view.elements, max(parts, 1));
  kernel.parallel = parts;
  const std::string part = lowering.new_variable("p", parts);
  const Expr first = Expr::symbol(part) * length;
  // The last part may be shorter, or empty.
  const Expr count = max(Expr(0), min(length, view.elements - first));
  const std::string element = lowering.new_variable("e", length);
  const std::string update = lowering.new_variable("u", view.updates);
  kernel.body = {make_loop(
      part, parts, LoopTag::parallel,
      {make_loop(element, count, LoopTag::serial, view.copy(first + Expr::symbol(element))),
       make_loop(update, view.updates, LoopTag::serial, view.update(Expr::symbol(update), first, count))})};
  return kernel;
}

// Selects the results of a row one after the other: each is the first in order of the elements that
// come after the previous one.
LoopKernel host_sort(const Group& group, const Target&) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const OrderView order(lowering);
  const Node& node = *lowering.anchor();
  kernel.body = host_items(lowering, order.rows, [&](const Indices& row) {
    const std::string rank = lowering.new_variable("n", order.count);
    const std::string position = lowering.new_variable("r", order.size);
    const ScalarPtr element = lowering.element(node.inputs[0], order.with(row, Expr::symbol(position)));
    const ScalarPtr place = index_value(Expr::symbol(position));
    auto value_of = [&](const char* name) { return register_value(name, order.dtype); };
    auto place_of = [&](const char* name) { return register_value(name, DType::i64); };
    const ScalarPtr nothing = literal_integer(DType::i64, -1);
    // An element is open when it comes after the last result: by value, or by place among equals.
    const ScalarPtr after_by_place = apply(
        "and", {apply("not", {order.before(element, value_of("last"))}), apply("gt", {place, place_of("last_place")})});
    const ScalarPtr open = apply("or", {apply("lt", {place_of("last_place"), literal_integer(DType::i64, 0)}),
                                        apply("or", {order.before(value_of("last"), element), after_by_place})});
    const ScalarPtr better = apply("or", {apply("lt", {place_of("best_place"), literal_integer(DType::i64, 0)}),
                                          order.before(element, value_of("best"))});
    Block search{make_define("take", apply("and", {open, better})),
                 make_assign("best", apply("select", {register_value("take", DType::boolean), element, value_of("best")})),
                 make_assign("best_place", apply("select", {register_value("take", DType::boolean), place,
                                                            place_of("best_place")}))};
    Block step{make_define("best", literal_integer(order.dtype, 0)), make_define("best_place", nothing),
               make_loop(position, order.size, LoopTag::serial, std::move(search))};
    const Indices at = order.with(row, Expr::symbol(rank));
    for (const StmtPtr& store : lowering.finish(at, value_of("best"), 0)) step.push_back(store);
    for (const StmtPtr& store : lowering.finish(at, place_of("best_place"), 1)) step.push_back(store);
    step.push_back(make_assign("last", value_of("best")));
    step.push_back(make_assign("last_place", place_of("best_place")));
    return Block{make_define("last", literal_integer(order.dtype, 0)), make_define("last_place", nothing),
                 make_loop(rank, order.count, LoopTag::serial, std::move(step))};
  });
  return kernel;
}

}  // namespace mcc::backend
