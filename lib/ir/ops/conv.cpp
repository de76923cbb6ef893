// conv, conv_transpose: convolutions over any number of spatial axes, in either layout.
#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/contraction.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"
#include "lib/ir/ops/view_copy.h"

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
  return {
      {contraction_output(node, inputs[0], inputs[1]), output_shape(conv, x[0], w[0], spatial)}};
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

// Concrete axes of a convolution; spatial axis i of x is axis first_spatial + i.
struct ConvAxes {
  size_t channel;
  size_t first_spatial;
  size_t spatial;
};

ConvAxes axes_of(const Node& node, const Tensor& x) {
  const size_t rank = x.shape().size();
  const bool last = node.attributes.text("layout") == "nhwc";
  return {last ? rank - 1 : 1, last ? size_t{1} : size_t{2}, rank - 2};
}

std::vector<int64_t> concrete(const Shape& shape, const EvaluationContext& context) {
  std::vector<int64_t> values;
  for (const Expr& expr : shape) values.push_back(expr.evaluate(context.bindings));
  return values;
}

// x with its spatial axes padded by zeros (or cropped), so that windows never leave it.
Tensor padded(const Tensor& x, const ConvAxes& axes, const std::vector<int64_t>& low,
              const std::vector<int64_t>& high) {
  std::vector<int64_t> shape = x.shape();
  const std::vector<int64_t> strides = strides_of(shape);
  AxisTables tables;
  for (size_t a = 0; a < shape.size(); ++a) {
    const bool is_spatial = a >= axes.first_spatial && a < axes.first_spatial + axes.spatial;
    const int64_t before = is_spatial ? low[a - axes.first_spatial] : 0;
    const int64_t size = shape[a];
    if (is_spatial) shape[a] += before + high[a - axes.first_spatial];
    std::vector<int64_t> table = linear_table(shape[a], -before * strides[a], strides[a]);
    for (size_t i = 0; i < table.size(); ++i) {
      const int64_t source = static_cast<int64_t>(i) - before;
      if (source < 0 || source >= size) table[i] = kOutside;
    }
    tables.push_back(std::move(table));
  }
  Tensor result(x.dtype(), shape);
  copy_by_tables(x, result, tables);
  return result;
}

// Offsets over a box of `sizes` with the given strides, row-major, starting from `from`.
std::vector<int64_t> box_offsets(std::vector<int64_t> from, const std::vector<int64_t>& sizes,
                                 const std::vector<int64_t>& strides) {
  for (size_t a = 0; a < sizes.size(); ++a) {
    std::vector<int64_t> next;
    for (int64_t base : from) {
      for (int64_t i = 0; i < sizes[a]; ++i) next.push_back(base + i * strides[a]);
    }
    from = std::move(next);
  }
  return from;
}

// 0, stride, 2 * stride, ...
std::vector<int64_t> steps(int64_t count, int64_t stride) { return linear_table(count, 0, stride); }

// The output's place of sum (group, batch and pixel, channel in group) for either layout.
std::vector<int64_t> conv_order(const Tensor& out, const ConvAxes& axes, int64_t groups) {
  const int64_t channels = out.shape()[axes.channel];
  const int64_t per_group = channels / groups;
  const int64_t pixels =
      out.shape()[0] == 0 || channels == 0 ? 0 : out.elements() / out.shape()[0] / channels;
  std::vector<int64_t> order(static_cast<size_t>(out.elements()));
  const int64_t total = out.shape()[0] * pixels;
  for (int64_t n = 0; n < out.shape()[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t place =
            axes.channel == 1 ? (n * channels + c) * pixels + p : (n * pixels + p) * channels + c;
        order[static_cast<size_t>(place)] =
            ((c / per_group) * total + n * pixels + p) * per_group + c % per_group;
      }
    }
  }
  return order;
}

void evaluate_conv(const Node& node, const EvaluationContext& context,
                   std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const ConvAxes axes = axes_of(node, inputs[0]);
  const Tensor& w = inputs[1];
  const int64_t groups = node.attributes.integer("groups");
  const int64_t in_per_group = w.shape()[1];
  const int64_t out_per_group = w.shape()[0] / groups;
  if (inputs[0].shape()[axes.channel] != in_per_group * groups) {
    refuse(node, "the channels of the input and of the weight differ.");
  }
  if (outputs[0].elements() == 0) return;
  const Tensor x = padded(inputs[0], axes, concrete(node.attributes.shape("pads_low"), context),
                          concrete(node.attributes.shape("pads_high"), context));
  const std::vector<int64_t> x_strides = strides_of(x.shape());
  const std::vector<int64_t> w_strides = strides_of(w.shape());
  std::vector<int64_t> out_sizes, pixel_strides, window, tap_strides, w_tap_strides;
  for (size_t i = 0; i < axes.spatial; ++i) {
    const int64_t stride = x_strides[axes.first_spatial + i];
    out_sizes.push_back(outputs[0].shape()[axes.first_spatial + i]);
    pixel_strides.push_back(stride * node.attributes.ints("strides")[i]);
    window.push_back(w.shape()[i + 2]);
    tap_strides.push_back(stride * node.attributes.ints("dilations")[i]);
    w_tap_strides.push_back(w_strides[i + 2]);
  }
  std::vector<int64_t> shape = x.shape();
  shape[axes.channel] = w.shape()[0];
  for (size_t i = 0; i < axes.spatial; ++i) {
    const int64_t reach = node.attributes.ints("dilations")[i] * (window[i] - 1) + 1;
    int64_t& dim = shape[axes.first_spatial + i];
    dim = count_windows(dim, reach, node.attributes.ints("strides")[i]);
  }
  expect_shape(node, outputs[0], shape);
  const int64_t channel_stride = x_strides[axes.channel];
  ContractionOperand left, right;
  left.batch = steps(groups, channel_stride * in_per_group);
  left.free = box_offsets(steps(x.shape()[0], x_strides[0]), out_sizes, pixel_strides);
  left.depth = box_offsets(steps(in_per_group, channel_stride), window, tap_strides);
  right.batch = steps(groups, w_strides[0] * out_per_group);
  right.free = steps(out_per_group, w_strides[0]);
  right.depth = box_offsets(steps(in_per_group, w_strides[1]), window, w_tap_strides);
  store_sums(contract_values(contraction_values(x), left, contraction_values(w), right),
             conv_order(outputs[0], axes, groups), outputs[0]);
}

// Products of every input pixel with every tap, then summed where they land in the output.
template <typename T>
std::vector<T> overlap_add(const Node& node, const EvaluationContext& context, const Tensor& x,
                           const Tensor& w, const Tensor& out, const ConvAxes& axes,
                           const std::vector<T>& products) {
  const int64_t groups = node.attributes.integer("groups");
  const std::vector<int64_t> low = concrete(node.attributes.shape("pads_low"), context);
  const Ints& strides = node.attributes.ints("strides");
  const Ints& dilations = node.attributes.ints("dilations");
  const std::vector<int64_t> out_strides = strides_of(out.shape());
  std::vector<int64_t> pixels, window;
  for (size_t i = 0; i < axes.spatial; ++i) {
    pixels.push_back(x.shape()[axes.first_spatial + i]);
    window.push_back(w.shape()[i + 2]);
  }
  const std::vector<int64_t> pixel_steps = strides_of(pixels), tap_steps = strides_of(window);
  const int64_t pixel_count = count_of(pixels), tap_count = count_of(window);
  const int64_t out_per_group = w.shape()[1];
  std::vector<T> sums(static_cast<size_t>(out.elements()), T{});
  size_t at = 0;  // products: [group, batch, pixel, channel in group, tap]
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t n = 0; n < x.shape()[0]; ++n) {
      for (int64_t p = 0; p < pixel_count; ++p) {
        for (int64_t c = 0; c < out_per_group; ++c) {
          const int64_t base =
              n * out_strides[0] + (g * out_per_group + c) * out_strides[axes.channel];
          for (int64_t t = 0; t < tap_count; ++t, ++at) {
            int64_t place = base;
            bool inside = true;
            for (size_t i = 0; i < axes.spatial; ++i) {
              const int64_t position = p / pixel_steps[i] % pixels[i] * strides[i] +
                                       t / tap_steps[i] % window[i] * dilations[i] - low[i];
              inside = inside && position >= 0 && position < out.shape()[axes.first_spatial + i];
              place += position * out_strides[axes.first_spatial + i];
            }
            if (inside) sums[static_cast<size_t>(place)] += products[at];
          }
        }
      }
    }
  }
  return sums;
}

void evaluate_conv_transpose(const Node& node, const EvaluationContext& context,
                             std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Tensor& x = inputs[0];
  const Tensor& w = inputs[1];
  const ConvAxes axes = axes_of(node, x);
  const int64_t groups = node.attributes.integer("groups");
  if (x.shape()[axes.channel] != w.shape()[0]) {
    refuse(node, "the channels of the input and of the weight differ.");
  }
  const int64_t in_per_group = w.shape()[0] / groups;
  const std::vector<int64_t> x_strides = strides_of(x.shape());
  const std::vector<int64_t> w_strides = strides_of(w.shape());
  std::vector<int64_t> sizes, strides;
  for (size_t i = 0; i < axes.spatial; ++i) {
    sizes.push_back(x.shape()[axes.first_spatial + i]);
    strides.push_back(x_strides[axes.first_spatial + i]);
  }
  ContractionOperand left, right;
  left.batch = steps(groups, in_per_group * x_strides[axes.channel]);
  left.free = box_offsets(steps(x.shape()[0], x_strides[0]), sizes, strides);
  left.depth = steps(in_per_group, x_strides[axes.channel]);
  right.batch = steps(groups, in_per_group * w_strides[0]);
  right.free = steps(w_strides[0], 1);
  right.depth = steps(in_per_group, w_strides[0]);
  ContractionSums sums = contract_values(contraction_values(x), left, contraction_values(w), right);
  if (sums.integers.empty()) {
    sums.reals = overlap_add(node, context, x, w, outputs[0], axes, sums.reals);
  } else {
    sums.integers = overlap_add(node, context, x, w, outputs[0], axes, sums.integers);
  }
  store_sums(sums, {}, outputs[0]);
}

const OpInfo kRows[] = {
    {Op::conv, "conv", 2, 2, 1, kContraction, infer_conv, evaluate_conv},
    {Op::conv_transpose, "conv_transpose", 2, 2, 1, kContraction, infer_conv_transpose,
     evaluate_conv_transpose},
};

}  // namespace

std::span<const OpInfo> conv_ops() { return rows(kRows); }

}  // namespace mcc::ops
