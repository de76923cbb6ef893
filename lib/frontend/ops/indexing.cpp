// Gather, scatter and friends.
#include "lib/frontend/ops/families.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

Results import_gather(NodeContext& n) {
  const Operand data = n.in(0);
  const Operand indices = n.in(1);
  const int64_t axis = normalize_axis(n.integer("axis", 0), data.rank());
  // One constant position is a slice.
  const std::optional<KnownValues> known = indices.known_values();
  if (known && known->size() == 1 && (*known)[0].denominator == 1) {
    Expr position = (*known)[0].numerator;
    const Range range = bounds(position, n.b.graph().ranges());
    if (range.high < 0) position = position + data.dim(axis);
    if (range.high < 0 || range.low >= 0) {
      if (position.is_constant() && data.dim(axis).is_constant() &&
          (position.constant() < 0 || position.constant() >= data.dim(axis).constant())) {
        throw ModelError("index " + (*known)[0].numerator.str() + " is out of range for a dimension of size " + data.dim(axis).str());
      }
      const Operand picked = n.b.slice(data, axis, position, 1);
      Shape shape = data.shape();
      shape.erase(shape.begin() + axis);
      shape.insert(shape.begin() + axis, indices.shape().begin(), indices.shape().end());
      return {n.b.reshape(picked, shape)};
    }
  }
  return {n.b.gather(data, indices, axis)};
}

Results import_gather_elements(NodeContext& n) {
  Attributes attributes;
  attributes.set("axis", normalize_axis(n.integer("axis", 0), n.in(0).rank()));
  return {n.b.emit(Op::gather_elements, {n.in(0), n.in(1)}, std::move(attributes))};
}

Results import_gather_nd(NodeContext& n) {
  Attributes attributes;
  attributes.set("batch_dims", n.integer("batch_dims", 0));
  return {n.b.emit(Op::gather_nd, {n.in(0), n.in(1)}, std::move(attributes))};
}

Results import_scatter_elements(NodeContext& n) {
  Attributes attributes;
  attributes.set("axis", normalize_axis(n.integer("axis", 0), n.in(0).rank()));
  attributes.set("reduction", n.text("reduction", "none"));
  return {n.b.emit(Op::scatter_elements, {n.in(0), n.in(1), n.in(2)}, std::move(attributes))};
}

Results import_scatter_nd(NodeContext& n) {
  Attributes attributes;
  attributes.set("reduction", n.text("reduction", "none"));
  return {n.b.emit(Op::scatter_nd, {n.in(0), n.in(1), n.in(2)}, std::move(attributes))};
}

Results import_one_hot(NodeContext& n) {
  const Operand indices = n.in(0);
  const Expr depth = n.known_integers(n.in(1), "the depth").at(0);
  const int64_t rank = indices.rank() + 1;
  const int64_t axis = normalize_axis(n.integer("axis", -1), rank);
  Shape shape = indices.shape();
  Shape unit = indices.shape();
  shape.insert(shape.begin() + axis, depth);
  unit.insert(unit.begin() + axis, Expr(1));
  Attributes attributes;
  attributes.set("shape", shape);
  attributes.set("axis", axis);
  attributes.set("dtype", DType::i64);
  const Operand position = n.b.emit(Op::iota, {}, std::move(attributes));
  Operand index = n.b.cast(indices, DType::i64);
  const Operand size = Operand::known(DType::i64, {}, {{depth, 1}});
  const Operand negative = n.b.map("lt", {index, n.b.scalar(DType::i64, 0)});
  index = n.b.reshape(n.b.map("select", {negative, n.b.map("add", {index, size}), index}), unit);
  const Operand off = n.b.reshape(n.b.slice(n.in(2), 0, 0, 1), {});
  const Operand on = n.b.reshape(n.b.slice(n.in(2), 0, 1, 1), {});
  return {n.b.map("select", {n.b.map("eq", {position, index}), on, off})};
}

Results import_cumsum(NodeContext& n) {
  Attributes attributes;
  attributes.set("fn", std::string("sum"));
  attributes.set("axis", normalize_axis(n.constant_integers(n.in(1), "the axis").at(0), n.in(0).rank()));
  attributes.set("exclusive", n.integer("exclusive", 0));
  attributes.set("reverse", n.integer("reverse", 0));
  return {n.b.emit(Op::scan, {n.in(0)}, std::move(attributes))};
}

Results import_topk(NodeContext& n) {
  Attributes attributes;
  attributes.set("axis", normalize_axis(n.integer("axis", -1), n.in(0).rank()));
  attributes.set("k", Shape{n.known_integers(n.in(1), "k").at(0)});
  attributes.set("largest", n.integer("largest", 1));
  attributes.set("sorted", n.integer("sorted", 1));
  return n.b.emit_all(Op::topk, {n.in(0)}, std::move(attributes));
}

constexpr OperatorEntry kEntries[] = {
    {"Gather", 1, import_gather, Moves::first}, {"GatherElements", 11, import_gather_elements},
    {"GatherND", 11, import_gather_nd}, {"ScatterElements", 11, import_scatter_elements},
    {"Scatter", 9, import_scatter_elements}, {"ScatterND", 11, import_scatter_nd}, {"OneHot", 9, import_one_hot},
    {"CumSum", 11, import_cumsum}, {"TopK", 10, import_topk},
};

}  // namespace

std::span<const OperatorEntry> indexing_operators() { return kEntries; }

}  // namespace mcc::frontend
