// CUDA convolution: dense ones as an implicit matrix product (rows = output pixels, columns =
// output channels, depth = taps x input channels), others one thread per output element.
#include "lib/backend/schedules/common/contraction_view.h"
#include "lib/backend/schedules/common/conv_view.h"
#include "lib/backend/schedules/cuda/cuda_schedules.h"
#include "lib/backend/schedules/cuda/launch.h"
#include "lib/backend/schedules/cuda/tile_engine.h"

namespace mcc::backend {
namespace {

class CudaConvolution {
 public:
  explicit CudaConvolution(const Group& group)
      : lowering_(group, kernel_), node_(*lowering_.anchor()), view_(lowering_.body(), node_) {
    const Graph& body = lowering_.body();
    out_ = body.dtype(node_.outputs[0]);
    accumulator_ = body.dtype(view_.input) == DType::f64 ? DType::f64 : compute_type(out_);
    for (int64_t size : view_.window) window_.emplace_back(size);
  }

  LoopKernel run() {
    parameter_ = request_conv_panels(lowering_, view_);
    if (view_.groups == 1) {
      dense();
    } else {
      direct();
    }
    return std::move(kernel_);
  }

 private:
  ScalarPtr input(const Expr& n, const Indices& at, const Indices& taps, const Expr& channel) {
    const Indices position = view_.positions(at, taps);
    Guard guard;
    for (const Expr& condition : view_.inside(position, lowering_.ranges())) {
      const Expr simple = lowering_.simplified(condition);
      if (bounds(simple, lowering_.ranges()).low < 0) guard.push_back(simple);
    }
    const ScalarPtr value = cast_scalar(lowering_.element(view_.input, view_.input_indices(n, position, channel)), accumulator_);
    return guarded(guard, value, literal_integer(accumulator_, 0));
  }

  ScalarPtr weight(const Expr& out_channel, const Indices& taps, const Expr& in_channel) {
    if (parameter_ >= 0) {
      const Expr depth = linear_index(taps, window_) * Expr(view_.in_channels) + in_channel;
      const Expr panel = floordiv(out_channel, kPanelWidth);
      return load(parameter_, lowering_.body().dtype(view_.weight),
                  lowering_.simplified((panel * Expr(view_.taps() * view_.in_channels) + depth) * Expr(kPanelWidth) +
                                       mod(out_channel, kPanelWidth)));
    }
    Indices at{out_channel, in_channel};
    at.insert(at.end(), taps.begin(), taps.end());
    return cast_scalar(lowering_.element(view_.weight, at), accumulator_);
  }

  Indices unpack(const Expr& linear, const Shape& dims) {
    Indices indices = delinearize(linear, dims);
    for (Expr& index : indices) index = lowering_.simplified(index);
    return indices;
  }

  void dense() {
    Shape pixels{view_.batch};
    pixels.insert(pixels.end(), view_.out_spatial.begin(), view_.out_spatial.end());
    Shape depth = window_;
    depth.emplace_back(view_.in_channels);
    BlockTile tile;
    tile.accumulator = accumulator_;
    tile.rows = product(pixels);
    tile.columns = view_.out_channels;
    tile.depth = product(depth);
    tile.left = [&](const Expr&, const Expr& row, const Expr& k) {
      const Indices at = unpack(row, pixels);
      Indices taps = unpack(k, depth);
      const Expr channel = taps.back();
      taps.pop_back();
      return input(at[0], Indices(at.begin() + 1, at.end()), taps, channel);
    };
    tile.right_is_padded = parameter_ >= 0;
    tile.right = [&](const Expr&, const Expr& k, const Expr& column) {
      if (parameter_ >= 0) {
        const Expr panel = floordiv(column, kPanelWidth);
        return load(parameter_, DType::f32,
                    lowering_.simplified((panel * product(depth) + k) * Expr(kPanelWidth) + mod(column, kPanelWidth)));
      }
      Indices taps = unpack(k, depth);
      const Expr channel = taps.back();
      taps.pop_back();
      return weight(column, taps, channel);
    };
    tile.finish = [&](const Expr&, const Expr& row, const Expr& column, const ScalarPtr& value) {
      const Indices at = unpack(row, pixels);
      return lowering_.finish(view_.output_indices(at[0], Indices(at.begin() + 1, at.end()), column),
                              cast_scalar(value, compute_type(out_)));
    };
    emit_block_tile(lowering_, tile);
  }

  void direct() {
    const Shape& shape = lowering_.body().shape(node_.outputs[0]);
    kernel_.body = one_thread_per_element(lowering_, shape, [&](const Indices& at) {
      const size_t channel_axis = view_.channels_last ? shape.size() - 1 : 1;
      const Expr channel = at[channel_axis];
      const auto first_spatial = static_cast<std::ptrdiff_t>(view_.channels_last ? 1 : 2);
      const Indices spatial(at.begin() + first_spatial,
                            at.begin() + first_spatial + static_cast<std::ptrdiff_t>(view_.spatial_rank()));
      const Expr group = lowering_.simplified(floordiv(channel, view_.out_channels));
      std::vector<std::string> loops;
      Indices taps;
      for (int64_t size : view_.window) {
        loops.push_back(lowering_.new_variable("k", size));
        taps.push_back(Expr::symbol(loops.back()));
      }
      const std::string in_channel = lowering_.new_variable("d", view_.in_channels);
      const Expr c = Expr::symbol(in_channel);
      Block inner{make_assign("acc", apply("fma", {input(at[0], spatial, taps, group * Expr(view_.in_channels) + c),
                                                   weight(channel, taps, c), register_value("acc", accumulator_)}))};
      inner = {make_loop(in_channel, view_.in_channels, LoopTag::serial, std::move(inner))};
      for (size_t i = loops.size(); i-- > 0;) {
        inner = {make_loop(loops[i], view_.window[i], LoopTag::serial, std::move(inner))};
      }
      Block work{make_define("acc", literal_integer(accumulator_, 0))};
      work.insert(work.end(), inner.begin(), inner.end());
      Block stores = lowering_.finish(at, cast_scalar(register_value("acc", accumulator_), compute_type(out_)));
      work.insert(work.end(), stores.begin(), stores.end());
      return work;
    });
  }

  LoopKernel kernel_;
  GroupLowering lowering_;
  const Node& node_;
  ConvView view_;
  Shape window_;
  DType out_ = DType::f32;
  DType accumulator_ = DType::f32;
  int parameter_ = -1;
};

}  // namespace

LoopKernel cuda_conv(const Group& group, const Target&) { return CudaConvolution(group).run(); }

}  // namespace mcc::backend
