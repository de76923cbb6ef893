// Runs launches on the simulator, one after the other, and keeps what it counted.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "runtime/sim_device/sim_image.h"
#include "runtime/sim_device/sim_memory.h"
#include "runtime/sim_device/sim_options.h"
#include "runtime/sim_device/sim_report.h"

namespace mcc::runtime {

class SimQueue : public Queue {
 public:
  SimQueue(std::shared_ptr<GlobalMemory> global, const SimOptions& options, int threads)
      : global_(std::move(global)), options_(options), threads_(threads) {}

  void upload(std::byte* device, const std::byte* host, int64_t bytes) override;
  // Error(internal) for bytes that no kernel and no copy has written.
  void download(std::byte* host, const std::byte* device, int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  // Error(internal) with the findings, if there are any.
  void launch(const Image& image, const BoundLaunch& launch) override;
  void synchronize() override {}
  void mark(int slot) override;
  double milliseconds_between(int from_slot, int to_slot) override;
  std::string report() const override { return launches_json(launches_); }

 private:
  std::shared_ptr<GlobalMemory> global_;
  SimOptions options_;
  int threads_;
  std::vector<std::chrono::steady_clock::time_point> marks_;
  std::vector<CountedLaunch> launches_;
};

}  // namespace mcc::runtime
