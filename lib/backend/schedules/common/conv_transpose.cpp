// conv_transpose in gather form: each output element collects the input positions that reach it.
#include "lib/backend/schedules/common/conv_transpose_view.h"
#include "lib/backend/schedules/common/items.h"

namespace mcc::backend {

LoopKernel conv_transpose_items(const Group& group, ItemLoops items) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const Node& node = *lowering.anchor();
  const Graph& body = lowering.body();
  const ConvTransposeView view(body, node);
  const DType out = body.dtype(node.outputs[0]);
  const DType type = view.accumulator(body);
  kernel.body = items(lowering, body.shape(node.outputs[0]), [&](const Indices& at) {
    const Expr channel = at[view.channel_axis()];
    const Expr group_number = lowering.simplified(floordiv(channel, Expr(view.out_channels)));
    Indices taps;
    for (int64_t size : view.window) taps.push_back(Expr::symbol(lowering.new_variable("k", size)));
    const std::string in_channel = lowering.new_variable("d", view.in_channels);
    const Expr c = group_number * Expr(view.in_channels) + Expr::symbol(in_channel);
    const ConvTransposeView::Source source = view.source(view.spatial(at), taps, lowering);
    const ScalarPtr x = cast_scalar(lowering.element(view.input, view.input_indices(at[0], source.position, c)), type);
    const ScalarPtr w = cast_scalar(
        lowering.element(view.weight, view.weight_indices(c, lowering.simplified(mod(channel, view.out_channels)), taps)), type);
    Block inner{make_assign("acc", apply("fma", {x, w, register_value("acc", type)}))};
    inner = {make_loop(in_channel, view.in_channels, LoopTag::serial, std::move(inner))};
    if (!source.inside.empty()) inner = {make_if(source.inside, std::move(inner))};
    for (size_t i = taps.size(); i-- > 0;) {
      inner = {make_loop(*taps[i].as_symbol(), view.window[i], LoopTag::serial, std::move(inner))};
    }
    Block work{make_define("acc", literal_integer(type, 0))};
    work.insert(work.end(), inner.begin(), inner.end());
    Block stores = lowering.finish(at, cast_scalar(register_value("acc", type), compute_type(out)));
    work.insert(work.end(), stores.begin(), stores.end());
    return work;
  });
  return kernel;
}

}  // namespace mcc::backend
