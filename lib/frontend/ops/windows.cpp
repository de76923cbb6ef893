// Window attributes.
#include "lib/frontend/ops/windows.h"

#include "lib/support/error.h"

namespace mcc::frontend {

Window read_window(const NodeContext& n, const Ints& size, const Shape& in, bool ceil_mode) {
  const size_t rank = size.size();
  if (in.size() != rank) throw ModelError("the window's rank differs from the input's number of spatial axes");
  Window window;
  window.size = size;
  window.strides = n.ints("strides", Ints(rank, 1));
  window.dilations = n.ints("dilations", Ints(rank, 1));
  const Ints pads = n.ints("pads", Ints(2 * rank, 0));
  if (window.strides.size() != rank || window.dilations.size() != rank || pads.size() != 2 * rank) {
    throw ModelError("strides, dilations or pads have a wrong length");
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    if (window.strides[axis] < 1 || window.dilations[axis] < 1 || size[axis] < 1) {
      throw ModelError("strides, dilations and window sizes must be positive");
    }
  }
  const std::string automatic = n.text("auto_pad", "NOTSET");
  for (size_t axis = 0; axis < rank; ++axis) {
    const Expr stride = window.strides[axis];
    const Expr span = (size[axis] - 1) * window.dilations[axis] + 1;
    Expr low = 0;
    Expr high = 0;
    if (automatic == "NOTSET") {
      low = pads[axis];
      high = pads[rank + axis];
    } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const Expr total = max(Expr(0), (ceildiv(in[axis], stride) - 1) * stride + span - in[axis]);
      const Expr half = floordiv(total, 2);
      low = automatic == "SAME_UPPER" ? half : total - half;
      high = total - low;
    } else if (automatic != "VALID") {
      throw ModelError("auto_pad '" + automatic + "' is unknown");
    }
    if (ceil_mode) {
      // Windows that start inside of the input or its low padding count.
      const Expr room = in[axis] + low + high - span;
      Expr extra = ceildiv(room, stride) * stride - room;
      const Expr last_start = ceildiv(room, stride) * stride;
      if (last_start.is_constant() && (in[axis] + low).is_constant()) {
        if (last_start.constant() >= (in[axis] + low).constant()) extra = 0;
      }
      high = high + extra;
    }
    window.low.push_back(low);
    window.high.push_back(high);
  }
  return window;
}

}  // namespace mcc::frontend
