// All kernels of a graph: each fused node scheduled and printed for every target family, and equal
// kernels merged.
#pragma once

#include <string>
#include <vector>

#include "lib/backend/loop_ir.h"
#include "lib/backend/lowering.h"
#include "lib/backend/target.h"
#include "lib/ir/graph.h"

namespace mcc::backend {

struct HostForm {
  Target target;
  LoopKernel kernel;
  std::string text;
};

struct BuiltKernel {
  std::string name;      // "k0"
  std::string schedule;  // "conv", ...
  std::vector<std::string> origin;
  std::vector<KernelBuffer> buffers;
  std::vector<std::string> dims;
  LoopKernel cuda;
  std::string cuda_text;  // empty when no GPU architecture is wanted
  std::vector<HostForm> host;
};

struct KernelSet {
  std::vector<BuiltKernel> kernels;
  std::vector<int> kernel_of_node;  // per graph node: index into kernels, -1 for no launch
};

// ModelError naming the node when a group has no schedule for a target. `graph` must be fused.
KernelSet build_kernels(const Graph& graph, const std::vector<Target>& host_targets, bool cuda);

// Readable form of the loop IR, for --emit=kernels.
std::string print_loops(const LoopKernel& kernel);

}  // namespace mcc::backend
