// Grouping: epilogues forward along post-dominators, then prologues backward into their readers.
#include "lib/optimizer/fusion/grouping.h"

#include <algorithm>

#include "lib/ir/scalar_function.h"
#include "lib/ir/view_index.h"
#include "lib/optimizer/fusion/fusion.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

// A group computes everything in one kernel; this bounds compile time and register pressure.
constexpr size_t kMaxGroupNodes = 96;
constexpr size_t kMaxRegionNodes = 16;
// A value with several readers is recomputed in each when it costs at most this many flops.
constexpr int kRecomputeCost = 4;

bool is_scalar_constant(const Graph& graph, const Node& node) {
  return node.op == Op::constant && product(graph.shape(node.outputs[0])).is_constant(1);
}

// Moving the innermost axis makes stores strided; such transposes are better read through.
bool keeps_innermost(const Node& node, const Shape& input_shape) {
  if (node.op != Op::transpose) return true;
  const Ints& perm = node.attributes.ints("perm");
  // Ignore unit axes: they move no data.
  int64_t last_output = -1;
  for (int64_t axis : perm) {
    if (!input_shape[static_cast<size_t>(axis)].is_constant(1)) last_output = axis;
  }
  int64_t last_input = -1;
  for (size_t axis = 0; axis < input_shape.size(); ++axis) {
    if (!input_shape[axis].is_constant(1)) last_input = static_cast<int64_t>(axis);
  }
  return last_output == last_input;
}

int map_cost(const Node& node) {
  const ScalarFunction* function = find_scalar_function(node.attributes.text("fn"));
  return function == nullptr ? 1 : function->cost;
}

}  // namespace

Grouping::Grouping(const Graph& graph)
    : graph_(graph),
      producers_(graph.producers()),
      consumers_(graph.consumers()),
      is_output_(graph.values.size(), false),
      groups_of_(graph.nodes.size()) {
  for (ValueId output : graph.outputs) is_output_[static_cast<size_t>(output)] = true;
}

bool Grouping::is_inline_class(int32_t index) const {
  const Node& candidate = node(index);
  if (candidate.op == Op::constant) return is_scalar_constant(graph_, candidate);
  return has_trait(candidate.op, kElementwise | kView | kIndexed) || candidate.op == Op::iota ||
         candidate.op == Op::dims;
}

bool Grouping::absorb_single(FusionGroup& group, int32_t consumer, ValueId current) const {
  const Node& next = node(consumer);
  if (!groups_of_[static_cast<size_t>(consumer)].empty()) return false;
  // An operator reading the value twice (x * x) is fine for maps only.
  if (has_trait(next.op, kElementwise)) {
    group.nodes.insert(consumer);
    return true;
  }
  if (!is_bijective_view(next, graph_.shape(current))) return false;
  if (!keeps_innermost(next, graph_.shape(current))) return false;
  group.nodes.insert(consumer);
  return true;
}

// Takes maps after `current` in topological order until one of them post-dominates it. Returns
// that node, or -1 (and leaves the group alone) when there is none nearby.
int32_t Grouping::absorb_region(FusionGroup& group, ValueId current) const {
  std::set<int32_t> frontier;
  for (int32_t reader : consumers_[static_cast<size_t>(current)]) frontier.insert(reader);
  std::set<int32_t> region;
  while (!frontier.empty() && region.size() < kMaxRegionNodes) {
    const int32_t next = *frontier.begin();
    frontier.erase(frontier.begin());
    const Node& candidate = node(next);
    if (!has_trait(candidate.op, kElementwise) || !groups_of_[static_cast<size_t>(next)].empty()) {
      return -1;
    }
    region.insert(next);
    if (frontier.empty()) {
      // All paths have met in `next`.
      group.nodes.insert(region.begin(), region.end());
      return next;
    }
    const auto output = static_cast<size_t>(candidate.outputs[0]);
    if (is_output_[output]) return -1;
    for (int32_t reader : consumers_[output]) frontier.insert(reader);
  }
  return -1;
}

void Grouping::extend_epilogue(FusionGroup& group) {
  // Operators with several outputs store them as they are.
  if (node(group.anchor).outputs.size() != 1) return;
  if (!schedule_traits(node(group.anchor).op)->epilogue) return;
  while (group.nodes.size() < kMaxGroupNodes) {
    const ValueId current = node(group.root).outputs[0];
    if (is_output_[static_cast<size_t>(current)]) return;
    std::set<int32_t> readers(consumers_[static_cast<size_t>(current)].begin(),
                              consumers_[static_cast<size_t>(current)].end());
    if (readers.empty()) return;
    if (readers.size() == 1) {
      if (!absorb_single(group, *readers.begin(), current)) return;
      group.root = *readers.begin();
    } else {
      const int32_t meet = absorb_region(group, current);
      if (meet < 0) return;
      group.root = meet;
    }
  }
}

// Reshapes of values that exist in memory cost nothing: they stay outside of kernels.
bool Grouping::is_alias(int32_t index) const { return node(index).op == Op::reshape; }

// Whether some path from `index` to the group's anchor stays inside the group: then the anchor
// reads it, perhaps many times; otherwise only the epilogue does, once per element.
bool Grouping::feeds_anchor(int32_t index, const FusionGroup& group) const {
  std::set<int32_t> before{group.anchor};
  for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) {
    if (before.count(*it) == 0) continue;
    for (ValueId input : node(*it).inputs) {
      const int32_t producer = producers_[static_cast<size_t>(input)];
      if (producer == index) return true;
      if (producer >= 0 && group.nodes.count(producer) != 0) before.insert(producer);
    }
  }
  return false;
}

bool Grouping::accepts_prologue(const FusionGroup& group, const Node& candidate) const {
  const Node& anchor = node(group.anchor);
  const ScheduleTraits& traits = *schedule_traits(anchor.op);
  if (traits.prologue == Prologue::any) return true;
  const bool plain_view = candidate.op == Op::reshape || candidate.op == Op::transpose ||
                          candidate.op == Op::broadcast || candidate.op == Op::slice;
  if (!plain_view) {
    if (candidate.op != Op::map) return false;
    if (traits.prologue == Prologue::cheap_map) return map_cost(candidate) <= kRecomputeCost;
    return traits.prologue == Prologue::cast && candidate.attributes.text("fn") == "cast";
  }
  if (anchor.op == Op::conv && candidate.op == Op::transpose &&
      !keeps_innermost(candidate, graph_.shape(candidate.inputs[0]))) {
    // A convolution re-reads its input for every tap: a moved innermost axis is worth a copy,
    // except for images with few channels, where the copy costs as much as the convolution.
    const Shape& shape = graph_.shape(candidate.outputs[0]);
    return anchor.inputs[0] == candidate.outputs[0] && shape.back().is_constant() &&
           shape.back().constant() <= 4;
  }
  return true;
}

// Whether the value of `index` may be computed where the groups read it instead of stored.
bool Grouping::may_inline(int32_t index, const std::set<int>& groups) const {
  const Node& candidate = node(index);
  const bool view = has_trait(candidate.op, kView);
  for (int number : groups) {
    const FusionGroup& group = groups_[static_cast<size_t>(number)];
    if (group.nodes.size() >= kMaxGroupNodes) return false;
    if (group.anchor < 0 || !feeds_anchor(index, group)) continue;
    if (!accepts_prologue(group, candidate)) return false;
  }
  if (groups.size() <= 1) return true;
  if (view || candidate.op == Op::iota || candidate.op == Op::dims || candidate.op == Op::constant) {
    // A concat or pad read by several groups would be re-assembled in each.
    return candidate.op != Op::concat && candidate.op != Op::pad;
  }
  if (has_trait(candidate.op, kIndexed)) return false;
  int inputs_in_memory = 0;
  for (ValueId input : candidate.inputs) {
    const int32_t producer = producers_[static_cast<size_t>(input)];
    if (producer >= 0 && !is_inline_class(producer)) ++inputs_in_memory;
    if (producer < 0) ++inputs_in_memory;
    // Chains of recomputation grow without bound: only leaves are recomputed.
    if (producer >= 0 && has_trait(node(producer).op, kElementwise)) ++inputs_in_memory;
  }
  return map_cost(candidate) <= kRecomputeCost && inputs_in_memory <= 1;
}

void Grouping::assign_producers() {
  for (auto index = static_cast<int32_t>(graph_.nodes.size()) - 1; index >= 0; --index) {
    if (!groups_of_[static_cast<size_t>(index)].empty() || !is_inline_class(index)) continue;
    const auto value = static_cast<size_t>(node(index).outputs[0]);
    bool stored = is_output_[value];
    std::set<int> readers;
    for (int32_t consumer : consumers_[value]) {
      const std::set<int>& of = groups_of_[static_cast<size_t>(consumer)];
      // Aliases, control flow and other opaque readers need the value in memory.
      if (of.empty()) stored = true;
      readers.insert(of.begin(), of.end());
    }
    if (!stored && readers.empty()) continue;  // dead
    if (node(index).op == Op::constant) {
      for (int reader : readers) groups_[static_cast<size_t>(reader)].nodes.insert(index);
      groups_of_[static_cast<size_t>(index)] = readers;
      continue;
    }
    if (!stored && may_inline(index, readers)) {
      for (int reader : readers) groups_[static_cast<size_t>(reader)].nodes.insert(index);
      groups_of_[static_cast<size_t>(index)] = std::move(readers);
      continue;
    }
    if (is_alias(index)) continue;
    FusionGroup group;
    group.root = index;
    group.nodes.insert(index);
    groups_of_[static_cast<size_t>(index)].insert(static_cast<int>(groups_.size()));
    groups_.push_back(std::move(group));
  }
}

std::vector<FusionGroup> Grouping::run() {
  for (size_t index = 0; index < graph_.nodes.size(); ++index) {
    if (schedule_traits(graph_.nodes[index].op) == nullptr) continue;
    FusionGroup group;
    group.anchor = group.root = static_cast<int32_t>(index);
    group.nodes.insert(group.anchor);
    extend_epilogue(group);
    for (int32_t member : group.nodes) {
      groups_of_[static_cast<size_t>(member)].insert(static_cast<int>(groups_.size()));
    }
    groups_.push_back(std::move(group));
  }
  assign_producers();
  return std::move(groups_);
}

}  // namespace mcc
