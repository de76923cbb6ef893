// Pooling.
#include "lib/frontend/ops/families.h"
#include "lib/frontend/ops/windows.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

Operand window_reduce(NodeContext& n, const std::string& fn, const Operand& x, const Window& window) {
  Attributes attributes;
  attributes.set("fn", fn);
  attributes.set("axes", axis_range(2, x.rank()));
  attributes.set("window", window.size);
  attributes.set("strides", window.strides);
  attributes.set("dilations", window.dilations);
  attributes.set("pads_low", window.low);
  attributes.set("pads_high", window.high);
  return n.b.emit(Op::window_reduce, {x}, std::move(attributes));
}

Window pool_window(NodeContext& n) {
  const Operand x = n.in(0);
  if (x.rank() < 3) throw ModelError("the input must have at least one spatial axis");
  return read_window(n, n.ints("kernel_shape"), Shape(x.shape().begin() + 2, x.shape().end()), n.integer("ceil_mode", 0) != 0);
}

Results import_max_pool(NodeContext& n) {
  if (n.wants(1)) throw ModelError("the indices of the maxima are not supported");
  return {window_reduce(n, "max", n.in(0), pool_window(n))};
}

Results import_average_pool(NodeContext& n) {
  const Operand x = n.in(0);
  const Window window = pool_window(n);
  const Operand sum = window_reduce(n, "sum", x, window);
  bool padded = n.integer("ceil_mode", 0) != 0;
  for (size_t axis = 0; axis < window.size.size(); ++axis) {
    padded = padded || !window.low[axis].is_constant(0) || !window.high[axis].is_constant(0);
  }
  double count = 1;
  for (int64_t size : window.size) count *= static_cast<double>(size);
  const bool include = n.integer("count_include_pad", 0) != 0;
  if (!padded || (include && n.integer("ceil_mode", 0) == 0)) return {n.b.map("mul", {sum, n.b.like(sum, 1.0 / count)})};
  // The number of elements under each window, from a window sum over ones.
  Shape ones_shape = x.shape();
  ones_shape[0] = 1;
  ones_shape[1] = 1;
  Operand ones = n.b.broadcast_to(n.b.like(x, 1), ones_shape);
  Window over = window;
  if (include) {
    // Explicit padding counts, what ceil_mode added does not.
    const Window plain = read_window(n, window.size, Shape(x.shape().begin() + 2, x.shape().end()), false);
    Shape low(ones_shape.size(), Expr(0));
    Shape high = low;
    for (size_t axis = 0; axis < window.size.size(); ++axis) {
      low[axis + 2] = plain.low[axis];
      high[axis + 2] = plain.high[axis];
      over.high[axis] = window.high[axis] - plain.high[axis];
      over.low[axis] = 0;
    }
    Attributes attributes;
    attributes.set("low", low);
    attributes.set("high", high);
    attributes.set("mode", std::string("constant"));
    ones = n.b.emit(Op::pad, {ones, n.b.like(x, 1)}, std::move(attributes));
  }
  return {n.b.map("div", {sum, window_reduce(n, "sum", ones, over)})};
}

Operand mean_over_space(NodeContext& n, const Operand& x) {
  const Ints axes = axis_range(2, x.rank());
  const Operand sum = n.b.reduce("sum", x, axes, true);
  Expr count = 1;
  for (int64_t axis : axes) count = count * x.dim(axis);
  const Operand size = n.b.cast(Operand::known(DType::i64, {}, {{count, 1}}), x.dtype());
  if (count.is_constant()) return n.b.map("mul", {sum, n.b.like(x, 1.0 / static_cast<double>(count.constant()))});
  return n.b.map("div", {sum, size});
}

Results import_global_average_pool(NodeContext& n) { return {mean_over_space(n, n.in(0))}; }
Results import_global_max_pool(NodeContext& n) {
  return {n.b.reduce("max", n.in(0), axis_range(2, n.in(0).rank()), true)};
}

Results import_lp_pool(NodeContext& n) {
  const double p = static_cast<double>(n.integer("p", 2));
  const Operand x = n.in(0);
  const Operand power = n.b.map("pow", {n.b.map("abs", {x}), n.b.like(x, p)});
  const Operand sum = window_reduce(n, "sum", power, pool_window(n));
  return {n.b.map("pow", {sum, n.b.like(x, 1.0 / p)})};
}

constexpr OperatorEntry kEntries[] = {
    {"MaxPool", 1, import_max_pool}, {"AveragePool", 7, import_average_pool},
    {"GlobalAveragePool", 1, import_global_average_pool}, {"GlobalMaxPool", 1, import_global_max_pool},
    {"LpPool", 11, import_lp_pool},
};

}  // namespace

std::span<const OperatorEntry> pool_operators() { return kEntries; }

}  // namespace mcc::frontend
