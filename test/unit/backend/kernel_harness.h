// Runs the kernels of a small graph and compares them with the reference evaluator.
#pragma once

#include <string>
#include <vector>

#include "lib/backend/kernel_set.h"
#include "lib/ir/graph.h"

namespace mcc::test {

struct RunOptions {
  backend::Target target;
  Bindings dims;        // concrete values of symbolic dims
  uint32_t seed = 1;
  double tolerance = 1e-5;  // of the largest magnitude
};

// Parses, fuses, schedules, compiles and runs the graph on the host; every output is compared.
void check_on_host(const std::string& graph_text, const RunOptions& options);
// For both instruction sets that this machine runs.
void check_on_host(const std::string& graph_text, const Bindings& dims = {}, double tolerance = 1e-5);

// Random tensors for a graph's inputs under the bindings: normal values for floats, small
// non-negative ones for integers.
std::vector<Tensor> random_inputs(const Graph& graph, const Bindings& dims, uint32_t seed);

// A fused graph's values by id after running its kernels in order; `launch` runs one kernel.
struct Execution {
  const Graph& graph;
  Bindings dims;
  std::vector<Tensor> values;  // per value id
};
void expect_close(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what);

}  // namespace mcc::test
