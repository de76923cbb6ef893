// A host image: the shared object of a plan, loaded without a file on disk where possible.
#pragma once

#include <span>
#include <vector>

#include "runtime/device.h"

namespace mcc::runtime {

// Kernel ABI: computes items [begin, end) of the parallel loop. `buffers` are the launch's
// buffers, inputs first; `scratch` is 64-byte aligned memory of the thread.
using HostKernel = void (*)(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end,
                            void* scratch);

class HostImage : public Image {
 public:
  // Error(environment) when an object cannot be loaded, Error(model) when a kernel is missing.
  HostImage(const Plan& plan, const TargetInfo& target);
  ~HostImage() override;
  HostImage(const HostImage&) = delete;
  HostImage& operator=(const HostImage&) = delete;

  HostKernel kernel(int index) const { return kernels_[static_cast<size_t>(index)]; }

 private:
  void close();

  std::vector<void*> handles_;  // one per section of the target
  std::vector<HostKernel> kernels_;
};

}  // namespace mcc::runtime
