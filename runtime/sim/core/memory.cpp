// Global memory: storages with shadows, windows over them.
//
// Invariants: window numbers are handed out in order and reused only after release, so addresses do
// not depend on the host; numbers below kFirstBuffer belong to spaces and module variables.
#include "runtime/sim/core/memory_impl.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "runtime/sim/error.h"

namespace mcc::sim {

AlignedBytes::AlignedBytes(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  // Fresh pages are zero and cost nothing until touched.
  if (bytes >= (1u << 20)) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw SimError("the simulator is out of memory: " + std::to_string(bytes) + " bytes are needed");
    data_ = static_cast<uint8_t*>(p);
    return;
  }
  data_ = static_cast<uint8_t*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  if (data_ == nullptr) throw SimError("the simulator is out of memory");
  std::memset(data_, 0, (bytes + 63) / 64 * 64);
}

AlignedBytes::~AlignedBytes() {
  if (data_ == nullptr) return;
  if (bytes_ >= (1u << 20)) munmap(data_, bytes_);
  else std::free(data_);
}

AlignedBytes& AlignedBytes::operator=(AlignedBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void AlignedBytes::grow(size_t bytes) {
  if (bytes <= bytes_) return;
  AlignedBytes larger(std::max(bytes, bytes_ * 2));
  if (bytes_ != 0) std::memcpy(larger.data(), data_, bytes_);
  *this = std::move(larger);
}

Memory::Memory() : impl_(std::make_unique<Impl>()) {}
Memory::~Memory() = default;

namespace {

size_t window_index(const Memory::Impl& impl, Address address) {
  const uint64_t index = address >> kWindowShift;
  if (index < kFirstBuffer || index - kFirstBuffer >= impl.windows.size() || impl.windows[index - kFirstBuffer].storage < 0) {
    throw SimError("the address " + std::to_string(address) + " belongs to no buffer");
  }
  return index - kFirstBuffer;
}

Storage& range(const Memory::Impl& impl, Address address, size_t bytes, size_t& at) {
  const WindowInfo& window = impl.windows[window_index(impl, address)];
  const uint64_t offset = address & kWindowMask;
  if (offset + bytes > window.bytes) throw SimError("the copy exceeds buffer '" + window.name + "'");
  at = window.offset + offset;
  return *impl.storages[static_cast<size_t>(window.storage)];
}

void mark(Storage& storage, size_t at, size_t bytes, bool initialised) {
  for (size_t i = at; i < at + bytes;) {
    if ((i & 3u) == 0 && i + 4 <= at + bytes) {
      const size_t words = (at + bytes - i) / 4;
      std::memset(storage.init.data() + i / 4, initialised ? 0x0f : 0, words);
      i += words * 4;
    } else {
      uint8_t& cell = storage.init.data()[i / 4];
      const auto bit = static_cast<uint8_t>(1u << (i & 3u));
      cell = static_cast<uint8_t>(initialised ? cell | bit : cell & ~bit);
      ++i;
    }
  }
}

}  // namespace

int Memory::add_storage(std::byte* host, size_t bytes, bool initialised) {
  auto storage = std::make_unique<Storage>();
  storage->host = reinterpret_cast<uint8_t*>(host);
  storage->bytes = bytes;
  storage->init = AlignedBytes(bytes / 4 + 64);
  if (initialised) std::memset(storage->init.data(), 0x0f, bytes / 4 + 1);
  auto free_slot = std::find(impl_->storages.begin(), impl_->storages.end(), nullptr);
  const int index = static_cast<int>(free_slot - impl_->storages.begin());
  if (free_slot == impl_->storages.end()) impl_->storages.push_back(std::move(storage));
  else *free_slot = std::move(storage);
  return index;
}

void Memory::remove_storage(int storage) {
  if (storage < 0 || static_cast<size_t>(storage) >= impl_->storages.size() || impl_->storages[static_cast<size_t>(storage)] == nullptr) {
    throw SimError("storage " + std::to_string(storage) + " does not exist");
  }
  for (WindowInfo& window : impl_->windows) {
    if (window.storage == storage) window = WindowInfo{};
  }
  impl_->storages[static_cast<size_t>(storage)].reset();
}

Address Memory::map(const std::string& name, int storage, size_t offset, size_t bytes, bool writable) {
  if (storage < 0 || static_cast<size_t>(storage) >= impl_->storages.size() || impl_->storages[static_cast<size_t>(storage)] == nullptr) {
    throw SimError("storage " + std::to_string(storage) + " does not exist");
  }
  const Storage& s = *impl_->storages[static_cast<size_t>(storage)];
  if (offset % 4 != 0) throw SimError("a buffer must start at a multiple of 4 bytes in its storage");
  if (offset > s.bytes || bytes > s.bytes - offset || bytes > kWindowMask / 2) throw SimError("the buffer '" + name + "' exceeds its storage");
  size_t index = 0;
  while (index < impl_->windows.size() && impl_->windows[index].storage >= 0) ++index;
  if (index == impl_->windows.size()) impl_->windows.emplace_back();
  impl_->windows[index] = {name, storage, offset, bytes, writable};
  return (kFirstBuffer + index) << kWindowShift;
}

void Memory::unmap(Address address) { impl_->windows[window_index(*impl_, address)] = WindowInfo{}; }

Address Memory::allocate(const std::string& name, size_t bytes) {
  AlignedBytes own(bytes + 64);
  std::byte* host = reinterpret_cast<std::byte*>(own.data());
  const int storage = add_storage(host, bytes, false);
  impl_->storages[static_cast<size_t>(storage)]->own = std::move(own);
  return map(name, storage, 0, bytes, true);
}

Address Memory::upload(const std::string& name, const void* data, size_t bytes) {
  const Address address = allocate(name, bytes);
  if (bytes != 0) write(address, data, bytes);
  return address;
}

void Memory::release(Address address) {
  const WindowInfo window = impl_->windows[window_index(*impl_, address)];
  unmap(address);
  const bool own = impl_->storages[static_cast<size_t>(window.storage)]->own.size() != 0;
  const bool shared = std::any_of(impl_->windows.begin(), impl_->windows.end(), [&](const WindowInfo& w) { return w.storage == window.storage; });
  if (own && !shared) remove_storage(window.storage);
}

std::byte* Memory::host(Address address) {
  const uint64_t index = address >> kWindowShift;
  if (index < kFirstBuffer || index - kFirstBuffer >= impl_->windows.size()) return nullptr;
  const WindowInfo& window = impl_->windows[index - kFirstBuffer];
  if (window.storage < 0 || (address & kWindowMask) > window.bytes) return nullptr;
  return reinterpret_cast<std::byte*>(impl_->storages[static_cast<size_t>(window.storage)]->host + window.offset + (address & kWindowMask));
}

size_t Memory::bytes_from(Address address) const {
  const WindowInfo& window = impl_->windows[window_index(*impl_, address)];
  const uint64_t offset = address & kWindowMask;
  return offset > window.bytes ? 0 : window.bytes - offset;
}

void Memory::write(Address address, const void* data, size_t bytes) {
  size_t at = 0;
  Storage& storage = range(*impl_, address, bytes, at);
  if (bytes == 0) return;
  std::memcpy(storage.host + at, data, bytes);
  mark(storage, at, bytes, true);
}

void Memory::read(Address address, void* data, size_t bytes) const {
  size_t at = 0;
  const Storage& storage = range(*impl_, address, bytes, at);
  if (bytes != 0) std::memcpy(data, storage.host + at, bytes);
}

void Memory::set_initialised(Address address, size_t bytes, bool initialised) {
  size_t at = 0;
  Storage& storage = range(*impl_, address, bytes, at);
  mark(storage, at, bytes, initialised);
}

bool Memory::is_initialised(Address address, size_t bytes) const {
  size_t at = 0;
  const Storage& storage = range(*impl_, address, bytes, at);
  for (size_t i = at; i < at + bytes; ++i) {
    if (((storage.init.data()[i / 4] >> (i & 3u)) & 1u) == 0) return false;
  }
  return true;
}

Arguments& Arguments::add_bytes(const void* data, size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  values_.emplace_back(from, from + bytes);
  return *this;
}

}  // namespace mcc::sim
