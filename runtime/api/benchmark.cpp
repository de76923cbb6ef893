// See benchmark.h.
#include "runtime/api/benchmark.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "runtime/support/error.h"

namespace mcc::runtime::api {

double percentile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - std::floor(position);
  return sorted[below] * (1 - weight) + sorted[above] * weight;
}

mcc_bench_result benchmark(Session& session, std::span<const HostInput> inputs,
                           std::span<const HostOutput> outputs, const mcc_bench_options& options) {
  if (options.duration_s < 0 || options.iterations < 0 || !std::isfinite(options.duration_s)) {
    fail_usage("the duration and the number of iterations must not be negative");
  }
  const int warmup = options.warmup < 0 ? 3 : options.warmup;
  for (int i = 0; i < warmup; ++i) session.run(inputs, outputs);
  const int64_t at_least = std::max<int64_t>(options.iterations, 1);
  std::vector<double> samples;
  std::vector<double> device_samples;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (static_cast<int64_t>(samples.size()) < at_least || elapsed() < options.duration_s) {
    session.run(inputs, outputs);
    samples.push_back(session.timings().last_run_ms);
    device_samples.push_back(session.timings().last_device_ms);
  }
  const double total = elapsed();
  std::sort(samples.begin(), samples.end());
  std::sort(device_samples.begin(), device_samples.end());
  const auto count = static_cast<double>(samples.size());
  mcc_bench_result result{};
  result.iterations = static_cast<int64_t>(samples.size());
  result.minimum_ms = samples.front();
  result.mean_ms = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  result.median_ms = percentile(samples, 0.5);
  result.p90_ms = percentile(samples, 0.9);
  result.p95_ms = percentile(samples, 0.95);
  result.p99_ms = percentile(samples, 0.99);
  result.device_median_ms = percentile(device_samples, 0.5);
  result.throughput_per_s = total > 0 ? count / total : 0;
  return result;
}

}  // namespace mcc::runtime::api
