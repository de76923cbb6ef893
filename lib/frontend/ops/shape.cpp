// Shapes and their arithmetic, constants, and operators that make tensors from numbers.
#include <algorithm>
#include <cmath>

#include "lib/frontend/importer.h"
#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

// Shape's start and end (opset 15) clamp like a slice.
void import_shape(NodeContext& c) {
  const Shape& shape = c.in(0).shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamp = [&](int64_t axis) {
    return std::min(std::max(axis < 0 ? axis + rank : axis, int64_t{0}), rank);
  };
  const int64_t start = clamp(c.integer("start", 0)), end = clamp(c.integer("end", rank));
  c.out(c.b.dims(start < end ? Shape(shape.begin() + start, shape.begin() + end) : Shape{}));
}

void import_size(NodeContext& c) { c.out(c.b.number(product(c.in(0).shape()), DType::i64)); }

// 0 copies the input's dimension (unless allowzero), -1 is what remains.
void import_reshape(NodeContext& c) {
  const Operand x = c.in(0);
  Shape shape = c.b.expressions(c.in(1));
  const bool allow_zero = c.integer("allowzero", 0) != 0;
  int64_t open = -1;
  Expr rest(1);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_constant(-1)) {
      if (open >= 0) throw ModelError("the new shape has more than one -1.");
      open = static_cast<int64_t>(i);
      continue;
    }
    if (shape[i].is_constant() && shape[i].constant() < 0) {
      throw ModelError("the new shape " + shape_text(shape) + " has a negative dimension.");
    }
    if (shape[i].is_constant(0) && !allow_zero) {
      if (i >= x.shape().size()) throw ModelError("a 0 of the new shape copies no dimension.");
      shape[i] = x.shape()[i];
    }
    rest = rest * shape[i];
  }
  const Expr total = product(x.shape());
  if (open >= 0) {
    // Dimensions that occur on both sides cancel even where one of them may be 0.
    Expr numerator(1), denominator(1);
    Shape from = x.shape();
    for (size_t i = 0; i < shape.size(); ++i) {
      if (static_cast<int64_t>(i) == open) continue;
      const auto same = std::find(from.begin(), from.end(), shape[i]);
      if (same != from.end() && !shape[i].is_constant(0)) {
        from.erase(same);
      } else {
        denominator = denominator * shape[i];
      }
    }
    numerator = product(from);
    if (denominator.is_constant(0)) {
      throw ModelError("-1 cannot be solved for: the other dimensions have product 0.");
    }
    const std::optional<Expr> exact = exact_division(numerator, denominator);
    if (numerator.is_constant() && denominator.is_constant() && !exact) {
      throw ModelError(shape_text(x.shape()) + " cannot be reshaped to " + shape_text(shape) + ".");
    }
    shape[static_cast<size_t>(open)] =
        exact ? *exact : c.b.simplified(floordiv(numerator, denominator));
  } else if (!(total == rest)) {
    c.b.merge(total, rest);
  }
  c.out(c.b.reshape(x, shape));
}

// Opset 5 to 12: axes are attributes.
void import_squeeze(NodeContext& c) {
  const Operand x = c.in(0);
  Ints axes = c.axes_argument(1);
  if (axes.empty() && !c.has(1) && !c.has_attribute("axes")) {
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      if (x.dim(axis).is_constant(1)) axes.push_back(axis);
    }
  }
  c.out(c.b.squeeze(x, axes));
}
void import_unsqueeze(NodeContext& c) { c.out(c.b.unsqueeze(c.in(0), c.axes_argument(1))); }

void import_flatten(NodeContext& c) {
  const Operand x = c.in(0);
  const int64_t given = c.integer("axis", 1);
  const int64_t axis = given == x.rank() ? given : normalized_axis(given, x.rank());
  const auto split = x.shape().begin() + axis;
  c.out(c.b.reshape(x, {product(Shape(x.shape().begin(), split)),
                        product(Shape(split, x.shape().end()))}));
}

void import_expand(NodeContext& c) {
  const Operand x = c.in(0);
  c.out(c.b.broadcast_to(x, c.b.common_shape(x.shape(), c.b.expressions(c.in(1)))));
}

void import_constant(NodeContext& c) {
  if (const onnx::AttributeProto* value = c.attribute("value")) {
    return c.out(c.importer.tensor_operand(value->t()));
  }
  if (const onnx::AttributeProto* value = c.attribute("sparse_value")) {
    return c.out(c.importer.sparse_operand(value->sparse_tensor()));
  }
  if (c.has_attribute("value_int")) {
    Tensor tensor(DType::i64, {});
    tensor.set_int64(0, c.integer("value_int"));
    return c.out(c.b.constant(std::move(tensor)));
  }
  if (c.has_attribute("value_ints")) return c.out(c.b.integers(c.ints("value_ints")));
  if (c.has_attribute("value_float")) {
    return c.out(c.b.scalar(DType::f32, c.real("value_float", 0)));
  }
  if (c.has_attribute("value_floats")) {
    const std::vector<double> values = c.reals("value_floats");
    Tensor tensor(DType::f32, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i) {
      tensor.set_double(static_cast<int64_t>(i), values[i]);
    }
    return c.out(c.b.constant(std::move(tensor)));
  }
  const bool one = c.has_attribute("value_string");
  if (!one && !c.has_attribute("value_strings")) throw ModelError("the value is missing.");
  const std::vector<std::string> values =
      one ? std::vector<std::string>{c.text("value_string", "")} : c.texts("value_strings");
  Tensor tensor(DType::string, one ? Ints{} : Ints{static_cast<int64_t>(values.size())});
  *tensor.strings = values;
  c.out(c.b.constant(std::move(tensor)));
}

void import_constant_of_shape(NodeContext& c) {
  Operand value = c.b.scalar(DType::f32, 0);
  if (const onnx::AttributeProto* given = c.attribute("value")) {
    value = c.b.reshape(c.importer.tensor_operand(given->t()), {});
  }
  c.out(c.b.full(c.b.expressions(c.in(0)), value));
}

// start + i * delta for i < max(ceil((limit - start) / delta), 0)
void import_range(NodeContext& c) {
  const Operand start = c.b.reshape(c.in(0), {});
  const Operand limit = c.b.reshape(c.in(1), {});
  const Operand delta = c.b.reshape(c.in(2), {});
  const DType dtype = start.dtype();
  Expr count;
  const std::optional<KnownValues> from = start.known_values(), to = limit.known_values(),
                                   step = delta.known_values();
  const bool known = from && to && step && (*step)[0].numerator.is_constant() &&
                     !(*step)[0].numerator.is_constant(0);
  if (known) {
    // Over a common denominator, the span and the step are integers.
    const int64_t d = (*from)[0].denominator * (*to)[0].denominator * (*step)[0].denominator;
    const auto over = [&](const Known& k) { return k.numerator * Expr(d / k.denominator); };
    Expr span = over((*to)[0]) - over((*from)[0]);
    Expr by = over((*step)[0]);
    if (by.constant() < 0) span = -span, by = -by;
    count = c.b.simplified(max(ceildiv(span, by), Expr(0)));
  } else if (start.constant_tensor() && limit.constant_tensor() && delta.constant_tensor()) {
    const double by = delta.constant_tensor()->get_double(0);
    const double span =
        limit.constant_tensor()->get_double(0) - start.constant_tensor()->get_double(0);
    if (by == 0) throw ModelError("the step must not be 0.");
    count = Expr(static_cast<int64_t>(std::max(std::ceil(span / by), 0.0)));
  } else {
    // Known when the plan runs.
    Operand span = c.b.map("sub", {limit, start});
    if (is_integer(dtype)) {
      span = c.b.map("neg", {c.b.map("floordiv", {c.b.map("neg", {span}), delta})});
    } else {
      span = c.b.map("ceil", {c.b.map("div", {span, delta})});
    }
    const Operand number = c.b.with_scalar("max", c.b.cast(span, DType::i64), 0);
    count = c.b.expressions(number)[0];
  }
  const DType compute = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
  const Operand index = c.b.iota({count}, 0, compute);
  const Operand scaled = c.b.map("mul", {index, c.b.cast(delta, compute)});
  c.out(c.b.cast(c.b.map("add", {scaled, c.b.cast(start, compute)}), dtype));
}

void import_eye_like(NodeContext& c) {
  const Operand x = c.in(0);
  if (x.rank() != 2) throw ModelError("the input must be a matrix.");
  const DType dtype = c.dtype_attribute("dtype", x.dtype());
  const Operand row = c.b.iota(x.shape(), 0, DType::i64);
  const Operand column = c.b.iota(x.shape(), 1, DType::i64);
  const Operand diagonal = c.b.with_scalar("add", row, static_cast<double>(c.integer("k", 0)));
  c.out(c.b.cast(c.b.map("eq", {diagonal, column}), dtype));
}

const OperatorEntry kEntries[] = {
    {"", "Constant", 1, import_constant},
    {"", "ConstantOfShape", 9, import_constant_of_shape},
    {"", "Expand", 8, import_expand},
    {"", "EyeLike", 9, import_eye_like},
    {"", "Flatten", 1, import_flatten},
    {"", "Range", 11, import_range},
    {"", "Reshape", 5, import_reshape},
    {"", "Shape", 1, import_shape},
    {"", "Size", 1, import_size},
    {"", "Squeeze", 1, import_squeeze},
    {"", "Unsqueeze", 1, import_unsqueeze},
};

}  // namespace

std::span<const OperatorEntry> shape_entries() { return kEntries; }

}  // namespace mcc::frontend
