// CUDA programs that were not written for the simulator's sake: compiled by NVRTC, run on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/sim/sim.h"

namespace mcc::sim::test {

// A kernel `k(const T* in, T* out)` over 32-bit elements; buffers are exactly as large as needed.
struct Program {
  std::string name;
  std::string source;
  Dim3 grid, block;
  std::vector<uint32_t> input;
  std::vector<uint32_t> expected;
};

bool nvrtc_is_installed();
// PTX for sm_80. Errors as backend::Nvrtc::compile.
std::string compile(const std::string& source, const std::vector<std::string>& options = {});

struct Outcome {
  LaunchReport report;
  std::vector<uint32_t> output;  // zeros where nothing was written
};
// Runs once in order and `orders` times in others.
Outcome run(const Program& program, const std::string& ptx, int orders);

// Programs with shared memory, barriers, shuffles, atomics and asynchronous copies, none of whose
// barriers and waits can be left out.
std::vector<Program> programs();

}  // namespace mcc::sim::test
