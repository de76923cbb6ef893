// Host memory, host queue and the choice of the instruction set.
#include "runtime/host/host_device.h"

#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "runtime/host/cpu.h"
#include "runtime/host/host_image.h"
#include "runtime/host/thread_pool.h"
#include "runtime/support/checked.h"

namespace mcc::runtime {

namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

class HostMemory : public Memory {
 public:
  explicit HostMemory(int64_t bytes) {
    // Large blocks are aligned and advised for huge pages: activations are walked with large
    // strides, and page table walks show in the profile otherwise.
    const int64_t alignment = bytes >= kHugePage ? kHugePage : 4096;
    const int64_t rounded = align_up(std::max<int64_t>(bytes, 1), alignment);
    data_ = static_cast<std::byte*>(
        std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(rounded)));
    if (data_ == nullptr) {
      fail_environment("cannot allocate " + std::to_string(bytes) + " bytes of memory");
    }
    if (alignment == kHugePage) ::madvise(data_, static_cast<size_t>(rounded), MADV_HUGEPAGE);
  }
  ~HostMemory() override { std::free(data_); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  std::byte* address() const override { return data_; }

 private:
  std::byte* data_ = nullptr;
};

// Refers to the plan's mapping. Kernels take plain pointers but never write weights: the manifest
// was checked for that, and the mapping is read-only besides.
class MappedWeights : public Memory {
 public:
  explicit MappedWeights(std::span<const std::byte> weights) : weights_(weights) {}
  std::byte* address() const override { return const_cast<std::byte*>(weights_.data()); }

 private:
  std::span<const std::byte> weights_;
};

class HostQueue : public Queue {
 public:
  explicit HostQueue(const QueueOptions& options)
      : pool_(options.threads > 0 ? options.threads : usable_processors()),
        scratch_stride_(align_up(std::max<int64_t>(options.scratch_bytes, 1), 4096)),
        scratch_(checked_multiply(scratch_stride_, pool_.threads())) {}

  void upload(std::byte* device, const std::byte* host, int64_t bytes) override {
    std::memcpy(device, host, static_cast<size_t>(bytes));
  }
  void download(std::byte* host, const std::byte* device, int64_t bytes) override {
    std::memcpy(host, device, static_cast<size_t>(bytes));
  }
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
    struct Range {
      std::byte* to;
      const std::byte* from;
    } range{to, from};
    pool_.run(bytes, 64 << 10,
              [](void* context, int64_t begin, int64_t end, int) {
                const auto* r = static_cast<const Range*>(context);
                std::memcpy(r->to + begin, r->from + begin, static_cast<size_t>(end - begin));
              },
              &range);
  }
  void launch(const Image& image, const BoundLaunch& launch) override {
    Call call{static_cast<const HostImage&>(image).kernel(launch.kernel),
              launch.buffers.data(), launch.dims.data(),
              scratch_.address(), scratch_stride_};
    pool_.run(launch.parallel, launch.grain,
              [](void* context, int64_t begin, int64_t end, int thread) {
                const auto* c = static_cast<const Call*>(context);
                c->kernel(c->buffers, c->dims, begin, end, c->scratch + thread * c->stride);
              },
              &call);
  }
  void synchronize() override {}

  void mark(int slot) override {
    if (static_cast<size_t>(slot) >= marks_.size()) marks_.resize(static_cast<size_t>(slot) + 1);
    marks_[static_cast<size_t>(slot)] = std::chrono::steady_clock::now();
  }
  double milliseconds_between(int from_slot, int to_slot) override {
    const auto duration =
        marks_[static_cast<size_t>(to_slot)] - marks_[static_cast<size_t>(from_slot)];
    return std::chrono::duration<double, std::milli>(duration).count();
  }

 private:
  struct Call {
    HostKernel kernel;
    void* const* buffers;
    const int64_t* dims;
    std::byte* scratch;
    int64_t stride;
  };

  ThreadPool pool_;
  int64_t scratch_stride_;
  HostMemory scratch_;  // one piece per thread
  std::vector<std::chrono::steady_clock::time_point> marks_;
};

class HostDevice : public Device {
 public:
  std::string description() const override { return "host " + processor_description(); }

  const TargetInfo& choose_target(const Manifest& manifest) const override {
    std::string available;
    for (const TargetInfo& target : manifest.targets) {
      if (target.kind != TargetKind::host) continue;
      available += (available.empty() ? "" : ", ") + target.isa;
    }
    if (available.empty()) {
      fail_environment(
          "the plan has no host code; compile the model again with --host-isa to run it here");
    }
    for (std::string_view isa : supported_isas()) {
      for (const TargetInfo& target : manifest.targets) {
        if (target.kind == TargetKind::host && target.isa == isa) return target;
      }
    }
    fail_environment("the plan's host code is for " + available + ", which this processor, " +
                     processor_description() +
                     ", does not support; compile the model again with a lower --host-isa");
  }

  bool uses_host_memory() const override { return true; }
  std::unique_ptr<Memory> allocate(int64_t bytes) override {
    return std::make_unique<HostMemory>(bytes);
  }
  std::unique_ptr<Memory> allocate_staging(int64_t bytes) override { return allocate(bytes); }
  std::unique_ptr<Memory> place_weights(std::span<const std::byte> weights) override {
    return std::make_unique<MappedWeights>(weights);
  }
  std::unique_ptr<Image> load(const Plan& plan, const TargetInfo& target) override {
    return std::make_unique<HostImage>(plan, target);
  }
  std::unique_ptr<Queue> make_queue(const QueueOptions& options) override {
    return std::make_unique<HostQueue>(options);
  }
  void check_launch(const KernelInfo& kernel, const BoundLaunch& launch) const override {
    if (launch.parallel < 0) {
      fail_usage("kernel " + kernel.name + " would run over " + std::to_string(launch.parallel) +
                 " items with these shapes");
    }
  }
};

}  // namespace

bool probe_host(std::string& text) {
  text = processor_description() + ", " + std::to_string(usable_processors()) + " usable core(s)";
  if (supported_isas().empty()) {
    text += "; no instruction set that plans are compiled for (x86-64-v3, x86-64-v4)";
    return false;
  }
  return true;
}

std::shared_ptr<Device> open_host(const std::string& options) {
  if (parse_ordinal("host", options) != 0)
    fail_usage("there is only one host device: use --device host");
  return std::make_shared<HostDevice>();
}

}  // namespace mcc::runtime
