// Host schedule of window_reduce: every output element folds its window. Channels-last activations
// are vectors over channels, with the window's conditions outside of the vector.
#include <algorithm>

#include "lib/backend/schedules/common/window_view.h"
#include "lib/backend/schedules/host/host_schedules.h"

namespace mcc::backend {
namespace {

constexpr int64_t kElementsPerItem = 512;

}  // namespace

LoopKernel host_window(const Group& group, const Target& target) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const Node& node = *lowering.anchor();
  const Graph& body = lowering.body();
  const Shape& out = body.shape(node.outputs[0]);
  const DType dtype = compute_type(body.dtype(node.inputs[0]));
  const Ints& axes = node.attributes.ints("axes");
  const size_t last = out.size() - 1;
  const bool last_slides = std::count(axes.begin(), axes.end(), static_cast<int64_t>(last)) != 0;
  const bool places = node.attributes.text("fn") == "arg_max";
  const int bits = places ? 64 : std::max(32, dtype_info(dtype).bits);
  const int lanes = last_slides || dtype == DType::boolean ? 1 : target.vector_bytes * 8 / bits;

  const Shape outer(out.begin(), out.end() - 1);
  kernel.parallel = product(outer);
  if (out[last].is_constant()) {
    kernel.grain = std::max<int64_t>(1, kElementsPerItem / std::max<int64_t>(1, out[last].constant()));
  }
  const std::string item = lowering.new_variable("p", kernel.parallel);
  Indices at = delinearize(Expr::symbol(item), outer);
  for (Expr& index : at) index = lowering.simplified(index);
  const std::string inner = lowering.new_variable("v", out[last]);
  at.push_back(Expr::symbol(inner));
  kernel.body = {make_loop(item, kernel.parallel, LoopTag::parallel,
                           {make_loop(inner, out[last], lanes > 1 ? LoopTag::vector : LoopTag::serial,
                                      window_element(lowering, at, lanes), lanes)})};
  return kernel;
}

}  // namespace mcc::backend
