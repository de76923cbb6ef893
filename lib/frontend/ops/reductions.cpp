// Reductions and softmax.
#include "lib/frontend/ops/families.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

struct ReduceArguments {
  Ints axes;
  bool keep_dims = true;
  bool nothing = false;  // an empty list of axes that means "no reduction"
};

// `since`: the opset from which axes are an input.
ReduceArguments reduce_arguments(NodeContext& n, int64_t since) {
  ReduceArguments arguments;
  const int64_t rank = n.in(0).rank();
  std::optional<Ints> axes = n.axes(1, since, rank);
  arguments.keep_dims = n.integer("keepdims", 1) != 0;
  if (axes && !axes->empty()) {
    arguments.axes = *axes;
  } else if (n.integer("noop_with_empty_axes", 0) != 0) {
    arguments.nothing = true;
  } else {
    arguments.axes = axis_range(0, rank);
  }
  return arguments;
}

Operand element_count(NodeContext& n, const Ints& axes) {
  Expr count = 1;
  for (int64_t axis : axes) count = count * n.in(0).dim(axis);
  return n.b.cast(Operand::known(DType::i64, {}, {{count, 1}}), n.in(0).dtype());
}

Operand mean(NodeContext& n, const Operand& sum, const Ints& axes) {
  Expr count = 1;
  for (int64_t axis : axes) count = count * n.in(0).dim(axis);
  if (count.is_constant() && is_floating(sum.dtype()) && count.constant() != 0) {
    return n.b.map("mul", {sum, n.b.like(sum, 1.0 / static_cast<double>(count.constant()))});
  }
  return n.b.map("div", {sum, element_count(n, axes)});
}

enum class Kind { sum, mean, max, min, prod, l1, l2, sum_square, log_sum, log_sum_exp };

Operand reduce_kind(NodeContext& n, Kind kind, const ReduceArguments& a) {
  Builder& b = n.b;
  const Operand x = n.in(0);
  switch (kind) {
    case Kind::sum: return b.reduce("sum", x, a.axes, a.keep_dims);
    case Kind::mean: return mean(n, b.reduce("sum", x, a.axes, a.keep_dims), a.axes);
    case Kind::max: return b.reduce("max", x, a.axes, a.keep_dims);
    case Kind::min: return b.reduce("min", x, a.axes, a.keep_dims);
    case Kind::prod: return b.reduce("prod", x, a.axes, a.keep_dims);
    case Kind::l1: return b.reduce("sum", b.map("abs", {x}), a.axes, a.keep_dims);
    case Kind::l2: return b.map("sqrt", {b.reduce("sum", b.map("mul", {x, x}), a.axes, a.keep_dims)});
    case Kind::sum_square: return b.reduce("sum", b.map("mul", {x, x}), a.axes, a.keep_dims);
    case Kind::log_sum: return b.map("log", {b.reduce("sum", x, a.axes, a.keep_dims)});
    case Kind::log_sum_exp: {
      const Operand largest = b.reduce("max", x, a.axes, true);
      const Operand sum = b.reduce("sum", b.map("exp", {b.map("sub", {x, largest})}), a.axes, true);
      const Operand result = b.map("add", {b.map("log", {sum}), largest});
      return a.keep_dims ? result : b.reduce("max", result, a.axes, false);
    }
  }
  throw InternalError("unknown reduction kind");
}

template <Kind kKind, int kSince>
Results import_reduce(NodeContext& n) {
  const ReduceArguments arguments = reduce_arguments(n, kSince);
  if (arguments.nothing && (kKind == Kind::sum || kKind == Kind::mean || kKind == Kind::max || kKind == Kind::min ||
                            kKind == Kind::prod)) {
    return {n.in(0)};
  }
  if (n.in(0).dtype() == DType::boolean && (kKind == Kind::max || kKind == Kind::min)) {
    return {n.b.reduce(kKind == Kind::max ? "any" : "all", n.in(0), arguments.axes, arguments.keep_dims)};
  }
  return {reduce_kind(n, kKind, arguments)};
}

template <bool kMaximum>
Results import_arg(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t axis = normalize_axis(n.integer("axis", 0), x.rank());
  Attributes attributes;
  attributes.set("fn", std::string(kMaximum ? "max" : "min"));
  attributes.set("axis", axis);
  attributes.set("select_last", n.integer("select_last_index", 0));
  const Operand result = n.b.emit(Op::arg_reduce, {x}, std::move(attributes));
  if (n.integer("keepdims", 1) == 0) return {result};
  Shape shape = x.shape();
  shape[static_cast<size_t>(axis)] = 1;
  return {n.b.reshape(result, shape)};
}

Operand softmax(NodeContext& n, const Operand& x, int64_t axis) {
  Attributes attributes;
  attributes.set("axis", axis);
  return n.b.emit(Op::softmax, {x}, std::move(attributes));
}

// Before opset 13 softmax works on the matrix that flattening at `axis` gives.
template <bool kLog>
Results import_softmax_flattened(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t axis = normalize_axis(n.integer("axis", 1), x.rank());
  const auto middle = x.shape().begin() + axis;
  const Shape matrix{product(Shape(x.shape().begin(), middle)), product(Shape(middle, x.shape().end()))};
  Operand result = softmax(n, n.b.reshape(x, matrix), 1);
  if (kLog) result = n.b.map("log", {result});
  return {n.b.reshape(result, x.shape())};
}
Results import_softmax(NodeContext& n) {
  return {softmax(n, n.in(0), normalize_axis(n.integer("axis", -1), n.in(0).rank()))};
}
Results import_log_softmax(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t axis = normalize_axis(n.integer("axis", -1), x.rank());
  const Operand shifted = n.b.map("sub", {x, n.b.reduce("max", x, {axis}, true)});
  const Operand sum = n.b.reduce("sum", n.b.map("exp", {shifted}), {axis}, true);
  return {n.b.map("sub", {shifted, n.b.map("log", {sum})})};
}

constexpr OperatorEntry kEntries[] = {
    {"ReduceSum", 1, import_reduce<Kind::sum, 13>}, {"ReduceMean", 1, import_reduce<Kind::mean, 18>},
    {"ReduceMax", 1, import_reduce<Kind::max, 18>}, {"ReduceMin", 1, import_reduce<Kind::min, 18>},
    {"ReduceProd", 1, import_reduce<Kind::prod, 18>}, {"ReduceL1", 1, import_reduce<Kind::l1, 18>},
    {"ReduceL2", 1, import_reduce<Kind::l2, 18>}, {"ReduceSumSquare", 1, import_reduce<Kind::sum_square, 18>},
    {"ReduceLogSum", 1, import_reduce<Kind::log_sum, 18>}, {"ReduceLogSumExp", 1, import_reduce<Kind::log_sum_exp, 18>},
    {"ArgMax", 1, import_arg<true>}, {"ArgMin", 1, import_arg<false>},
    {"Softmax", 1, import_softmax_flattened<false>}, {"Softmax", 13, import_softmax},
    {"LogSoftmax", 1, import_softmax_flattened<true>}, {"LogSoftmax", 13, import_log_softmax},
};

}  // namespace

std::span<const OperatorEntry> reduction_operators() { return kEntries; }

}  // namespace mcc::frontend
