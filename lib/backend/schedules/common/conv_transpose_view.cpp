// The canonical view of a transposed convolution.
#include "lib/backend/schedules/common/conv_transpose_view.h"

namespace mcc::backend {

ConvTransposeView::ConvTransposeView(const Graph& body, const Node& node)
    : input(node.inputs[0]), weight(node.inputs[1]), channels_last(node.attributes.text("layout") == "nhwc"),
      groups(node.attributes.integer("groups")), strides(node.attributes.ints("strides")),
      dilations(node.attributes.ints("dilations")), pads_low(node.attributes.shape("pads_low")),
      out(body.dtype(node.outputs[0])) {
  const Shape& x = body.shape(input);
  const Shape& w = body.shape(weight);
  in_channels = w[0].constant() / groups;
  out_channels = w[1].constant();
  const size_t first = channels_last ? 1 : 2;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    window.push_back(w[2 + axis].constant());
    in_spatial.push_back(x[first + axis]);
  }
}

Indices ConvTransposeView::spatial(const Indices& at) const {
  const auto first = at.begin() + (channels_last ? 1 : 2);
  return Indices(first, first + static_cast<std::ptrdiff_t>(window.size()));
}

Indices ConvTransposeView::input_indices(const Expr& n, const Indices& position, const Expr& channel) const {
  Indices at{n};
  if (!channels_last) at.push_back(channel);
  at.insert(at.end(), position.begin(), position.end());
  if (channels_last) at.push_back(channel);
  return at;
}

Indices ConvTransposeView::weight_indices(const Expr& in_channel, const Expr& out_channel, const Indices& taps) {
  Indices at{in_channel, out_channel};
  at.insert(at.end(), taps.begin(), taps.end());
  return at;
}

// Output o = i * stride + tap * dilation - pad, solved for i: the division must leave no rest.
ConvTransposeView::Source ConvTransposeView::source(const Indices& at, const Indices& taps,
                                                    const GroupLowering& lowering) const {
  Source source;
  auto require = [&](const Expr& condition) {
    const Expr simple = lowering.simplified(condition);
    if (bounds(simple, lowering.ranges()).low < 0) source.inside.push_back(simple);
  };
  for (size_t axis = 0; axis < at.size(); ++axis) {
    const Expr reached = lowering.simplified(at[axis] + pads_low[axis] - taps[axis] * Expr(dilations[axis]));
    const Expr stride(strides[axis]);
    source.position.push_back(lowering.simplified(floordiv(reached, stride)));
    require(reached);
    require(-mod(reached, stride));
    require(in_spatial[axis] - 1 - source.position.back());
  }
  return source;
}

DType ConvTransposeView::accumulator(const Graph& body) const {
  return body.dtype(input) == DType::f64 ? DType::f64 : compute_type(out);
}

}  // namespace mcc::backend
