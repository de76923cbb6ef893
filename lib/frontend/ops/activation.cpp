// Activation functions: single scalar functions or short formulas. Formulas are those of the ONNX
// operator specification.
#include <limits>

#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

ImportFunction unary(const char* fn) {
  return [fn](NodeContext& c) { c.out(c.b.map(fn, {c.in(0)})); };
}

// x > 0 ? x : other
Operand positive_or(Builder& b, const Operand& x, const Operand& other) {
  return b.select(b.with_scalar("gt", x, 0), x, other);
}

void import_leaky_relu(NodeContext& c) {
  const Operand x = c.in(0);
  c.out(positive_or(c.b, x, c.b.with_scalar("mul", x, c.real("alpha", 0.01))));
}

void import_prelu(NodeContext& c) {
  const Operand x = c.in(0);
  c.out(positive_or(c.b, x, c.b.map("mul", {x, c.in(1)})));
}

void import_thresholded_relu(NodeContext& c) {
  const Operand x = c.in(0);
  c.out(c.b.select(c.b.with_scalar("gt", x, c.real("alpha", 1)), x, c.b.scalar(x.dtype(), 0)));
}

// alpha * (exp(x / scale) - 1)
Operand scaled_expm1(Builder& b, const Operand& x, double alpha, double scale) {
  const Operand inner = scale == 1 ? x : b.with_scalar("div", x, scale);
  return b.with_scalar("mul", b.map("expm1", {inner}), alpha);
}

void import_elu(NodeContext& c) {
  const Operand x = c.in(0);
  c.out(positive_or(c.b, x, scaled_expm1(c.b, x, c.real("alpha", 1), 1)));
}

void import_celu(NodeContext& c) {
  const Operand x = c.in(0);
  const double alpha = c.real("alpha", 1);
  c.out(positive_or(c.b, x, scaled_expm1(c.b, x, alpha, alpha)));
}

void import_selu(NodeContext& c) {
  const Operand x = c.in(0);
  const double alpha = c.real("alpha", 1.67326319217681884765625);
  const double gamma = c.real("gamma", 1.05070102214813232421875);
  c.out(c.b.with_scalar("mul", positive_or(c.b, x, scaled_expm1(c.b, x, alpha, 1)), gamma));
}

Operand hard_sigmoid(Builder& b, const Operand& x, double alpha, double beta) {
  const Operand line = b.with_scalar("add", b.with_scalar("mul", x, alpha), beta);
  return b.with_scalar("min", b.with_scalar("max", line, 0), 1);
}

void import_hard_sigmoid(NodeContext& c) {
  c.out(hard_sigmoid(c.b, c.in(0), c.real("alpha", 0.2), c.real("beta", 0.5)));
}

void import_hard_swish(NodeContext& c) {
  const Operand x = c.in(0);
  c.out(c.b.map("mul", {x, hard_sigmoid(c.b, x, 1.0 / 6, 0.5)}));
}

void import_softsign(NodeContext& c) {
  const Operand x = c.in(0);
  c.out(c.b.map("div", {x, c.b.with_scalar("add", c.b.map("abs", {x}), 1)}));
}

void import_gelu(NodeContext& c) {
  c.out(c.b.map(c.text("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu", {c.in(0)}));
}

// x * sigmoid(alpha * x)
void import_swish(NodeContext& c) {
  const Operand x = c.in(0);
  const double alpha = c.real("alpha", 1);
  if (alpha == 1) return c.out(c.b.map("silu", {x}));
  c.out(c.b.map("mul", {x, c.b.map("sigmoid", {c.b.with_scalar("mul", x, alpha)})}));
}

void import_shrink(NodeContext& c) {
  const Operand x = c.in(0);
  const double lambda = c.real("lambd", 0.5), bias = c.real("bias", 0);
  const Operand zero = c.b.scalar(x.dtype(), 0);
  const Operand upper = c.b.select(c.b.with_scalar("gt", x, lambda),
                                   c.b.with_scalar("sub", x, bias), zero);
  c.out(c.b.select(c.b.with_scalar("lt", x, -lambda), c.b.with_scalar("add", x, bias), upper));
}

const OperatorEntry kEntries[] = {
    {"", "Celu", 12, import_celu},
    {"", "Elu", 6, import_elu},
    {"", "Gelu", 20, import_gelu},
    {"", "HardSigmoid", 6, import_hard_sigmoid},
    {"", "HardSwish", 14, import_hard_swish},
    {"", "LeakyRelu", 6, import_leaky_relu},
    {"", "Mish", 18, unary("mish")},
    {"", "PRelu", 7, import_prelu},
    {"", "Relu", 6, unary("relu")},
    {"", "Selu", 6, import_selu},
    {"", "Shrink", 9, import_shrink},
    {"", "Sigmoid", 6, unary("sigmoid")},
    {"", "Softplus", 1, unary("softplus")},
    {"", "Softsign", 1, import_softsign},
    {"", "Swish", 24, import_swish},
    {"", "ThresholdedRelu", 10, import_thresholded_relu},
};

}  // namespace

std::span<const OperatorEntry> activation_entries() { return kEntries; }

}  // namespace mcc::frontend
