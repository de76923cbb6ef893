// The known targets.
#include "lib/backend/target.h"

namespace mcc::backend {

Target host_target_v3() { return {TargetKind::host, "x86-64-v3", 32, 16, 0, 0}; }

Target host_target_v4() { return {TargetKind::host, "x86-64-v4", 64, 32, 0, 0}; }

Target cuda_target(int compute_capability) {
  Target target;
  target.kind = TargetKind::cuda;
  target.name = "sm_" + std::to_string(compute_capability);
  target.compute_capability = compute_capability;
  return target;
}

}  // namespace mcc::backend
