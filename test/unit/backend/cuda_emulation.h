// Runs generated CUDA kernels on the host, block by block (see cuda_emulation_shim.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/backend/loop_ir.h"

namespace mcc::test {

struct DeviceBuffer {
  std::byte* data = nullptr;
  size_t bytes = 0;
};

// The compiled form of a set of kernels.
class CudaEmulation {
 public:
  // `text` is the concatenated kernels; each of `kernels` must be defined there under its name.
  CudaEmulation(const std::vector<const backend::LoopKernel*>& kernels, const std::string& text);
  ~CudaEmulation();
  CudaEmulation(const CudaEmulation&) = delete;
  CudaEmulation& operator=(const CudaEmulation&) = delete;

  // Launches a kernel. Each buffer moves into memory between unmapped pages, so that accesses far
  // outside crash; writes just behind the end are reported. `dims` are the values of kernel.dims.
  // `reverse`: the threads of a block run from the last to the first. Returns what went wrong.
  std::string launch(const backend::LoopKernel& kernel, const std::vector<DeviceBuffer>& buffers,
                     const Bindings& dims, bool reverse) const;

 private:
  void* library_ = nullptr;
};

}  // namespace mcc::test
