// The canonical view of a `conv_transpose` node in either layout, with any number of spatial axes.
#pragma once

#include "lib/backend/lowering.h"

namespace mcc::backend {

struct ConvTransposeView {
  ConvTransposeView(const Graph& body, const Node& node);

  ValueId input = kNoValue;
  ValueId weight = kNoValue;  // [IC, OC/groups, spatial...]
  bool channels_last = false;
  int64_t groups = 1;
  int64_t in_channels = 0;   // per group
  int64_t out_channels = 0;  // per group
  std::vector<int64_t> window, strides, dilations;
  Shape in_spatial, pads_low;

  size_t channel_axis() const { return channels_last ? window.size() + 1 : 1; }
  // The spatial part of the indices of an output element.
  Indices spatial(const Indices& at) const;
  Indices input_indices(const Expr& n, const Indices& position, const Expr& channel) const;
  static Indices weight_indices(const Expr& in_channel, const Expr& out_channel, const Indices& taps);
  // The input position that reaches output position `at` through tap `tap`, and when there is one.
  struct Source {
    Indices position;
    Guard inside;
  };
  Source source(const Indices& at, const Indices& taps, const GroupLowering& lowering) const;
  DType accumulator(const Graph& body) const;
  DType out = DType::f32;
};

}  // namespace mcc::backend
