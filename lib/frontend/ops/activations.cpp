// Activations: rows of the scalar-function table where one exists, else compositions.
#include "lib/frontend/ops/families.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

Results import_relu(NodeContext& n) { return {n.b.map("relu", {n.in(0)})}; }
Results import_sigmoid(NodeContext& n) { return {n.b.map("sigmoid", {n.in(0)})}; }
Results import_softplus(NodeContext& n) { return {n.b.map("softplus", {n.in(0)})}; }
Results import_mish(NodeContext& n) { return {n.b.map("mish", {n.in(0)})}; }
Results import_gelu(NodeContext& n) {
  return {n.b.map(n.text("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu", {n.in(0)})};
}

Operand hard_sigmoid(NodeContext& n, const Operand& x, double alpha, double beta) {
  const Operand line = n.b.map("add", {n.b.map("mul", {x, n.b.like(x, alpha)}), n.b.like(x, beta)});
  return n.b.map("max", {n.b.like(x, 0), n.b.map("min", {n.b.like(x, 1), line})});
}
Results import_hard_sigmoid(NodeContext& n) {
  return {hard_sigmoid(n, n.in(0), n.real("alpha", 0.2), n.real("beta", 0.5))};
}
Results import_hard_swish(NodeContext& n) {
  const Operand x = n.in(0);
  return {n.b.map("mul", {x, hard_sigmoid(n, x, 1.0 / 6.0, 0.5)})};
}

// x < 0 ? negative : x
Operand for_negative(NodeContext& n, const Operand& x, const Operand& negative) {
  return n.b.map("select", {n.b.map("lt", {x, n.b.like(x, 0)}), negative, x});
}
Results import_leaky_relu(NodeContext& n) {
  const Operand x = n.in(0);
  return {for_negative(n, x, n.b.map("mul", {x, n.b.like(x, n.real("alpha", 0.01))}))};
}
Results import_prelu(NodeContext& n) {
  const Operand x = n.in(0);
  return {for_negative(n, x, n.b.map("mul", {x, n.in(1)}))};
}
Results import_elu(NodeContext& n) {
  const Operand x = n.in(0);
  const Operand below = n.b.map("mul", {n.b.map("expm1", {x}), n.b.like(x, n.real("alpha", 1.0))});
  return {for_negative(n, x, below)};
}
Results import_selu(NodeContext& n) {
  const Operand x = n.in(0);
  const double alpha = n.real("alpha", 1.67326319217681884765625);
  const double gamma = n.real("gamma", 1.05070102214813232421875);
  const Operand below = n.b.map("mul", {n.b.map("expm1", {x}), n.b.like(x, alpha)});
  return {n.b.map("mul", {for_negative(n, x, below), n.b.like(x, gamma)})};
}
Results import_celu(NodeContext& n) {
  const Operand x = n.in(0);
  const double alpha = n.real("alpha", 1.0);
  const Operand inner = n.b.map("expm1", {n.b.map("div", {x, n.b.like(x, alpha)})});
  return {for_negative(n, x, n.b.map("mul", {inner, n.b.like(x, alpha)}))};
}
Results import_thresholded_relu(NodeContext& n) {
  const Operand x = n.in(0);
  const Operand keep = n.b.map("gt", {x, n.b.like(x, n.real("alpha", 1.0))});
  return {n.b.map("select", {keep, x, n.b.like(x, 0)})};
}
Results import_softsign(NodeContext& n) {
  const Operand x = n.in(0);
  return {n.b.map("div", {x, n.b.map("add", {n.b.map("abs", {x}), n.b.like(x, 1)})})};
}
Results import_shrink(NodeContext& n) {
  const Operand x = n.in(0);
  const double lambda = n.real("lambd", 0.5);
  const Operand bias = n.b.like(x, n.real("bias", 0.0));
  const Operand zero = n.b.like(x, 0);
  const Operand low = n.b.map("select", {n.b.map("lt", {x, n.b.like(x, -lambda)}), n.b.map("add", {x, bias}), zero});
  return {n.b.map("select", {n.b.map("gt", {x, n.b.like(x, lambda)}), n.b.map("sub", {x, bias}), low})};
}
Results import_quick_gelu(NodeContext& n) {
  const Operand x = n.in(0);
  return {n.b.map("mul", {x, n.b.map("sigmoid", {n.b.map("mul", {x, n.b.like(x, n.real("alpha", 1.702))})})})};
}
Results import_swish(NodeContext& n) {
  const double alpha = n.real("alpha", 1.0);
  if (alpha == 1.0) return {n.b.map("silu", {n.in(0)})};
  const Operand x = n.in(0);
  return {n.b.map("mul", {x, n.b.map("sigmoid", {n.b.map("mul", {x, n.b.like(x, alpha)})})})};
}
Results import_fast_gelu(NodeContext& n) {
  Operand x = n.in(0);
  if (n.has(1)) x = n.b.map("add", {x, n.in(1)});
  return {n.b.map("gelu_tanh", {x})};
}
Results import_bias_gelu(NodeContext& n) { return {n.b.map("gelu", {n.b.map("add", {n.in(0), n.in(1)})})}; }
Results import_plain_gelu(NodeContext& n) { return {n.b.map("gelu", {n.in(0)})}; }

constexpr OperatorEntry kEntries[] = {
    {"Relu", 6, import_relu}, {"Sigmoid", 6, import_sigmoid}, {"Softplus", 1, import_softplus},
    {"Mish", 18, import_mish}, {"Gelu", 20, import_gelu}, {"HardSigmoid", 6, import_hard_sigmoid},
    {"HardSwish", 14, import_hard_swish}, {"LeakyRelu", 6, import_leaky_relu}, {"PRelu", 7, import_prelu},
    {"Elu", 6, import_elu}, {"Selu", 6, import_selu}, {"Celu", 12, import_celu},
    {"ThresholdedRelu", 10, import_thresholded_relu}, {"Softsign", 1, import_softsign},
    {"Shrink", 9, import_shrink}, {"Swish", 24, import_swish},
    {"Gelu", 1, import_plain_gelu, Moves::none, "com.microsoft"},
    {"FastGelu", 1, import_fast_gelu, Moves::none, "com.microsoft"},
    {"BiasGelu", 1, import_bias_gelu, Moves::none, "com.microsoft"},
    {"QuickGelu", 1, import_quick_gelu, Moves::none, "com.microsoft"},
};

}  // namespace

std::span<const OperatorEntry> activation_operators() { return kEntries; }

}  // namespace mcc::frontend
