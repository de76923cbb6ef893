// Resize as one gather (nearest) or two gathers and an interpolation (linear) per resized axis.
// Coordinates follow the ONNX Resize specification.
#include <cmath>

#include "lib/frontend/ops/families.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

struct ResizeAxis {
  int64_t axis = 0;
  Expr in, out;
  double scale = 1;       // out / in as the model states it
  bool scale_known = false;
};

// The source coordinate of every output position along an axis, f32 [out].
Operand source_coordinates(NodeContext& n, const ResizeAxis& a, const std::string& mode) {
  Builder& b = n.b;
  Attributes attributes;
  attributes.set("shape", Shape{a.out});
  attributes.set("axis", int64_t{0});
  attributes.set("dtype", DType::f32);
  const Operand x = b.emit(Op::iota, {}, std::move(attributes));
  auto number = [&](double value) { return b.scalar(DType::f32, value); };
  auto size = [&](const Expr& value) { return b.cast(Operand::known(DType::i64, {}, {{value, 1}}), DType::f32); };
  const Operand scale = a.scale_known ? number(a.scale) : b.map("div", {size(a.out), size(a.in)});
  if (mode == "asymmetric") return b.map("div", {x, scale});
  if (mode == "half_pixel" || mode == "half_pixel_symmetric") {
    return b.map("sub", {b.map("div", {b.map("add", {x, number(0.5)}), scale}), number(0.5)});
  }
  if (mode == "pytorch_half_pixel") {
    if (a.out.is_constant(1)) return b.map("mul", {x, number(0)});
    return b.map("sub", {b.map("div", {b.map("add", {x, number(0.5)}), scale}), number(0.5)});
  }
  if (mode == "align_corners") {
    if (a.out.is_constant(1)) return b.map("mul", {x, number(0)});
    return b.map("mul", {x, b.map("div", {size(a.in - 1), size(a.out - 1)})});
  }
  throw ModelError("coordinate_transformation_mode '" + mode + "' is not supported");
}

Operand clamp_index(NodeContext& n, const Operand& x, const Expr& in) {
  const Operand last = n.b.cast(Operand::known(DType::i64, {}, {{in - 1, 1}}), DType::f32);
  return n.b.map("max", {n.b.scalar(DType::f32, 0), n.b.map("min", {x, last})});
}

Operand nearest(NodeContext& n, const Operand& x, const ResizeAxis& a, const std::string& coordinates,
                const std::string& rounding) {
  Builder& b = n.b;
  Operand at = source_coordinates(n, a, coordinates);
  const Operand half = b.scalar(DType::f32, 0.5);
  if (rounding == "round_prefer_floor") {
    at = b.map("ceil", {b.map("sub", {at, half})});
  } else if (rounding == "round_prefer_ceil") {
    at = b.map("floor", {b.map("add", {at, half})});
  } else if (rounding == "floor" || rounding == "ceil") {
    at = b.map(rounding, {at});
  } else {
    throw ModelError("nearest_mode '" + rounding + "' is not supported");
  }
  return b.gather(x, b.cast(clamp_index(n, at, a.in), DType::i64), a.axis);
}

Operand linear(NodeContext& n, const Operand& x, const ResizeAxis& a, const std::string& coordinates) {
  Builder& b = n.b;
  const Operand at = clamp_index(n, source_coordinates(n, a, coordinates), a.in);
  const Operand low = b.map("floor", {at});
  const Operand high = clamp_index(n, b.map("add", {low, b.scalar(DType::f32, 1)}), a.in);
  Shape spread(x.shape().size(), Expr(1));
  spread[static_cast<size_t>(a.axis)] = a.out;
  const Operand weight = b.cast(b.reshape(b.map("sub", {at, low}), spread), x.dtype());
  const Operand left = b.gather(x, b.cast(low, DType::i64), a.axis);
  const Operand right = b.gather(x, b.cast(high, DType::i64), a.axis);
  return b.map("add", {left, b.map("mul", {b.map("sub", {right, left}), weight})});
}

Operand resize(NodeContext& n, const Operand& x, const std::vector<ResizeAxis>& axes, const std::string& mode,
               const std::string& coordinates, const std::string& rounding) {
  Operand result = x;
  for (const ResizeAxis& a : axes) {
    if (a.in == a.out && (!a.scale_known || a.scale == 1.0)) continue;
    if (mode == "nearest") {
      result = nearest(n, result, a, coordinates, rounding);
    } else if (mode == "linear") {
      result = linear(n, result, a, coordinates);
    } else {
      throw ModelError("mode '" + mode + "' is not supported; nearest and linear are");
    }
  }
  return result;
}

ResizeAxis axis_by_scale(const Operand& x, int64_t axis, const Known& scale) {
  ResizeAxis a;
  a.axis = axis;
  a.in = x.dim(axis);
  if (!scale.numerator.is_constant()) throw ModelError("the scales must be constant");
  a.scale = static_cast<double>(scale.numerator.constant()) / static_cast<double>(scale.denominator);
  a.scale_known = true;
  a.out = floordiv(a.in * scale.numerator, Expr(scale.denominator));
  return a;
}

Results import_resize(NodeContext& n) {
  const Operand x = n.in(0);
  const size_t scales_at = n.opset >= 11 ? 2 : 1;
  if (n.integer("antialias", 0) != 0) throw ModelError("antialias is not supported");
  Ints list = n.has_attribute("axes") ? n.ints("axes") : axis_range(0, x.rank());
  for (int64_t& axis : list) axis = normalize_axis(axis, x.rank());
  std::vector<ResizeAxis> axes;
  if (n.opset >= 11 && n.has(3) && !n.in(3).shape().at(0).is_constant(0)) {
    if (n.text("keep_aspect_ratio_policy", "stretch") != "stretch") throw ModelError("only the policy 'stretch' is supported");
    const Shape sizes = n.known_integers(n.in(3), "the new sizes");
    for (size_t i = 0; i < list.size(); ++i) {
      ResizeAxis a;
      a.axis = list[i];
      a.in = x.dim(a.axis);
      a.out = sizes.at(i);
      if (a.in.is_constant() && a.out.is_constant()) {
        a.scale = static_cast<double>(a.out.constant()) / static_cast<double>(a.in.constant());
        a.scale_known = true;
      }
      axes.push_back(a);
    }
  } else {
    const std::optional<KnownValues> scales = n.in(scales_at).known_values();
    if (!scales) {
      const Tensor* tensor = n.in(scales_at).constant_tensor();
      if (tensor == nullptr) throw ModelError("the scales depend on the data");
      for (size_t i = 0; i < list.size(); ++i) {
        ResizeAxis a;
        a.axis = list[i];
        a.in = x.dim(a.axis);
        a.scale = tensor->get_double(static_cast<int64_t>(i));
        a.scale_known = true;
        if (!a.in.is_constant() && a.scale != 1.0) throw ModelError("a dynamic dimension with a scale that is no simple fraction");
        a.out = a.scale == 1.0 ? a.in : Expr(static_cast<int64_t>(std::floor(static_cast<double>(a.in.constant()) * a.scale)));
        axes.push_back(a);
      }
    } else {
      for (size_t i = 0; i < list.size(); ++i) axes.push_back(axis_by_scale(x, list[i], scales->at(i)));
    }
  }
  const std::string coordinates = n.opset >= 11 ? n.text("coordinate_transformation_mode", "half_pixel") : "asymmetric";
  const std::string rounding = n.opset >= 11 ? n.text("nearest_mode", "round_prefer_floor") : "floor";
  return {resize(n, x, axes, n.text("mode", "nearest"), coordinates, rounding)};
}

Results import_upsample(NodeContext& n) {
  const Operand x = n.in(0);
  const std::optional<KnownValues> scales = n.in(1).known_values();
  if (!scales) throw ModelError("the scales depend on the data");
  std::vector<ResizeAxis> axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis_by_scale(x, axis, scales->at(static_cast<size_t>(axis))));
  return {resize(n, x, axes, n.text("mode", "nearest"), "asymmetric", "floor")};
}

constexpr OperatorEntry kEntries[] = {{"Resize", 10, import_resize}, {"Upsample", 9, import_upsample}};

}  // namespace

std::span<const OperatorEntry> resize_operators() { return kEntries; }

}  // namespace mcc::frontend
