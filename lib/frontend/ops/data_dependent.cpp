// Operators that order elements or whose result size depends on values.
#include <limits>

#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

Attributes count_attribute(const Expr& count) {
  Attributes attributes;
  attributes.set("count", Shape{count});
  return attributes;
}

// How many elements are true, as a dimension.
Expr count_true(Builder& b, const Operand& condition, const std::string& label) {
  const Operand ones = b.cast(condition, DType::i64);
  return b.runtime_count(b.reduce("sum", ones, iota_axes(0, ones.rank()), false), label);
}

void import_nonzero(NodeContext& c) {
  Operand x = c.in(0);
  if (x.rank() == 0) x = c.b.reshape(x, {1});
  const Operand flags =
      x.dtype() == DType::boolean ? x : c.b.map("ne", {x, c.b.scalar(x.dtype(), 0)});
  const Expr count = count_true(c.b, flags, "number of non-zero elements");
  c.out(c.b.emit(Op::nonzero, {flags}, count_attribute(count)));
}

void import_compress(NodeContext& c) {
  Operand x = c.in(0);
  const Operand condition = c.in(1);
  Attributes attributes =
      count_attribute(count_true(c.b, condition, "number of selected elements"));
  const bool flat = !c.has_attribute("axis");
  attributes.set("axis", flat ? int64_t{-1} : normalized_axis(c.integer("axis"), x.rank()));
  c.out(c.b.emit(Op::compress, {x, condition}, attributes));
}

void import_unique(NodeContext& c) {
  const Operand x = c.in(0);
  Attributes attributes;
  const bool flat = !c.has_attribute("axis");
  attributes.set("axis", flat ? int64_t{-1} : normalized_axis(c.integer("axis"), x.rank()));
  attributes.set("sorted", c.integer("sorted", 1));
  const Operands results =
      c.b.emit_counted(Op::unique, {x}, attributes, "number of distinct values", 4);
  for (size_t i = 0; i < 4; ++i) c.out(results[i]);
}

// Opset 1 has k as an attribute.
void topk(NodeContext& c, const Expr& k) {
  const Operand x = c.in(0);
  Attributes attributes;
  attributes.set("axis", normalized_axis(c.integer("axis", -1), x.rank()));
  attributes.set("k", Shape{k});
  attributes.set("largest", c.integer("largest", 1));
  attributes.set("sorted", c.integer("sorted", 1));
  for (const Operand& result : c.b.emit_all(Op::topk, {x}, attributes)) c.out(result);
}
void import_topk_1(NodeContext& c) { topk(c, c.integer("k")); }
void import_topk(NodeContext& c) { topk(c, c.b.expressions(c.b.reshape(c.in(1), {}))[0]); }

void import_nms(NodeContext& c) {
  const auto number = [&](size_t input, DType dtype, double fallback) {
    if (!c.has(input) || product(c.in(input).shape()).is_constant(0)) {
      return c.b.scalar(dtype, fallback);
    }
    return c.b.cast(c.b.reshape(c.in(input), {}), dtype);
  };
  Attributes attributes;
  attributes.set("center_point_box", c.integer("center_point_box", 0));
  const Operands inputs{c.in(0), c.in(1), number(2, DType::i64, 0), number(3, DType::f32, 0),
                        number(4, DType::f32, -std::numeric_limits<double>::infinity())};
  c.out(c.b.emit_counted(Op::nms, inputs, attributes, "number of selected boxes", 1)[0]);
}

const OperatorEntry kEntries[] = {
    {"", "Compress", 9, import_compress},
    {"", "NonMaxSuppression", 10, import_nms},
    {"", "NonZero", 9, import_nonzero},
    {"", "TopK", 1, import_topk_1},
    {"", "TopK", 10, import_topk},
    {"", "Unique", 11, import_unique},
};

}  // namespace

std::span<const OperatorEntry> data_dependent_entries() { return kEntries; }

}  // namespace mcc::frontend
