// Inside of Memory, shared with launch.cpp, which turns windows into the executor's table.
#pragma once

#include "runtime/sim/core/state.h"

namespace mcc::sim {

// Windows below this number: spaces (1 to 3) and the module's own variables.
constexpr uint64_t kFirstBuffer = 4096;

struct Storage {
  uint8_t* host = nullptr;
  size_t bytes = 0;
  AlignedBytes own;            // when the simulator allocated it
  AlignedBytes init;           // one byte per word
  AlignedBytes race;           // cells of the launch's granule, made when first needed
  AlignedBytes read_sectors;   // one byte per 32-byte sector
  AlignedBytes write_sectors;
};

struct WindowInfo {
  std::string name;
  int storage = -1;  // -1: free
  size_t offset = 0;
  size_t bytes = 0;
  bool writable = true;
};

struct Memory::Impl {
  std::vector<std::unique_ptr<Storage>> storages;
  std::vector<WindowInfo> windows;  // number kFirstBuffer + index
  uint32_t next_serial = 1;         // of blocks; stamps of earlier launches are smaller
};

}  // namespace mcc::sim
