// scan along an axis, one row after the other.
#include "lib/backend/schedules/common/items.h"
#include "lib/backend/schedules/common/reduction_terms.h"

namespace mcc::backend {

LoopKernel scan_items(const Group& group, ItemLoops items) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const Node& node = *lowering.anchor();
  const Graph& body = lowering.body();
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  const std::string& fn = node.attributes.text("fn");
  const bool exclusive = node.attributes.integer("exclusive") != 0;
  const bool reverse = node.attributes.integer("reverse") != 0;
  const Shape& shape = body.shape(node.inputs[0]);
  const DType dtype = compute_type(body.dtype(node.inputs[0]));
  Shape rows = shape;
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  kernel.body = items(lowering, rows, [&](const Indices& row) {
    const std::string step = lowering.new_variable("r", shape[axis]);
    Indices at = row;
    const Expr position = reverse ? shape[axis] - 1 - Expr::symbol(step) : Expr::symbol(step);
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), position);
    const StmtPtr fold = make_accumulate("total", fold_function(fn), lowering.element(node.inputs[0], at));
    Block inner = lowering.finish(at, register_value("total", dtype));
    if (exclusive) {
      // The element is read before its place is written: an output may take over the input's memory.
      inner.insert(inner.begin(), make_define("element", lowering.element(node.inputs[0], at)));
      inner.push_back(make_accumulate("total", fold_function(fn), register_value("element", dtype)));
    } else {
      inner.insert(inner.begin(), fold);
    }
    return Block{make_define("total", neutral_element(fn, dtype)),
                 make_loop(step, shape[axis], LoopTag::serial, std::move(inner))};
  });
  return kernel;
}

}  // namespace mcc::backend
