// The host schedules; schedule.cpp joins them with their CUDA twins.
#pragma once

#include "lib/backend/lowering.h"

namespace mcc::backend {

LoopKernel host_pointwise(const Group& group, const Target& target);
LoopKernel host_reduction(const Group& group, const Target& target);
LoopKernel host_contraction(const Group& group, const Target& target);
LoopKernel host_conv(const Group& group, const Target& target);
LoopKernel host_window(const Group& group, const Target& target);
LoopKernel host_sort(const Group& group, const Target& target);
LoopKernel host_scatter(const Group& group, const Target& target);
LoopKernel host_scan(const Group& group, const Target& target);
LoopKernel host_conv_transpose(const Group& group, const Target& target);

}  // namespace mcc::backend
