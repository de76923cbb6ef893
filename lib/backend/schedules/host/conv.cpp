// Host convolution over channels-last activations.
//
// Dense convolutions use the register tiles of tile_engine.h: the rows of a tile are pixels along
// the last spatial axis (or, for pointwise convolutions, along all of them), its columns a panel of
// 64 output channels. Inputs that need padding, or are read through a view, are first copied row
// by row into scratch with their padding, so that the inner loops have no conditions. Depthwise
// convolutions are vectors over channels. Everything else takes the plain path.
#include <algorithm>

#include "lib/backend/schedules/common/contraction_view.h"
#include "lib/backend/schedules/common/conv_view.h"
#include "lib/backend/schedules/host/host_schedules.h"
#include "lib/backend/schedules/host/tile_engine.h"

namespace mcc::backend {
namespace {

constexpr int64_t kMaximumScratch = int64_t{8} << 20;

class Convolution {
 public:
  Convolution(const Group& group, const Target& target)
      : target_(target), lowering_(group, kernel_), node_(*lowering_.anchor()),
        view_(lowering_.body(), node_), shape_(tile_shape(target)) {}

  LoopKernel run() {
    parameter_ = request_conv_panels(lowering_, view_);
    if (parameter_ < 0) {
      plain();
    } else if (view_.depthwise()) {
      channelwise();
    } else if (is_pointwise()) {
      pointwise();
    } else {
      dense();
    }
    return std::move(kernel_);
  }

 private:
  int64_t depth() const { return view_.taps() * view_.in_channels; }
  Expr panels() const { return ceildiv(Expr(view_.out_channels * view_.groups), kPanelWidth); }

  bool is_pointwise() const {
    for (size_t axis = 0; axis < view_.spatial_rank(); ++axis) {
      if (view_.window[axis] != 1 || view_.strides[axis] != 1 || !view_.pads_low[axis].is_constant(0)) return false;
      if (!(view_.in_spatial[axis] == view_.out_spatial[axis])) return false;
    }
    return true;
  }

  Expr weight_index(const Expr& panel, const Expr& d, const Expr& column) const {
    return lowering_.simplified((panel * Expr(depth()) + d) * Expr(kPanelWidth)) + column;
  }

  TileSpec tile(int rows, int vectors, const Expr& columns_left) const {
    TileSpec spec;
    spec.rows = rows;
    spec.vectors = vectors;
    spec.lanes = shape_.lanes;
    spec.columns_left = columns_left;
    return spec;
  }

  // 1x1, stride 1, no padding: a matrix product over all pixels.
  void pointwise() {
    Shape pixel_shape{view_.batch};
    pixel_shape.insert(pixel_shape.end(), view_.out_spatial.begin(), view_.out_spatial.end());
    const Expr pixels = product(pixel_shape);
    const int64_t pixels_per_item = rows_per_item(pixels, panels());
    const Expr blocks = ceildiv(pixels, pixels_per_item);
    kernel_.parallel = panels() * blocks;
    const std::string item = lowering_.new_variable("p", kernel_.parallel);
    const Expr panel = lowering_.simplified(floordiv(Expr::symbol(item), blocks));
    const Expr block = lowering_.simplified(mod(Expr::symbol(item), blocks));
    auto at_pixel = [&](const Expr& pixel, const Expr& channel, bool output) {
      const Indices at = delinearize(pixel, pixel_shape);
      const Indices spatial(at.begin() + 1, at.end());
      return output ? view_.output_indices(at[0], spatial, channel) : view_.input_indices(at[0], spatial, channel);
    };
    auto tile_at = [&](const Expr& first_column, int vectors, const Expr& left, const Expr& first, int rows) {
      const std::string channel = lowering_.new_variable("d", view_.in_channels);
      const Expr c = Expr::symbol(channel);
      TileSpec spec = tile(rows, vectors, left);
      spec.depth = {{channel, view_.in_channels, {}}};
      spec.left = [&](int row) {
        return lowering_.element(view_.input, at_pixel(first + Expr(row), c, false));
      };
      spec.right = [&](const Expr& column) {
        return load(parameter_, DType::f32, weight_index(panel, c, first_column + column));
      };
      spec.finish = [&](const Expr& row, const Expr& column, const ScalarPtr& value) {
        return lowering_.finish(
            at_pixel(first + row, panel * Expr(kPanelWidth) + first_column + column, true), value);
      };
      return emit_tile(lowering_, spec);
    };
    Block body = cover_columns(
        lowering_, shape_, panel, view_.out_channels,
        [&](const Expr& first_column, int vectors, const Expr& left) {
          return cover_block(lowering_, block, pixels_per_item, pixels, shape_.rows(vectors),
                             [&](const Expr& first, int rows) { return tile_at(first_column, vectors, left, first, rows); });
        });
    kernel_.body = {make_loop(item, kernel_.parallel, LoopTag::parallel, std::move(body))};
  }

  // Work items: panels x output rows (all positions but the last spatial axis).
  void dense() {
    const size_t rank = view_.spatial_rank();
    const Expr width = view_.out_spatial[rank - 1];
    Shape row_shape{view_.batch};
    row_shape.insert(row_shape.end(), view_.out_spatial.begin(), view_.out_spatial.end() - 1);
    const Expr row_count = product(row_shape);
    kernel_.parallel = panels() * row_count;
    const std::string item = lowering_.new_variable("p", kernel_.parallel);
    const Expr panel = lowering_.simplified(floordiv(Expr::symbol(item), row_count));
    Indices row = delinearize(lowering_.simplified(mod(Expr::symbol(item), row_count)), row_shape);
    for (Expr& index : row) index = lowering_.simplified(index);
    const Expr n = row[0];
    const Indices outer(row.begin() + 1, row.end());

    // The taps of the outer spatial axes select input rows.
    const int64_t taps_wide = view_.window[rank - 1];
    const int64_t outer_taps = view_.taps() / taps_wide;
    const Expr padded_width =
        (width - 1) * Expr(view_.strides[rank - 1]) + Expr((taps_wide - 1) * view_.dilations[rank - 1] + 1);
    const bool direct = lowering_.direct_parameter(view_.input) >= 0;
    const bool copies = (!direct || view_.padded(lowering_.ranges())) && padded_width.is_constant() &&
                        outer_taps * padded_width.constant() * view_.in_channels * 4 <= kMaximumScratch;

    Block body;
    if (copies) copy_rows(n, outer, padded_width.constant(), outer_taps, body);
    Block tiles = cover_columns(
        lowering_, shape_, panel, view_.out_channels,
        [&](const Expr& first_column, int vectors, const Expr& left) {
          return cover_rows(lowering_, width, shape_.rows(vectors), [&](const Expr& first_pixel, int rows) {
            return dense_tile(n, outer, panel, first_column, vectors, left, first_pixel, rows, copies,
                              padded_width, outer_taps);
          });
        });
    body.insert(body.end(), tiles.begin(), tiles.end());
    kernel_.body = {make_loop(item, kernel_.parallel, LoopTag::parallel, std::move(body))};
  }

  Shape outer_window() const {
    Shape dims;
    for (size_t axis = 0; axis + 1 < view_.spatial_rank(); ++axis) dims.emplace_back(view_.window[axis]);
    return dims;
  }

  // rows[tap][x][c] of scratch = the input row of each outer tap, zero where it is padding.
  void copy_rows(const Expr& n, const Indices& outer, int64_t padded_width, int64_t outer_taps, Block& body) {
    const size_t rank = view_.spatial_rank();
    const int64_t elements = outer_taps * padded_width * view_.in_channels;
    kernel_.scratch_bytes = elements * 4;
    body.push_back(make_allocate("rows", DType::f32, elements, MemorySpace::scratch));
    const std::string tap = lowering_.new_variable("h", outer_taps);
    const std::string x = lowering_.new_variable("x", padded_width);
    const std::string channel = lowering_.new_variable("v", view_.in_channels);
    Indices at = outer;
    at.emplace_back(0);
    Indices taps = delinearize(Expr::symbol(tap), outer_window());
    taps.emplace_back(0);
    Indices position = view_.positions(at, taps);
    position[rank - 1] = Expr::symbol(x) - view_.pads_low[rank - 1];
    const Expr to = (Expr::symbol(tap) * Expr(padded_width) + Expr::symbol(x)) * Expr(view_.in_channels) +
                    Expr::symbol(channel);
    const Guard inside = view_.inside(position, lowering_.ranges());
    auto row = [&](const ScalarPtr& value) {
      return Block{make_loop(channel, view_.in_channels, LoopTag::vector,
                             {make_store_memory("rows", DType::f32, to, value)}, shape_.lanes)};
    };
    Block copy = row(lowering_.element(view_.input, view_.input_indices(n, position, Expr::symbol(channel))));
    if (!inside.empty()) copy = {make_if(inside, std::move(copy), row(literal(DType::f32, 0)))};
    body.push_back(make_loop(tap, outer_taps, LoopTag::serial,
                             {make_loop(x, padded_width, LoopTag::serial, std::move(copy))}));
  }

  Block dense_tile(const Expr& n, const Indices& outer, const Expr& panel, const Expr& first_column,
                   int vectors, const Expr& left, const Expr& first_pixel, int rows, bool copied, const Expr& padded_width,
                   int64_t outer_taps) {
    const size_t rank = view_.spatial_rank();
    const int64_t taps_wide = view_.window[rank - 1];
    const std::string tap = lowering_.new_variable("h", outer_taps);
    const std::string wide = lowering_.new_variable("w", taps_wide);
    const std::string channel = lowering_.new_variable("d", view_.in_channels);
    const Expr c = Expr::symbol(channel);
    Indices taps = delinearize(Expr::symbol(tap), outer_window());
    taps.push_back(Expr::symbol(wide));
    TileSpec spec = tile(rows, vectors, left);
    spec.depth = {{tap, outer_taps, {}}, {wide, taps_wide, {}}, {channel, view_.in_channels, {}}};
    spec.left = [&](int row) {
      const Expr pixel = first_pixel + Expr(row);
      if (copied) {
        const Expr x = pixel * Expr(view_.strides[rank - 1]) + Expr::symbol(wide) * Expr(view_.dilations[rank - 1]);
        return load_memory("rows", DType::f32,
                           lowering_.simplified((Expr::symbol(tap) * padded_width + x) * Expr(view_.in_channels)) + c);
      }
      Indices at = outer;
      at.push_back(pixel);
      const Indices position = view_.positions(at, taps);
      return guarded(view_.inside(position, lowering_.ranges()),
                     lowering_.element(view_.input, view_.input_indices(n, position, c)), literal(DType::f32, 0));
    };
    spec.right = [&](const Expr& column) {
      const Expr d = (Expr::symbol(tap) * Expr(taps_wide) + Expr::symbol(wide)) * Expr(view_.in_channels) + c;
      return load(parameter_, DType::f32, weight_index(panel, d, first_column + column));
    };
    spec.finish = [&](const Expr& row, const Expr& column, const ScalarPtr& value) {
      Indices at = outer;
      at.push_back(first_pixel + row);
      return lowering_.finish(
          view_.output_indices(n, at, panel * Expr(kPanelWidth) + first_column + column), value);
    };
    return emit_tile(lowering_, spec);
  }

  // One multiplier per channel: a vector of channels at a time. Pixels whose taps are all inside of
  // a row are computed several at once: they share the weights, and their sums do not wait for each
  // other.
  void channelwise() {
    const size_t rank = view_.spatial_rank();
    const Expr width = view_.out_spatial[rank - 1];
    Shape row_shape{view_.batch};
    row_shape.insert(row_shape.end(), view_.out_spatial.begin(), view_.out_spatial.end() - 1);
    kernel_.parallel = product(row_shape);
    const std::string item = lowering_.new_variable("p", kernel_.parallel);
    Indices row = delinearize(Expr::symbol(item), row_shape);
    for (Expr& index : row) index = lowering_.simplified(index);

    // Interior pixels [low, high) of the row.
    const int64_t stride = view_.strides[rank - 1];
    const int64_t reach = (view_.window[rank - 1] - 1) * view_.dilations[rank - 1];
    const Expr pad = view_.pads_low[rank - 1];
    const Expr low = lowering_.simplified(min(ceildiv(pad, stride), width));
    const Expr high = lowering_.simplified(
        max(low, min(width, floordiv(view_.in_spatial[rank - 1] - Expr(1 + reach) + pad, stride) + 1)));
    auto border = [&](const Expr& first, const Expr& count, const Expr& channel, const Expr& weights, const Expr& channels) {
      if (count.is_constant(0)) return Block{};
      const std::string x = lowering_.new_variable("x", count);
      return Block{make_loop(x, count, LoopTag::serial,
                             channelwise_pixels(row, first + Expr::symbol(x), 1, false, channel, weights, channels))};
    };
    // Panels outside of pixels: a panel's weights stay in the first-level cache for a whole row.
    auto pixels = [&](const Expr& panel, const Expr& channels) {
      const Expr channel = panel * Expr(kPanelWidth);
      const Expr weights = weight_index(panel, 0, 0);
      Block block = border(0, low, channel, weights, channels);
      Block inner = cover_rows(lowering_, lowering_.simplified(high - low), 6, [&](const Expr& first, int count) {
        return channelwise_pixels(row, low + first, count, true, channel, weights, channels);
      });
      block.insert(block.end(), inner.begin(), inner.end());
      Block right = border(high, lowering_.simplified(width - high), channel, weights, channels);
      block.insert(block.end(), right.begin(), right.end());
      return block;
    };
    Block body;
    const int64_t whole = view_.groups / kPanelWidth;
    if (whole > 0) {
      const std::string panel = lowering_.new_variable("n", whole);
      body.push_back(make_loop(panel, whole, LoopTag::serial, pixels(Expr::symbol(panel), kPanelWidth)));
    }
    if (view_.groups % kPanelWidth != 0) {
      body.push_back(make_loop(lowering_.new_variable("n", 1), 1, LoopTag::serial,
                               pixels(whole, view_.groups % kPanelWidth)));
    }
    kernel_.body = {make_loop(item, kernel_.parallel, LoopTag::parallel, std::move(body))};
  }

  // `count` pixels from `first` on of one output row, for `channels` channels from `channel` on.
  Block channelwise_pixels(const Indices& row, const Expr& first, int count, bool interior, const Expr& channel,
                           const Expr& weights, const Expr& channels) {
    const size_t rank = view_.spatial_rank();
    const std::string lane = lowering_.new_variable("v", kPanelWidth);
    std::vector<std::string> tap_variables;
    Indices taps;
    Expr tap = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      tap_variables.push_back(lowering_.new_variable("k", view_.window[axis]));
      taps.push_back(Expr::symbol(tap_variables.back()));
      tap = tap * Expr(view_.window[axis]) + taps.back();
    }
    auto at_pixel = [&](int number) {
      Indices at(row.begin() + 1, row.end());
      at.push_back(first + Expr(number));
      return at;
    };
    const ScalarPtr right =
        load(parameter_, DType::f32, lowering_.simplified(weights + tap * Expr(kPanelWidth)) + Expr::symbol(lane));
    Block inner;
    for (int number = 0; number < count; ++number) {
      const std::string name = "acc" + std::to_string(number);
      const Indices position = view_.positions(at_pixel(number), taps);
      const ScalarPtr left = lowering_.element(
          view_.input, view_.input_indices(row[0], position, channel + Expr::symbol(lane)));
      inner.push_back(make_assign(name, apply("fma", {left, right, register_value(name, DType::f32)})));
    }
    Indices position = view_.positions(at_pixel(0), taps);
    if (interior) position[rank - 1] = 0;
    const Guard inside = view_.inside(position, lowering_.ranges());
    // The last axis' taps are written out: their loads are at constant distances.
    for (size_t axis = rank; axis-- > 0;) {
      const bool last = axis + 1 == rank;
      if (last && !interior && !inside.empty()) inner = {make_if(inside, std::move(inner))};
      inner = {make_loop(tap_variables[axis], view_.window[axis],
                         last && interior && view_.window[axis] <= 7 ? LoopTag::unroll : LoopTag::serial, std::move(inner))};
      if (last && interior && !inside.empty()) inner = {make_if(inside, std::move(inner))};
    }
    Block work;
    for (int number = 0; number < count; ++number) {
      work.push_back(make_define("acc" + std::to_string(number), literal(DType::f32, 0), shape_.lanes));
    }
    work.insert(work.end(), inner.begin(), inner.end());
    for (int number = 0; number < count; ++number) {
      Block stores = lowering_.finish(view_.output_indices(row[0], at_pixel(number), channel + Expr::symbol(lane)),
                                      register_value("acc" + std::to_string(number), DType::f32));
      work.insert(work.end(), stores.begin(), stores.end());
    }
    return {make_loop(lane, channels, LoopTag::vector, std::move(work), shape_.lanes)};
  }

  // Any layout, grouping and type: one output element at a time.
  void plain() {
    const Graph& body = lowering_.body();
    const DType out = body.dtype(node_.outputs[0]);
    const DType accumulator = body.dtype(view_.input) == DType::f64 ? DType::f64 : compute_type(out);
    const size_t rank = view_.spatial_rank();
    const Expr channels = view_.out_channels * view_.groups;
    Shape row_shape{view_.batch, channels};
    row_shape.insert(row_shape.end(), view_.out_spatial.begin(), view_.out_spatial.end() - 1);
    kernel_.parallel = product(row_shape);
    const std::string item = lowering_.new_variable("p", kernel_.parallel);
    Indices row = delinearize(Expr::symbol(item), row_shape);
    for (Expr& index : row) index = lowering_.simplified(index);
    const Expr channel = row[1];
    const std::string x = lowering_.new_variable("x", view_.out_spatial[rank - 1]);
    Indices at(row.begin() + 2, row.end());
    at.push_back(Expr::symbol(x));
    std::vector<std::string> tap_variables;
    Indices taps;
    for (size_t axis = 0; axis < rank; ++axis) {
      tap_variables.push_back(lowering_.new_variable("k", view_.window[axis]));
      taps.push_back(Expr::symbol(tap_variables.back()));
    }
    const std::string in_group = lowering_.new_variable("d", view_.in_channels);
    const Expr group_number = lowering_.simplified(floordiv(channel, view_.out_channels));
    const Indices position = view_.positions(at, taps);
    Indices weight_at{channel, Expr::symbol(in_group)};
    weight_at.insert(weight_at.end(), taps.begin(), taps.end());
    const ScalarPtr left = lowering_.element(
        view_.input, view_.input_indices(row[0], position,
                                         group_number * Expr(view_.in_channels) + Expr::symbol(in_group)));
    const ScalarPtr right = lowering_.element(view_.weight, weight_at);
    Block inner{make_assign("acc", apply("fma", {cast_scalar(left, accumulator), cast_scalar(right, accumulator),
                                                 register_value("acc", accumulator)}))};
    inner = {make_loop(in_group, view_.in_channels, LoopTag::serial, std::move(inner))};
    const Guard inside = view_.inside(position, lowering_.ranges());
    if (!inside.empty()) inner = {make_if(inside, std::move(inner))};
    for (size_t axis = rank; axis-- > 0;) {
      inner = {make_loop(tap_variables[axis], view_.window[axis], LoopTag::serial, std::move(inner))};
    }
    Block work{make_define("acc", literal(accumulator, 0))};
    work.insert(work.end(), inner.begin(), inner.end());
    Block stores = lowering_.finish(view_.output_indices(row[0], at, channel),
                                    cast_scalar(register_value("acc", accumulator), compute_type(out)));
    work.insert(work.end(), stores.begin(), stores.end());
    kernel_.body = {make_loop(item, kernel_.parallel, LoopTag::parallel,
                              {make_loop(x, view_.out_spatial[rank - 1], LoopTag::serial, std::move(work))})};
  }

  const Target& target_;
  LoopKernel kernel_;
  GroupLowering lowering_;
  const Node& node_;
  ConvView view_;
  TileShape shape_;
  int parameter_ = -1;
};

}  // namespace

LoopKernel host_conv(const Group& group, const Target& target) { return Convolution(group, target).run(); }

}  // namespace mcc::backend
