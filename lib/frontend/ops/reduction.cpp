// Reductions, arg-reductions and cumulative operators.
#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

// Axes: attribute up to opset 12 (Sum) or 17 (the others), input after that; none means all, or
// nothing at all with noop_with_empty_axes.
struct Reduction {
  Operand x;
  Ints axes;
  bool keep = true;
  bool nothing = false;
};

Reduction reduction_of(NodeContext& c) {
  Reduction r;
  r.x = c.in(0);
  r.axes = c.axes_argument(1);
  r.keep = c.integer("keepdims", 1) != 0;
  if (r.axes.empty()) {
    r.nothing = c.integer("noop_with_empty_axes", 0) != 0;
    if (!r.nothing) r.axes = iota_axes(0, r.x.rank());
  }
  return r;
}

// `before` is applied to the elements, `after` to the result.
ImportFunction reducing(const char* fn, const char* before = nullptr,
                        const char* after = nullptr) {
  return [=](NodeContext& c) {
    const Reduction r = reduction_of(c);
    Operand x = r.x;
    if (before != nullptr) {
      x = std::string_view(before) == "square" ? c.b.map("mul", {x, x}) : c.b.map(before, {x});
    }
    // Boolean min and max (opset 20) are "all" and "any".
    std::string_view fold = fn;
    if (x.dtype() == DType::boolean) fold = fold == "min" ? "all" : fold == "max" ? "any" : fold;
    x = c.b.reduce(fold, x, r.axes, r.keep);
    if (after != nullptr) {
      const bool whole = is_integer(x.dtype());
      const Operand argument = whole ? c.b.cast(x, DType::f64) : x;
      x = c.b.cast(c.b.map(after, {argument}), x.dtype());
    }
    c.out(x);
  };
}

void import_reduce_mean(NodeContext& c) {
  const Reduction r = reduction_of(c);
  c.out(r.nothing ? r.x : c.b.mean(r.x, r.axes, r.keep));
}

// max + log(sum(exp(x - max))), with the maximum only where it is finite.
void import_log_sum_exp(NodeContext& c) {
  const Reduction r = reduction_of(c);
  const bool whole = is_integer(r.x.dtype());
  const Operand x = whole ? c.b.cast(r.x, DType::f64) : r.x;
  Operand peak = c.b.reduce("max", x, r.axes, true);
  const Operand infinite = c.b.map("or", {c.b.map("isinf_pos", {peak}), c.b.map("isinf_neg", {peak})});
  peak = c.b.select(infinite, c.b.scalar(x.dtype(), 0), peak);
  const Operand sum =
      c.b.reduce("sum", c.b.map("exp", {c.b.map("sub", {x, peak})}), r.axes, true);
  Operand result = c.b.map("add", {c.b.map("log", {sum}), peak});
  if (!r.keep) result = c.b.squeeze(result, r.axes);
  c.out(c.b.cast(result, r.x.dtype()));
}

ImportFunction arg_reducing(const char* fn) {
  return [fn](NodeContext& c) {
    const Operand x = c.in(0);
    const int64_t axis = normalized_axis(c.integer("axis", 0), x.rank());
    Attributes attributes;
    attributes.set("fn", std::string(fn));
    attributes.set("axis", axis);
    attributes.set("select_last", c.integer("select_last_index", 0));
    const Operand result = c.b.emit(Op::arg_reduce, {x}, attributes);
    c.out(c.integer("keepdims", 1) != 0 ? c.b.unsqueeze(result, {axis}) : result);
  };
}

Operand scanned(NodeContext& c, const char* fn, int64_t axis) {
  Attributes attributes;
  attributes.set("fn", std::string(fn));
  attributes.set("axis", axis);
  attributes.set("exclusive", c.integer("exclusive", 0));
  attributes.set("reverse", c.integer("reverse", 0));
  return c.b.emit(Op::scan, {c.in(0)}, attributes);
}
ImportFunction cumulative(const char* fn) {
  return [fn](NodeContext& c) {
    const Ints axis = c.constant_ints(1, "the axis");
    if (axis.size() != 1) throw ModelError("there must be one axis.");
    c.out(scanned(c, fn, normalized_axis(axis[0], c.in(0).rank())));
  };
}

const OperatorEntry kEntries[] = {
    {"", "ArgMax", 1, arg_reducing("max")},
    {"", "ArgMin", 1, arg_reducing("min")},
    {"", "CumProd", 1, cumulative("prod")},
    {"", "CumSum", 11, cumulative("sum")},
    {"", "ReduceL1", 1, reducing("sum", "abs")},
    {"", "ReduceL2", 1, reducing("sum", "square", "sqrt")},
    {"", "ReduceLogSum", 1, reducing("sum", nullptr, "log")},
    {"", "ReduceLogSumExp", 1, import_log_sum_exp},
    {"", "ReduceMax", 1, reducing("max")},
    {"", "ReduceMean", 1, import_reduce_mean},
    {"", "ReduceMin", 1, reducing("min")},
    {"", "ReduceProd", 1, reducing("prod")},
    {"", "ReduceSum", 1, reducing("sum")},
    {"", "ReduceSumSquare", 1, reducing("sum", "square")},
};

}  // namespace

std::span<const OperatorEntry> reduction_entries() { return kEntries; }

}  // namespace mcc::frontend
