// Convolutions, plain, transposed, of integers.
#include "lib/frontend/op_table.h"
#include "lib/frontend/ops/convolution.h"
#include "lib/frontend/ops/window_geometry.h"

namespace mcc::frontend {
namespace {

Ints constant_window(const Operand& w) {
  Ints window;
  for (int64_t axis = 2; axis < w.rank(); ++axis) {
    if (!w.dim(axis).is_constant()) {
      throw Refusal("the size of the convolution's kernel must be known at compile time.",
                    "fix the weight's dimensions with --dim");
    }
    window.push_back(w.dim(axis).constant());
  }
  return window;
}

Shape spatial_shape(const Operand& x) {
  if (x.rank() < 2) throw ModelError("the input needs a batch and a channel axis.");
  return Shape(x.shape().begin() + 2, x.shape().end());
}

Attributes conv_attributes(const WindowGeometry& g, int64_t groups) {
  Attributes attributes;
  attributes.set("layout", std::string("nchw"));
  attributes.set("strides", g.strides);
  attributes.set("dilations", g.dilations);
  attributes.set("pads_low", g.low);
  attributes.set("pads_high", g.high);
  attributes.set("groups", groups);
  return attributes;
}

// The output's extra rows: `output_shape` and SAME pads are solved for the pads that give them.
void import_conv_transpose(NodeContext& c) {
  const Operand x = c.in(0), w = c.in(1);
  const Shape spatial = spatial_shape(x);
  const Ints window = constant_window(w);
  WindowGeometry g = window_geometry(c, window, spatial);
  const Ints extra = c.ints("output_padding", Ints(spatial.size(), 0));
  const std::string auto_pad = c.text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const Ints target = c.ints("output_shape");
  if (same || !target.empty()) {
    if (!target.empty() && target.size() != spatial.size() &&
        target.size() != spatial.size() + 2) {
      throw ModelError("output_shape needs one entry for each spatial axis.");
    }
    for (size_t i = 0; i < spatial.size(); ++i) {
      const Expr out = target.empty()
                           ? spatial[i] * Expr(g.strides[i])
                           : Expr(target[target.size() - spatial.size() + i]);
      const Expr total = c.b.simplified((spatial[i] - 1) * Expr(g.strides[i]) + Expr(extra[i]) +
                                        Expr(reach(g, i)) - out);
      const Expr half = c.b.simplified(floordiv(total, 2));
      const bool upper = auto_pad == "SAME_UPPER";
      g.low[i] = upper ? half : total - half;
      g.high[i] = upper ? total - half : half;
    }
  }
  Attributes attributes = conv_attributes(g, c.integer("group", 1));
  attributes.set("output_padding", extra);
  const Operand result = c.b.emit(Op::conv_transpose, {x, w}, attributes);
  c.out(with_channel_bias(c.b, result, c.optional(2)));
}

void import_conv(NodeContext& c) {
  c.out(with_channel_bias(c.b, convolution(c, c.in(0), c.in(1)), c.optional(2)));
}

void import_conv_integer(NodeContext& c) {
  c.out(integer_convolution(c, c.in(0), c.in(1), c.optional(2), c.optional(3)));
}

const OperatorEntry kEntries[] = {
    {"", "Conv", 1, import_conv},
    {"", "ConvInteger", 10, import_conv_integer},
    {"", "ConvTranspose", 1, import_conv_transpose},
};

}  // namespace

Operand convolution(const NodeContext& c, const Operand& x, const Operand& w) {
  const WindowGeometry g = window_geometry(c, constant_window(w), spatial_shape(x));
  return c.b.emit(Op::conv, {x, w}, conv_attributes(g, c.integer("group", 1)));
}

Operand with_channel_bias(Builder& b, const Operand& x, const Operand& bias) {
  return bias ? b.map("add", {x, b.along_axis(bias, 1, x.rank())}) : x;
}

bool is_zero(const Operand& operand) {
  if (!operand) return true;
  const Tensor* tensor = operand.constant_tensor();
  if (tensor == nullptr) return false;
  for (int64_t i = 0; i < tensor->elements(); ++i) {
    if (tensor->get_double(i) != 0) return false;
  }
  return true;
}

// Padding means x's zero point. It is written into the pads, so that the convolution of the raw
// values needs one correction a channel: conv(x, w) - x_zero * sum(w).
Operand integer_convolution(const NodeContext& c, const Operand& x, const Operand& w,
                            const Operand& x_zero, const Operand& w_zero) {
  Builder& b = c.b;
  if (is_zero(x_zero) && is_zero(w_zero)) return convolution(c, x, w);
  WindowGeometry g = window_geometry(c, constant_window(w), spatial_shape(x));
  const int64_t groups = c.integer("group", 1);
  if (!is_zero(w_zero)) {
    const auto centered = [&](const Operand& value, const Operand& zero, int64_t axis) {
      const Operand wide = b.cast(value, DType::i32);
      if (!zero) return wide;
      const bool single = product(zero.shape()).is_constant(1);
      const Operand shaped = single ? b.reshape(zero, {}) : b.along_axis(zero, axis, value.rank());
      return b.map("sub", {wide, b.cast(shaped, DType::i32)});
    };
    return b.emit(Op::conv, {centered(x, x_zero, 1), centered(w, w_zero, 0)},
                  conv_attributes(g, groups));
  }
  const Operand zero = b.reshape(x_zero, {});
  Shape low(x.shape().size(), Expr(0)), high = low;
  for (size_t i = 0; i < g.low.size(); ++i) {
    low[i + 2] = g.low[i], high[i + 2] = g.high[i];
    g.low[i] = Expr(0), g.high[i] = Expr(0);
  }
  const Operand padded = b.pad(x, low, high, "constant", zero);
  const Operand raw = b.emit(Op::conv, {padded, w}, conv_attributes(g, groups));
  const Operand sums =
      b.reduce("sum", b.cast(w, DType::i32), iota_axes(1, w.rank()), false);
  const Operand correction = b.map("mul", {sums, b.cast(zero, DType::i32)});
  return b.map("sub", {raw, b.along_axis(correction, 1, raw.rank())});
}

std::span<const OperatorEntry> convolution_entries() { return kEntries; }

}  // namespace mcc::frontend
