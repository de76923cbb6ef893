// The operator table: all families joined in one explicit list.
#include "lib/frontend/op_table.h"

#include <algorithm>
#include <map>

namespace mcc::frontend {
namespace {

constexpr std::span<const OperatorEntry> (*kFamilies[])() = {
    elementwise_entries,  activation_entries,  shape_entries,   movement_entries,
    gather_entries,       reduction_entries,   contraction_entries, convolution_entries,
    pooling_entries,      normalization_entries, quantization_entries, resize_entries,
    recurrent_entries,    data_dependent_entries, sequence_entries, random_entries,
    signal_entries,       control_entries,     vision_entries,  microsoft_entries,
};

using Key = std::pair<std::string_view, std::string_view>;
using Table = std::map<Key, std::vector<const OperatorEntry*>>;

const Table& table() {
  static const Table built = [] {
    Table result;
    for (const auto family : kFamilies) {
      for (const OperatorEntry& entry : family()) {
        result[{entry.domain, entry.name}].push_back(&entry);
      }
    }
    for (auto& [key, entries] : result) {
      std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
        return a->since_version < b->since_version;
      });
    }
    return result;
  }();
  return built;
}

}  // namespace

const OperatorEntry* find_entry(std::string_view domain, std::string_view name, int64_t opset) {
  const auto found = table().find({domain, name});
  if (found == table().end()) return nullptr;
  const OperatorEntry* best = nullptr;
  for (const OperatorEntry* entry : found->second) {
    if (entry->since_version <= opset) best = entry;
  }
  return best;
}

std::vector<const OperatorEntry*> all_entries() {
  std::vector<const OperatorEntry*> result;
  for (const auto& [key, entries] : table()) {
    result.insert(result.end(), entries.begin(), entries.end());
  }
  return result;
}

}  // namespace mcc::frontend
