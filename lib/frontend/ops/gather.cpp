// Reading and writing at computed indices.
#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

Operand index_operand(Builder& b, const Operand& indices) {
  return indices.dtype() == DType::i32 ? indices : b.cast(indices, DType::i64);
}

Operand with_axis(Builder& b, Op op, const Operands& inputs, int64_t axis) {
  Attributes attributes;
  attributes.set("axis", axis);
  return b.emit(op, inputs, std::move(attributes));
}

// A constant scalar index is a slice: a view, where a gather is a copy.
void import_gather(NodeContext& c) {
  const Operand x = c.in(0), indices = c.in(1);
  const int64_t axis = normalized_axis(c.integer("axis", 0), x.rank());
  const std::optional<KnownValues> known = indices.known_values();
  if (known && indices.rank() == 0 && !x.known_values() && (*known)[0].numerator.is_constant()) {
    const int64_t at = (*known)[0].numerator.constant();
    const Expr start = at < 0 ? x.dim(axis) + Expr(at) : Expr(at);
    return c.out(c.b.squeeze(c.b.slice_axis(x, axis, start, 1), {axis}));
  }
  c.out(c.b.gather(x, index_operand(c.b, indices), axis));
}

void import_gather_elements(NodeContext& c) {
  const int64_t axis = normalized_axis(c.integer("axis", 0), c.in(0).rank());
  c.out(with_axis(c.b, Op::gather_elements, {c.in(0), index_operand(c.b, c.in(1))}, axis));
}

void import_gather_nd(NodeContext& c) {
  Attributes attributes;
  attributes.set("batch_dims", c.integer("batch_dims", 0));
  c.out(c.b.emit(Op::gather_nd, {c.in(0), index_operand(c.b, c.in(1))}, attributes));
}

void import_scatter_elements(NodeContext& c) {
  Attributes attributes;
  attributes.set("axis", normalized_axis(c.integer("axis", 0), c.in(0).rank()));
  attributes.set("reduction", c.text("reduction", "none"));
  c.out(c.b.emit(Op::scatter_elements, {c.in(0), index_operand(c.b, c.in(1)), c.in(2)},
                 attributes));
}

void import_scatter_nd(NodeContext& c) {
  Attributes attributes;
  attributes.set("reduction", c.text("reduction", "none"));
  c.out(c.b.emit(Op::scatter_nd, {c.in(0), index_operand(c.b, c.in(1)), c.in(2)}, attributes));
}

// Compares positions along the new axis with the indices; a negative index counts from the end,
// one outside of the range gives no hot element.
void import_one_hot(NodeContext& c) {
  const Operand indices = c.b.cast(c.in(0), DType::i64);
  const Operand depth_operand = c.b.cast(c.b.reshape(c.in(1), {}), DType::i64);
  const Expr depth = c.b.expressions(depth_operand)[0];
  const int64_t rank = indices.rank() + 1;
  const int64_t axis = normalized_axis(c.integer("axis", -1), rank);
  const Operand values = c.in(2);  // [off, on]
  const Operand off = c.b.squeeze(c.b.slice_axis(values, 0, 0, 1), {0});
  const Operand on = c.b.squeeze(c.b.slice_axis(values, 0, 1, 1), {0});
  const Operand wrapped =
      c.b.select(c.b.with_scalar("lt", indices, 0),
                 c.b.map("add", {indices, c.b.number(depth, DType::i64)}), indices);
  const Operand position = c.b.along_axis(c.b.iota({depth}, 0, DType::i64), axis, rank);
  const Operand hot = c.b.map("eq", {c.b.unsqueeze(wrapped, {axis}), position});
  c.out(c.b.select(hot, on, off));
}

// TensorScatter (opset 24): writes `update` into the cache at write_indices[batch] along an axis.
void import_tensor_scatter(NodeContext& c) {
  const Operand cache = c.in(0), update = c.in(1);
  const int64_t axis = normalized_axis(c.integer("axis", -2), cache.rank());
  Operand index = c.b.iota(update.shape(), axis, DType::i64);
  if (c.has(2)) {
    index = c.b.map("add", {index, c.b.cast(c.b.along_axis(c.in(2), 0, cache.rank()), DType::i64)});
  }
  if (c.text("mode", "linear") == "circular") {
    index = c.b.map("mod", {index, c.b.number(cache.dim(axis), DType::i64)});
  }
  Attributes attributes;
  attributes.set("axis", axis);
  attributes.set("reduction", std::string("none"));
  c.out(c.b.emit(Op::scatter_elements, {cache, index, update}, attributes));
}

const OperatorEntry kEntries[] = {
    {"", "Gather", 1, import_gather},
    {"", "GatherElements", 11, import_gather_elements},
    {"", "GatherND", 11, import_gather_nd},
    {"", "OneHot", 9, import_one_hot},
    {"", "Scatter", 9, import_scatter_elements},
    {"", "ScatterElements", 11, import_scatter_elements},
    {"", "ScatterND", 11, import_scatter_nd},
    {"", "TensorScatter", 24, import_tensor_scatter},
};

}  // namespace

std::span<const OperatorEntry> gather_entries() { return kEntries; }

}  // namespace mcc::frontend
