// Repeated runs and their statistics.
#pragma once

#include <span>
#include <vector>

#include "runtime/include/mcc.h"
#include "runtime/session/session.h"

namespace mcc::runtime::api {

// See mcc_session_bench.
mcc_bench_result benchmark(Session& session, std::span<const HostInput> inputs,
                           std::span<const HostOutput> outputs, const mcc_bench_options& options);

// The value below which `fraction` of the sorted samples lie, interpolated linearly between
// neighbours (the default of numpy.percentile). Samples must not be empty.
double percentile(const std::vector<double>& sorted, double fraction);

}  // namespace mcc::runtime::api
