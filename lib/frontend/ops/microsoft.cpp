// com.microsoft operators that exporters, optimizers and quantizers of onnxruntime write.
// Semantics: onnxruntime's docs/ContribOperators.md.
#include <cmath>

#include "lib/frontend/op_table.h"
#include "lib/frontend/ops/convolution.h"
#include "lib/frontend/ops/normalization.h"
#include "lib/frontend/ops/quantization.h"

namespace mcc::frontend {
namespace {

void import_gelu(NodeContext& c) { c.out(c.b.map("gelu", {c.in(0)})); }
void import_bias_gelu(NodeContext& c) {
  c.out(c.b.map("gelu", {c.b.map("add", {c.in(0), c.in(1)})}));
}
void import_fast_gelu(NodeContext& c) {
  const Operand x = c.has(1) ? c.b.map("add", {c.in(0), c.in(1)}) : c.in(0);
  c.out(c.b.map("gelu_tanh", {x}));
}
void import_quick_gelu(NodeContext& c) {
  const Operand x = c.in(0);
  const Operand scaled = c.b.with_scalar("mul", x, c.real("alpha", 1.702));
  c.out(c.b.map("mul", {x, c.b.map("sigmoid", {scaled})}));
}

// MatMul with transposed operands and a factor.
void import_fused_matmul(NodeContext& c) {
  if (c.integer("transBatchA", 0) != 0 || c.integer("transBatchB", 0) != 0) {
    throw Refusal("transBatchA and transBatchB are not supported.",
                  "export without onnxruntime's transpose fusion");
  }
  const auto operand = [&](size_t i, const char* flag) {
    const Operand x = c.in(i);
    if (c.integer(flag, 0) == 0 || x.rank() < 2) return x;
    Ints perm = iota_axes(0, x.rank());
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return c.b.transpose(x, perm);
  };
  const Operand result = c.b.matmul(operand(0, "transA"), operand(1, "transB"));
  const double alpha = c.real("alpha", 1);
  c.out(alpha == 1 ? result : c.b.with_scalar("mul", result, alpha));
}

// The activation attribute of FusedConv and FusedGemm.
Operand activated(NodeContext& c, const Operand& x) {
  const std::string name = c.text("activation", "");
  const std::vector<double> parameters = c.reals("activation_params");
  const auto parameter = [&](size_t i, double fallback) {
    return i < parameters.size() ? parameters[i] : fallback;
  };
  if (name.empty()) return x;
  if (name == "Relu") return c.b.map("relu", {x});
  if (name == "Sigmoid") return c.b.map("sigmoid", {x});
  if (name == "Tanh") return c.b.map("tanh", {x});
  if (name == "Clip") {
    return c.b.with_scalar("min", c.b.with_scalar("max", x, parameter(0, -INFINITY)),
                           parameter(1, INFINITY));
  }
  if (name == "LeakyRelu") {
    return c.b.select(c.b.with_scalar("gt", x, 0), x,
                      c.b.with_scalar("mul", x, parameter(0, 0.01)));
  }
  if (name == "HardSigmoid") {
    const Operand line = c.b.with_scalar("add", c.b.with_scalar("mul", x, parameter(0, 0.2)),
                                         parameter(1, 0.5));
    return c.b.with_scalar("min", c.b.with_scalar("max", line, 0), 1);
  }
  throw Refusal("the fused activation '" + name + "' is not supported.",
                "export without onnxruntime's fusions");
}

void import_fused_conv(NodeContext& c) {
  Operand y = with_channel_bias(c.b, convolution(c, c.in(0), c.in(1)), c.optional(2));
  if (c.has(3)) y = c.b.map("add", {y, c.in(3)});
  c.out(activated(c, y));
}

Operand affine(Builder& b, const Operand& x, const Operand& scale, const Operand& shift) {
  const Operand y = b.map("mul", {x, scale});
  return shift ? b.map("add", {y, shift}) : y;
}

// input + skip (+ bias), normalized; output 3 is the sum.
void skip_normalization(NodeContext& c, const char* kind, size_t beta, size_t bias) {
  Operand sum = c.b.map("add", {c.in(0), c.in(1)});
  if (c.has(bias)) sum = c.b.map("add", {sum, c.in(bias)});
  const Operand y = normalized(c.b, sum, {sum.rank() - 1}, c.real("epsilon", 1e-12), kind);
  c.out(affine(c.b, y, c.in(2), beta == 0 ? Operand() : c.optional(beta)));
  if (c.wants(1) || c.wants(2)) {
    throw Refusal("the statistics outputs are not supported.", "remove the uses of outputs 1 and 2");
  }
  c.out(Operand());
  c.out(Operand());
  c.out(sum);
}
void import_skip_layer_norm(NodeContext& c) { skip_normalization(c, "layer", 3, 4); }
void import_skip_rms_norm(NodeContext& c) { skip_normalization(c, "rms", 0, 3); }

void import_simplified_layer_norm(NodeContext& c) {
  const Operand x = c.in(0);
  const Ints axes = iota_axes(normalized_axis(c.integer("axis", -1), x.rank()), x.rank());
  const Operand y = normalized(c.b, x, axes, c.real("epsilon", 1e-5), "rms");
  c.out(c.b.map("mul", {y, c.in(1)}));
}

// Inputs: ids, segments, word, position and segment tables, gamma, beta, mask, position ids.
void import_embed_layer_norm(NodeContext& c) {
  Builder& b = c.b;
  const Operand ids = c.in(0);
  Operand sum = b.gather(c.in(2), ids, 0);
  const Operand table = c.in(3);
  const Operand positions = c.has(8) ? b.gather(table, c.in(8), 0)
                                     : b.slice_axis(table, 0, 0, ids.dim(1));
  sum = b.map("add", {sum, positions});
  if (c.has(1)) sum = b.map("add", {sum, b.gather(c.in(4), c.in(1), 0)});
  const Operand y = normalized(b, sum, {2}, c.real("epsilon", 1e-12), "layer");
  c.out(affine(b, y, c.in(5), c.in(6)));
  if (c.wants(1)) {
    // Lengths for masked attention; zeros when there is no mask.
    const Operand mask = c.has(7) ? c.in(7) : b.full({ids.dim(0), 1}, b.scalar(DType::i32, 0));
    c.out(b.reduce("sum", b.cast(mask, DType::i32), {1}, false));
  } else {
    c.out(Operand());
  }
  c.out(sum);
}

// -- quantized

// Inputs: A, B, a_scale, b_scale, a_zero, b_zero, bias → float.
void import_matmul_integer_to_float(NodeContext& c) {
  const Operand sums = integer_matmul(c.b, c.in(0), c.in(1), c.optional(4), c.optional(5));
  const Operand scale = c.b.map("mul", {c.b.reshape(c.in(2), {}), c.in(3)});
  Operand y = c.b.map("mul", {c.b.cast(sums, scale.dtype()), scale});
  if (c.has(6)) y = c.b.map("add", {y, c.in(6)});
  c.out(y);
}

// A is quantized to u8 on the fly. Inputs: A, B, b_scale, b_zero, bias.
void import_dynamic_quantize_matmul(NodeContext& c) {
  Builder& b = c.b;
  const Operand x = c.in(0);
  const Ints all = iota_axes(0, x.rank());
  const Operand high = b.with_scalar("max", b.reduce("max", x, all, false), 0);
  const Operand low = b.with_scalar("min", b.reduce("min", x, all, false), 0);
  const Operand scale = b.with_scalar("div", b.map("sub", {high, low}), 255);
  const Operand shift = b.map("neg", {b.map("div", {low, scale})});
  const Operand zero = b.cast(
      b.map("round", {b.with_scalar("min", b.with_scalar("max", shift, 0), 255)}), DType::u8);
  const Operand sums = integer_matmul(b, quantized(b, x, scale, zero, DType::u8), c.in(1), zero,
                                      c.optional(3));
  Operand y = b.map("mul", {b.cast(sums, x.dtype()), b.map("mul", {scale, c.in(2)})});
  if (c.has(4)) y = b.map("add", {y, c.in(4)});
  c.out(y);
}

// Dequantize both, compute, quantize again. Inputs: A, a_scale, a_zero, B, b_scale, b_zero,
// y_scale, y_zero.
ImportFunction qlinear_binary(const char* fn) {
  return [fn](NodeContext& c) {
    const Operand a = dequantized(c.b, c.in(0), c.in(1), c.optional(2), DType::f32);
    const Operand b = dequantized(c.b, c.in(3), c.in(4), c.optional(5), DType::f32);
    const DType dtype = c.in(0).dtype();
    c.out(quantized(c.b, c.b.map(fn, {a, b}), c.in(6), c.optional(7), dtype));
  };
}
// Inputs: X, x_scale, x_zero, y_scale, y_zero.
using Computation = Operand (*)(NodeContext&, const Operand&);
ImportFunction qlinear_unary(Computation compute) {
  return [compute](NodeContext& c) {
    const Operand x = dequantized(c.b, c.in(0), c.in(1), c.optional(2), DType::f32);
    c.out(quantized(c.b, compute(c, x), c.in(3), c.optional(4), c.in(0).dtype()));
  };
}
Operand sigmoid(NodeContext& c, const Operand& x) { return c.b.map("sigmoid", {x}); }
Operand leaky_relu(NodeContext& c, const Operand& x) {
  return c.b.select(c.b.with_scalar("gt", x, 0), x,
                    c.b.with_scalar("mul", x, c.real("alpha", 0.01)));
}
Operand global_average(NodeContext& c, const Operand& x) {
  if (c.integer("channels_last", 0) != 0) {
    throw Refusal("channels_last is not supported.", "export channels-first");
  }
  return c.b.mean(x, iota_axes(2, x.rank()), true);
}

// Inputs: y_scale, y_zero, then (x, x_scale, x_zero) for each part.
void import_qlinear_concat(NodeContext& c) {
  Operands parts;
  for (size_t i = 2; i + 2 < c.inputs.size(); i += 3) {
    parts.push_back(dequantized(c.b, c.in(i), c.in(i + 1), c.optional(i + 2), DType::f32));
  }
  const Operand joined = c.b.concat(parts, normalized_axis(c.integer("axis"), parts.at(0).rank()));
  c.out(quantized(c.b, joined, c.in(0), c.optional(1), c.in(1).dtype()));
}

// Weights of `bits` bits in blocks along K: B [N, blocks, block * bits / 8], low bits first.
// y = A . dequantized(B)^T
void import_matmul_nbits(NodeContext& c) {
  Builder& b = c.b;
  const Operand a = c.in(0);
  const int64_t bits = c.integer("bits", 4), block = c.integer("block_size");
  const int64_t rows = c.integer("N"), depth = c.integer("K");
  if ((bits != 4 && bits != 8) || block < 16) {
    throw Refusal("only 4 and 8 bits are supported.", "quantize to 4 or 8 bits");
  }
  if (c.has(4)) throw Refusal("a group index is not supported.", "quantize without act-order");
  const int64_t blocks = (depth + block - 1) / block;
  const DType wide = DType::i32;
  const auto unpacked = [&](const Operand& packed, int64_t per_row) {
    const Operand bytes = b.cast(packed, wide);
    if (bits == 8) return b.reshape(bytes, {rows, per_row});
    const Expr count = b.simplified(floordiv(product(packed.shape()), rows));
    const Operand flat = b.reshape(bytes, {rows, count, 1});
    const Operand low = b.map("and", {flat, b.scalar(wide, 15)});
    const Operand high = b.map("shr", {flat, b.scalar(wide, 4)});
    const Operand all = b.reshape(b.concat({low, high}, 2), {rows, count * Expr(2)});
    return b.slice_axis(all, 1, 0, per_row);
  };
  const DType dtype = a.dtype();
  const Operand weights = b.reshape(unpacked(c.in(1), blocks * block), {rows, blocks, block});
  const Operand scales = b.reshape(c.in(2), {rows, blocks, 1});
  Operand centered = b.cast(weights, dtype);
  if (c.has(3)) {
    const Operand zero = is_floating(c.in(3).dtype())
                             ? b.reshape(c.in(3), {rows, blocks, 1})
                             : b.reshape(unpacked(c.in(3), blocks), {rows, blocks, 1});
    centered = b.map("sub", {centered, b.cast(zero, dtype)});
  } else {
    centered = b.with_scalar("sub", centered, std::ldexp(1.0, static_cast<int>(bits) - 1));
  }
  Operand matrix = b.reshape(b.map("mul", {centered, b.cast(scales, dtype)}),
                             {rows, blocks * block});
  matrix = b.slice_axis(matrix, 1, 0, depth);
  Operand y = b.contract(a, matrix, {}, {}, {a.rank() - 1}, {1});
  if (c.has(5)) y = b.map("add", {y, c.in(5)});
  c.out(y);
}

constexpr std::string_view kDomain = "com.microsoft";
const OperatorEntry kEntries[] = {
    {kDomain, "BiasGelu", 1, import_bias_gelu},
    {kDomain, "DynamicQuantizeMatMul", 1, import_dynamic_quantize_matmul},
    {kDomain, "EmbedLayerNormalization", 1, import_embed_layer_norm},
    {kDomain, "FastGelu", 1, import_fast_gelu},
    {kDomain, "FusedConv", 1, import_fused_conv},
    {kDomain, "FusedMatMul", 1, import_fused_matmul},
    {kDomain, "Gelu", 1, import_gelu},
    {kDomain, "MatMulIntegerToFloat", 1, import_matmul_integer_to_float},
    {kDomain, "MatMulNBits", 1, import_matmul_nbits, "4 and 8 bits, no group index"},
    {kDomain, "QLinearAdd", 1, qlinear_binary("add")},
    {kDomain, "QLinearConcat", 1, import_qlinear_concat},
    {kDomain, "QLinearGlobalAveragePool", 1, qlinear_unary(global_average)},
    {kDomain, "QLinearLeakyRelu", 1, qlinear_unary(leaky_relu)},
    {kDomain, "QLinearMul", 1, qlinear_binary("mul")},
    {kDomain, "QLinearSigmoid", 1, qlinear_unary(sigmoid)},
    {kDomain, "QuickGelu", 1, import_quick_gelu},
    {kDomain, "SkipLayerNormalization", 1, import_skip_layer_norm},
    {kDomain, "SkipSimplifiedLayerNormalization", 1, import_skip_rms_norm},
    // Written by onnxruntime's optimizers in the default domain.
    {"", "SimplifiedLayerNormalization", 1, import_simplified_layer_norm},
};

}  // namespace

std::span<const OperatorEntry> microsoft_entries() { return kEntries; }

}  // namespace mcc::frontend
