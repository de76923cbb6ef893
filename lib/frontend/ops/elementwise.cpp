// Elementwise arithmetic, comparison, logic, selection and conversion.
#include <cmath>
#include <limits>

#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

// One operand or several through one scalar function.
ImportFunction mapped(const char* fn) {
  return [fn](NodeContext& c) {
    Operands operands;
    for (size_t i = 0; i < c.inputs.size(); ++i) operands.push_back(c.in(i));
    c.out(c.b.map(fn, operands));
  };
}

// Max, Min, Sum: any number of operands, folded from the left.
Operand folded(NodeContext& c, const char* fn) {
  Operand result = c.in(0);
  for (size_t i = 1; i < c.inputs.size(); ++i) result = c.b.map(fn, {result, c.in(i)});
  return result;
}
ImportFunction variadic(const char* fn) {
  return [fn](NodeContext& c) { c.out(folded(c, fn)); };
}

void import_mean(NodeContext& c) {
  const Operand sum = folded(c, "add");
  c.out(c.b.with_scalar("div", sum, static_cast<double>(c.inputs.size())));
}

// The result has the base's type; mixed types are computed in the wider floating one.
void import_pow(NodeContext& c) {
  const Operand base = c.in(0), exponent = c.in(1);
  if (base.dtype() == exponent.dtype()) return c.out(c.b.map("pow", {base, exponent}));
  if (is_floating(base.dtype()) && is_integer(exponent.dtype())) {
    return c.out(c.b.map("pow", {base, c.b.cast(exponent, base.dtype())}));
  }
  if (is_integer(base.dtype()) && is_integer(exponent.dtype())) {
    return c.out(c.b.map("pow", {base, c.b.cast(exponent, base.dtype())}));
  }
  const DType wide = base.dtype() == DType::f64 || exponent.dtype() == DType::f64 ||
                             is_integer(base.dtype())
                         ? DType::f64
                         : DType::f32;
  const Operand power = c.b.map("pow", {c.b.cast(base, wide), c.b.cast(exponent, wide)});
  c.out(c.b.cast(power, base.dtype()));
}

// fmod = 1 takes the dividend's sign, else the divisor's (integers only).
void import_mod(NodeContext& c) {
  const bool truncated = c.integer("fmod", 0) != 0;
  if (!truncated && is_floating(c.in(0).dtype())) {
    throw Refusal("Mod of floating numbers needs the attribute fmod = 1.",
                  "set fmod, or use integers");
  }
  c.out(c.b.map(truncated ? "fmod" : "mod", {c.in(0), c.in(1)}));
}

Operand clipped(NodeContext& c, const Operand& low, const Operand& high) {
  Operand result = c.in(0);
  if (low) result = c.b.map("max", {result, low});
  if (high) result = c.b.map("min", {result, high});
  return result;
}
void import_clip_6(NodeContext& c) {
  const DType dtype = c.in(0).dtype();
  const auto bound = [&](const char* name) {
    return c.has_attribute(name) ? c.b.scalar(dtype, c.real(name, 0)) : Operand();
  };
  c.out(clipped(c, bound("min"), bound("max")));
}
void import_clip(NodeContext& c) { c.out(clipped(c, c.optional(1), c.optional(2))); }

void import_where(NodeContext& c) { c.out(c.b.select(c.in(0), c.in(1), c.in(2))); }

Operand converted(NodeContext& c, const Operand& x, DType to) {
  if (x.dtype() == DType::string || to == DType::string) {
    throw Refusal("conversions from and to strings are not supported.",
                  "convert outside of the model");
  }
  // Out-of-range values of the 8-bit floats saturate unless the model asks for infinities.
  if (c.integer("saturate", 1) == 0) {
    throw Refusal("casts to 8-bit floats without saturation are not supported.",
                  "leave the attribute 'saturate' at 1");
  }
  return c.b.cast(x, to);
}
void import_cast(NodeContext& c) {
  c.out(converted(c, c.in(0), c.dtype_attribute("to", DType::f32)));
}
void import_cast_like(NodeContext& c) { c.out(converted(c, c.in(0), c.in(1).dtype())); }

void import_bitcast(NodeContext& c) {
  const Operand x = c.in(0);
  const DType to = c.dtype_attribute("to", x.dtype());
  if (dtype_info(x.dtype()).bits != dtype_info(to).bits) {
    throw Refusal("BitCast between types of different sizes is not supported.",
                  "cast to a type of the same size");
  }
  Attributes attributes;
  attributes.set("fn", std::string("bitcast"));
  attributes.set("to", to);
  c.out(c.b.emit(Op::map, {x}, attributes));
}

void import_is_inf(NodeContext& c) {
  const Operand x = c.in(0);
  const bool positive = c.integer("detect_positive", 1) != 0;
  const bool negative = c.integer("detect_negative", 1) != 0;
  if (positive && negative) {
    return c.out(c.b.map("or", {c.b.map("isinf_pos", {x}), c.b.map("isinf_neg", {x})}));
  }
  if (positive) return c.out(c.b.map("isinf_pos", {x}));
  if (negative) return c.out(c.b.map("isinf_neg", {x}));
  c.out(c.b.full(x.shape(), c.b.scalar(DType::boolean, 0)));
}

void import_bit_shift(NodeContext& c) {
  const std::string direction = c.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    throw ModelError("the attribute 'direction' must be LEFT or RIGHT.");
  }
  c.out(c.b.map(direction == "LEFT" ? "shl" : "shr", {c.in(0), c.in(1)}));
}

void import_identity(NodeContext& c) {
  if (c.inputs.empty()) throw ModelError("the input is missing.");
  c.out(c.inputs[0]);
}

// Inference: the mask is all true.
void import_dropout(NodeContext& c) {
  const Operand x = c.in(0);
  if (c.has(2)) {
    const Tensor* training = c.in(2).constant_tensor();
    const Tensor* ratio = c.has(1) ? c.in(1).constant_tensor() : nullptr;
    const bool no_drop = ratio != nullptr && ratio->get_double(0) == 0;
    if (!no_drop && (training == nullptr || training->get_int64(0) != 0)) {
      throw Refusal("Dropout in training mode is not supported.",
                    "export the model for inference (model.eval())");
    }
  }
  c.out(x);
  if (c.wants(1)) c.out(c.b.full(x.shape(), c.b.scalar(DType::boolean, 1)));
}
void import_dropout_7(NodeContext& c) {
  const Operand x = c.in(0);
  c.out(x);
  if (c.wants(1)) c.out(c.b.full(x.shape(), c.b.scalar(DType::boolean, 1)));
}

const OperatorEntry kEntries[] = {
    {"", "Abs", 1, mapped("abs")},
    {"", "Acos", 1, mapped("acos")},
    {"", "Acosh", 1, mapped("acosh")},
    {"", "Add", 7, mapped("add")},
    {"", "And", 7, mapped("and")},
    {"", "Asin", 1, mapped("asin")},
    {"", "Asinh", 1, mapped("asinh")},
    {"", "Atan", 1, mapped("atan")},
    {"", "Atanh", 1, mapped("atanh")},
    {"", "BitCast", 1, import_bitcast},
    {"", "BitShift", 11, import_bit_shift},
    {"", "BitwiseAnd", 18, mapped("and")},
    {"", "BitwiseNot", 18, mapped("not")},
    {"", "BitwiseOr", 18, mapped("or")},
    {"", "BitwiseXor", 18, mapped("xor")},
    {"", "Cast", 6, import_cast},
    {"", "CastLike", 15, import_cast_like},
    {"", "Ceil", 1, mapped("ceil")},
    {"", "Clip", 6, import_clip_6},
    {"", "Clip", 11, import_clip},
    {"", "Cos", 1, mapped("cos")},
    {"", "Cosh", 1, mapped("cosh")},
    {"", "Div", 7, mapped("div")},
    {"", "Dropout", 7, import_dropout_7},
    {"", "Dropout", 12, import_dropout},
    {"", "Equal", 7, mapped("eq")},
    {"", "Erf", 1, mapped("erf")},
    {"", "Exp", 1, mapped("exp")},
    {"", "Floor", 1, mapped("floor")},
    {"", "Greater", 7, mapped("gt")},
    {"", "GreaterOrEqual", 12, mapped("ge")},
    {"", "Identity", 1, import_identity},
    {"", "IsInf", 10, import_is_inf},
    {"", "IsNaN", 9, mapped("isnan")},
    {"", "Less", 7, mapped("lt")},
    {"", "LessOrEqual", 12, mapped("le")},
    {"", "Log", 1, mapped("log")},
    {"", "Max", 6, variadic("max")},
    {"", "Mean", 6, import_mean},
    {"", "Min", 6, variadic("min")},
    {"", "Mod", 10, import_mod},
    {"", "Mul", 7, mapped("mul")},
    {"", "Neg", 1, mapped("neg")},
    {"", "Not", 1, mapped("not")},
    {"", "Or", 7, mapped("or")},
    {"", "Pow", 7, import_pow},
    {"", "Reciprocal", 1, mapped("reciprocal")},
    {"", "Round", 11, mapped("round")},
    {"", "Sign", 9, mapped("sign")},
    {"", "Sin", 1, mapped("sin")},
    {"", "Sinh", 1, mapped("sinh")},
    {"", "Sqrt", 1, mapped("sqrt")},
    {"", "Sub", 7, mapped("sub")},
    {"", "Sum", 6, variadic("add")},
    {"", "Tan", 1, mapped("tan")},
    {"", "Tanh", 1, mapped("tanh")},
    {"", "Where", 9, import_where},
    {"", "Xor", 7, mapped("xor")},
};

}  // namespace

std::span<const OperatorEntry> elementwise_entries() { return kEntries; }

}  // namespace mcc::frontend
