// The canonical view of a `conv` node in either layout, with any number of spatial axes.
#pragma once

#include "lib/backend/lowering.h"

namespace mcc::backend {

struct ConvView {
  ConvView(const Graph& body, const Node& conv);

  ValueId input = kNoValue;
  ValueId weight = kNoValue;
  bool channels_last = false;
  Expr batch;
  int64_t groups = 1;
  int64_t in_channels = 0;          // per group
  int64_t out_channels = 0;         // per group
  std::vector<int64_t> window;      // spatial weight dims
  Shape in_spatial, out_spatial;
  std::vector<int64_t> strides, dilations;
  Shape pads_low;

  size_t spatial_rank() const { return window.size(); }
  int64_t taps() const;
  // Whether any tap can fall outside of the input (as far as is provable).
  bool padded(const Ranges& ranges) const;

  Indices input_indices(const Expr& n, const Indices& spatial, const Expr& channel) const;
  Indices output_indices(const Expr& n, const Indices& spatial, const Expr& channel) const;
  // Input position of tap `tap` for output position `at`, per spatial axis.
  Indices positions(const Indices& at, const Indices& tap) const;
  // The conditions under which positions are inside; those that the ranges prove are left out.
  Guard inside(const Indices& positions, const Ranges& ranges) const;
  // Axes of the weight [OC, IC/groups, spatial...] as [spatial..., IC] (depth) and [OC] (columns).
  std::vector<int64_t> depth_axes() const;
  bool depthwise() const { return in_channels == 1 && out_channels == 1 && groups > 1; }
};

// Asks for the weight in panels [OC/64][taps * IC][64] where the kernels of all targets read it that
// way: f32, channels last, dense or depthwise. Returns its parameter or -1.
int request_conv_panels(GroupLowering& lowering, const ConvView& view);

}  // namespace mcc::backend
