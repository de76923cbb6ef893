// Counters of a launch from the workers' statistics per instruction.
#include <algorithm>

#include "runtime/sim/core/memory_impl.h"

namespace mcc::sim {

const char* class_name(InstClass klass) {
  static constexpr const char* kNames[] = {"integer", "fp32", "fp64", "fp16", "special_function", "conversion", "move", "predicate",
                                           "control", "load_global", "store_global", "load_shared", "store_shared", "local_memory",
                                           "load_constant", "atomic", "barrier", "warp_communication", "matrix", "async_copy", "other"};
  static_assert(std::size(kNames) == static_cast<size_t>(InstClass::count));
  return kNames[static_cast<size_t>(klass)];
}

double Counters::coalescing() const {
  const uint64_t moved = 32 * (global_load_sectors + global_store_sectors);
  return moved == 0 ? 1.0 : std::min(1.0, static_cast<double>(global_load_bytes + global_store_bytes) / static_cast<double>(moved));
}

namespace {

bool counts_two(const std::string& text) { return text.compare(0, 4, "fma.") == 0 || text.compare(0, 4, "mad.") == 0; }

}  // namespace

void sum_counters(const LaunchState& state, const std::vector<std::unique_ptr<Worker>>& workers, LaunchReport& report) {
  Counters& c = report.counters;
  const Program& program = *state.program;
  for (size_t i = 0; i < program.lines.size(); ++i) {
    InstStats s;
    for (const auto& worker : workers) {
      const InstStats& o = worker->stats[i];
      s.warps += o.warps;
      s.threads += o.threads;
      s.sectors += o.sectors;
      s.requests += o.requests;
      s.bytes += o.bytes;
      s.diverged += o.diverged;
    }
    if (s.warps == 0) continue;
    const Inst& in = state.code[i];
    const auto klass = static_cast<size_t>(in.klass);
    c.warp_instructions += s.warps;
    c.thread_instructions += s.threads;
    c.by_class[klass] += s.warps;
    c.threads_by_class[klass] += s.threads;
    const uint64_t flops = s.threads * (counts_two(program.texts[i]) ? 2 : 1);
    switch (in.klass) {
      case InstClass::fp32: case InstClass::special_function: c.flops_fp32 += flops; break;
      case InstClass::fp64: c.flops_fp64 += flops; break;
      case InstClass::fp16: c.flops_fp16 += flops * (program.texts[i].find("x2") != std::string::npos ? 2 : 1); break;
      case InstClass::matrix: c.flops_matrix += s.warps * static_cast<uint64_t>(in.imm >= 0 && program.texts[i].compare(0, 3, "mma") == 0 ? in.imm >> 32 : 0); break;
      case InstClass::load_global:
        c.global_load_requests += s.requests;
        c.global_load_sectors += s.sectors;
        c.global_load_bytes += s.bytes;
        break;
      case InstClass::store_global:
        c.global_store_requests += s.requests;
        c.global_store_sectors += s.sectors;
        c.global_store_bytes += s.bytes;
        break;
      case InstClass::async_copy:
        c.global_load_requests += s.requests;
        c.global_load_sectors += s.sectors;
        c.global_load_bytes += s.bytes;
        break;
      case InstClass::atomic:
        c.atomic_requests += s.requests;
        c.atomic_sectors += s.sectors;
        break;
      case InstClass::load_shared:
        c.shared_load_requests += s.requests;
        c.shared_load_passes += s.sectors;
        c.shared_minimum_passes += std::max(s.requests, std::min(s.sectors, (s.bytes + 127) / 128));
        break;
      case InstClass::store_shared:
        c.shared_store_requests += s.requests;
        c.shared_store_passes += s.sectors;
        c.shared_minimum_passes += std::max(s.requests, std::min(s.sectors, (s.bytes + 127) / 128));
        break;
      case InstClass::local_memory:
        c.local_requests += s.requests;
        c.local_bytes += s.bytes;
        break;
      case InstClass::control:
        if (in.target != 0 || in.list != nullptr) c.branches += s.warps;
        c.divergent_branches += s.diverged;
        break;
      default: break;
    }
    LineCounters line;
    line.ptx_line = program.lines[i];
    line.source_line = program.locations[i].line;
    line.instruction = program.texts[i];
    line.warps = s.warps;
    line.threads = s.threads;
    line.requests = s.requests;
    line.sectors = s.sectors;
    line.diverged = s.diverged;
    report.lines.push_back(std::move(line));
  }
  for (const auto& worker : workers) c.barriers += worker->barriers;
}

void count_buffers(const LaunchState& state, LaunchReport& report) {
  Counters& c = report.counters;
  for (size_t i = kFirstBuffer; i < state.windows.size(); ++i) {
    const Window& window = state.windows[i];
    if (window.host == nullptr || window.read_sectors == nullptr || window.bytes == 0) continue;
    BufferTraffic traffic;
    traffic.name = state.window_names[i];
    traffic.size = window.bytes;
    const size_t sectors = (window.bytes + window.sector_phase + 31) / 32;
    for (size_t s = 0; s < sectors; ++s) {
      traffic.unique_read_sectors += window.read_sectors[s];
      traffic.unique_write_sectors += window.write_sectors[s];
    }
    // The last sector may reach past the buffer.
    const auto bytes = [&](uint64_t n) { return std::min<uint64_t>(32 * n, window.bytes); };
    c.unique_read_bytes += bytes(traffic.unique_read_sectors);
    c.unique_write_bytes += bytes(traffic.unique_write_sectors);
    if (traffic.unique_read_sectors + traffic.unique_write_sectors != 0) c.buffers.push_back(std::move(traffic));
  }
}

}  // namespace mcc::sim
