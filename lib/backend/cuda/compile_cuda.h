// Compiles CUDA kernel text to one set of images per architecture.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/backend/cache.h"
#include "runtime/plan/manifest.h"
#include "runtime/plan/writer.h"

namespace mcc::backend {

struct CudaSource {
  std::string name;      // "k0"
  std::string schedule;  // heavy schedules are compiled in units of their own
  std::string text;      // one __global__ function
};

struct CudaResources {
  int64_t registers = -1;
  int64_t spill_bytes = -1;   // stores plus loads
  int64_t shared_bytes = -1;  // static
};

// One translation unit compiled for one architecture.
struct CudaImage {
  std::string architecture;  // "sm_80"
  std::string ptx;
  std::string cubin;
  std::vector<std::string> kernels;        // names, in source order
  std::vector<CudaResources> resources;    // parallel to kernels
};

struct CudaImages {
  std::vector<CudaImage> images;  // by architecture in the order asked for, then by unit
  std::string nvrtc_version;
  int nvrtc_major = 0;
};

struct CudaCompileOptions {
  std::vector<std::string> architectures;
  int threads = 1;
  std::function<void(int done, int total)> progress;
};

// Same text, architectures and NVRTC: same bytes. Errors as Nvrtc's.
CudaImages compile_cuda(const std::vector<CudaSource>& kernels, const CudaCompileOptions& options,
                        const KernelCache& cache);

// The lowest of the architectures whose PTX newer GPUs can run: no `a` or `f` ones. Empty if there
// is none.
std::string lowest_portable(const std::vector<std::string>& architectures);

// Writes images as plan sections and enters the targets into the manifest: first one CUBIN target
// for each name in `cubins`, then one PTX target for each in `ptx`. All must have been compiled.
void add_cuda_targets(const CudaImages& images, const std::vector<std::string>& cubins,
                      const std::vector<std::string>& ptx, runtime::PlanWriter& writer,
                      runtime::Manifest& manifest);

}  // namespace mcc::backend
