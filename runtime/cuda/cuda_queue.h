// Streams, recordings, memory and images of one GPU; see cuda_device.cpp for the device itself.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/device.h"

namespace mcc::runtime::cuda {

// The primary context of one GPU, kept alive by everything that uses it.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, Device device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  Context handle() const { return context_; }
  const Driver& driver() const { return driver_; }

 private:
  const Driver& driver_;
  Device device_;
  Context context_ = nullptr;
};
using ContextPtr = std::shared_ptr<PrimaryContext>;

// Makes the context current on this thread while it exists.
class CurrentContext {
 public:
  explicit CurrentContext(const PrimaryContext& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
};

class DeviceMemory : public Memory {
 public:
  DeviceMemory(ContextPtr context, int64_t bytes);
  ~DeviceMemory() override;
  std::byte* address() const override { return reinterpret_cast<std::byte*>(pointer_); }

 private:
  ContextPtr context_;
  DevicePointer pointer_ = 0;
};

class PinnedMemory : public Memory {
 public:
  PinnedMemory(ContextPtr context, int64_t bytes);
  ~PinnedMemory() override;
  std::byte* address() const override { return static_cast<std::byte*>(pointer_); }

 private:
  ContextPtr context_;
  void* pointer_ = nullptr;
};

class CudaImage : public Image {
 public:
  // Loads every section of the target and finds every kernel.
  CudaImage(ContextPtr context, const Plan& plan, const TargetInfo& target);
  ~CudaImage() override;
  Function function(int kernel) const { return functions_[static_cast<size_t>(kernel)]; }

 private:
  void load_module(std::span<const std::byte> code, const TargetInfo& target);
  void find_kernels(const Plan& plan, const TargetInfo& target);
  void unload();

  ContextPtr context_;
  std::vector<Module> modules_;  // one per section of the target
  std::vector<Function> functions_;
};

class CudaRecording : public Recording {
 public:
  CudaRecording(ContextPtr context, Graph graph);
  ~CudaRecording() override;
  GraphExec executable() const { return executable_; }

 private:
  ContextPtr context_;
  GraphExec executable_ = nullptr;
};

class CudaQueue : public Queue {
 public:
  explicit CudaQueue(ContextPtr context);
  ~CudaQueue() override;

  void upload(std::byte* device, const std::byte* host, int64_t bytes) override;
  void download(std::byte* host, const std::byte* device, int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  void launch(const Image& image, const BoundLaunch& launch) override;
  void synchronize() override;
  bool can_record() const override { return true; }
  void begin_recording() override;
  std::unique_ptr<Recording> end_recording() override;
  void replay(const Recording& recording) override;
  void mark(int slot) override;
  double milliseconds_between(int from_slot, int to_slot) override;

 private:
  const Driver& driver() const { return context_->driver(); }

  ContextPtr context_;
  Stream stream_ = nullptr;
  std::vector<Event> events_;
  std::vector<void*> parameters_;  // reused between launches
};

}  // namespace mcc::runtime::cuda
