// The joined operator table.
#include <string>

#include "lib/frontend/ops/families.h"

namespace mcc::frontend {

std::vector<const OperatorEntry*> operator_entries() {
  std::vector<const OperatorEntry*> entries;
  for (std::span<const OperatorEntry> family :
       {elementwise_operators(), activation_operators(), shape_operators(), view_operators(), indexing_operators(),
        contraction_operators(), conv_operators(), pool_operators(), reduction_operators(),
        normalization_operators(), resize_operators(), quantization_operators()}) {
    for (const OperatorEntry& entry : family) entries.push_back(&entry);
  }
  return entries;
}

const OperatorEntry* find_operator(const std::string& domain, const std::string& name, int64_t opset) {
  static const std::vector<const OperatorEntry*> kEntries = operator_entries();
  const OperatorEntry* best = nullptr;
  for (const OperatorEntry* entry : kEntries) {
    if (name != entry->name || domain != entry->domain || entry->since > opset) continue;
    if (best == nullptr || entry->since > best->since) best = entry;
  }
  return best;
}

}  // namespace mcc::frontend
