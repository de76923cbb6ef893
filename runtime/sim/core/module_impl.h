// Inside of Module, shared with launch.cpp.
#pragma once

#include "runtime/sim/core/state.h"

namespace mcc::sim {

struct Module::Impl {
  std::unique_ptr<Program> program;
  AlignedBytes constants;
  std::vector<AlignedBytes> variables;
  std::vector<AlignedBytes> variable_init;
  std::vector<AlignedBytes> variable_race;
  std::vector<KernelInfo> kernels;
};

}  // namespace mcc::sim
