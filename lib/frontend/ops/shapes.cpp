// Operators about shapes, and sources of values.
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "lib/frontend/ops/families.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

Results import_shape(NodeContext& n) {
  const int64_t rank = n.in(0).rank();
  auto clip = [&](int64_t position) { return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank); };
  const int64_t start = clip(n.integer("start", 0));
  const int64_t end = clip(n.integer("end", rank));
  KnownValues dims;
  for (int64_t axis = start; axis < end; ++axis) dims.push_back({n.in(0).dim(axis), 1});
  const auto count = static_cast<int64_t>(dims.size());
  return {Operand::known(DType::i64, {Expr(count)}, std::move(dims))};
}

Results import_size(NodeContext& n) { return {Operand::known(DType::i64, {}, {{product(n.in(0).shape()), 1}})}; }

Results import_constant(NodeContext& n) {
  if (TensorPtr value = n.tensor("value")) return {Operand::constant(value)};
  if (n.has_attribute("value_float")) return {n.b.scalar(DType::f32, n.real("value_float", 0))};
  if (n.has_attribute("value_int")) {
    Tensor tensor(DType::i64, {});
    tensor.set_int64(0, n.integer("value_int", 0));
    return {Operand::constant(std::make_shared<const Tensor>(std::move(tensor)))};
  }
  if (n.has_attribute("value_ints")) {
    return {Operand::constant(std::make_shared<const Tensor>(Tensor::from_int64(n.ints("value_ints"))))};
  }
  if (n.has_attribute("value_floats")) {
    const std::vector<double> values = n.reals("value_floats");
    Tensor tensor(DType::f32, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i) tensor.set_double(static_cast<int64_t>(i), values[i]);
    return {Operand::constant(std::make_shared<const Tensor>(std::move(tensor)))};
  }
  throw ModelError("this form of Constant is not supported");
}

Results import_constant_of_shape(NodeContext& n) {
  const Shape shape = n.known_integers(n.in(0), "the shape");
  TensorPtr value = n.tensor("value");
  if (value == nullptr) value = std::make_shared<const Tensor>(Tensor::scalar(DType::f32, 0));
  const Operand scalar = Operand::constant(std::make_shared<const Tensor>(value->reshaped({})));
  // Small constant shapes stay traceable: they are often part of shape arithmetic.
  const Expr count = product(shape);
  if (count.is_constant() && count.constant() <= 64 && !is_floating(value->dtype())) {
    KnownValues values(static_cast<size_t>(count.constant()), Known{Expr(value->get_int64(0)), 1});
    return {Operand::known(value->dtype(), shape, std::move(values))};
  }
  return {n.b.broadcast_to(scalar, shape)};
}

Results import_range(NodeContext& n) {
  const DType dtype = n.in(0).dtype();
  const std::optional<KnownValues> start = n.in(0).known_values();
  const std::optional<KnownValues> limit = n.in(1).known_values();
  const std::optional<KnownValues> delta = n.in(2).known_values();
  if (!start || !limit || !delta || !(*delta)[0].numerator.is_constant() || (*delta)[0].numerator.is_constant(0)) {
    throw ModelError("the length of the range depends on the data");
  }
  const Known& from = (*start)[0];
  const Known& to = (*limit)[0];
  const Known& by = (*delta)[0];
  // ceil((limit - start) / delta) over a common denominator.
  const int64_t sign = by.numerator.constant() < 0 ? -1 : 1;
  const Expr span = (to.numerator * Expr(from.denominator) - from.numerator * Expr(to.denominator)) * Expr(by.denominator * sign);
  const Expr step = Expr(by.numerator.constant() * sign * from.denominator * to.denominator);
  Expr count = ceildiv(span, step);
  if (count.is_constant()) {
    count = std::max<int64_t>(0, count.constant());
  } else if (bounds(count, n.b.graph().ranges()).low < 0) {
    count = max(Expr(0), count);
  }
  Attributes attributes;
  attributes.set("shape", Shape{count});
  attributes.set("axis", int64_t{0});
  attributes.set("dtype", dtype);
  Operand result = n.b.emit(Op::iota, {}, std::move(attributes));
  if (!by.numerator.is_constant(1) || by.denominator != 1) result = n.b.map("mul", {result, n.in(2)});
  if (!from.numerator.is_constant(0)) result = n.b.map("add", {result, n.in(0)});
  return {result};
}

Results import_eye_like(NodeContext& n) {
  const Shape& shape = n.in(0).shape();
  const DType dtype = n.has_attribute("dtype") ? import_dtype(static_cast<int>(n.integer("dtype", 1))) : n.in(0).dtype();
  Operand index[2];
  for (int64_t axis = 0; axis < 2; ++axis) {
    Attributes attributes;
    attributes.set("shape", shape);
    attributes.set("axis", axis);
    attributes.set("dtype", DType::i64);
    index[axis] = n.b.emit(Op::iota, {}, std::move(attributes));
  }
  const Operand shifted = n.b.map("add", {index[0], n.b.scalar(DType::i64, static_cast<double>(n.integer("k", 0)))});
  return {n.b.cast(n.b.map("eq", {shifted, index[1]}), dtype)};
}

constexpr OperatorEntry kEntries[] = {
    {"Shape", 1, import_shape}, {"Size", 1, import_size}, {"Constant", 1, import_constant},
    {"ConstantOfShape", 9, import_constant_of_shape}, {"Range", 11, import_range}, {"EyeLike", 9, import_eye_like},
};

}  // namespace

std::span<const OperatorEntry> shape_operators() { return kEntries; }

}  // namespace mcc::frontend
