// Choice of the PTX target, memory and limits of the simulator.
#include "runtime/sim_device/sim_device.h"

#include "runtime/sim_device/sim_image.h"
#include "runtime/sim_device/sim_memory.h"
#include "runtime/sim_device/sim_options.h"
#include "runtime/sim_device/sim_queue.h"
#include "runtime/support/error.h"

namespace mcc::runtime {

namespace {

// "CUDA C++ Programming Guide", technical specifications: the same for all architectures.
constexpr int64_t kMaximumGrid[3] = {2147483647, 65535, 65535};

class PlainMemory : public Memory {
 public:
  explicit PlainMemory(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {}
  std::byte* address() const override { return const_cast<std::byte*>(bytes_.data()); }

 private:
  std::vector<std::byte> bytes_;
};

class SimDevice : public Device {
 public:
  explicit SimDevice(const SimOptions& options)
      : options_(options), global_(std::make_shared<GlobalMemory>()) {}

  std::string description() const override {
    return "sim PTX simulator" + (options_.architecture != 0
                                      ? " (sm_" + std::to_string(options_.architecture) + ")"
                                      : std::string());
  }

  const TargetInfo& choose_target(const Manifest& manifest) const override {
    const TargetInfo* best = nullptr;
    std::string available;
    for (const TargetInfo& target : manifest.targets) {
      if (target.kind != TargetKind::ptx) continue;
      available += (available.empty() ? "" : ", ") + target.name;
      if (options_.architecture != 0 && target.compute_capability != options_.architecture)
        continue;
      if (best == nullptr || target.compute_capability > best->compute_capability) best = &target;
    }
    if (best != nullptr) return *best;
    if (available.empty()) {
      fail_environment(
          "the plan has no PTX for the simulator; compile the model again with "
          "--sim-arch sm_80");
    }
    const std::string wanted = "sm_" + std::to_string(options_.architecture);
    fail_environment("the plan has no PTX for " + wanted + ", only " + available +
                     "; compile the model again with --sim-arch " + wanted);
  }

  bool uses_host_memory() const override { return false; }
  std::unique_ptr<Memory> allocate(int64_t bytes) override {
    return std::make_unique<SimMemory>(global_, bytes);
  }
  std::unique_ptr<Memory> allocate_staging(int64_t bytes) override {
    return std::make_unique<PlainMemory>(bytes);
  }
  std::unique_ptr<Memory> place_weights(std::span<const std::byte> weights) override {
    return std::make_unique<SimMemory>(global_, weights);
  }
  std::unique_ptr<Image> load(const Plan& plan, const TargetInfo& target) override {
    return std::make_unique<SimImage>(plan, target);
  }
  std::unique_ptr<Queue> make_queue(const QueueOptions& options) override {
    return std::make_unique<SimQueue>(global_, options_, options.threads);
  }
  void check_launch(const KernelInfo& kernel, const BoundLaunch& launch) const override {
    for (size_t i = 0; i < 3; ++i) {
      if (launch.grid[i] >= 0 && launch.grid[i] <= kMaximumGrid[i]) continue;
      fail_usage("kernel " + kernel.name + " would need a grid of " +
                 std::to_string(launch.grid[i]) + " blocks along axis " + std::to_string(i) +
                 " with these shapes; GPUs allow " + std::to_string(kMaximumGrid[i]));
    }
  }

 private:
  SimOptions options_;
  std::shared_ptr<GlobalMemory> global_;
};

bool probe_sim(std::string& text) {
  text = "PTX simulator, every architecture that the plan has PTX for";
  return true;
}

std::shared_ptr<Device> open_sim(const std::string& options) {
  return std::make_shared<SimDevice>(parse_sim_options(options));
}

}  // namespace

DeviceKind sim_device_kind() { return {"sim", probe_sim, open_sim, false}; }

}  // namespace mcc::runtime
