// See program.h.
#include "test/unit/sim_programs/program.h"

#include <cstring>

#include "lib/backend/cuda/nvrtc.h"
#include "lib/support/error.h"
#include "runtime/sim/orders.h"

namespace mcc::sim::test {

bool nvrtc_is_installed() {
  try {
    backend::Nvrtc::open();
    return true;
  } catch (const EnvironmentError&) {
    return false;
  }
}

std::string compile(const std::string& source, const std::vector<std::string>& options) {
  std::vector<std::string> all{"-std=c++17", "-default-device"};
  all.insert(all.end(), options.begin(), options.end());
  return backend::Nvrtc::open()->compile(source, "sm_80", all).ptx;
}

Outcome run(const Program& program, const std::string& ptx, int orders) {
  const Module module = Module::parse(ptx);
  Memory memory;
  Outcome outcome;
  outcome.output.resize(program.expected.size());
  const size_t bytes = outcome.output.size() * 4;
  const Address in = memory.upload("in", program.input.data(), program.input.size() * 4);
  const Address out = memory.allocate("out", bytes);
  Arguments arguments;
  arguments.add(in).add(out);
  LaunchOptions options;
  options.threads = 1;
  options.max_warp_instructions = 1 << 20;
  outcome.report = launch_in_orders(module, "k", memory, program.grid, program.block, 0, arguments,
                                    options, orders);
  memory.read(out, outcome.output.data(), bytes);
  return outcome;
}

}  // namespace mcc::sim::test
