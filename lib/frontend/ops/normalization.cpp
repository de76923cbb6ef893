// Normalizations and softmaxes. Formulas are those of the ONNX operator specification.
#include <algorithm>

#include "lib/frontend/op_table.h"
#include "lib/frontend/ops/normalization.h"

namespace mcc::frontend {
namespace {

// gain = scale / sqrt(variance + epsilon), y = x * gain + (bias - mean * gain): the two vectors
// are constants, which the optimizer folds into a preceding convolution.
void import_batch_normalization(NodeContext& c) {
  const Operand x = c.in(0);
  if (c.integer("training_mode", 0) != 0 || c.wants(1)) {
    throw Refusal("BatchNormalization in training mode is not supported.",
                  "export the model for inference (model.eval())");
  }
  const DType dtype = c.in(3).dtype();  // statistics may be wider than x
  const auto wide = [&](size_t input) { return c.b.cast(c.in(input), dtype); };
  const Operand variance = c.b.with_scalar("add", wide(4), c.real("epsilon", 1e-5));
  const Operand gain = c.b.map("div", {wide(1), c.b.map("sqrt", {variance})});
  const Operand shift = c.b.map("sub", {wide(2), c.b.map("mul", {wide(3), gain})});
  const auto channel = [&](const Operand& vector) {
    return c.b.along_axis(vector, std::min<int64_t>(1, x.rank() - 1), x.rank());
  };
  const Operand y = c.b.map("add", {c.b.map("mul", {c.b.cast(x, dtype), channel(gain)}),
                                    channel(shift)});
  c.out(c.b.cast(y, x.dtype()));
}

void import_instance_normalization(NodeContext& c) {
  const Operand x = c.in(0);
  const Operand y = normalized(c.b, x, iota_axes(2, x.rank()), c.real("epsilon", 1e-5), "layer");
  const Operand scaled = c.b.map("mul", {y, c.b.along_axis(c.in(1), 1, x.rank())});
  c.out(c.b.map("add", {scaled, c.b.along_axis(c.in(2), 1, x.rank())}));
}

// Channels in groups; scale and bias are per group in opset 18, per channel from 21 on.
void group_normalization(NodeContext& c, bool per_channel) {
  const Operand x = c.in(0);
  const int64_t groups = c.integer("num_groups");
  if (groups < 1 || x.rank() < 2) throw ModelError("num_groups must be positive.");
  const Shape& s = x.shape();
  const Expr size = c.b.simplified(floordiv(s[1], groups));
  Shape grouped{s[0], groups, size};
  grouped.insert(grouped.end(), s.begin() + 2, s.end());
  const auto rank = static_cast<int64_t>(grouped.size());
  const Operand y = normalized(c.b, c.b.reshape(x, grouped), iota_axes(2, rank),
                               c.real("epsilon", 1e-5), "layer");
  const auto shaped = [&](const Operand& v) {
    return per_channel ? c.b.along_axis(v, 1, x.rank()) : c.b.along_axis(v, 1, rank);
  };
  const Operand base = per_channel ? c.b.reshape(y, s) : y;
  const Operand result =
      c.b.map("add", {c.b.map("mul", {base, shaped(c.in(1))}), shaped(c.in(2))});
  c.out(c.b.reshape(result, s));
}

// Axes from `axis` to the last; the optional outputs are the mean and 1 / sqrt(var + epsilon).
void import_layer_normalization(NodeContext& c) {
  const Operand x = c.in(0);
  const Ints axes = iota_axes(normalized_axis(c.integer("axis", -1), x.rank()), x.rank());
  const double epsilon = c.real("epsilon", 1e-5);
  Operand y = normalized(c.b, x, axes, epsilon, "layer");
  y = c.b.map("mul", {y, c.in(1)});
  if (c.has(2)) y = c.b.map("add", {y, c.in(2)});
  c.out(y);
  if (!c.wants(1) && !c.wants(2)) return;
  const Operand wide = x.dtype() == DType::f64 ? x : c.b.cast(x, DType::f32);
  const Operand mean = c.b.mean(wide, axes, true);
  c.out(mean);
  if (!c.wants(2)) return;
  const Operand centered = c.b.map("sub", {wide, mean});
  const Operand variance = c.b.mean(c.b.map("mul", {centered, centered}), axes, true);
  c.out(c.b.map("rsqrt", {c.b.with_scalar("add", variance, epsilon)}));
}

void import_rms_normalization(NodeContext& c) {
  const Operand x = c.in(0);
  const Ints axes = iota_axes(normalized_axis(c.integer("axis", -1), x.rank()), x.rank());
  const Operand y = normalized(c.b, x, axes, c.real("epsilon", 1e-5), "rms");
  c.out(c.b.map("mul", {y, c.in(1)}));
}

// x / ||x||_p; a row of zeros stays zero.
void import_lp_normalization(NodeContext& c) {
  const Operand x = c.in(0);
  const int64_t axis = normalized_axis(c.integer("axis", -1), x.rank());
  const bool euclidean = c.integer("p", 2) == 2;
  const Operand terms = euclidean ? c.b.map("mul", {x, x}) : c.b.map("abs", {x});
  Operand norm = c.b.reduce("sum", terms, {axis}, true);
  if (euclidean) norm = c.b.map("sqrt", {norm});
  const Operand zero = c.b.scalar(x.dtype(), 0);
  const Operand safe = c.b.select(c.b.map("eq", {norm, zero}), c.b.scalar(x.dtype(), 1), norm);
  c.out(c.b.map("div", {x, safe}));
}

void import_mean_variance_normalization(NodeContext& c) {
  const Operand x = c.in(0);
  // The specification's function adds 1e-9 to the standard deviation.
  const Ints axes = c.ints("axes", {0, 2, 3});
  const Operand mean = c.b.mean(x, axes, true);
  const Operand centered = c.b.map("sub", {x, mean});
  const Operand variance = c.b.mean(c.b.map("mul", {centered, centered}), axes, true);
  c.out(c.b.map("div", {centered, c.b.with_scalar("add", c.b.map("sqrt", {variance}), 1e-9)}));
}

// Across channels: x / (bias + alpha / size * sum of squares in a window)^beta
void import_lrn(NodeContext& c) {
  const Operand x = c.in(0);
  const int64_t size = c.integer("size");
  if (size < 1 || x.rank() < 2) throw ModelError("the window must be positive.");
  Attributes attributes;
  attributes.set("fn", std::string("sum"));
  attributes.set("axes", Ints{1});
  attributes.set("window", Ints{size});
  attributes.set("strides", Ints{1});
  attributes.set("dilations", Ints{1});
  attributes.set("pads_low", Shape{Expr((size - 1) / 2)});
  attributes.set("pads_high", Shape{Expr(size / 2)});
  const Operand squares = c.b.emit(Op::window_reduce, {c.b.map("mul", {x, x})}, attributes);
  const double factor = c.real("alpha", 0.0001) / static_cast<double>(size);
  const Operand base = c.b.with_scalar("add", c.b.with_scalar("mul", squares, factor),
                                       c.real("bias", 1));
  c.out(c.b.map("div", {x, c.b.with_scalar("pow", base, c.real("beta", 0.75))}));
}

// Up to opset 12 all axes from `axis` on form one row.
using AlongAxis = Operand (*)(Builder&, const Operand&, int64_t);
ImportFunction coerced(AlongAxis fn) {
  return [fn](NodeContext& c) {
    const Operand x = c.in(0);
    const int64_t axis = normalized_axis(c.integer("axis", 1), x.rank());
    const auto split = x.shape().begin() + axis;
    const Operand rows = c.b.reshape(x, {product(Shape(x.shape().begin(), split)),
                                         product(Shape(split, x.shape().end()))});
    c.out(c.b.reshape(fn(c.b, rows, 1), x.shape()));
  };
}
ImportFunction along(AlongAxis fn) {
  return [fn](NodeContext& c) {
    const Operand x = c.in(0);
    c.out(fn(c.b, x, normalized_axis(c.integer("axis", -1), x.rank())));
  };
}

Operand softmax(Builder& b, const Operand& x, int64_t axis) { return b.softmax(x, axis); }

Operand log_softmax(Builder& b, const Operand& x, int64_t axis) {
  const Operand shifted = b.map("sub", {x, b.reduce("max", x, {axis}, true)});
  const Operand sum = b.reduce("sum", b.map("exp", {shifted}), {axis}, true);
  return b.map("sub", {shifted, b.map("log", {sum})});
}

// 1 at the first largest element of each row, else 0.
Operand hardmax(Builder& b, const Operand& x, int64_t axis) {
  Attributes attributes;
  attributes.set("fn", std::string("max"));
  attributes.set("axis", axis);
  attributes.set("select_last", int64_t{0});
  const Operand best = b.unsqueeze(b.emit(Op::arg_reduce, {x}, attributes), {axis});
  const Operand position = b.along_axis(b.iota({x.dim(axis)}, 0, DType::i64), axis, x.rank());
  return b.cast(b.map("eq", {best, position}), x.dtype());
}

const OperatorEntry kEntries[] = {
    {"", "BatchNormalization", 7, import_batch_normalization},
    {"", "GroupNormalization", 18, [](NodeContext& c) { group_normalization(c, false); }},
    {"", "GroupNormalization", 21, [](NodeContext& c) { group_normalization(c, true); }},
    {"", "Hardmax", 1, coerced(hardmax)},
    {"", "Hardmax", 13, along(hardmax)},
    {"", "InstanceNormalization", 6, import_instance_normalization},
    {"", "LRN", 1, import_lrn},
    {"", "LayerNormalization", 17, import_layer_normalization},
    {"", "LogSoftmax", 1, coerced(log_softmax)},
    {"", "LogSoftmax", 13, along(log_softmax)},
    {"", "LpNormalization", 1, import_lp_normalization},
    {"", "MeanVarianceNormalization", 9, import_mean_variance_normalization},
    {"", "RMSNormalization", 23, import_rms_normalization},
    {"", "Softmax", 1, coerced(softmax)},
    {"", "Softmax", 13, along(softmax)},
};

}  // namespace

Operand normalized(Builder& b, const Operand& x, const Ints& axes, double epsilon,
                   const char* kind) {
  Attributes attributes;
  attributes.set("axes", axes);
  attributes.set("epsilon", epsilon);
  attributes.set("kind", std::string(kind));
  return b.emit(Op::normalize, {x}, attributes);
}

std::span<const OperatorEntry> normalization_entries() { return kEntries; }

}  // namespace mcc::frontend
