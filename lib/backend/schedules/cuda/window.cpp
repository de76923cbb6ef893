// CUDA schedule of window_reduce: one thread per output element.
#include "lib/backend/schedules/common/reduction_terms.h"
#include "lib/backend/schedules/cuda/cuda_schedules.h"
#include "lib/backend/schedules/cuda/launch.h"

namespace mcc::backend {

LoopKernel cuda_window(const Group& group, const Target&) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const Node& node = *lowering.anchor();
  const Graph& body = lowering.body();
  const Shape& in = body.shape(node.inputs[0]);
  const DType dtype = compute_type(body.dtype(node.inputs[0]));
  const Ints& axes = node.attributes.ints("axes");
  const Ints& window = node.attributes.ints("window");
  const Ints& strides = node.attributes.ints("strides");
  const Ints& dilations = node.attributes.ints("dilations");
  const Shape& pads = node.attributes.shape("pads_low");
  const std::string& fn = node.attributes.text("fn");
  kernel.body = one_thread_per_element(lowering, body.shape(node.outputs[0]), [&](const Indices& at) {
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
    for (size_t i = axes.size(); i-- > 0;) fold = {make_loop(taps[i], window[i], LoopTag::serial, std::move(fold))};
    Block work{make_define("acc", neutral_element(fn, dtype))};
    work.insert(work.end(), fold.begin(), fold.end());
    Block stores = lowering.finish(at, register_value("acc", dtype));
    work.insert(work.end(), stores.begin(), stores.end());
    return work;
  });
  return kernel;
}

}  // namespace mcc::backend
