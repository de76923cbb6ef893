// The canonical view of a convolution.
#include "lib/backend/schedules/common/conv_view.h"

#include "lib/backend/schedules/common/contraction_view.h"

namespace mcc::backend {

ConvView::ConvView(const Graph& body, const Node& conv)
    : input(conv.inputs[0]), weight(conv.inputs[1]),
      channels_last(conv.attributes.text("layout") == "nhwc"),
      groups(conv.attributes.integer("groups")), strides(conv.attributes.ints("strides")),
      dilations(conv.attributes.ints("dilations")), pads_low(conv.attributes.shape("pads_low")) {
  const Shape& x = body.shape(input);
  const Shape& w = body.shape(weight);
  const Shape& y = body.shape(conv.outputs[0]);
  const size_t rank = strides.size();
  const size_t first = channels_last ? 1 : 2;
  batch = x[0];
  out_channels = w[0].constant() / groups;
  in_channels = w[1].constant();
  for (size_t axis = 0; axis < rank; ++axis) {
    window.push_back(w[2 + axis].constant());
    in_spatial.push_back(x[first + axis]);
    out_spatial.push_back(y[first + axis]);
  }
}

int64_t ConvView::taps() const {
  int64_t count = 1;
  for (int64_t size : window) count *= size;
  return count;
}

bool ConvView::padded(const Ranges& ranges) const {
  for (size_t axis = 0; axis < window.size(); ++axis) {
    if (!pads_low[axis].is_constant(0)) return true;
    const Expr last = (out_spatial[axis] - 1) * Expr(strides[axis]) + Expr((window[axis] - 1) * dilations[axis]);
    // floor((in - span) / stride) * stride never passes the end, but the ranges may not show it.
    const Expr fits = simplify(in_spatial[axis] - 1 - last, ranges);
    if (bounds(fits, ranges).low < 0) return true;
  }
  return false;
}

namespace {

Indices arrange(bool channels_last, const Expr& n, const Indices& spatial, const Expr& channel) {
  Indices at{n};
  if (!channels_last) at.push_back(channel);
  at.insert(at.end(), spatial.begin(), spatial.end());
  if (channels_last) at.push_back(channel);
  return at;
}

}  // namespace

Indices ConvView::input_indices(const Expr& n, const Indices& spatial, const Expr& channel) const {
  return arrange(channels_last, n, spatial, channel);
}

Indices ConvView::output_indices(const Expr& n, const Indices& spatial, const Expr& channel) const {
  return arrange(channels_last, n, spatial, channel);
}

Indices ConvView::positions(const Indices& at, const Indices& tap) const {
  Indices result(at.size());
  for (size_t axis = 0; axis < at.size(); ++axis) {
    result[axis] = at[axis] * Expr(strides[axis]) + tap[axis] * Expr(dilations[axis]) - pads_low[axis];
  }
  return result;
}

Guard ConvView::inside(const Indices& at, const Ranges& ranges) const {
  Guard guard;
  for (size_t axis = 0; axis < at.size(); ++axis) {
    const Expr low = simplify(at[axis], ranges);
    const Expr high = simplify(in_spatial[axis] - 1 - at[axis], ranges);
    if (bounds(low, ranges).low < 0) guard.push_back(low);
    if (bounds(high, ranges).low < 0) guard.push_back(high);
  }
  return guard;
}

std::vector<int64_t> ConvView::depth_axes() const {
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < window.size(); ++axis) axes.push_back(static_cast<int64_t>(2 + axis));
  axes.push_back(1);
  return axes;
}

int request_conv_panels(GroupLowering& lowering, const ConvView& view) {
  const Graph& body = lowering.body();
  const bool real = body.dtype(view.input) == DType::f32 && body.dtype(view.weight) == DType::f32;
  if (!real || !view.channels_last || (view.groups != 1 && !view.depthwise())) return -1;
  return request_panels(lowering, view.weight, {}, view.depth_axes(), {0}, kPanelWidth);
}

}  // namespace mcc::backend
