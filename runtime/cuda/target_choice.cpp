// Which target of a plan a GPU runs. Rules: "CUDA C++ Programming Guide", compute capabilities and
// binary/PTX compatibility, and "CUDA Compatibility": a cubin runs on the same major architecture
// with an equal or higher minor one; `a` targets on exactly theirs, `f` targets within their
// family; PTX is compiled by the driver for its own architecture or a newer one, provided that the
// driver is at least as new as the PTX.
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver.h"

namespace mcc::runtime {

namespace {

std::string architecture_text(int capability) { return "sm_" + std::to_string(capability); }

}  // namespace

int rate_target(const TargetInfo& target, const GpuCapability& gpu, std::string& reason) {
  if (target.kind == TargetKind::host) {
    reason = "it is host code";
    return 0;
  }
  const int wanted = target.compute_capability;
  const int have = gpu.compute_capability;
  const bool same_major = wanted / 10 == have / 10;
  bool fits = false;
  if (target.exact_architecture) {
    fits = wanted == have;
  } else if (target.kind == TargetKind::cubin) {
    fits = same_major && have >= wanted;
  } else {
    fits = target.family_architecture ? same_major && have >= wanted : have >= wanted;
  }
  if (!fits) {
    reason = "it is for " + architecture_text(wanted) + ", the GPU is " + architecture_text(have);
    return 0;
  }
  // Cubins need a driver of their CUDA major version; PTX one that knows its ISA version.
  const bool driver_fits = target.kind == TargetKind::cubin
                               ? gpu.driver_version / 1000 >= target.minimum_driver / 1000
                               : gpu.driver_version >= target.minimum_driver;
  if (!driver_fits) {
    reason = "it needs driver " + cuda::version_text(target.minimum_driver) +
             " or newer, this one is " + cuda::version_text(gpu.driver_version);
    return 0;
  }
  // Any cubin beats any PTX; then the closest architecture, the most specific form first.
  const int specific = target.exact_architecture ? 2 : target.family_architecture ? 1 : 0;
  return (target.kind == TargetKind::cubin ? 1000000 : 0) + 10 * wanted + specific + 1;
}

}  // namespace mcc::runtime
