// Image operators: grid sampling, deformable convolution, regions of interest, block images.
#include <cmath>
#include <limits>

#include "lib/frontend/op_table.h"
#include "lib/frontend/ops/convolution.h"
#include "lib/frontend/ops/sampling.h"
#include "lib/frontend/ops/window_geometry.h"

namespace mcc::frontend {
namespace {

// Grid coordinates in [-1, 1], the last spatial axis first.
void import_grid_sample(NodeContext& c) {
  Builder& b = c.b;
  const Operand x = c.in(0), grid = c.in(1);
  const int64_t axes = x.rank() - 2;
  if (axes < 1 || grid.rank() != x.rank()) throw ModelError("the grid must have x's rank.");
  Sampling how;
  how.kind = c.text("mode", "linear");
  if (how.kind == "bilinear") how.kind = "linear";
  if (how.kind == "bicubic") how.kind = "cubic";
  const std::string padding = c.text("padding_mode", "zeros");
  how.outside = padding == "border"       ? Outside::border
                : padding == "reflection" ? Outside::reflection
                                          : Outside::zeros;
  how.align_corners = c.integer("align_corners", 0) != 0;
  const DType compute = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Shape out_spatial(grid.shape().begin() + 1, grid.shape().end() - 1);
  const Operand points = b.reshape(b.cast(grid, compute), {x.dim(0), product(out_spatial), axes});
  Operands positions;
  for (int64_t axis = 0; axis < axes; ++axis) {
    const Operand given = b.squeeze(b.slice_axis(points, 2, axes - 1 - axis, 1), {2});
    const Expr size = x.dim(axis + 2);
    const Operand unit = b.with_scalar("add", given, 1);
    if (how.align_corners) {
      positions.push_back(b.map("mul", {b.with_scalar("mul", unit, 0.5),
                                        b.number(size - 1, compute)}));
    } else {
      const Operand scaled = b.map("mul", {unit, b.number(size, compute)});
      positions.push_back(b.with_scalar("mul", b.with_scalar("sub", scaled, 1), 0.5));
    }
  }
  Shape shape{x.dim(0), x.dim(1)};
  shape.insert(shape.end(), out_spatial.begin(), out_spatial.end());
  c.out(b.reshape(sample(b, x, positions, how), shape));
}

// Every kernel position samples the image at its own place plus an offset; what remains is a
// product with the weights.
void import_deform_conv(NodeContext& c) {
  Builder& b = c.b;
  const Operand x = c.in(0), w = c.in(1), offset = c.in(2);
  if (x.rank() != 4 || w.rank() != 4) {
    throw Refusal("only two-dimensional deformable convolutions are supported.", "");
  }
  const Ints window = c.ints("kernel_shape", {w.dim(2).constant(), w.dim(3).constant()});
  const WindowGeometry g = window_geometry(c, window, {x.dim(2), x.dim(3)});
  const int64_t groups = c.integer("group", 1), offset_groups = c.integer("offset_group", 1);
  const int64_t taps = window[0] * window[1];
  const Expr height = offset.dim(2), width = offset.dim(3), batch = x.dim(0);
  const Expr places = height * width;
  const DType compute = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  // Offsets [N, og, taps, 2, H, W].
  const Operand shifts = b.cast(b.reshape(offset, {batch, offset_groups, taps, 2, height, width}),
                                compute);
  Operands positions;
  for (int64_t axis = 0; axis < 2; ++axis) {
    const Shape full{1, 1, window[0], window[1], height, width};
    const auto a = static_cast<size_t>(axis);
    const Operand tap = b.with_scalar("mul", b.iota(full, 2 + axis, compute),
                                      static_cast<double>(g.dilations[a]));
    Operand at = b.with_scalar("mul", b.iota(full, 4 + axis, compute),
                               static_cast<double>(g.strides[a]));
    at = b.map("sub", {b.map("add", {at, tap}), b.number(g.low[a], compute)});
    at = b.reshape(at, {1, 1, taps, height, width});
    const Operand shift = b.squeeze(b.slice_axis(shifts, 3, axis, 1), {3});
    positions.push_back(
        b.reshape(b.map("add", {at, shift}), {batch * Expr(offset_groups), Expr(taps) * places}));
  }
  const Expr per_offset = b.simplified(floordiv(x.dim(1), offset_groups));
  const Operand images =
      b.reshape(x, {batch * Expr(offset_groups), per_offset, x.dim(2), x.dim(3)});
  Operand samples = sample(b, images, positions, {});  // [N*og, C/og, taps*P]
  samples = b.reshape(samples, {batch, offset_groups, per_offset, taps, places});
  if (c.has(4)) {
    const Operand mask = b.reshape(c.in(4), {batch, offset_groups, 1, taps, places});
    samples = b.map("mul", {samples, mask});
  }
  const Expr per_group = b.simplified(floordiv(x.dim(1), groups));
  const Expr out_per_group = b.simplified(floordiv(w.dim(0), groups));
  samples = b.reshape(samples, {batch, groups, per_group * Expr(taps), places});
  const Operand weights = b.reshape(w, {groups, out_per_group, per_group * Expr(taps)});
  const Operand product = b.contract(samples, weights, {1}, {0}, {2}, {2});  // [g, N, P, OC/g]
  const Operand result = b.reshape(b.transpose(product, {1, 0, 3, 2}),
                                   {batch, w.dim(0), height, width});
  c.out(with_channel_bias(b, result, c.optional(3)));
}

// -- RoiAlign

// Sample positions along one axis for all regions, [R, bins * samples], with the number of samples
// of each region (they may have fewer than the widest) and their validity.
struct RoiAxis {
  Operand position;       // f32 [R, bins * samples]
  Operand used;           // bool, absent: all
  Operand count;          // f32 [R]
  Expr samples;
};

RoiAxis roi_axis(NodeContext& c, const Operand& rois, int64_t low_column, int64_t bins,
                 double scale, double shift, bool at_least_one, int64_t ratio) {
  Builder& b = c.b;
  const auto column = [&](int64_t i) {
    const Operand value = b.squeeze(b.slice_axis(rois, 1, i, 1), {1});
    return b.with_scalar("sub", b.with_scalar("mul", value, scale), shift);
  };
  const Operand low = column(low_column);
  Operand extent = b.map("sub", {column(low_column + 2), low});
  if (at_least_one) extent = b.with_scalar("max", extent, 1);
  const Operand bin = b.with_scalar("div", extent, static_cast<double>(bins));
  RoiAxis axis;
  if (ratio > 0) {
    axis.samples = Expr(ratio);
    axis.count = b.full(bin.shape(), b.scalar(bin.dtype(), static_cast<double>(ratio)));
  } else {
    axis.count = b.with_scalar("max", b.map("ceil", {bin}), 1);
    const Operand most = b.cast(b.reduce("max", axis.count, {0}, false), DType::i64);
    axis.samples = b.expressions(b.with_scalar("max", most, 1), 1)[0];
  }
  const Shape grid{rois.dim(0), bins, axis.samples};
  const auto per_region = [&](const Operand& v) { return b.along_axis(v, 0, 3); };
  const Operand sample_index = b.iota(grid, 2, bin.dtype());
  const Operand inside = b.map("div", {b.with_scalar("add", sample_index, 0.5),
                                       per_region(axis.count)});
  const Operand bin_index = b.iota(grid, 1, bin.dtype());
  const Operand offset = b.map("mul", {b.map("add", {bin_index, inside}), per_region(bin)});
  const Shape flat{rois.dim(0), Expr(bins) * axis.samples};
  axis.position = b.reshape(b.map("add", {offset, per_region(low)}), flat);
  if (ratio <= 0) {
    axis.used = b.reshape(b.map("lt", {sample_index, per_region(axis.count)}), flat);
  }
  return axis;
}

// The two neighbours of each position and their weights; positions beyond [-1, size] count as 0.
struct RoiTaps {
  Operand index[2], weight[2];
};
RoiTaps roi_taps(Builder& b, const Operand& position, const Expr& size) {
  const DType dtype = position.dtype();
  const Operand last = b.number(size - 1, dtype), zero = b.scalar(dtype, 0);
  const Operand inside = b.map("and", {b.with_scalar("ge", position, -1),
                                       b.map("le", {position, b.number(size, dtype)})});
  const Operand clamped = b.map("min", {b.map("max", {position, zero}), last});
  const Operand low = b.map("floor", {clamped});
  const Operand high = b.map("min", {b.with_scalar("add", low, 1), last});
  const Operand part = b.map("sub", {clamped, low});
  RoiTaps taps;
  taps.index[0] = b.cast(low, DType::i64);
  taps.index[1] = b.cast(high, DType::i64);
  taps.weight[0] = b.select(inside, b.map("sub", {b.scalar(dtype, 1), part}), zero);
  taps.weight[1] = b.select(inside, part, zero);
  return taps;
}

void roi_align(NodeContext& c, bool half_pixel) {
  Builder& b = c.b;
  const Operand x = c.in(0);
  const Operand rois = b.cast(c.in(1), x.dtype() == DType::f64 ? DType::f64 : DType::f32);
  const int64_t rows = c.integer("output_height", 1), columns = c.integer("output_width", 1);
  const int64_t ratio = c.integer("sampling_ratio", 0);
  const double scale = c.real("spatial_scale", 1), shift = half_pixel ? 0.5 : 0;
  const RoiAxis y = roi_axis(c, rois, 1, rows, scale, shift, !half_pixel, ratio);
  const RoiAxis z = roi_axis(c, rois, 0, columns, scale, shift, !half_pixel, ratio);
  const RoiTaps vertical = roi_taps(b, y.position, x.dim(2));
  const RoiTaps horizontal = roi_taps(b, z.position, x.dim(3));
  const Expr regions = rois.dim(0), count_y = y.position.dim(1), count_x = z.position.dim(1);
  const Shape points{regions, count_y, count_x};
  // Pixels last, so that one gather reads all channels of a pixel.
  const Operand pixels = b.transpose(x, {0, 2, 3, 1});
  const Operand image = b.broadcast_to(b.along_axis(b.cast(c.in(2), DType::i64), 0, 3), points);
  const bool maximum = c.text("mode", "avg") == "max";
  Operand total;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const Operand row = b.broadcast_to(b.unsqueeze(vertical.index[i], {2}), points);
      const Operand column = b.broadcast_to(b.unsqueeze(horizontal.index[j], {1}), points);
      Operands parts;
      for (const Operand& part : {image, row, column}) parts.push_back(b.unsqueeze(part, {3}));
      Attributes attributes;
      attributes.set("batch_dims", int64_t{0});
      Operand value = b.emit(Op::gather_nd, {pixels, b.concat(parts, 3)}, attributes);
      const Operand weight = b.map("mul", {b.unsqueeze(vertical.weight[i], {2}),
                                           b.unsqueeze(horizontal.weight[j], {1})});
      value = b.map("mul", {value, b.unsqueeze(b.cast(weight, x.dtype()), {3})});
      total = total ? b.map(maximum ? "max" : "add", {total, value}) : value;
    }
  }
  const double neutral = maximum ? -std::numeric_limits<double>::infinity() : 0;
  if (y.used) {
    const Operand used = b.map("and", {b.unsqueeze(y.used, {2}), b.unsqueeze(z.used, {1})});
    total = b.select(b.unsqueeze(used, {3}), total, b.scalar(x.dtype(), neutral));
  }
  const Operand split =
      b.reshape(total, {regions, rows, y.samples, columns, z.samples, x.dim(1)});
  Operand result = b.reduce(maximum ? "max" : "sum", split, {2, 4}, false);
  if (!maximum) {
    const Operand count = b.cast(b.map("mul", {y.count, z.count}), x.dtype());
    result = b.map("div", {result, b.along_axis(count, 0, 4)});
  }
  c.out(b.transpose(result, {0, 3, 1, 2}));
}
void import_roi_align_10(NodeContext& c) { roi_align(c, false); }
void import_roi_align(NodeContext& c) {
  roi_align(c, c.text("coordinate_transformation_mode", "half_pixel") == "half_pixel");
}

// Adds overlapping blocks into an image: a transposed convolution whose kernels are one-hot.
void import_col2im(NodeContext& c) {
  Builder& b = c.b;
  const Operand x = c.in(0);
  const Ints image = c.constant_ints(1, "the image shape");
  const Ints block = c.constant_ints(2, "the block shape");
  const size_t axes = block.size();
  if (image.size() != axes || x.rank() != 3) throw ModelError("image and block do not fit.");
  const WindowGeometry g = window_geometry(c, block, Shape(image.begin(), image.end()));
  int64_t taps = 1;
  for (int64_t size : block) taps *= size;
  const Expr channels = b.simplified(floordiv(x.dim(1), taps));
  if (!channels.is_constant()) throw ModelError("the number of channels must be known.");
  Shape steps{x.dim(0), x.dim(1)};
  Ints extra;
  for (size_t i = 0; i < axes; ++i) {
    const Expr span = Expr(image[i]) + g.low[i] + g.high[i] - Expr(reach(g, i));
    steps.push_back(b.simplified(floordiv(span, g.strides[i]) + 1));
    extra.push_back(b.simplified(mod(span, g.strides[i])).constant());
  }
  // Weight [C * taps, 1, block...]: tap t of each channel writes block position t.
  const Operand row = b.iota({channels, taps, taps}, 1, DType::i64);
  const Operand column = b.iota({channels, taps, taps}, 2, DType::i64);
  Shape weight_shape{channels * Expr(taps), 1};
  for (int64_t size : block) weight_shape.emplace_back(size);
  const Operand weight = b.reshape(b.cast(b.map("eq", {row, column}), x.dtype()), weight_shape);
  Attributes attributes;
  attributes.set("layout", std::string("nchw"));
  attributes.set("strides", g.strides);
  attributes.set("dilations", g.dilations);
  attributes.set("pads_low", g.low);
  attributes.set("pads_high", g.high);
  attributes.set("groups", channels.constant());
  attributes.set("output_padding", extra);
  c.out(b.emit(Op::conv_transpose, {b.reshape(x, steps), weight}, attributes));
}

// Gaussian elimination with partial pivoting, unrolled.
void import_det(NodeContext& c) {
  constexpr int64_t kLargestMatrix = 32;
  Builder& b = c.b;
  Operand a = c.in(0);
  const int64_t rank = a.rank();
  if (rank < 2 || !a.dim(rank - 1).is_constant() || a.dim(rank - 1).constant() > kLargestMatrix) {
    throw Refusal("determinants are supported for matrices of known size up to 32.",
                  "fix the matrix size with --dim");
  }
  const int64_t size = a.dim(rank - 1).constant();
  const int64_t row_axis = rank - 2, column_axis = rank - 1;
  Operand result;
  const Operand one = b.scalar(a.dtype(), 1);
  for (int64_t n = size; n > 0; --n) {
    const Operand column = b.slice_axis(a, column_axis, 0, 1);  // [.., n, 1]
    Attributes attributes;
    attributes.set("fn", std::string("max"));
    attributes.set("axis", row_axis);
    attributes.set("select_last", int64_t{0});
    // Index of the pivot row, [.., 1, 1].
    const Operand pivot =
        b.unsqueeze(b.emit(Op::arg_reduce, {b.map("abs", {column})}, attributes), {row_axis});
    const Operand at = b.iota(a.shape(), row_axis, DType::i64);
    const Operand is_pivot = b.map("eq", {at, pivot});
    const Operand zero = b.scalar(a.dtype(), 0);
    const Operand pivot_row = b.reduce("sum", b.select(is_pivot, a, zero), {row_axis}, true);
    const Operand value = b.slice_axis(pivot_row, column_axis, 0, 1);  // [.., 1, 1]
    const Operand moved = b.with_scalar("gt", pivot, 0);
    const Operand factor = b.select(moved, b.map("neg", {value}), value);
    result = result ? b.map("mul", {result, factor}) : factor;
    if (n == 1) break;
    // Row 0 takes the pivot row's place; the rest is reduced by the pivot row.
    const Operand first = b.slice_axis(a, row_axis, 0, 1);
    const Operand swapped = b.select(is_pivot, first, a);
    const Operand rest = b.slice_axis(swapped, row_axis, 1, n - 1);
    const Operand safe = b.select(b.map("eq", {value, zero}), one, value);
    const Operand multiple = b.map("div", {b.slice_axis(rest, column_axis, 0, 1), safe});
    const Operand reduced = b.map("sub", {rest, b.map("mul", {multiple, pivot_row})});
    a = b.slice_axis(reduced, column_axis, 1, n - 1);
  }
  c.out(b.squeeze(result, {row_axis, column_axis}));
}

const OperatorEntry kEntries[] = {
    {"", "Col2Im", 18, import_col2im},
    {"", "DeformConv", 19, import_deform_conv, "two-dimensional"},
    {"", "Det", 11, import_det, "matrices up to 32 x 32"},
    {"", "GridSample", 16, import_grid_sample},
    {"", "RoiAlign", 10, import_roi_align_10},
    {"", "RoiAlign", 16, import_roi_align},
};

}  // namespace

std::span<const OperatorEntry> vision_entries() { return kEntries; }

}  // namespace mcc::frontend
