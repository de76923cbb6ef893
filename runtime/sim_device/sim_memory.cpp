// See sim_memory.h.
#include "runtime/sim_device/sim_memory.h"

#include <cstdlib>
#include <utility>

#include "runtime/support/checked.h"

namespace mcc::runtime {

namespace {

constexpr int64_t kAlignment = 64;
// The simulator's vector loads may read past the last element before they discard what they read.
constexpr int64_t kSpareBytes = 64;

}  // namespace

SimMemory::SimMemory(std::shared_ptr<GlobalMemory> global, int64_t bytes)
    : global_(std::move(global)), owned_(true) {
  const int64_t size = align_up(checked_add(bytes, kSpareBytes), kAlignment);
  data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<size_t>(size)));
  if (data_ == nullptr)
    fail_environment("cannot allocate " + std::to_string(bytes) + " bytes of memory");
  add(bytes, false);
}

SimMemory::SimMemory(std::shared_ptr<GlobalMemory> global, std::span<const std::byte> contents)
    : global_(std::move(global)), data_(const_cast<std::byte*>(contents.data())) {
  if (!contents.empty()) add(static_cast<int64_t>(contents.size()), true);
}

void SimMemory::add(int64_t bytes, bool initialised) {
  const std::lock_guard lock(global_->mutex);
  const int storage = global_->memory.add_storage(data_, static_cast<size_t>(bytes), initialised);
  global_->blocks[data_] = {storage, bytes};
}

SimMemory::~SimMemory() {
  {
    const std::lock_guard lock(global_->mutex);
    const auto found = global_->blocks.find(data_);
    if (found != global_->blocks.end()) {
      global_->memory.remove_storage(found->second.storage);
      global_->blocks.erase(found);
    }
  }
  if (owned_) std::free(data_);
}

SimWindow::SimWindow(GlobalMemory& global, const std::string& name, const void* data, int64_t bytes,
                     bool writable)
    : global_(&global) {
  const auto* first = static_cast<const std::byte*>(data);
  auto found = global.blocks.upper_bound(first);
  if (found == global.blocks.begin())
    fail_internal(name + " lies outside of the simulator's memory");
  --found;
  const int64_t offset = first - found->first;
  if (offset > found->second.bytes || bytes > found->second.bytes - offset) {
    fail_internal(name + " lies outside of the simulator's memory");
  }
  const int64_t ahead = offset % 4;
  window_ = global.memory.map(name, found->second.storage, static_cast<size_t>(offset - ahead),
                              static_cast<size_t>(bytes + ahead), writable);
  address_ = window_ + static_cast<sim::Address>(ahead);
}

SimWindow::~SimWindow() {
  if (global_ != nullptr) global_->memory.unmap(window_);
}

SimWindow::SimWindow(SimWindow&& other) noexcept
    : global_(std::exchange(other.global_, nullptr)),
      window_(other.window_),
      address_(other.address_) {}

}  // namespace mcc::runtime
