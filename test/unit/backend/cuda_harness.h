// Compiles the CUDA kernels of a small graph for every default architecture, runs them on the host
// (cuda_emulation.h) and compares with the reference evaluator.
#pragma once

#include <string>

#include "lib/ir/graph.h"

namespace mcc::test {

struct CudaOptions {
  Bindings dims;            // concrete values of symbolic dims
  double tolerance = 1e-5;  // of the largest magnitude
  uint32_t seed = 1;
  int64_t integers = 5;     // integer inputs are below
  bool compile = true;      // with NVRTC where it is installed: zero spills are required
};

// Returns the CUDA text of all kernels.
std::string check_on_cuda(const std::string& graph_text, const CudaOptions& options);
std::string check_on_cuda(Graph graph, const CudaOptions& options);
std::string check_on_cuda(const std::string& graph_text, const Bindings& dims = {}, double tolerance = 1e-5);

}  // namespace mcc::test
