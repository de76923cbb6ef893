// Elementwise arithmetic, comparison, logic and conversion.
#include <onnx/onnx_pb.h>

#include <string>

#include "lib/frontend/ops/families.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

template <const char* kFunction>
Results unary(NodeContext& n) {
  return {n.b.map(kFunction, {n.in(0)})};
}
template <const char* kFunction>
Results binary(NodeContext& n) {
  return {n.b.map(kFunction, {n.in(0), n.in(1)})};
}
// Min, Max, Sum, Mean take any number of inputs.
template <const char* kFunction>
Results variadic(NodeContext& n) {
  Operand result = n.in(0);
  for (size_t i = 1; i < n.inputs.size(); ++i) result = n.b.map(kFunction, {result, n.in(i)});
  return {result};
}

constexpr char kAdd[] = "add", kSub[] = "sub", kMul[] = "mul", kDiv[] = "div", kMin[] = "min", kMax[] = "max",
               kNeg[] = "neg", kAbs[] = "abs", kSign[] = "sign", kFloor[] = "floor", kCeil[] = "ceil",
               kRound[] = "round", kSqrt[] = "sqrt", kReciprocal[] = "reciprocal", kExp[] = "exp", kLog[] = "log",
               kSin[] = "sin", kCos[] = "cos", kTan[] = "tan", kAsin[] = "asin", kAcos[] = "acos", kAtan[] = "atan",
               kSinh[] = "sinh", kCosh[] = "cosh", kTanh[] = "tanh", kAsinh[] = "asinh", kAcosh[] = "acosh",
               kAtanh[] = "atanh", kErf[] = "erf", kLt[] = "lt", kLe[] = "le", kGt[] = "gt", kGe[] = "ge",
               kEq[] = "eq", kAnd[] = "and", kOr[] = "or", kXor[] = "xor", kNot[] = "not", kIsNan[] = "isnan";

Results import_identity(NodeContext& n) { return {n.in(0)}; }

Results import_pow(NodeContext& n) {
  // The exponent may have another type than the base, which decides.
  Operand base = n.in(0);
  Operand exponent = n.in(1);
  const Tensor* constant = exponent.constant_tensor();
  if (constant != nullptr && constant->elements() == 1 && is_floating(base.dtype()) &&
      exponent.rank() <= base.rank()) {
    const double value = constant->get_double(0);
    if (value == 2.0) return {n.b.map("mul", {base, base})};
    if (value == 1.0) return {base};
    if (value == 0.5) return {n.b.map("sqrt", {base})};
    if (value == -1.0) return {n.b.map("reciprocal", {base})};
    if (value == 3.0) return {n.b.map("mul", {n.b.map("mul", {base, base}), base})};
  }
  if (is_integer(base.dtype()) && is_floating(exponent.dtype())) {
    const Operand power = n.b.map("pow", {n.b.cast(base, exponent.dtype()), exponent});
    return {n.b.cast(power, base.dtype())};
  }
  return {n.b.map("pow", {base, n.b.cast(exponent, base.dtype())})};
}

Results import_mod(NodeContext& n) {
  const bool truncates = n.integer("fmod", 0) != 0;
  return {n.b.map(truncates ? "fmod" : "mod", {n.in(0), n.in(1)})};
}

Results import_mean(NodeContext& n) {
  const Operand sum = variadic<kAdd>(n)[0];
  return {n.b.map("mul", {sum, n.b.like(sum, 1.0 / static_cast<double>(n.inputs.size()))})};
}

Results import_where(NodeContext& n) { return {n.b.map("select", {n.in(0), n.in(1), n.in(2)})}; }

Results import_cast(NodeContext& n) { return {n.b.cast(n.in(0), import_dtype(static_cast<int>(n.integer("to", 0))))}; }
Results import_cast_like(NodeContext& n) { return {n.b.cast(n.in(0), n.in(1).dtype())}; }

Results import_clip_attributes(NodeContext& n) {
  Operand x = n.in(0);
  if (n.has_attribute("min")) x = n.b.map("max", {x, n.b.like(x, n.real("min", 0))});
  if (n.has_attribute("max")) x = n.b.map("min", {x, n.b.like(x, n.real("max", 0))});
  return {x};
}
Results import_clip(NodeContext& n) {
  Operand x = n.in(0);
  if (n.has(1)) x = n.b.map("max", {x, n.in(1)});
  if (n.has(2)) x = n.b.map("min", {x, n.in(2)});
  return {x};
}

Results import_is_inf(NodeContext& n) {
  const bool negative = n.integer("detect_negative", 1) != 0;
  const bool positive = n.integer("detect_positive", 1) != 0;
  const Operand x = n.in(0);
  const Operand low = n.b.map("isinf_neg", {x});
  const Operand high = n.b.map("isinf_pos", {x});
  if (negative && positive) return {n.b.map("or", {low, high})};
  if (negative) return {low};
  if (positive) return {high};
  return {n.b.map("and", {low, high})};
}

Results import_bit_shift(NodeContext& n) {
  return {n.b.map(n.text("direction", "LEFT") == "LEFT" ? "shl" : "shr", {n.in(0), n.in(1)})};
}

Results import_dropout(NodeContext& n) {
  if (n.opset >= 12 && n.has(2)) {
    const std::optional<KnownValues> training = n.in(2).known_values();
    if (!training || !(*training)[0].numerator.is_constant(0)) throw ModelError("training mode is not supported");
  }
  Results results{n.in(0)};
  if (n.wants(1)) {
    Attributes attributes;
    const Operand one = n.b.scalar(DType::boolean, 1);
    results.push_back(n.b.broadcast_to(one, n.in(0).shape()));
  }
  return results;
}

constexpr OperatorEntry kEntries[] = {
    {"Identity", 1, import_identity, Moves::first},
    {"Add", 7, binary<kAdd>}, {"Sub", 7, binary<kSub>}, {"Mul", 7, binary<kMul>}, {"Div", 7, binary<kDiv>},
    {"Min", 8, variadic<kMin>}, {"Max", 8, variadic<kMax>}, {"Sum", 8, variadic<kAdd>}, {"Mean", 8, import_mean},
    {"Neg", 6, unary<kNeg>}, {"Abs", 6, unary<kAbs>}, {"Sign", 9, unary<kSign>}, {"Floor", 6, unary<kFloor>},
    {"Ceil", 6, unary<kCeil>}, {"Round", 11, unary<kRound>}, {"Sqrt", 6, unary<kSqrt>},
    {"Reciprocal", 6, unary<kReciprocal>}, {"Exp", 6, unary<kExp>}, {"Log", 6, unary<kLog>},
    {"Sin", 7, unary<kSin>}, {"Cos", 7, unary<kCos>}, {"Tan", 7, unary<kTan>}, {"Asin", 7, unary<kAsin>},
    {"Acos", 7, unary<kAcos>}, {"Atan", 7, unary<kAtan>}, {"Sinh", 9, unary<kSinh>}, {"Cosh", 9, unary<kCosh>},
    {"Tanh", 6, unary<kTanh>}, {"Asinh", 9, unary<kAsinh>}, {"Acosh", 9, unary<kAcosh>},
    {"Atanh", 9, unary<kAtanh>}, {"Erf", 9, unary<kErf>}, {"IsNaN", 9, unary<kIsNan>}, {"IsInf", 10, import_is_inf},
    {"Less", 7, binary<kLt>}, {"LessOrEqual", 12, binary<kLe>}, {"Greater", 7, binary<kGt>},
    {"GreaterOrEqual", 12, binary<kGe>}, {"Equal", 7, binary<kEq>},
    {"And", 7, binary<kAnd>}, {"Or", 7, binary<kOr>}, {"Xor", 7, binary<kXor>}, {"Not", 1, unary<kNot>},
    {"BitwiseAnd", 18, binary<kAnd>}, {"BitwiseOr", 18, binary<kOr>}, {"BitwiseXor", 18, binary<kXor>},
    {"BitwiseNot", 18, unary<kNot>}, {"BitShift", 11, import_bit_shift},
    {"Pow", 7, import_pow}, {"Mod", 10, import_mod}, {"Where", 9, import_where},
    {"Cast", 6, import_cast}, {"CastLike", 15, import_cast_like},
    {"Clip", 6, import_clip_attributes}, {"Clip", 11, import_clip},
    {"Dropout", 7, import_dropout},
};

}  // namespace

std::span<const OperatorEntry> elementwise_operators() { return kEntries; }

}  // namespace mcc::frontend
