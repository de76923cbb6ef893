// Launch shapes shared by the CUDA schedules.
#pragma once

#include <functional>

#include "lib/backend/lowering.h"

namespace mcc::backend {

constexpr int kThreadsPerBlock = 256;

// One thread per element of `shape` (row-major, the last axis fastest, so that neighbouring threads
// touch neighbouring elements): sets the kernel's grid and block and returns the guarded body.
Block one_thread_per_element(GroupLowering& lowering, const Shape& shape,
                             const std::function<Block(const Indices&)>& body);

}  // namespace mcc::backend
