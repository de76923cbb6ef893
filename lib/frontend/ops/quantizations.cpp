// Quantization as maps around integer or real operators.
#include <onnx/onnx_pb.h>

#include <cmath>

#include "lib/frontend/ops/families.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

// A scale or zero point spread along `axis` of a tensor of this rank.
Operand along_axis(NodeContext& n, const Operand& v, int64_t rank, int64_t axis) {
  if (v.rank() == 0 || product(v.shape()).is_constant(1)) return n.b.reshape(v, {});
  if (v.rank() != 1) throw ModelError("blocked quantization is not supported");
  Shape shape(static_cast<size_t>(rank), Expr(1));
  shape[static_cast<size_t>(axis)] = v.dim(0);
  return n.b.reshape(v, shape);
}

double lowest(DType dtype) {
  return dtype_info(dtype).kind == DTypeKind::unsigned_integer ? 0.0 : -std::ldexp(1.0, dtype_info(dtype).bits - 1);
}
double highest(DType dtype) {
  const bool is_unsigned = dtype_info(dtype).kind == DTypeKind::unsigned_integer;
  return std::ldexp(1.0, dtype_info(dtype).bits - (is_unsigned ? 0 : 1)) - 1;
}

// saturate(round(x / scale) + zero_point)
Operand quantize(NodeContext& n, const Operand& x, const Operand& scale, const Operand& zero, DType to) {
  Operand q = n.b.map("round", {n.b.map("div", {x, scale})});
  if (zero) q = n.b.map("add", {q, n.b.cast(zero, x.dtype())});
  q = n.b.map("max", {n.b.like(q, lowest(to)), n.b.map("min", {q, n.b.like(q, highest(to))})});
  return n.b.cast(q, to);
}

Operand dequantize(NodeContext& n, const Operand& x, const Operand& scale, const Operand& zero) {
  Operand value = x;
  if (zero) {
    value = n.b.map("sub", {n.b.cast(x, DType::i32), n.b.cast(zero, DType::i32)});
  }
  return n.b.map("mul", {n.b.cast(value, scale.dtype()), scale});
}

int64_t quantization_axis(NodeContext& n) {
  const int64_t rank = n.in(0).rank();
  if (rank == 0) return 0;
  const int64_t axis = n.integer("axis", 1);
  return axis >= rank ? 0 : normalize_axis(axis, rank);
}

Results import_quantize_linear(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t axis = quantization_axis(n);
  DType to = DType::u8;
  if (n.has(2)) {
    to = n.in(2).dtype();
  } else if (n.integer("output_dtype", 0) != 0) {
    to = import_dtype(static_cast<int>(n.integer("output_dtype", 0)));
  }
  if (!is_integer(to)) throw ModelError("quantizing to floating types is not supported");
  const Operand scale = along_axis(n, n.b.cast(n.in(1), x.dtype()), x.rank(), axis);
  return {quantize(n, x, scale, n.has(2) ? along_axis(n, n.in(2), x.rank(), axis) : Operand(), to)};
}

Results import_dequantize_linear(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t axis = quantization_axis(n);
  return {dequantize(n, x, along_axis(n, n.in(1), x.rank(), axis),
                     n.has(2) ? along_axis(n, n.in(2), x.rank(), axis) : Operand())};
}

// y_scale = (max(0, max x) - min(0, min x)) / 255, y_zero_point = saturate(round(0 - min / scale))
Results import_dynamic_quantize_linear(NodeContext& n) {
  Builder& b = n.b;
  const Operand x = n.in(0);
  const Ints axes = axis_range(0, x.rank());
  const Operand zero = b.like(x, 0);
  const Operand low = b.map("min", {b.reduce("min", x, axes, false), zero});
  const Operand high = b.map("max", {b.reduce("max", x, axes, false), zero});
  const Operand scale = b.map("div", {b.map("sub", {high, low}), b.like(x, 255)});
  Operand point = b.map("round", {b.map("div", {b.map("sub", {zero, low}), scale})});
  point = b.map("max", {zero, b.map("min", {point, b.like(x, 255)})});
  const Operand zero_point = b.cast(point, DType::u8);
  return {quantize(n, x, scale, zero_point, DType::u8), scale, zero_point};
}

// Operands minus their zero points, as 32-bit integers.
Operand centred(NodeContext& n, const Operand& x, const Operand& zero, int64_t vector_axis) {
  Operand value = n.b.cast(x, DType::i32);
  if (!zero) return value;
  Operand point = n.b.cast(zero, DType::i32);
  if (point.rank() == 1) point = along_axis(n, point, x.rank(), vector_axis);
  return n.b.map("sub", {value, point});
}

Results import_matmul_integer(NodeContext& n) {
  Builder& b = n.b;
  const Operand a = n.in(0);
  const Operand w = n.in(1);
  // sum (a - za)(w - zw) = sum a w - za * column sums of w - zw * row sums of a + K za zw: the big
  // product stays in 8 bits, and the sums of constant weights are constants.
  const bool simple = w.rank() == 2 && a.rank() >= 2 && (!n.has(2) || product(n.in(2).shape()).is_constant(1)) &&
                      w.constant_tensor() != nullptr;
  if (!simple) {
    const Operand left = centred(n, a, n.has(2) ? n.in(2) : Operand(), a.rank() - 2);
    const Operand right = centred(n, w, n.has(3) ? n.in(3) : Operand(), w.rank() - 1);
    return {b.matmul(left, right, DType::i32)};
  }
  Operand result = b.matmul(a, w, DType::i32);
  const Operand wide = b.cast(w, DType::i32);
  Operand columns = b.reduce("sum", wide, {0}, false);
  if (n.has(3)) {
    const Operand zw = b.cast(n.in(3), DType::i32);
    const Operand rows = b.reduce("sum", b.cast(a, DType::i32), {a.rank() - 1}, true);
    const Operand spread = zw.rank() == 1 && !zw.dim(0).is_constant(1) ? zw : b.reshape(zw, {});
    result = b.map("sub", {result, b.map("mul", {rows, spread})});
    const Operand depth = Operand::known(DType::i32, {}, {{w.dim(0), 1}});
    columns = b.map("sub", {columns, b.map("mul", {spread, depth})});
  }
  if (n.has(2)) {
    const Operand za = b.reshape(b.cast(n.in(2), DType::i32), {});
    result = b.map("sub", {result, b.map("mul", {columns, za})});
  }
  return {result};
}

constexpr OperatorEntry kEntries[] = {
    {"QuantizeLinear", 10, import_quantize_linear}, {"DequantizeLinear", 10, import_dequantize_linear},
    {"DynamicQuantizeLinear", 11, import_dynamic_quantize_linear}, {"MatMulInteger", 10, import_matmul_integer},
    {"QuantizeLinear", 1, import_quantize_linear, Moves::none, "com.microsoft"},
    {"DequantizeLinear", 1, import_dequantize_linear, Moves::none, "com.microsoft"},
};

}  // namespace

std::span<const OperatorEntry> quantization_operators() { return kEntries; }

}  // namespace mcc::frontend
