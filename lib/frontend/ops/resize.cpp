// Resize and Upsample: one axis after the other, by gathers and weighted sums.
//
// Coordinate transformations, rounding modes and the cubic kernel are those of the ONNX
// specification of Resize; the antialiased kernels follow PIL (stretched by the scale).
#include <algorithm>
#include <cmath>

#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

struct Axis {
  int64_t axis = 0;
  Expr in, out;
  Operand scale;      // f64 scalar: output size / input size as coordinates see it
  double fixed = 0;   // the scale when it is a constant, else 0
  double roi_start = 0, roi_end = 1;
};

struct Mode {
  std::string kind, coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

constexpr DType kReal = DType::f64;  // coordinates: rounding of f32 would pick wrong neighbours

Operand num(Builder& b, double value) { return b.scalar(kReal, value); }
Operand add(Builder& b, const Operand& x, double y) { return b.map("add", {x, num(b, y)}); }

// Positions in the input of each output element.
Operand source_positions(Builder& b, const Axis& a, const Mode& mode) {
  const Operand index = b.iota({a.out}, 0, kReal);
  const Operand in = b.number(a.in, kReal);
  const std::string& kind = mode.coordinates;
  const auto half_pixel = [&] {
    return add(b, b.map("div", {add(b, index, 0.5), a.scale}), -0.5);
  };
  if (kind == "half_pixel") return half_pixel();
  if (kind == "asymmetric") return b.map("div", {index, a.scale});
  if (kind == "pytorch_half_pixel") {
    return a.out.is_constant(1) ? b.map("mul", {index, num(b, 0)}) : half_pixel();
  }
  if (kind == "half_pixel_symmetric") {
    // The exact output length may be fractional: center the whole instead.
    const Operand exact = b.map("mul", {in, a.scale});
    const Operand adjust = b.map("div", {b.number(a.out, kReal), exact});
    const Operand offset = b.map("mul", {b.map("mul", {in, num(b, 0.5)}),
                                         b.map("sub", {num(b, 1), adjust})});
    return b.map("add", {offset, half_pixel()});
  }
  const Operand last_in = add(b, in, -1);
  if (kind == "align_corners") {
    if (a.out.is_constant(1)) return b.map("mul", {index, num(b, 0)});
    const Operand last_out = b.with_scalar("max", add(b, b.number(a.out, kReal), -1), 1);
    return b.map("div", {b.map("mul", {index, last_in}), last_out});
  }
  if (kind == "tf_crop_and_resize") {
    const Operand start = b.map("mul", {last_in, num(b, a.roi_start)});
    if (a.out.is_constant(1)) {
      const Operand middle = b.map("mul", {last_in, num(b, 0.5 * (a.roi_start + a.roi_end))});
      return b.map("add", {b.map("mul", {index, num(b, 0)}), middle});
    }
    const Operand last_out = add(b, b.number(a.out, kReal), -1);
    const Operand step = b.map("div", {b.map("mul", {last_in, num(b, a.roi_end - a.roi_start)}),
                                       last_out});
    return b.map("add", {start, b.map("mul", {index, step})});
  }
  throw ModelError("the coordinate transformation '" + kind + "' is unknown.");
}

Operand clamped_index(Builder& b, const Operand& position, const Expr& size) {
  const Operand last = add(b, b.number(size, kReal), -1);
  return b.cast(b.map("min", {b.map("max", {position, num(b, 0)}), last}), DType::i64);
}

Operand rounded(Builder& b, const Operand& x, const std::string& how) {
  if (how == "floor") return b.map("floor", {x});
  if (how == "ceil") return b.map("ceil", {x});
  if (how == "round_prefer_floor") return b.map("ceil", {add(b, x, -0.5)});
  if (how == "round_prefer_ceil") return b.map("floor", {add(b, x, 0.5)});
  throw ModelError("the rounding mode '" + how + "' is unknown.");
}

// Integer factors repeat every element: views instead of a gather.
bool is_repeat(const Axis& a, const Mode& mode) {
  if (a.fixed < 1 || a.fixed != std::floor(a.fixed)) return false;
  if (mode.coordinates == "asymmetric") return mode.nearest == "floor";
  return mode.coordinates == "half_pixel" && mode.nearest.rfind("round", 0) == 0;
}

Operand nearest(Builder& b, const Operand& x, const Axis& a, const Mode& mode) {
  if (is_repeat(a, mode)) {
    Shape wide = x.shape(), merged = wide;
    Ints axes;
    for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i <= a.axis ? i : i + 1);
    wide.insert(wide.begin() + a.axis + 1, Expr(static_cast<int64_t>(a.fixed)));
    merged[static_cast<size_t>(a.axis)] = a.out;
    return b.reshape(b.broadcast(x, wide, axes), merged);
  }
  const Operand position = rounded(b, source_positions(b, a, mode), mode.nearest);
  return b.gather(x, clamped_index(b, position, a.in), a.axis);
}

// Keys' cubic convolution kernel at distance d >= 0, with parameter a.
Operand cubic_kernel(Builder& b, const Operand& d, double a) {
  const Operand near = add(b, b.map("mul", {b.map("mul", {add(b, b.map("mul", {d, num(b, a + 2)}),
                                                              -(a + 3)), d}), d}), 1);
  Operand far = add(b, b.map("mul", {d, num(b, a)}), -5 * a);
  far = add(b, b.map("mul", {far, d}), 8 * a);
  far = add(b, b.map("mul", {far, d}), -4 * a);
  const Operand beyond = b.select(b.map("lt", {d, num(b, 2)}), far, num(b, 0));
  return b.select(b.map("le", {d, num(b, 1)}), near, beyond);
}

Operand kernel(Builder& b, const Operand& distance, const Mode& mode) {
  if (mode.kind == "cubic") return cubic_kernel(b, distance, mode.cubic_a);
  return b.map("max", {b.map("sub", {num(b, 1), distance}), num(b, 0)});
}

// Few taps: gather each and add up.
Operand interpolated(Builder& b, const Operand& x, const Axis& a, const Mode& mode) {
  const Operand position = source_positions(b, a, mode);
  const Operand base = b.map("floor", {position});
  const int64_t first = mode.kind == "cubic" ? -1 : 0, last = mode.kind == "cubic" ? 2 : 1;
  const Operand end = b.number(a.in, kReal);
  Operands taps, weights;
  Operand total;
  for (int64_t tap = first; tap <= last; ++tap) {
    const Operand at = add(b, base, static_cast<double>(tap));
    Operand weight = kernel(b, b.map("abs", {b.map("sub", {position, at})}), mode);
    if (mode.exclude_outside) {
      const Operand inside = b.map("and", {b.map("ge", {at, num(b, 0)}), b.map("lt", {at, end})});
      weight = b.select(inside, weight, num(b, 0));
      total = total ? b.map("add", {total, weight}) : weight;
    }
    taps.push_back(b.gather(x, clamped_index(b, at, a.in), a.axis));
    weights.push_back(weight);
  }
  Operand result;
  for (size_t i = 0; i < taps.size(); ++i) {
    Operand weight = total ? b.map("div", {weights[i], total}) : weights[i];
    weight = b.along_axis(b.cast(weight, x.dtype()), a.axis, x.rank());
    const Operand term = b.map("mul", {taps[i], weight});
    result = result ? b.map("add", {result, term}) : term;
  }
  return result;
}

// Many taps: a matrix of weights [out, in], each row normalised.
Operand antialiased(Builder& b, const Operand& x, const Axis& a, const Mode& mode) {
  const Shape shape{a.out, a.in};
  const Operand position = b.unsqueeze(source_positions(b, a, mode), {1});
  const Operand stretch = b.with_scalar("min", a.scale, 1);
  const Operand distance = b.map(
      "mul", {b.map("abs", {b.map("sub", {b.iota(shape, 1, kReal), position})}), stretch});
  const Operand weight = kernel(b, distance, mode);
  const Operand total = b.reduce("sum", weight, {1}, true);
  const Operand matrix = b.cast(b.map("div", {weight, total}), x.dtype());
  const Operand result = b.contract(x, matrix, {}, {}, {a.axis}, {1});
  return b.move_axis(result, x.rank() - 1, a.axis);
}

Operand resize_axis(Builder& b, const Operand& x, const Axis& a, const Mode& mode) {
  if (mode.kind == "nearest") return nearest(b, x, a, mode);
  if (mode.kind != "linear" && mode.kind != "cubic") {
    throw ModelError("the mode '" + mode.kind + "' is unknown.");
  }
  // Enlarging needs no filter: the stretched kernel is the plain one.
  const bool shrinks = a.fixed == 0 || a.fixed < 1;
  return mode.antialias && shrinks ? antialiased(b, x, a, mode) : interpolated(b, x, a, mode);
}

// tf_crop_and_resize: positions outside of the input take the extrapolation value.
Operand extrapolated(Builder& b, const Operand& resized, const std::vector<Axis>& axes,
                     const Mode& mode) {
  Operand result = resized;
  for (const Axis& a : axes) {
    const Operand position = source_positions(b, a, mode);
    const Operand last = add(b, b.number(a.in, kReal), -1);
    const Operand outside =
        b.map("or", {b.map("lt", {position, num(b, 0)}), b.map("gt", {position, last})});
    result = b.select(b.along_axis(outside, a.axis, result.rank()),
                      b.scalar(result.dtype(), mode.extrapolation), result);
  }
  return result;
}

bool is_empty(const Operand& operand) {
  return !operand || product(operand.shape()).is_constant(0);
}

// Sizes and scales of all axes that change.
std::vector<Axis> axes_of(NodeContext& c, const Operand& x, const Operand& scales,
                          const Operand& sizes, const Operand& roi) {
  const Ints given = c.ints("axes", iota_axes(0, x.rank()));
  std::vector<Axis> result;
  Shape out;
  if (is_empty(scales) == is_empty(sizes)) throw ModelError("give either scales or sizes.");
  if (!is_empty(sizes)) out = c.b.expressions(sizes);
  std::optional<KnownValues> known = is_empty(scales) ? std::nullopt : scales.known_values();
  const Tensor* fixed = is_empty(scales) ? nullptr : scales.constant_tensor();
  if (!is_empty(scales) && !known && fixed == nullptr) {
    throw Refusal("the scales must be known at compile time.", "give sizes instead of scales");
  }
  const size_t count = is_empty(sizes) ? static_cast<size_t>(product(scales.shape()).constant())
                                       : out.size();
  if (count != given.size()) throw ModelError("there must be one scale or size for each axis.");
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  for (size_t i = 0; i < given.size(); ++i) {
    Axis a;
    a.axis = normalized_axis(given[i], x.rank());
    a.in = x.dim(a.axis);
    if (fixed != nullptr) {
      a.fixed = fixed->get_double(static_cast<int64_t>(i));
      if (!(a.fixed > 0)) throw ModelError("scales must be positive.");
      a.scale = num(c.b, a.fixed);
      if (a.in.is_constant()) {
        a.out = Expr(static_cast<int64_t>(std::floor(static_cast<double>(a.in.constant()) * a.fixed)));
      } else if (known) {
        const Known& k = (*known)[i];
        a.out = c.b.simplified(floordiv(a.in * k.numerator, k.denominator));
      } else {
        const Operand size = c.b.map("floor", {c.b.map("mul", {c.b.number(a.in, kReal), a.scale})});
        a.out = c.b.expressions(c.b.cast(size, DType::i64))[0];
      }
    } else if (known) {
      const Known& k = (*known)[i];
      a.out = c.b.simplified(floordiv(a.in * k.numerator, k.denominator));
      a.scale = c.b.cast(Operand::known(DType::f64, {}, {k}), kReal);
    } else {
      a.out = out[i];
      a.scale = c.b.map("div", {c.b.number(a.out, kReal), c.b.number(a.in, kReal)});
      if (a.out.is_constant() && a.in.is_constant() && a.in.constant() > 0) {
        a.fixed = static_cast<double>(a.out.constant()) / static_cast<double>(a.in.constant());
      } else if (const auto factor = exact_division(a.out, a.in); factor && factor->is_constant()) {
        a.fixed = static_cast<double>(factor->constant());
      }
    }
    if (!is_empty(roi)) {
      const Tensor* region = roi.constant_tensor();
      if (region == nullptr) {
        throw Refusal("the region of interest must be known at compile time.",
                      "make 'roi' a constant of the model");
      }
      const auto at = static_cast<int64_t>(i);
      a.roi_start = region->get_double(at);
      a.roi_end = region->get_double(at + static_cast<int64_t>(given.size()));
    }
    result.push_back(std::move(a));
  }
  if (policy != "stretch" && !is_empty(sizes)) {
    // One scale for all axes; sizes are rounded from it.
    double best = 0;
    for (const Axis& a : result) {
      if (a.fixed == 0) {
        throw Refusal("keep_aspect_ratio_policy needs sizes that are known at compile time.",
                      "fix the dimensions with --dim");
      }
      const bool better = policy == "not_larger" ? a.fixed < best : a.fixed > best;
      if (best == 0 || better) best = a.fixed;
    }
    for (Axis& a : result) {
      a.out = Expr(static_cast<int64_t>(std::floor(best * static_cast<double>(a.in.constant()) + 0.5)));
      a.fixed = best;
      a.scale = num(c.b, best);
    }
  }
  return result;
}

void resized(NodeContext& c, const Operand& scales, const Operand& sizes, const Operand& roi,
             const Mode& mode) {
  const Operand x = c.in(0);
  Operand y = x;
  // Interpolate integers and half types in f32.
  const bool convert = mode.kind != "nearest" && x.dtype() != DType::f32 && x.dtype() != DType::f64;
  if (convert) y = c.b.cast(x, DType::f32);
  std::vector<Axis> axes = axes_of(c, x, scales, sizes, roi);
  const bool crop = mode.coordinates == "tf_crop_and_resize";
  for (const Axis& a : axes) {
    if (!crop && a.fixed == 1) continue;
    y = resize_axis(c.b, y, a, mode);
  }
  if (crop) y = extrapolated(c.b, y, axes, mode);
  if (convert && is_integer(x.dtype())) {
    // Round and saturate, as a store into pixels does.
    const int bits = dtype_info(x.dtype()).bits;
    const bool is_signed = dtype_info(x.dtype()).kind == DTypeKind::signed_integer;
    const double span = std::ldexp(1.0, bits);
    y = c.b.map("round", {y});
    y = c.b.with_scalar("max", y, is_signed ? -span / 2 : 0);
    y = c.b.with_scalar("min", y, (is_signed ? span / 2 : span) - 1);
  }
  c.out(c.b.cast(y, x.dtype()));
}

Mode mode_of(NodeContext& c) {
  Mode mode;
  mode.kind = c.text("mode", "nearest");
  mode.coordinates = c.text("coordinate_transformation_mode", "half_pixel");
  mode.nearest = c.text("nearest_mode", "round_prefer_floor");
  mode.cubic_a = c.real("cubic_coeff_a", -0.75);
  mode.extrapolation = c.real("extrapolation_value", 0);
  mode.exclude_outside = c.integer("exclude_outside", 0) != 0;
  mode.antialias = c.integer("antialias", 0) != 0;
  return mode;
}

void import_resize(NodeContext& c) {
  resized(c, c.optional(2), c.optional(3), c.optional(1), mode_of(c));
}

// Upsample and the first Resize: asymmetric coordinates, rounding down.
Mode old_mode(NodeContext& c) {
  Mode mode;
  mode.kind = c.text("mode", "nearest");
  if (mode.kind == "bilinear") mode.kind = "linear";
  mode.coordinates = "asymmetric";
  mode.nearest = "floor";
  return mode;
}
void import_resize_10(NodeContext& c) { resized(c, c.in(1), {}, {}, old_mode(c)); }
void import_upsample_7(NodeContext& c) {
  const std::vector<double> scales = c.reals("scales");
  Tensor tensor(DType::f32, {static_cast<int64_t>(scales.size())});
  for (size_t i = 0; i < scales.size(); ++i) tensor.set_double(static_cast<int64_t>(i), scales[i]);
  resized(c, c.b.constant(std::move(tensor)), {}, {}, old_mode(c));
}

const OperatorEntry kEntries[] = {
    {"", "Resize", 10, import_resize_10},
    {"", "Resize", 11, import_resize},
    {"", "Upsample", 7, import_upsample_7},
    {"", "Upsample", 9, import_resize_10},
};

}  // namespace

std::span<const OperatorEntry> resize_entries() { return kEntries; }

}  // namespace mcc::frontend
