// The order of sort and topk.
#include "lib/backend/schedules/common/order_terms.h"

#include "lib/ir/op.h"

namespace mcc::backend {

OrderView::OrderView(const GroupLowering& lowering) {
  const Node& node = *lowering.anchor();
  const Graph& body = lowering.body();
  axis = static_cast<size_t>(node.attributes.integer("axis"));
  descending = node.attributes.integer(node.op == Op::topk ? "largest" : "descending") != 0;
  rows = body.shape(node.inputs[0]);
  size = rows[axis];
  count = body.shape(node.outputs[0])[axis];
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  dtype = compute_type(body.dtype(node.inputs[0]));
}

Indices OrderView::with(const Indices& row, const Expr& position) const {
  Indices at = row;
  at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), position);
  return at;
}

ScalarPtr OrderView::before(const ScalarPtr& a, const ScalarPtr& b) const {
  const ScalarPtr& low = descending ? b : a;
  const ScalarPtr& high = descending ? a : b;
  const ScalarPtr less = apply("lt", {low, high});
  if (!is_floating(dtype)) return less;
  const ScalarPtr only_high_is_nan = apply("and", {apply("not", {apply("isnan", {low})}), apply("isnan", {high})});
  return apply("or", {less, only_high_is_nan});
}

}  // namespace mcc::backend
