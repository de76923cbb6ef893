// Identities of scalar functions. A constant operand of a commutative function stands on the right.
#include <array>
#include <bit>
#include <cmath>

#include "lib/ir/scalar_function.h"
#include "lib/optimizer/passes/algebra/tables.h"

namespace mcc::algebra {
namespace {

bool is_floating_value(const PatternScope& scope, ValueId value) {
  return is_floating(scope.type(value).dtype);
}

ValueId constant_to_the_right(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  const bool commutative = fn == "add" || fn == "mul" || fn == "min" || fn == "max" || fn == "eq" ||
                           fn == "ne" || fn == "and" || fn == "or" || fn == "xor";
  if (!commutative || !scope.splat(node.inputs[0]) || scope.splat(node.inputs[1])) return kNoValue;
  return scope.map(fn, {node.inputs[1], node.inputs[0]}, node.origin);
}

// f(x, c) = x.
struct Neutral {
  std::string_view function;
  double value;
};
constexpr Neutral kNeutral[] = {{"add", 0}, {"sub", 0}, {"mul", 1}, {"div", 1}, {"pow", 1},
                                {"floordiv", 1}, {"or", 0}, {"xor", 0}, {"shl", 0}, {"shr", 0}};

ValueId neutral_operand(const Node& node, PatternScope& scope) {
  if (node.inputs.size() != 2) return kNoValue;
  const std::string& fn = node.attributes.text("fn");
  for (const Neutral& row : kNeutral) {
    if (row.function != fn) continue;
    if (fn == "floordiv" && is_floating_value(scope, node.inputs[0])) continue;  // it rounds
    if (scope.splat(node.inputs[1]) == row.value) return node.inputs[0];
  }
  return kNoValue;
}

// f(f(x)) = x, f(f(x)) = f(x), f(x, x) = x
ValueId repeated_function(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  const bool involution = fn == "neg" || fn == "not";
  const bool idempotent = fn == "relu" || fn == "abs" || fn == "floor" || fn == "ceil" ||
                          fn == "round" || fn == "trunc" || fn == "sign";
  if (involution || idempotent) {
    const Node* inner = scope.map_of(node.inputs[0], fn);
    if (inner == nullptr) return kNoValue;
    return involution ? inner->inputs[0] : node.inputs[0];
  }
  const bool same_operands = node.inputs.size() == 2 && node.inputs[0] == node.inputs[1];
  if (same_operands && (fn == "min" || fn == "max" || fn == "and" || fn == "or")) return node.inputs[0];
  if (fn == "select" && node.inputs[1] == node.inputs[2]) return node.inputs[1];
  return kNoValue;
}

ValueId select_by_constant(const Node& node, PatternScope& scope) {
  if (node.attributes.text("fn") != "select") return kNoValue;
  ValueId condition = node.inputs[0];
  while (const Node* view = scope.producer(condition, Op::broadcast)) condition = view->inputs[0];
  const Tensor* tensor = scope.constant(condition);
  if (tensor == nullptr || tensor->elements() != 1) return kNoValue;
  return node.inputs[tensor->get_int64(0) != 0 ? 1 : 2];
}

// x ^ c for the exponents that have a cheaper form.
ValueId power_by_constant(const Node& node, PatternScope& scope) {
  if (node.attributes.text("fn") != "pow" || !is_floating_value(scope, node.inputs[0])) return kNoValue;
  const std::optional<double> exponent = scope.splat(node.inputs[1]);
  const ValueId x = node.inputs[0];
  if (exponent == 2) return scope.map("mul", {x, x}, node.origin);
  if (exponent == 3) return scope.map("mul", {scope.map("mul", {x, x}, node.origin), x}, node.origin);
  if (exponent == -1) return scope.map("reciprocal", {x}, node.origin);
  // pow(-0, 0.5) is +0 and pow(-inf, 0.5) is +inf, where sqrt gives -0 and NaN: no model means that.
  if (exponent == 0.5) return scope.map("sqrt", {x}, node.origin);
  if (exponent == -0.5) return scope.map("rsqrt", {x}, node.origin);
  return kNoValue;
}

ValueId division(const Node& node, PatternScope& scope) {
  if (node.attributes.text("fn") != "div" || !is_floating_value(scope, node.inputs[0])) return kNoValue;
  const ValueId x = node.inputs[0], y = node.inputs[1];
  // A power of two has an exact reciprocal.
  if (const std::optional<double> divisor = scope.splat(y); divisor && std::isnormal(*divisor)) {
    int exponent = 0;
    const bool power = std::fabs(std::frexp(*divisor, &exponent)) == 0.5;
    if (power && std::abs(exponent) < 100) {
      return scope.map("mul", {x, scope.filled(scope.type(y), 1 / *divisor, node.origin)}, node.origin);
    }
  }
  if (scope.splat(x) == 1.0) return scope.map("reciprocal", {y}, node.origin);
  // x / sqrt(v) = x * rsqrt(v); also where the root is repeated.
  if (const Node* root = scope.map_of(y, "sqrt")) {
    return scope.map("mul", {x, scope.map("rsqrt", {root->inputs[0]}, node.origin)}, node.origin);
  }
  if (const Node* view = scope.producer(y, Op::broadcast)) {
    if (const Node* root = scope.map_of(view->inputs[0], "sqrt")) {
      const ValueId inverse = scope.map("rsqrt", {root->inputs[0]}, node.origin);
      const ValueId repeated = scope.broadcast(inverse, view->attributes.shape("shape"),
                                               view->attributes.ints("axes"), node.origin);
      return scope.map("mul", {x, repeated}, node.origin);
    }
  }
  return kNoValue;
}

ValueId reciprocal_of_root(const Node& node, PatternScope& scope) {
  if (node.attributes.text("fn") != "reciprocal") return kNoValue;
  const Node* root = scope.map_of(node.inputs[0], "sqrt");
  return root == nullptr ? kNoValue : scope.map("rsqrt", {root->inputs[0]}, node.origin);
}

ValueId sums_with_negation(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  if (fn != "add" && fn != "sub") return kNoValue;
  if (const Node* negation = scope.map_of(node.inputs[1], "neg")) {
    return scope.map(fn == "add" ? "sub" : "add", {node.inputs[0], negation->inputs[0]}, node.origin);
  }
  return kNoValue;
}

// max(x, 0) and min(max(x, 0), c) keep their clamp; the lower half has a name.
ValueId maximum_with_zero(const Node& node, PatternScope& scope) {
  if (node.attributes.text("fn") != "max" || scope.splat(node.inputs[1]) != 0.0) return kNoValue;
  return scope.map("relu", {node.inputs[0]}, node.origin);
}

// (x * a) * b = x * (a * b), (x + a) + b = x + (a + b) for repeated floating scalars.
ValueId chained_scalars(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  if ((fn != "mul" && fn != "add") || !is_floating_value(scope, node.inputs[0])) return kNoValue;
  const std::optional<double> outer = scope.splat(node.inputs[1]);
  const Node* previous = outer ? scope.map_of(node.inputs[0], fn) : nullptr;
  if (previous == nullptr || !scope.single_use(node.inputs[0])) return kNoValue;
  const std::optional<double> inner = scope.splat(previous->inputs[1]);
  if (!inner || !std::isfinite(*inner) || !std::isfinite(*outer)) return kNoValue;
  const double combined = fn == "mul" ? *inner * *outer : *inner + *outer;
  const TensorType type = scope.type(node.inputs[1]);
  // Two factors whose product leaves the type's range must act one after the other.
  const double rounded = Tensor::scalar(type.dtype, combined).get_double(0);
  if (!std::isfinite(rounded) || (rounded == 0 && combined != 0)) return kNoValue;
  const ValueId value = scope.filled(type, combined, node.origin);
  return scope.map(fn, {previous->inputs[0], value}, node.origin);
}

// -- conversions

// Range and precision of a number type, for conversions that lose nothing.
struct Precision {
  int significand;  // bits, the hidden one included; for integers the value bits
  int exponent;     // largest binary exponent
  bool floating, is_signed;
};
std::optional<Precision> precision_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return Precision{53, 1024, true, true};
    case DType::f32: return Precision{24, 128, true, true};
    case DType::f16: return Precision{11, 16, true, true};
    case DType::bf16: return Precision{8, 128, true, true};
    case DType::boolean: return Precision{1, 1, false, false};
    default: break;
  }
  if (!is_integer(dtype)) return std::nullopt;
  const bool is_signed = dtype_info(dtype).kind == DTypeKind::signed_integer;
  const int bits = dtype_info(dtype).bits - (is_signed ? 1 : 0);
  return Precision{bits, bits, false, is_signed};
}

bool represents(DType to, DType from) {
  const std::optional<Precision> a = precision_of(from), b = precision_of(to);
  if (!a || !b) return false;
  if (to == DType::boolean) return from == DType::boolean;
  if (a->floating && !b->floating) return false;
  if (a->is_signed && !b->is_signed) return false;
  // bf16 reaches further down than f16; subnormals decide that.
  const bool reaches = a->floating && b->floating ? b->exponent >= a->exponent : b->exponent >= a->significand;
  return reaches && b->significand >= a->significand;
}

ValueId conversions(const Node& node, PatternScope& scope) {
  if (node.attributes.text("fn") != "cast") return kNoValue;
  const DType to = node.attributes.dtype("to");
  const DType from = scope.type(node.inputs[0]).dtype;
  if (from == to) return node.inputs[0];
  const Node* inner = scope.map_of(node.inputs[0], "cast");
  if (inner == nullptr) return kNoValue;
  const ValueId source = inner->inputs[0];
  if (!represents(from, scope.type(source).dtype)) return kNoValue;
  if (scope.type(source).dtype == to) return source;
  return scope.emit(Op::map, {source}, node.attributes, node.origin);
}

constexpr Pattern kPatterns[] = {
    {Op::map, "constant operand to the right", constant_to_the_right},
    {Op::map, "neutral operand", neutral_operand},
    {Op::map, "function applied twice", repeated_function},
    {Op::map, "selection by a constant", select_by_constant},
    {Op::map, "power by a constant", power_by_constant},
    {Op::map, "division", division},
    {Op::map, "reciprocal of a root", reciprocal_of_root},
    {Op::map, "sum with a negation", sums_with_negation},
    {Op::map, "maximum with zero", maximum_with_zero},
    {Op::map, "chained scalars", chained_scalars},
    {Op::map, "conversions", conversions},
};

}  // namespace

std::span<const Pattern> map_patterns() { return kPatterns; }

}  // namespace mcc::algebra
