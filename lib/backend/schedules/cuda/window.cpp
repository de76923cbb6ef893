// CUDA schedule of window_reduce: one thread per output element.
#include "lib/backend/schedules/common/window_view.h"
#include "lib/backend/schedules/cuda/cuda_schedules.h"
#include "lib/backend/schedules/cuda/launch.h"

namespace mcc::backend {

LoopKernel cuda_window(const Group& group, const Target&) {
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  kernel.body = one_thread_per_element(
      lowering, lowering.body().shape(lowering.anchor()->outputs[0]),
      [&](const Indices& at) { return window_element(lowering, at, 1); });
  return kernel;
}

}  // namespace mcc::backend
