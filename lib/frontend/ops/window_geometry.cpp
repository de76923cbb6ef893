// Geometry of sliding windows; formulas of the ONNX specification of Conv and MaxPool.
#include "lib/frontend/ops/window_geometry.h"

namespace mcc::frontend {

WindowGeometry window_geometry(const NodeContext& c, const Ints& window, const Shape& spatial) {
  const size_t count = spatial.size();
  WindowGeometry g;
  g.window = window;
  g.strides = c.ints("strides", Ints(count, 1));
  g.dilations = c.ints("dilations", Ints(count, 1));
  if (window.size() != count || g.strides.size() != count || g.dilations.size() != count) {
    throw ModelError("kernel_shape, strides and dilations need one entry for each of the " +
                     std::to_string(count) + " spatial axes.");
  }
  for (size_t i = 0; i < count; ++i) {
    if (g.window[i] < 1 || g.strides[i] < 1 || g.dilations[i] < 1) {
      throw ModelError("kernel_shape, strides and dilations must be positive.");
    }
  }
  const std::string auto_pad = c.text("auto_pad", "NOTSET");
  g.low.assign(count, Expr(0));
  g.high = g.low;
  if (auto_pad == "VALID") return g;
  if (auto_pad == "NOTSET" || auto_pad.empty()) {
    const Ints pads = c.ints("pads", Ints(count * 2, 0));
    if (pads.size() != count * 2) throw ModelError("there must be two pads for each spatial axis.");
    for (size_t i = 0; i < count; ++i) g.low[i] = pads[i], g.high[i] = pads[count + i];
    return g;
  }
  const bool upper = auto_pad == "SAME_UPPER";
  if (!upper && auto_pad != "SAME_LOWER") {
    throw ModelError("auto_pad '" + auto_pad + "' is unknown.");
  }
  for (size_t i = 0; i < count; ++i) {
    const Expr out = ceildiv(spatial[i], g.strides[i]);
    const Expr total = c.b.simplified(
        max((out - 1) * Expr(g.strides[i]) + Expr(reach(g, i)) - spatial[i], Expr(0)));
    const Expr half = c.b.simplified(floordiv(total, 2));
    g.low[i] = upper ? half : total - half;
    g.high[i] = upper ? total - half : half;
  }
  return g;
}

}  // namespace mcc::frontend
