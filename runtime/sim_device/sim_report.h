// What the simulator counted in a run, as JSON; the keys are documented in docs/cli.md, `profile`.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/manifest.h"
#include "runtime/sim/sim.h"

namespace mcc::runtime {

struct CountedLaunch {
  int instruction = -1;
  const KernelInfo* kernel = nullptr;
  int architecture = 0;
  sim::Dim3 grid, block;
  int64_t shared_bytes = 0;  // static and dynamic
  int registers = 0;         // per thread
  sim::Counters counters;
};

// A JSON array with one object per launch.
std::string launches_json(const std::vector<CountedLaunch>& launches);

}  // namespace mcc::runtime
