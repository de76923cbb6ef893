// Activations in their expanded form become one scalar function, which has a cheaper and more
// accurate implementation than its parts.
//
// Exporters write the factors of a product in any order and association, so the patterns compare
// products as sets of factors and one scalar. Formulas: gelu and its tanh form, Hendrycks and
// Gimpel, "Gaussian error linear units" (2016); silu, Elfwing et al. (2018); mish, Misra (2019).
#include <algorithm>

#include "lib/optimizer/passes/passes.h"
#include "lib/optimizer/rewrite/arithmetic.h"

namespace mcc {
namespace {

constexpr double kRootHalf = 0.70710678118654752;
constexpr double kRootTwoOverPi = 0.79788456080286536;
constexpr double kCubic = 0.044715;

// value = scalar * x^power.
bool is_power(ValueId value, ValueId x, size_t power, double scalar, const PatternScope& scope) {
  const Product product = product_of(value, scope, static_cast<int>(power) - 1, x);
  return product.factors == std::vector<ValueId>(power, x) && close(product.scalar, scalar);
}

// 1 + erf(x / sqrt(2))
bool is_erf_gate(ValueId value, ValueId x, const PatternScope& scope) {
  const std::optional<Shifted> sum = shifted(value, scope);
  if (!sum || sum->scalar != 1) return false;
  const Node* erf = scope.map_of(sum->term, "erf");
  return erf != nullptr && is_power(erf->inputs[0], x, 1, kRootHalf, scope);
}

// sqrt(2/pi) * (x + 0.044715 x^3), or with x taken out of the sum
bool is_tanh_argument(ValueId value, ValueId x, const PatternScope& scope) {
  const Product product = product_of(value, scope, 1, x);
  if (!close(product.scalar, kRootTwoOverPi)) return false;
  if (product.factors.size() == 1) {
    const Node* sum = scope.map_of(product.factors[0], "add");
    if (sum == nullptr) return false;
    for (size_t i = 0; i < 2; ++i) {
      if (sum->inputs[i] == x && is_power(sum->inputs[1 - i], x, 3, kCubic, scope)) return true;
    }
    return false;
  }
  if (product.factors.size() != 2) return false;
  for (size_t i = 0; i < 2; ++i) {
    const std::optional<Shifted> sum = shifted(product.factors[1 - i], scope);
    if (product.factors[i] == x && sum && sum->scalar == 1 &&
        is_power(sum->term, x, 2, kCubic, scope)) {
      return true;
    }
  }
  return false;
}

// 1 + tanh(...)
bool is_tanh_gate(ValueId value, ValueId x, const PatternScope& scope) {
  const std::optional<Shifted> sum = shifted(value, scope);
  if (!sum || sum->scalar != 1) return false;
  const Node* tanh = scope.map_of(sum->term, "tanh");
  return tanh != nullptr && is_tanh_argument(tanh->inputs[0], x, scope);
}

bool is_sigmoid(ValueId value, ValueId x, const PatternScope& scope) {
  const Node* sigmoid = scope.map_of(value, "sigmoid");
  return sigmoid != nullptr && sigmoid->inputs[0] == x;
}

bool is_tanh_of_softplus(ValueId value, ValueId x, const PatternScope& scope) {
  const Node* tanh = scope.map_of(value, "tanh");
  const Node* softplus = tanh == nullptr ? nullptr : scope.map_of(tanh->inputs[0], "softplus");
  return softplus != nullptr && softplus->inputs[0] == x;
}

// function(x) = scalar * x * gate(x)
struct GatedFunction {
  std::string_view function;
  double scalar;
  bool (*is_gate)(ValueId value, ValueId x, const PatternScope& scope);
};
constexpr GatedFunction kGated[] = {
    {"gelu", 0.5, is_erf_gate},
    {"gelu_tanh", 0.5, is_tanh_gate},
    {"silu", 1, is_sigmoid},
    {"mish", 1, is_tanh_of_softplus},
};

ValueId gated(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  if (fn != "mul" && fn != "div") return kNoValue;
  // The node itself is not in the scope yet: its operands are taken apart one by one. A scalar
  // operand leaves the one product of two values, which is the node otherwise, to the other.
  const std::optional<double> scalar = scope.splat(node.inputs[1]);
  const bool scales = scalar || scope.splat(node.inputs[0]);
  if (fn == "div" && (!scalar || *scalar == 0)) return kNoValue;
  Product product;
  for (ValueId input : node.inputs) {
    const Product part = product_of(input, scope, scales ? 1 : 0);
    product.scalar *= fn == "div" && input == node.inputs[1] ? 1 / part.scalar : part.scalar;
    product.factors.insert(product.factors.end(), part.factors.begin(), part.factors.end());
  }
  if (product.factors.size() != 2) return kNoValue;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId x = product.factors[i];
    for (const GatedFunction& row : kGated) {
      const bool gate = product.scalar == row.scalar && row.is_gate(product.factors[1 - i], x, scope);
      if (gate) return scope.map(row.function, {x}, node.origin);
    }
  }
  return kNoValue;
}

// The x of 1 + exp(-x), or with the sign given of 1 + exp(sign * x).
ValueId logistic_argument(ValueId value, double sign, const PatternScope& scope) {
  const std::optional<Shifted> sum = shifted(value, scope);
  if (!sum || sum->scalar != 1) return kNoValue;
  const Node* exp = scope.map_of(sum->term, "exp");
  if (exp == nullptr) return kNoValue;
  if (sign > 0) return exp->inputs[0];
  const Product product = product_of(exp->inputs[0], scope, 0);
  return product.factors.size() == 1 && product.scalar == -1 ? product.factors[0] : kNoValue;
}

// 1 / (1 + exp(-x)) and x / (1 + exp(-x))
ValueId expanded_sigmoid(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  if (fn != "reciprocal" && fn != "div") return kNoValue;
  const ValueId x = logistic_argument(node.inputs.back(), -1, scope);
  if (x == kNoValue) return kNoValue;
  if (fn == "reciprocal" || scope.splat(node.inputs[0]) == 1.0) {
    return scope.map("sigmoid", {x}, node.origin);
  }
  return node.inputs[0] == x ? scope.map("silu", {x}, node.origin) : kNoValue;
}

// log(1 + exp(x))
ValueId expanded_softplus(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  if (fn == "log1p") {
    const Node* exp = scope.map_of(node.inputs[0], "exp");
    return exp == nullptr ? kNoValue : scope.map("softplus", {exp->inputs[0]}, node.origin);
  }
  if (fn != "log") return kNoValue;
  const ValueId x = logistic_argument(node.inputs[0], 1, scope);
  return x == kNoValue ? kNoValue : scope.map("softplus", {x}, node.origin);
}

constexpr Pattern kPatterns[] = {
    {Op::map, "product of a value and its gate", gated},
    {Op::map, "sigmoid from the exponential", expanded_sigmoid},
    {Op::map, "softplus from the logarithm", expanded_softplus},
};

}  // namespace

bool recognize_activations(Graph& graph, PassContext&) { return apply_patterns(graph, kPatterns); }

}  // namespace mcc
