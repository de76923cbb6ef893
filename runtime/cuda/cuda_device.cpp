// Device choice, target choice and limits of NVIDIA GPUs.
#include "runtime/cuda/cuda_device.h"

#include <array>

#include "runtime/cuda/cuda_queue.h"
#include "runtime/cuda/driver.h"
#include "runtime/support/error.h"

namespace mcc::runtime {

namespace {

using cuda::ContextPtr;
using cuda::CurrentContext;
using cuda::Driver;

std::string architecture(int capability) { return "sm_" + std::to_string(capability); }

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int ordinal) : driver_(Driver::get()), ordinal_(ordinal) {
    int count = 0;
    driver_.check(driver_.cuDeviceGetCount(&count), "count the GPUs");
    if (ordinal >= count) {
      fail_environment("there is no GPU number " + std::to_string(ordinal) + ": the driver sees " +
                       std::to_string(count) + " (numbers start at 0)");
    }
    driver_.check(driver_.cuDeviceGet(&device_, ordinal), "open the GPU");
    std::array<char, 256> name{};
    driver_.check(driver_.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device_),
                  "ask for the GPU's name");
    name_ = name.data();
    capability_ = 10 * attribute(cuda::kAttributeCapabilityMajor) +
                  attribute(cuda::kAttributeCapabilityMinor);
    max_grid_ = {attribute(cuda::kAttributeMaxGridX), attribute(cuda::kAttributeMaxGridY),
                 attribute(cuda::kAttributeMaxGridZ)};
    max_shared_ = attribute(cuda::kAttributeMaxSharedOptin);
    context_ = std::make_shared<cuda::PrimaryContext>(driver_, device_);
  }

  std::string description() const override {
    return "cuda:" + std::to_string(ordinal_) + " " + name_ + " (" + architecture(capability_) +
           "), driver " + cuda::version_text(driver_.version);
  }

  const TargetInfo& choose_target(const Manifest& manifest) const override {
    const TargetInfo* best = nullptr;
    int best_rating = 0;
    std::string refusals;
    for (const TargetInfo& target : manifest.targets) {
      if (target.kind == TargetKind::host) continue;
      std::string reason;
      const int rating = rate_target(target, {capability_, driver_.version}, reason);
      if (rating == 0) refusals += "; " + target.name + ": " + reason;
      if (rating > best_rating) {
        best = &target;
        best_rating = rating;
      }
    }
    if (best == nullptr) {
      fail_environment("the plan has no code for this GPU, " + name_ + " (" +
                       architecture(capability_) + ")" +
                       (refusals.empty() ? std::string("; it has no CUDA code at all") : refusals) +
                       "; compile the model again with --arch " + architecture(capability_));
    }
    return *best;
  }

  bool uses_host_memory() const override { return false; }
  std::unique_ptr<Memory> allocate(int64_t bytes) override {
    return std::make_unique<cuda::DeviceMemory>(context_, bytes);
  }
  std::unique_ptr<Memory> allocate_staging(int64_t bytes) override {
    return std::make_unique<cuda::PinnedMemory>(context_, bytes);
  }
  std::unique_ptr<Memory> place_weights(std::span<const std::byte> weights) override {
    std::unique_ptr<Memory> memory = allocate(static_cast<int64_t>(weights.size()));
    const CurrentContext current(*context_);
    if (!weights.empty()) {
      driver_.check(driver_.cuMemcpyHtoD(static_cast<cuda::DevicePointer>(
                                             reinterpret_cast<uintptr_t>(memory->address())),
                                         weights.data(), weights.size()),
                    "copy the weights to the GPU");
    }
    return memory;
  }
  std::unique_ptr<Image> load(const Plan& plan, const TargetInfo& target) override {
    return std::make_unique<cuda::CudaImage>(context_, plan, target);
  }
  std::unique_ptr<Queue> make_queue(const QueueOptions&) override {
    return std::make_unique<cuda::CudaQueue>(context_);
  }
  void check_launch(const KernelInfo& kernel, const BoundLaunch& launch) const override {
    for (size_t i = 0; i < 3; ++i) {
      if (launch.grid[i] < 0 || launch.grid[i] > max_grid_[i]) {
        fail_usage("kernel " + kernel.name + " would need a grid of " +
                   std::to_string(launch.grid[i]) + " blocks along axis " + std::to_string(i) +
                   " with these shapes; the GPU allows " + std::to_string(max_grid_[i]));
      }
    }
    if (launch.shared_bytes > max_shared_) {
      fail_environment("kernel " + kernel.name + " needs " + std::to_string(launch.shared_bytes) +
                       " bytes of shared memory; the GPU has " + std::to_string(max_shared_));
    }
  }

 private:
  int attribute(int number) const {
    int value = 0;
    driver_.check(driver_.cuDeviceGetAttribute(&value, number, device_), "ask for a GPU attribute");
    return value;
  }

  const Driver& driver_;
  int ordinal_ = 0;
  cuda::Device device_ = 0;
  std::string name_;
  int capability_ = 0;
  std::array<int, 3> max_grid_{};
  int64_t max_shared_ = 0;
  ContextPtr context_;
};

}  // namespace

bool probe_cuda(std::string& text) {
  try {
    const Driver& driver = Driver::get();
    int count = 0;
    driver.check(driver.cuDeviceGetCount(&count), "count the GPUs");
    if (count == 0) fail_environment("the CUDA driver sees no GPU");
    text = CudaDevice(0).description() + (count > 1 ? ", " + std::to_string(count) + " GPUs" : "");
    return true;
  } catch (const std::exception& error) {
    text = error.what();
    return false;
  }
}

std::shared_ptr<Device> open_cuda(const std::string& options) {
  return std::make_shared<CudaDevice>(parse_ordinal("cuda", options));
}

}  // namespace mcc::runtime
