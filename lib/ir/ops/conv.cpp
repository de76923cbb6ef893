// conv, conv_transpose: convolutions over any number of spatial axes, in either layout.
#include "lib/ir/ops/contraction.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

// The parts common to both directions, checked.
struct ConvShape {
  size_t spatial = 0;
  size_t channel_axis = 1;
  size_t first_spatial = 2;
  int64_t groups = 1;
};

ConvShape check_conv(const Node& node, const std::vector<TensorType>& inputs) {
  ConvShape conv;
  const std::string& layout = choice_of(node, "layout", {"nchw", "nhwc"});
  if (inputs[0].shape.size() < 2) {
    refuse(node, "the input needs a batch and a channel axis, but its type is " +
                     type_text(inputs[0]) + ".");
  }
  conv.spatial = inputs[0].shape.size() - 2;
  require_rank(node, inputs[1], inputs[0].shape.size(), "the weight");
  if (layout == "nhwc") {
    conv.channel_axis = inputs[0].shape.size() - 1;
    conv.first_spatial = 1;
  }
  conv.groups = integer_of(node, "groups");
  if (conv.groups < 1) refuse(node, "the number of groups must be positive.");
  for (const char* name : {"strides", "dilations"}) {
    for (int64_t value : ints_of(node, name, conv.spatial)) {
      if (value < 1) refuse(node, std::string("'") + name + "' must be positive.");
    }
  }
  shape_of(node, "pads_low", conv.spatial);
  shape_of(node, "pads_high", conv.spatial);
  return conv;
}

Shape output_shape(const ConvShape& conv, const Expr& batch, const Expr& channels,
                   const Shape& spatial) {
  Shape out{batch};
  if (conv.channel_axis == 1) out.push_back(channels);
  out.insert(out.end(), spatial.begin(), spatial.end());
  if (conv.channel_axis != 1) out.push_back(channels);
  return out;
}

std::vector<TensorType> infer_conv(const Node& node, const std::vector<TensorType>& inputs) {
  const ConvShape conv = check_conv(node, inputs);
  const Shape& x = inputs[0].shape;
  const Shape& w = inputs[1].shape;
  merge_dims(node, x[conv.channel_axis], w[1] * Expr(conv.groups),
             "the channels of the input and of the weight (times the groups)");
  if (w[0].is_constant() && w[0].constant() % conv.groups != 0) {
    refuse(node, "the " + w[0].str() + " output channels cannot be split into " +
                     std::to_string(conv.groups) + " groups.");
  }
  const Ints& strides = ints_of(node, "strides");
  const Ints& dilations = ints_of(node, "dilations");
  Shape spatial;
  for (size_t i = 0; i < conv.spatial; ++i) {
    const Expr reach = Expr(dilations[i]) * (w[i + 2] - 1) + 1;
    const Expr span = x[conv.first_spatial + i] + shape_of(node, "pads_low")[i] +
                      shape_of(node, "pads_high")[i] - reach;
    if (span.is_constant() && span.constant() < 0) {
      refuse(node, "the weight " + type_text(inputs[1]) + " is larger than the padded input " +
                       type_text(inputs[0]) + " along spatial axis " + std::to_string(i) + ".");
    }
    spatial.push_back(floordiv(span, strides[i]) + 1);
  }
  return {{contraction_output(node, inputs[0], inputs[1]),
           output_shape(conv, x[0], w[0], spatial)}};
}

std::vector<TensorType> infer_conv_transpose(const Node& node,
                                             const std::vector<TensorType>& inputs) {
  const ConvShape conv = check_conv(node, inputs);
  const Shape& x = inputs[0].shape;
  const Shape& w = inputs[1].shape;
  merge_dims(node, x[conv.channel_axis], w[0], "the channels of the input and of the weight");
  if (w[0].is_constant() && w[0].constant() % conv.groups != 0) {
    refuse(node, "the " + w[0].str() + " input channels cannot be split into " +
                     std::to_string(conv.groups) + " groups.");
  }
  const Ints& strides = ints_of(node, "strides");
  const Ints& dilations = ints_of(node, "dilations");
  const Ints& extra = ints_of(node, "output_padding", conv.spatial);
  Shape spatial;
  for (size_t i = 0; i < conv.spatial; ++i) {
    spatial.push_back((x[conv.first_spatial + i] - 1) * Expr(strides[i]) +
                      Expr(dilations[i]) * (w[i + 2] - 1) + 1 + Expr(extra[i]) -
                      shape_of(node, "pads_low")[i] - shape_of(node, "pads_high")[i]);
    if (spatial.back().is_constant() && spatial.back().constant() < 0) {
      refuse(node, "the pads crop more than the whole output along spatial axis " +
                       std::to_string(i) + ".");
    }
  }
  return {{contraction_output(node, inputs[0], inputs[1]),
           output_shape(conv, x[0], w[1] * Expr(conv.groups), spatial)}};
}

const OpInfo kRows[] = {
    {Op::conv, "conv", 2, 2, 1, kContraction, infer_conv, nullptr},
    {Op::conv_transpose, "conv_transpose", 2, 2, 1, kContraction, infer_conv_transpose, nullptr},
};

}  // namespace

std::span<const OpInfo> conv_ops() { return rows(kRows); }

}  // namespace mcc::ops
