// NVIDIA GPUs through the driver API.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"

namespace mcc::runtime {

bool probe_cuda(std::string& text);
std::shared_ptr<Device> open_cuda(const std::string& options);

// What decides whether a GPU runs a target's code; separate so that it can be tested alone.
struct GpuCapability {
  int compute_capability = 0;  // 80 for 8.0
  int driver_version = 0;      // 13000 for 13.0
};
// Better targets get larger numbers; 0 means that it does not run there. `reason` then says why.
int rate_target(const TargetInfo& target, const GpuCapability& gpu, std::string& reason);

}  // namespace mcc::runtime
