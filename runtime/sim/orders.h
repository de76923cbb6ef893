// The same launch under several orders of warps and lanes: results must not depend on them.
#pragma once

#include "runtime/sim/sim.h"

namespace mcc::sim {

// Runs the launch as `options` say, then `orders` times more from the same memory with the seeds
// options.seed + 1, options.seed + 2, ..., and compares what all writable windows and the module's
// variables hold afterwards, byte for byte. A difference is a finding (nondeterministic) that names
// the buffer and the first differing offset. Memory keeps the first run's results; the report is
// the first run's with these findings, and with those that only another order shows.
// Not run again when the first run has findings. Errors as launch().
LaunchReport launch_in_orders(const Module& module, std::string_view kernel, Memory& memory,
                              Dim3 grid, Dim3 block, uint32_t dynamic_shared,
                              const Arguments& arguments, const LaunchOptions& options, int orders);

}  // namespace mcc::sim
