// The PTX simulator's interface: modules, memory, launches, findings and counters.
//
// Invariants: results are exact where PTX defines them; findings and counters are the same in every
// run with one thread (with several, only the choice of which of two racing accesses is named may
// differ). Depends on nothing else in mcc. Errors: SimError with a complete sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sim/check/report.h"
#include "runtime/sim/error.h"

namespace mcc::sim {

struct Program;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

using Address = uint64_t;

struct KernelParameter {
  std::string name;
  int64_t offset = 0;
  int64_t bytes = 0;
};

struct KernelInfo {
  std::string name;
  std::vector<KernelParameter> parameters;
  int64_t parameter_bytes = 0;
  int64_t static_shared_bytes = 0;
  int64_t local_bytes = 0;          // per thread
  int max_threads = 0;              // from .maxntid or .reqntid, 0 when not stated
  int live_registers = 0;           // 32-bit values live at once: a lower bound of what ptxas uses
};

// Decoded PTX. The variables of the module (.global, .const) live in it: launches of one module see
// each other's changes. Safe to share between threads as long as launches do not overlap.
class Module {
 public:
  // SimError naming the line for anything the simulator does not know.
  // `isa`: "x86-64", "x86-64-v3", "x86-64-v4"; by default the widest that this processor has.
  static Module parse(std::string_view ptx, const char* isa = nullptr);
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();

  std::vector<KernelInfo> kernels() const;
  const KernelInfo* find_kernel(std::string_view name) const;
  int architecture() const;  // 80 for sm_80
  // The memory of a module variable; empty when there is none of that name.
  std::span<std::byte> variable(std::string_view name);

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  explicit Module(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Global memory: storages (host memory with shadows) and windows, the ranges that kernels may touch.
// Two windows never touch in the address space, so an access one past a buffer's end is found even
// when the buffers are neighbours in one arena. Not thread-safe.
class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Storage of its own with one window over it; contents uninitialised. Empty buffers are allowed.
  Address allocate(const std::string& name, size_t bytes);
  // Like allocate, with contents.
  Address upload(const std::string& name, const void* data, size_t bytes);
  void release(Address window);

  // Memory that belongs to the caller (alive until remove_storage): an arena, mapped weights.
  // `host` should be aligned to 32 bytes, for sector counts that do not depend on the host.
  int add_storage(std::byte* host, size_t bytes, bool initialised);
  void remove_storage(int storage);
  // A window over [offset, offset + bytes) of a storage; offset divisible by 4. Races are tracked
  // where a writable window overlaps.
  Address map(const std::string& name, int storage, size_t offset, size_t bytes, bool writable);
  void unmap(Address window);

  std::byte* host(Address address);           // null when not mapped
  size_t bytes_from(Address address) const;   // to the window's end
  void write(Address address, const void* data, size_t bytes);  // marks initialised
  void read(Address address, void* data, size_t bytes) const;
  void set_initialised(Address address, size_t bytes, bool initialised);
  bool is_initialised(Address address, size_t bytes) const;

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A kernel's arguments in order, each as bytes.
class Arguments {
 public:
  template <class T>
  Arguments& add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return add_bytes(&value, sizeof value);
  }
  Arguments& add_bytes(const void* data, size_t bytes);
  const std::vector<std::vector<std::byte>>& values() const { return values_; }

 private:
  std::vector<std::vector<std::byte>> values_;
};

struct LaunchOptions {
  bool checks = true;     // memory, races, initialisation
  bool counters = true;   // sectors, bank conflicts; instruction counts are always there
  int threads = 0;        // host threads for blocks; 0: one per usable core
  uint64_t seed = 0;      // 0: warps and lanes in order; else pseudo-random orders of warps and lanes
  uint64_t max_warp_instructions = uint64_t{1} << 30;  // per warp, then "no progress"
  size_t max_findings = 64;  // distinct ones (kind and instruction)
  int registers = 0;          // per thread as ptxas reported, for occupancy; 0: estimated
};

struct Finding {
  FindingKind kind = FindingKind::out_of_bounds;
  std::string kernel;
  int ptx_line = 0;
  std::string instruction;   // "ld.global.f32"
  std::string source_file;   // empty without line information
  int source_line = 0;
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};
  uint64_t address = 0;      // offset in the buffer, or in shared or local memory
  std::string buffer;        // buffer's name, "shared memory", "local memory"
  std::string message;       // one sentence
  uint64_t count = 1;        // how often the same instruction failed in the same way
  std::string text() const;  // everything above in one line
};
const char* finding_name(FindingKind kind);

struct BufferTraffic {
  std::string name;
  uint64_t size = 0;
  uint64_t unique_read_sectors = 0;
  uint64_t unique_write_sectors = 0;
};

// Exact sums over the launch. "Instructions" are warp instructions; thread instructions count
// active lanes.
struct Counters {
  uint64_t warp_instructions = 0;
  uint64_t thread_instructions = 0;
  uint64_t by_class[static_cast<int>(InstClass::count)] = {};          // warp instructions
  uint64_t threads_by_class[static_cast<int>(InstClass::count)] = {};  // thread instructions
  uint64_t flops_fp32 = 0, flops_fp64 = 0, flops_fp16 = 0;  // fused multiply-add counts two
  uint64_t flops_matrix = 0;                                // multiply-add counts two
  uint64_t global_load_requests = 0, global_store_requests = 0, atomic_requests = 0;
  uint64_t global_load_sectors = 0, global_store_sectors = 0, atomic_sectors = 0;  // 32 bytes each
  uint64_t global_load_bytes = 0, global_store_bytes = 0;  // asked for by lanes
  uint64_t shared_load_requests = 0, shared_store_requests = 0;
  uint64_t shared_load_passes = 0, shared_store_passes = 0;  // passes over the banks; conflicts = passes beyond the minimum
  uint64_t shared_minimum_passes = 0;
  uint64_t local_requests = 0, local_bytes = 0;
  uint64_t divergent_branches = 0, branches = 0;
  uint64_t barriers = 0;               // per block, completed
  uint64_t unique_read_bytes = 0, unique_write_bytes = 0;  // each touched sector once
  std::vector<BufferTraffic> buffers;

  double coalescing() const;           // bytes asked for / bytes moved, 0..1
  uint64_t bank_conflicts() const { return shared_load_passes + shared_store_passes - shared_minimum_passes; }
};
const char* class_name(InstClass klass);

// Counters of one PTX line, for annotated listings.
struct LineCounters {
  int ptx_line = 0;
  int source_line = 0;
  std::string instruction;
  uint64_t warps = 0, threads = 0, requests = 0, sectors = 0, diverged = 0;
};

struct LaunchReport {
  std::vector<Finding> findings;  // by line, then kind
  Counters counters;
  std::vector<LineCounters> lines;  // executed ones, in program order
  std::string output;               // what printf wrote, by block
  bool complete = true;             // false: stopped by a fatal finding
  bool clean() const { return findings.empty() && complete; }
  std::string text() const;         // findings, one a line
};

// Runs the kernel to the end. SimError for what a caller can get wrong (kernel name, number and size
// of arguments); launch limits of the architecture and everything the kernel does are findings.
LaunchReport launch(const Module& module, std::string_view kernel, Memory& memory, Dim3 grid, Dim3 block,
                    uint32_t dynamic_shared, const Arguments& arguments, const LaunchOptions& options = {});

}  // namespace mcc::sim
