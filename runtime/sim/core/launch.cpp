// A launch: checks its limits, lays out windows and parameters, runs blocks on host threads.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>

#include "runtime/sim/core/memory_impl.h"
#include "runtime/sim/core/module_impl.h"
#include "runtime/sim/report/gpu.h"

namespace mcc::sim {

void sum_counters(const LaunchState& state, const std::vector<std::unique_ptr<Worker>>& workers, LaunchReport& report);
void count_buffers(const LaunchState& state, LaunchReport& report);

namespace {

void make_windows(const Module::Impl& module, Memory::Impl& memory, LaunchState& state) {
  const Program& program = *module.program;
  const size_t cell_shift = static_cast<size_t>(state.kernel->granule_shift_global);
  const bool counters = state.options->counters;
  state.windows.resize(kFirstBuffer + memory.windows.size());
  state.window_names.resize(state.windows.size());
  for (size_t i = 0; i < program.variables.size(); ++i) {
    Window& window = state.windows[kFirstWindow + i];
    auto& impl = const_cast<Module::Impl&>(module);
    window.host = impl.variables[i].data();
    window.bytes = program.variables[i].memory.size();
    window.writable = program.variables[i].constant ? 0 : 1;
    if (state.checks) {
      window.init = impl.variable_init[i].data();
      if (window.writable != 0) {
        impl.variable_race[i].grow(((window.bytes >> cell_shift) + 64) * sizeof(RaceCell));
        window.race = reinterpret_cast<RaceCell*>(impl.variable_race[i].data());
      }
    }
    state.window_names[kFirstWindow + i] = program.variables[i].name;
  }
  // A window is tracked when a writable one overlaps it, itself included.
  for (size_t i = 0; i < memory.windows.size(); ++i) {
    const WindowInfo& info = memory.windows[i];
    if (info.storage < 0) continue;
    Storage& storage = *memory.storages[static_cast<size_t>(info.storage)];
    Window& window = state.windows[kFirstBuffer + i];
    window.host = storage.host + info.offset;
    window.bytes = info.bytes;
    window.writable = info.writable ? 1 : 0;
    state.window_names[kFirstBuffer + i] = info.name;
    if (state.checks) {
      window.init = storage.init.data() + info.offset / 4;
      const bool tracked = std::any_of(memory.windows.begin(), memory.windows.end(), [&](const WindowInfo& other) {
        return other.writable && other.storage == info.storage && other.offset < info.offset + info.bytes && info.offset < other.offset + other.bytes;
      });
      if (tracked) {
        const size_t bytes = ((storage.bytes >> cell_shift) + 64) * sizeof(RaceCell);
        if (storage.race.size() < bytes) storage.race = AlignedBytes(bytes);
        window.race = reinterpret_cast<RaceCell*>(storage.race.data()) + (info.offset >> cell_shift);
      }
    }
    if (counters) {
      const size_t sectors = storage.bytes / 32 + 64;
      if (storage.read_sectors.size() < sectors) {
        storage.read_sectors = AlignedBytes(sectors);
        storage.write_sectors = AlignedBytes(sectors);
      }
      const size_t first = info.offset / 32, count = (info.offset + info.bytes + 31) / 32 - first;
      std::memset(storage.read_sectors.data() + first, 0, count);
      std::memset(storage.write_sectors.data() + first, 0, count);
      window.read_sectors = storage.read_sectors.data() + first;
      window.write_sectors = storage.write_sectors.data() + first;
      window.sector_phase = static_cast<uint8_t>(info.offset % 32);
    }
  }
}

std::vector<uint8_t> make_parameters(const FunctionInfo& kernel, const Arguments& arguments) {
  if (arguments.values().size() != kernel.params.size()) {
    throw SimError("kernel '" + kernel.name + "' has " + std::to_string(kernel.params.size()) + " parameters, but " + std::to_string(arguments.values().size()) + " arguments are given");
  }
  std::vector<uint8_t> bytes(kernel.param_bytes + 64);
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const std::vector<std::byte>& value = arguments.values()[i];
    if (static_cast<int64_t>(value.size()) != kernel.params[i].bytes) {
      throw SimError("parameter " + std::to_string(i) + " of kernel '" + kernel.name + "' has " + std::to_string(kernel.params[i].bytes) + " bytes, but the argument has " + std::to_string(value.size()));
    }
    std::memcpy(bytes.data() + kernel.params[i].offset, value.data(), value.size());
  }
  return bytes;
}

bool within_limits(const LaunchState& state, LaunchReport& report) {
  auto refuse = [&](const std::string& message) {
    Finding finding;
    finding.kind = FindingKind::launch_limit;
    finding.kernel = state.kernel->name;
    finding.message = message;
    report.findings.push_back(finding);
  };
  const Limits limits = limits_of(state.program->architecture);
  const Dim3 &b = state.block, &g = state.grid;
  const uint64_t threads = b.count();
  if (threads == 0 || g.count() == 0) refuse("the grid or the block is empty");
  if (threads > limits.threads_per_block) refuse("the block has " + std::to_string(threads) + " threads; the limit is " + std::to_string(limits.threads_per_block));
  if (b.x > 1024 || b.y > 1024 || b.z > 64) refuse("the block's shape exceeds (1024,1024,64)");
  if (g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535) refuse("the grid's shape exceeds (2147483647,65535,65535)");
  const uint64_t shared = uint64_t{state.kernel->shared_bytes} + state.dynamic_shared;
  if (state.kernel->shared_bytes > 49152) refuse("static shared memory is " + std::to_string(state.kernel->shared_bytes) + " bytes; the limit is 49152");
  if (shared > limits.shared_per_block) refuse("the block needs " + std::to_string(shared) + " bytes of shared memory; the limit of the architecture is " + std::to_string(limits.shared_per_block));
  const int* most = state.kernel->max_threads;
  if (most[0] > 0 && threads > static_cast<uint64_t>(most[0]) * static_cast<uint64_t>(most[1]) * static_cast<uint64_t>(most[2])) refuse("the block has more threads than the kernel's launch bounds (.maxntid) allow");
  const int* exact = state.kernel->required_threads;
  if (exact[0] > 0 && (b.x != static_cast<uint32_t>(exact[0]) || b.y != static_cast<uint32_t>(exact[1]) || b.z != static_cast<uint32_t>(exact[2]))) refuse("the block's shape differs from the kernel's .reqntid");
  if (state.options->registers > 0 && static_cast<uint64_t>(state.options->registers) * ((threads + 31) / 32 * 32) > limits.registers_per_block) refuse("the block needs more registers than the architecture has");
  return report.findings.empty();
}

}  // namespace

LaunchReport launch(const Module& module, std::string_view kernel_name, Memory& memory, Dim3 grid, Dim3 block, uint32_t dynamic_shared, const Arguments& arguments, const LaunchOptions& options) {
  const Module::Impl& impl = module.impl();
  LaunchState state;
  state.program = impl.program.get();
  for (const FunctionInfo& f : state.program->functions) {
    if (f.entry && f.defined && f.name == kernel_name) state.kernel = &f;
  }
  if (state.kernel == nullptr) throw SimError("the module has no kernel '" + std::string(kernel_name) + "'");
  state.options = &options;
  state.constants = impl.constants.data();
  state.checks = options.checks;
  state.code = state.program->code[options.checks ? 1 : 0].data();
  state.grid = grid;
  state.block = block;
  state.block_count = grid.count();
  LaunchReport report;
  const std::vector<uint8_t> parameters = make_parameters(*state.kernel, arguments);
  state.params = parameters.data();
  state.dynamic_shared = dynamic_shared;
  if (!within_limits(state, report)) {
    report.complete = false;
    return report;
  }
  state.threads = static_cast<uint32_t>(block.count());
  state.warps = (state.threads + kLanes - 1) / kLanes;
  // Dynamic shared memory follows the static part, aligned for any type.
  state.shared_bytes = (dynamic_shared == 0 && !state.kernel->uses_dynamic_shared ? state.kernel->shared_bytes : (state.kernel->shared_bytes + 15) / 16 * 16) + dynamic_shared;
  Memory::Impl& m = memory.impl();
  if (state.block_count > 0xffffffffu - m.next_serial) {
    if (state.block_count > 0xfffffff0u) throw SimError("the grid has too many blocks to simulate");
    for (auto& storage : m.storages) {
      if (storage != nullptr) storage->race = AlignedBytes();
    }
    m.next_serial = 1;
  }
  state.first_serial = m.next_serial;
  m.next_serial += static_cast<uint32_t>(state.block_count);
  make_windows(impl, m, state);

  unsigned count = options.threads > 0 ? static_cast<unsigned>(options.threads) : std::max(1u, std::thread::hardware_concurrency());
  count = static_cast<unsigned>(std::min<uint64_t>(count, state.block_count));
  std::vector<std::unique_ptr<Worker>> workers;
  std::atomic<uint64_t> next{0};
  std::exception_ptr failure;
  auto work = [&](Worker& worker) {
    try {
      for (uint64_t index = next++; index < state.block_count; index = next++) {
        {
          const std::lock_guard<std::mutex> lock(state.mutex);
          if (state.stop) return;
        }
        worker.run_block(index);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(state.mutex);
      if (!failure) failure = std::current_exception();
      state.stop = true;
    }
  };
  for (unsigned i = 0; i < count; ++i) {
    workers.push_back(std::make_unique<Worker>(state));
    workers.back()->isa = state.program->isa;
  }
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < count; ++i) threads.emplace_back(work, std::ref(*workers[i]));
  work(*workers[0]);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);

  for (auto& [key, finding] : state.findings) report.findings.push_back(std::move(finding));
  std::stable_sort(report.findings.begin(), report.findings.end(), [](const Finding& a, const Finding& b) {
    return a.ptx_line != b.ptx_line ? a.ptx_line < b.ptx_line : a.kind < b.kind;
  });
  report.complete = !state.stop;
  for (const auto& [index, text] : state.output) report.output += text;
  sum_counters(state, workers, report);
  count_buffers(state, report);
  return report;
}

}  // namespace mcc::sim
