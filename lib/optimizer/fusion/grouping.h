// The decision part of fusion: which node goes to which group.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc {

struct FusionGroup {
  int32_t anchor = -1;          // node index, -1 for a pointwise group
  int32_t root = -1;            // the node whose output(s) the group stores
  std::set<int32_t> nodes;      // node indices, in topological order
};

class Grouping {
 public:
  explicit Grouping(const Graph& graph);
  // Groups in no particular order; nodes may be in several (recomputed) or in none (constants,
  // aliases, control flow).
  std::vector<FusionGroup> run();

 private:
  void extend_epilogue(FusionGroup& group);
  bool absorb_single(FusionGroup& group, int32_t consumer, ValueId current) const;
  int32_t absorb_region(FusionGroup& group, ValueId current) const;
  void assign_producers();
  bool feeds_anchor(int32_t index, const FusionGroup& group) const;
  bool accepts_prologue(const FusionGroup& group, const Node& candidate) const;
  bool may_inline(int32_t node, const std::set<int>& groups) const;
  bool is_inline_class(int32_t node) const;
  bool is_alias(int32_t node) const;
  const Node& node(int32_t index) const { return graph_.nodes[static_cast<size_t>(index)]; }

  const Graph& graph_;
  std::vector<int32_t> producers_;
  std::vector<std::vector<int32_t>> consumers_;
  std::vector<bool> is_output_;
  std::vector<FusionGroup> groups_;
  std::vector<std::set<int>> groups_of_;  // per node
};

}  // namespace mcc
