// The CUDA schedules; schedule.cpp joins them with their host twins.
#pragma once

#include "lib/backend/lowering.h"

namespace mcc::backend {

LoopKernel cuda_pointwise(const Group& group, const Target& target);
LoopKernel cuda_reduction(const Group& group, const Target& target);
LoopKernel cuda_contraction(const Group& group, const Target& target);
LoopKernel cuda_conv(const Group& group, const Target& target);
LoopKernel cuda_window(const Group& group, const Target& target);
LoopKernel cuda_sort(const Group& group, const Target& target);
LoopKernel cuda_scatter(const Group& group, const Target& target);
LoopKernel cuda_scan(const Group& group, const Target& target);
LoopKernel cuda_conv_transpose(const Group& group, const Target& target);

}  // namespace mcc::backend
