// Convolutions.
#include <algorithm>

#include "lib/frontend/ops/families.h"
#include "lib/frontend/ops/windows.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

Operand add_channel_bias(NodeContext& n, const Operand& x, const Operand& bias) {
  Shape shape(x.shape().size(), Expr(1));
  shape[1] = bias.dim(0);
  Attributes attributes;
  attributes.set("shape", x.shape());
  attributes.set("axes", Ints{1});
  const Operand spread = n.b.emit(Op::broadcast, {bias}, std::move(attributes));
  return n.b.map("add", {x, spread});
}

Results import_conv(NodeContext& n) {
  const Operand x = n.in(0);
  const Operand w = n.in(1);
  if (x.rank() < 3 || w.rank() != x.rank()) throw ModelError("the input and the weight must have the same rank of at least 3");
  Ints kernel;
  for (int64_t axis = 2; axis < w.rank(); ++axis) {
    if (!w.dim(axis).is_constant()) throw ModelError("the weight's shape must be constant");
    kernel.push_back(w.dim(axis).constant());
  }
  const Window window = read_window(n, kernel, Shape(x.shape().begin() + 2, x.shape().end()), false);
  Attributes attributes;
  attributes.set("layout", std::string("nchw"));
  attributes.set("strides", window.strides);
  attributes.set("dilations", window.dilations);
  attributes.set("pads_low", window.low);
  attributes.set("pads_high", window.high);
  attributes.set("groups", n.integer("group", 1));
  attributes.set("out", x.dtype());
  Operand result = n.b.emit(Op::conv, {x, w}, std::move(attributes));
  if (n.has(2)) result = add_channel_bias(n, result, n.in(2));
  return {result};
}

Results import_conv_transpose(NodeContext& n) {
  const Operand x = n.in(0);
  const Operand w = n.in(1);
  const int64_t rank = x.rank() - 2;
  if (rank < 1 || w.rank() != x.rank()) throw ModelError("the input and the weight must have the same rank of at least 3");
  Ints kernel;
  for (int64_t axis = 2; axis < w.rank(); ++axis) kernel.push_back(w.dim(axis).constant());
  const auto count = static_cast<size_t>(rank);
  const Ints strides = n.ints("strides", Ints(count, 1));
  const Ints dilations = n.ints("dilations", Ints(count, 1));
  Ints output_padding = n.ints("output_padding", Ints(count, 0));
  const Ints pads = n.ints("pads", Ints(2 * count, 0));
  const std::string automatic = n.text("auto_pad", "NOTSET");
  const Ints output_shape = n.ints("output_shape");
  Shape low, high;
  for (size_t axis = 0; axis < count; ++axis) {
    const Expr span = (kernel[axis] - 1) * dilations[axis] + 1;
    const Expr full = (x.dim(static_cast<int64_t>(axis) + 2) - 1) * Expr(strides[axis]) + Expr(output_padding[axis]) + span;
    if (automatic == "NOTSET" && output_shape.empty()) {
      low.emplace_back(pads[axis]);
      high.emplace_back(pads[count + axis]);
      continue;
    }
    Expr total = 0;
    if (!output_shape.empty()) {
      const size_t offset = output_shape.size() == count ? 0 : 2;
      total = full - Expr(output_shape[axis + offset]);
    } else if (automatic != "VALID") {
      total = full - x.dim(static_cast<int64_t>(axis) + 2) * Expr(strides[axis]);
    }
    const Expr half = floordiv(total, 2);
    const bool upper = automatic == "SAME_UPPER";
    low.push_back(upper ? half : total - half);
    high.push_back(upper ? total - half : half);
  }
  Attributes attributes;
  attributes.set("layout", std::string("nchw"));
  attributes.set("strides", strides);
  attributes.set("dilations", dilations);
  attributes.set("pads_low", low);
  attributes.set("pads_high", high);
  attributes.set("groups", n.integer("group", 1));
  attributes.set("output_padding", output_padding);
  attributes.set("out", x.dtype());
  Operand result = n.b.emit(Op::conv_transpose, {x, w}, std::move(attributes));
  if (n.has(2)) result = add_channel_bias(n, result, n.in(2));
  return {result};
}

constexpr OperatorEntry kEntries[] = {
    {"Conv", 1, import_conv},
    {"ConvTranspose", 1, import_conv_transpose},
};

}  // namespace

std::span<const OperatorEntry> conv_operators() { return kEntries; }

}  // namespace mcc::frontend
