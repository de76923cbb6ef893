// Device memory of the simulator: blocks that the runtime addresses like device memory, registered
// as storages of one sim::Memory, so that every byte knows whether it was written.
//
// A GlobalMemory is shared by the device, its blocks and its queues; callers hold its mutex around
// everything but the constructor.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/device.h"
#include "runtime/sim/sim.h"

namespace mcc::runtime {

struct GlobalMemory {
  struct Block {
    int storage = -1;
    int64_t bytes = 0;
  };
  std::mutex mutex;
  sim::Memory memory;
  std::map<const std::byte*, Block> blocks;  // by first address
};

// Registers [data, data + bytes); `owned` blocks are freed with the object, others belong to the
// caller. Alive until destroyed.
class SimMemory : public Memory {
 public:
  // Fresh memory, uninitialised.
  SimMemory(std::shared_ptr<GlobalMemory> global, int64_t bytes);
  // Memory of the caller's, initialised; kernels must not write it.
  SimMemory(std::shared_ptr<GlobalMemory> global, std::span<const std::byte> contents);
  ~SimMemory() override;
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;
  std::byte* address() const override { return data_; }

 private:
  void add(int64_t bytes, bool initialised);

  std::shared_ptr<GlobalMemory> global_;
  std::byte* data_ = nullptr;
  bool owned_ = false;
};

// A window over a range of device memory for the time of one operation.
class SimWindow {
 public:
  // Error(internal) when the range lies in no block.
  SimWindow(GlobalMemory& global, const std::string& name, const void* data, int64_t bytes,
            bool writable);
  ~SimWindow();
  SimWindow(SimWindow&& other) noexcept;
  SimWindow(const SimWindow&) = delete;
  SimWindow& operator=(const SimWindow&) = delete;
  SimWindow& operator=(SimWindow&&) = delete;
  sim::Address address() const { return address_; }

 private:
  GlobalMemory* global_;
  sim::Address window_ = 0;
  sim::Address address_ = 0;  // window_, or up to 3 bytes behind it: windows start at words
};

}  // namespace mcc::runtime
