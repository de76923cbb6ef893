// Descriptions of the targets that schedules are built for.
#pragma once

#include <string>
#include <vector>

namespace mcc::backend {

enum class TargetKind { host, cuda };

struct Target {
  TargetKind kind = TargetKind::host;
  std::string name;        // "x86-64-v4", "sm_90"
  int vector_bytes = 32;   // host: register width
  int vector_registers = 16;
  int compute_capability = 80;      // cuda: 80 for sm_80
  int shared_bytes_per_block = 48 * 1024;
};

// One CUDA source serves all architectures unless a schedule asks for the target.
Target host_target_v3();
Target host_target_v4();
Target cuda_target(int compute_capability);

}  // namespace mcc::backend
