// Host schedule of window_reduce: every output element folds its window. Channels-last activations
// are vectors over channels, with the window's conditions outside of the vector.
#include <algorithm>

#include "lib/backend/schedules/common/reduction_terms.h"
#include "lib/backend/schedules/host/host_schedules.h"

namespace mcc::backend {

LoopKernel host_window(const Group& group, const Target& target) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const Node& node = *lowering.anchor();
  const Graph& body = lowering.body();
  const Shape& in = body.shape(node.inputs[0]);
  const Shape& out = body.shape(node.outputs[0]);
  const DType dtype = compute_type(body.dtype(node.inputs[0]));
  const Ints& axes = node.attributes.ints("axes");
  const Ints& window = node.attributes.ints("window");
  const Ints& strides = node.attributes.ints("strides");
  const Ints& dilations = node.attributes.ints("dilations");
  const Shape& pads = node.attributes.shape("pads_low");
  const std::string& fn = node.attributes.text("fn");

  const size_t last = out.size() - 1;
  const bool last_slides = std::count(axes.begin(), axes.end(), static_cast<int64_t>(last)) != 0;
  const int lanes = dtype == DType::f32 && !last_slides ? target.vector_bytes / 4 : 1;
  const Shape outer(out.begin(), out.end() - 1);
  kernel.parallel = product(outer);
  const std::string item = lowering.new_variable("p", kernel.parallel);
  Indices at = delinearize(Expr::symbol(item), outer);
  for (Expr& index : at) index = lowering.simplified(index);
  const std::string inner = lowering.new_variable("v", out[last]);
  at.push_back(Expr::symbol(inner));

  Indices position = at;
  Guard inside;
  std::vector<std::string> taps;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    taps.push_back(lowering.new_variable("k", window[i]));
    position[axis] = at[axis] * Expr(strides[i]) + Expr::symbol(taps.back()) * Expr(dilations[i]) - pads[i];
    for (const Expr& condition : {position[axis], in[axis] - 1 - position[axis]}) {
      const Expr simple = lowering.simplified(condition);
      if (bounds(simple, lowering.ranges()).low < 0) inside.push_back(simple);
    }
  }
  Block fold{make_accumulate("acc", fold_function(fn), lowering.element(node.inputs[0], position))};
  if (!inside.empty()) fold = {make_if(inside, std::move(fold))};
  for (size_t i = axes.size(); i-- > 0;) {
    fold = {make_loop(taps[i], window[i], LoopTag::serial, std::move(fold))};
  }
  Block work{make_define("acc", neutral_element(fn, dtype), lanes)};
  work.insert(work.end(), fold.begin(), fold.end());
  Block stores = lowering.finish(at, register_value("acc", dtype));
  work.insert(work.end(), stores.begin(), stores.end());
  kernel.body = {make_loop(item, kernel.parallel, LoopTag::parallel,
                           {make_loop(inner, out[last], lanes > 1 ? LoopTag::vector : LoopTag::serial,
                                      std::move(work), lanes)})};
  return kernel;
}

}  // namespace mcc::backend
