// See orders.h.
#include "runtime/sim/orders.h"

#include <cstring>

#include "runtime/sim/core/memory_impl.h"
#include "runtime/sim/core/module_impl.h"

namespace mcc::sim {
namespace {

// A piece of memory that launches may change, with its shadow of initialised bytes.
struct Piece {
  std::string name;
  uint8_t* data = nullptr;
  size_t bytes = 0;
  uint8_t* init = nullptr;
  size_t init_bytes = 0;
};

std::vector<Piece> changeable(const Module::Impl& module, const Memory::Impl& memory) {
  std::vector<Piece> pieces;
  for (const WindowInfo& window : memory.windows) {
    if (window.storage < 0 || !window.writable || window.bytes == 0) continue;
    Storage& storage = *memory.storages[static_cast<size_t>(window.storage)];
    pieces.push_back({window.name, storage.host + window.offset, window.bytes,
                      storage.init.data() + window.offset / 4, (window.bytes + 3) / 4});
  }
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ModuleVariable& variable = module.program->variables[i];
    if (variable.constant || variable.memory.empty()) continue;
    pieces.push_back({variable.name, const_cast<uint8_t*>(module.variables[i].data()),
                      variable.memory.size(), const_cast<uint8_t*>(module.variable_init[i].data()),
                      (variable.memory.size() + 3) / 4});
  }
  return pieces;
}

// Contents and shadows of all pieces at one moment. Windows may overlap: each keeps its own copy,
// and all copies were taken at the same time, so the order of restoring does not matter.
class Snapshot {
 public:
  explicit Snapshot(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      data_.emplace_back(piece.data, piece.data + piece.bytes);
      init_.emplace_back(piece.init, piece.init + piece.init_bytes);
    }
  }
  void restore(const std::vector<Piece>& pieces) const {
    for (size_t i = 0; i < pieces.size(); ++i) {
      std::memcpy(pieces[i].data, data_[i].data(), data_[i].size());
      std::memcpy(pieces[i].init, init_[i].data(), init_[i].size());
    }
  }
  // Offset of the first byte of piece `i` that differs from memory as it is now; -1: none does.
  int64_t difference(const Piece& piece, size_t i) const {
    if (std::memcmp(piece.data, data_[i].data(), piece.bytes) == 0) return -1;
    size_t at = 0;
    while (piece.data[at] == data_[i][at]) ++at;
    return static_cast<int64_t>(at);
  }

 private:
  std::vector<std::vector<uint8_t>> data_;
  std::vector<std::vector<uint8_t>> init_;
};

bool has_finding(const LaunchReport& report, const Finding& finding) {
  for (const Finding& other : report.findings) {
    if (other.kind == finding.kind && other.ptx_line == finding.ptx_line &&
        other.buffer == finding.buffer)
      return true;
  }
  return false;
}

}  // namespace

LaunchReport launch_in_orders(const Module& module, std::string_view kernel, Memory& memory,
                              Dim3 grid, Dim3 block, uint32_t dynamic_shared,
                              const Arguments& arguments, const LaunchOptions& options,
                              int orders) {
  if (orders <= 0)
    return launch(module, kernel, memory, grid, block, dynamic_shared, arguments, options);
  const std::vector<Piece> pieces = changeable(module.impl(), memory.impl());
  const Snapshot before(pieces);
  LaunchReport report =
      launch(module, kernel, memory, grid, block, dynamic_shared, arguments, options);
  if (!report.clean()) return report;
  const Snapshot after(pieces);
  LaunchOptions other = options;
  other.counters = false;
  for (int order = 1; order <= orders; ++order) {
    before.restore(pieces);
    other.seed = options.seed + static_cast<uint64_t>(order);
    LaunchReport again =
        launch(module, kernel, memory, grid, block, dynamic_shared, arguments, other);
    for (Finding& finding : again.findings) {
      if (!has_finding(report, finding)) report.findings.push_back(std::move(finding));
    }
    report.complete = report.complete && again.complete;
    for (size_t i = 0; i < pieces.size() && again.complete; ++i) {
      const int64_t at = after.difference(pieces[i], i);
      if (at < 0) continue;
      Finding finding;
      finding.kind = FindingKind::nondeterministic;
      finding.kernel = std::string(kernel);
      finding.address = static_cast<uint64_t>(at);
      finding.buffer = pieces[i].name;
      finding.message = "the result depends on the order in which warps and lanes run (seed " +
                        std::to_string(other.seed) + ")";
      if (!has_finding(report, finding)) report.findings.push_back(std::move(finding));
    }
  }
  after.restore(pieces);
  return report;
}

}  // namespace mcc::sim
