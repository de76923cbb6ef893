// See phases.h.
#include "runtime/session/phases.h"

#include <algorithm>
#include <set>

namespace mcc::runtime {

namespace {

// The instruction after which the buffer's contents are final: its last writer; -1 for inputs and
// weights, which are there from the start.
int definition_point(const Manifest& manifest, int buffer) {
  const int storage = storage_of(manifest, buffer);
  int point = -1;
  for (size_t i = 0; i < manifest.program.size(); ++i) {
    for (int written : written_buffers(manifest, manifest.program[i])) {
      if (storage_of(manifest, written) == storage) point = static_cast<int>(i);
    }
  }
  return point;
}

}  // namespace

int PhaseTable::phase_of(const Expression& expression) const {
  int phase = -1;
  for (const ExpressionToken& token : expression.tokens()) {
    if (token.op != ExpressionOp::symbol) continue;
    phase = std::max(phase, phase_of_symbol[static_cast<size_t>(token.value)]);
  }
  return phase;
}

PhaseTable split_phases(const Manifest& manifest) {
  // Phases begin where a symbol's source buffer is complete.
  std::set<size_t> starts{0};
  std::vector<int> points(manifest.symbols.size(), -1);
  for (size_t s = 0; s < manifest.symbols.size(); ++s) {
    const SymbolSource& source = manifest.symbols[s].source;
    if (source.kind != SymbolSource::Kind::buffer) continue;
    points[s] = definition_point(manifest, source.buffer);
    starts.insert(static_cast<size_t>(points[s] + 1));
  }
  PhaseTable table;
  for (size_t start : starts) {
    if (!table.phases.empty()) table.phases.back().end = start;
    table.phases.push_back({start, manifest.program.size(), {}});
  }
  table.phase_of_symbol.assign(manifest.symbols.size(), -1);
  for (size_t s = 0; s < manifest.symbols.size(); ++s) {
    const SymbolSource& source = manifest.symbols[s].source;
    int phase = -1;
    if (source.kind == SymbolSource::Kind::buffer) {
      const auto found = starts.find(static_cast<size_t>(points[s] + 1));
      phase = static_cast<int>(std::distance(starts.begin(), found));
    } else if (source.kind == SymbolSource::Kind::expression) {
      phase = table.phase_of(source.expression);  // over earlier symbols only
    }
    table.phase_of_symbol[s] = phase;
    if (phase >= 0) table.phases[static_cast<size_t>(phase)].symbols.push_back(static_cast<int>(s));
  }
  return table;
}

}  // namespace mcc::runtime
