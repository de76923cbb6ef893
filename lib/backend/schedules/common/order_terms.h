// The order of sort and topk: NaN is above every number, equal elements keep their order.
#pragma once

#include "lib/backend/lowering.h"

namespace mcc::backend {

struct OrderView {
  explicit OrderView(const GroupLowering& lowering);

  size_t axis = 0;
  bool descending = false;
  Expr size, count;  // along the axis: of the input and of the result
  Shape rows;        // the other axes
  DType dtype = DType::f32;  // compute type of the elements

  Indices with(const Indices& row, const Expr& position) const;
  // Whether element `a` comes strictly before `b` by value.
  ScalarPtr before(const ScalarPtr& a, const ScalarPtr& b) const;
};

}  // namespace mcc::backend
