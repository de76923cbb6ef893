// Quantization: QuantizeLinear, DequantizeLinear, integer and QLinear operators.
#include "lib/frontend/ops/quantization.h"

#include <cmath>

#include "lib/frontend/op_table.h"
#include "lib/frontend/ops/convolution.h"

namespace mcc::frontend {
namespace {

struct Bounds {
  double low, high;
};
Bounds integer_bounds(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  const bool is_signed = info.kind == DTypeKind::signed_integer;
  const double span = std::ldexp(1.0, info.bits);
  return {is_signed ? -span / 2 : 0, (is_signed ? span / 2 : span) - 1};
}

int64_t quantization_axis(const NodeContext& c, const Operand& x) {
  const int64_t axis = c.integer("axis", 1);
  // The axis means nothing for per-tensor parameters, and may then lie outside.
  return axis < -x.rank() || axis >= x.rank() ? 0 : normalized_axis(axis, x.rank());
}

void import_quantize_linear(NodeContext& c) {
  const Operand x = c.in(0);
  DType dtype = DType::u8;
  if (c.has(2)) dtype = c.in(2).dtype();
  dtype = c.dtype_attribute("output_dtype", dtype);
  const int64_t axis = quantization_axis(c, x), block = c.integer("block_size", 0);
  const Operand scale = quantization_parameter(c.b, c.in(1), x, axis, block);
  const Operand zero =
      c.has(2) ? quantization_parameter(c.b, c.in(2), x, axis, block) : Operand();
  c.out(quantized(c.b, x, scale, zero, dtype));
}

void import_dequantize_linear(NodeContext& c) {
  const Operand x = c.in(0);
  const int64_t axis = quantization_axis(c, x), block = c.integer("block_size", 0);
  const Operand scale = quantization_parameter(c.b, c.in(1), x, axis, block);
  const Operand zero =
      c.has(2) ? quantization_parameter(c.b, c.in(2), x, axis, block) : Operand();
  c.out(dequantized(c.b, x, scale, zero, c.dtype_attribute("output_dtype", c.in(1).dtype())));
}

// To u8 with the range of the data, which always contains 0.
void import_dynamic_quantize_linear(NodeContext& c) {
  const Operand x = c.in(0);
  const Ints all = iota_axes(0, x.rank());
  const Operand high = c.b.with_scalar("max", c.b.reduce("max", x, all, false), 0);
  const Operand low = c.b.with_scalar("min", c.b.reduce("min", x, all, false), 0);
  const Operand scale = c.b.with_scalar("div", c.b.map("sub", {high, low}), 255);
  const Operand shift = c.b.map("neg", {c.b.map("div", {low, scale})});
  const Operand clamped = c.b.with_scalar("min", c.b.with_scalar("max", shift, 0), 255);
  const Operand zero = c.b.cast(c.b.map("round", {clamped}), DType::u8);
  c.out(quantized(c.b, x, scale, zero, DType::u8));
  c.out(scale);
  c.out(zero);
}

void import_matmul_integer(NodeContext& c) {
  c.out(integer_matmul(c.b, c.in(0), c.in(1), c.optional(2), c.optional(3)));
}

Operand requantized(NodeContext& c, const Operand& sums, const Operand& a_scale,
                    const Operand& b_scale, size_t out_scale, size_t out_zero) {
  const Operand factor =
      c.b.map("div", {c.b.map("mul", {a_scale, b_scale}), c.b.reshape(c.in(out_scale), {})});
  const Operand scaled = c.b.map("mul", {c.b.cast(sums, DType::f32), c.b.cast(factor, DType::f32)});
  return quantized(c.b, scaled, Operand(), c.b.reshape(c.in(out_zero), {}),
                   c.in(out_zero).dtype());
}

// Inputs: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero. Scales of a go along its rows,
// those of b along its columns.
void import_qlinear_matmul(NodeContext& c) {
  const Operand a_scale = c.in(1), b_scale = c.in(4);
  const Operand sums = integer_matmul(c.b, c.in(0), c.in(3), c.in(2), c.in(5));
  const bool per_row = a_scale.rank() == 1 && !a_scale.dim(0).is_constant(1);
  const Operand left = per_row ? c.b.unsqueeze(a_scale, {1}) : c.b.reshape(a_scale, {});
  c.out(requantized(c, sums, left, b_scale, 6, 7));
}

// Inputs: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias (i32, scale x * w).
void import_qlinear_conv(NodeContext& c) {
  Operand sums = integer_convolution(c, c.in(0), c.in(3), c.in(2), c.in(5));
  sums = with_channel_bias(c.b, sums, c.optional(8));
  const Operand w_scale = c.in(4);
  const bool single = product(w_scale.shape()).is_constant(1);
  const Operand scales =
      single ? c.b.reshape(w_scale, {}) : c.b.along_axis(w_scale, 1, sums.rank());
  c.out(requantized(c, sums, c.b.reshape(c.in(1), {}), scales, 6, 7));
}

const OperatorEntry kEntries[] = {
    {"", "DequantizeLinear", 10, import_dequantize_linear},
    {"", "DynamicQuantizeLinear", 11, import_dynamic_quantize_linear},
    {"", "MatMulInteger", 10, import_matmul_integer},
    {"", "QLinearConv", 10, import_qlinear_conv},
    {"", "QLinearMatMul", 10, import_qlinear_matmul},
    {"", "QuantizeLinear", 10, import_quantize_linear},
    {"com.microsoft", "DequantizeLinear", 1, import_dequantize_linear},
    {"com.microsoft", "QuantizeLinear", 1, import_quantize_linear},
};

}  // namespace

Operand quantization_parameter(Builder& b, const Operand& parameter, const Operand& like,
                               int64_t axis, int64_t block) {
  if (block > 0) {
    // [.., n / block, ..] repeated along the axis.
    Shape wide = parameter.shape(), merged = wide;
    if (parameter.rank() != like.rank()) throw ModelError("blocked parameters need x's rank.");
    Ints axes;
    for (int64_t i = 0; i < parameter.rank(); ++i) axes.push_back(i <= axis ? i : i + 1);
    wide.insert(wide.begin() + axis + 1, Expr(block));
    merged[static_cast<size_t>(axis)] = merged[static_cast<size_t>(axis)] * Expr(block);
    const Operand repeated = b.reshape(b.broadcast(parameter, wide, axes), merged);
    // The last block may reach beyond the end.
    return b.slice_axis(repeated, axis, 0, like.dim(axis));
  }
  if (parameter.rank() == 0) return parameter;
  if (parameter.rank() == 1 && parameter.dim(0).is_constant(1)) return b.reshape(parameter, {});
  if (parameter.rank() != 1) throw ModelError("scale and zero point must be scalars or vectors.");
  return b.along_axis(parameter, axis, like.rank());
}

Operand quantized(Builder& b, const Operand& x, const Operand& scale, const Operand& zero,
                  DType dtype) {
  // Computed in f32; f64 inputs and scales keep their precision.
  const DType compute = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  Operand y = b.cast(x, compute);
  if (scale) y = b.map("div", {y, b.cast(scale, compute)});
  if (is_floating(dtype)) {
    if (zero && !is_zero(zero)) y = b.map("add", {y, b.cast(zero, compute)});
    return b.cast(y, dtype);
  }
  y = b.map("round", {y});
  if (zero && !is_zero(zero)) y = b.map("add", {y, b.cast(zero, compute)});
  const Bounds bounds = integer_bounds(dtype);
  return b.cast(b.with_scalar("min", b.with_scalar("max", y, bounds.low), bounds.high), dtype);
}

Operand dequantized(Builder& b, const Operand& x, const Operand& scale, const Operand& zero,
                    DType dtype) {
  const DType compute = scale.dtype() == DType::f64 ? DType::f64 : DType::f32;
  Operand y = b.cast(x, compute);
  if (zero && !is_zero(zero)) y = b.map("sub", {y, b.cast(zero, compute)});
  return b.cast(b.map("mul", {y, b.cast(scale, compute)}), dtype);
}

// With zero points factored out of the sum over k:
//   sum (a - za)(b - zb) = sum ab - za * sum b - zb * sum a + k * za * zb
// so that the contraction works on the raw 8-bit values. Exact: i32 arithmetic wraps alike.
Operand integer_matmul(Builder& builder, const Operand& a, const Operand& b, const Operand& a_zero,
                       const Operand& b_zero) {
  if (a.rank() < 2 || b.rank() < 2) {
    const auto centered = [&](const Operand& x, const Operand& zero) {
      const Operand wide = builder.cast(x, DType::i32);
      return zero ? builder.map("sub", {wide, builder.cast(zero, DType::i32)}) : wide;
    };
    return builder.matmul(centered(a, a_zero), centered(b, b_zero));
  }
  Operand result = builder.matmul(a, b, DType::i32);
  const auto wide = [&](const Operand& x) { return builder.cast(x, DType::i32); };
  // Zero points as [.., M, 1] and [.., 1, N].
  const auto shaped = [&](const Operand& zero, bool rows) {
    if (product(zero.shape()).is_constant(1)) return builder.reshape(wide(zero), {});
    if (zero.rank() > 1 || !rows) return wide(zero);
    return builder.unsqueeze(wide(zero), {1});
  };
  const bool a_zeros = is_zero(a_zero), b_zeros = is_zero(b_zero);
  if (!a_zeros) {
    const Operand sums = builder.reduce("sum", wide(b), {b.rank() - 2}, true);
    result = builder.map("sub", {result, builder.map("mul", {shaped(a_zero, true), sums})});
  }
  if (!b_zeros) {
    const Operand sums = builder.reduce("sum", wide(a), {a.rank() - 1}, true);
    result = builder.map("sub", {result, builder.map("mul", {shaped(b_zero, false), sums})});
  }
  if (!a_zeros && !b_zeros) {
    const Operand both = builder.map("mul", {shaped(a_zero, true), shaped(b_zero, false)});
    const Operand count = builder.number(a.dim(a.rank() - 1), DType::i32);
    result = builder.map("add", {result, builder.map("mul", {both, count})});
  }
  return result;
}

std::span<const OperatorEntry> quantization_entries() { return kEntries; }

}  // namespace mcc::frontend
