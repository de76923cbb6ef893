// The rewriting part of fusion: groups become `fused` nodes with a body of their own.
#include "lib/optimizer/fusion/fusion.h"

#include <algorithm>
#include <array>
#include <map>

#include "lib/optimizer/fusion/grouping.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

constexpr std::array kSchedules{
    ScheduleTraits{Op::contract, "contraction", true, Prologue::cast},
    ScheduleTraits{Op::conv, "conv", true, Prologue::view},
    ScheduleTraits{Op::conv_transpose, "conv_transpose", true, Prologue::view},
    ScheduleTraits{Op::reduce, "reduction", true, Prologue::any},
    ScheduleTraits{Op::arg_reduce, "reduction", true, Prologue::any},
    ScheduleTraits{Op::softmax, "reduction", true, Prologue::any},
    ScheduleTraits{Op::normalize, "reduction", true, Prologue::any},
    ScheduleTraits{Op::window_reduce, "window", true, Prologue::cheap_map},
    ScheduleTraits{Op::scan, "scan", false, Prologue::view},
    ScheduleTraits{Op::scatter_elements, "scatter", false, Prologue::view},
    ScheduleTraits{Op::scatter_nd, "scatter", false, Prologue::view},
    ScheduleTraits{Op::topk, "sort", false, Prologue::view},
    ScheduleTraits{Op::sort, "sort", false, Prologue::view},
    ScheduleTraits{Op::random, "random", false, Prologue::view},
    ScheduleTraits{Op::recurrent, "recurrent", false, Prologue::view},
    ScheduleTraits{Op::attention, "attention", true, Prologue::view},
};

void append_unique(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& name : from) {
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  }
}

Node build_fused(const Graph& graph, const FusionGroup& group) {
  Node fused;
  fused.op = Op::fused;
  const Node& root = graph.nodes[static_cast<size_t>(group.root)];
  fused.attributes.set("schedule", std::string(group.anchor < 0
                                                   ? std::string_view("pointwise")
                                                   : schedule_traits(graph.nodes[static_cast<size_t>(group.anchor)].op)->schedule));
  Graph body;
  std::map<ValueId, ValueId> inner;
  std::set<ValueId> defined;
  for (int32_t index : group.nodes) {
    for (ValueId output : graph.nodes[static_cast<size_t>(index)].outputs) defined.insert(output);
  }
  for (int32_t index : group.nodes) {
    const Node& original = graph.nodes[static_cast<size_t>(index)];
    Node copy = original;
    copy.origin.clear();
    for (ValueId& input : copy.inputs) {
      auto found = inner.find(input);
      if (found == inner.end()) {
        check_internal(defined.count(input) == 0, "a fused group is not in topological order");
        found = inner.emplace(input, body.add_input(graph.type(input))).first;
        fused.inputs.push_back(input);
      }
      input = found->second;
    }
    for (ValueId& output : copy.outputs) {
      const ValueId id = body.add_value(graph.type(output));
      inner[output] = id;
      output = id;
    }
    append_unique(fused.origin, original.origin);
    body.nodes.push_back(std::move(copy));
  }
  for (ValueId output : root.outputs) {
    fused.outputs.push_back(output);
    body.add_output(inner.at(output));
  }
  fused.subgraphs.push_back(std::move(body));
  return fused;
}

// Appends `nodes` to `sorted` so that definitions come before uses, keeping the given order
// wherever it already does.
std::vector<Node> topological(std::vector<Node> nodes) {
  std::map<ValueId, size_t> producer;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ValueId output : nodes[i].outputs) producer[output] = i;
  }
  enum class State : uint8_t { fresh, open, done };
  std::vector<State> state(nodes.size(), State::fresh);
  std::vector<size_t> order;
  std::vector<std::pair<size_t, size_t>> stack;
  for (size_t start = 0; start < nodes.size(); ++start) {
    if (state[start] != State::fresh) continue;
    stack.emplace_back(start, 0);
    state[start] = State::open;
    while (!stack.empty()) {
      auto& [index, next] = stack.back();
      if (next == nodes[index].inputs.size()) {
        state[index] = State::done;
        order.push_back(index);
        stack.pop_back();
        continue;
      }
      auto found = producer.find(nodes[index].inputs[next++]);
      if (found == producer.end() || state[found->second] == State::done) continue;
      check_internal(state[found->second] == State::fresh, "fusion made a cycle");
      state[found->second] = State::open;
      stack.emplace_back(found->second, 0);
    }
  }
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  for (size_t index : order) sorted.push_back(std::move(nodes[index]));
  return sorted;
}

}  // namespace

const ScheduleTraits* schedule_traits(Op op) {
  for (const ScheduleTraits& row : kSchedules) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

bool fuse_operators(Graph& graph) {
  std::vector<FusionGroup> groups = Grouping(graph).run();
  if (groups.empty()) return false;
  std::map<int32_t, const FusionGroup*> by_root;
  std::set<int32_t> fused_away;
  for (const FusionGroup& group : groups) {
    by_root[group.root] = &group;
    fused_away.insert(group.nodes.begin(), group.nodes.end());
  }
  std::vector<Node> nodes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    if (auto found = by_root.find(index); found != by_root.end()) {
      nodes.push_back(build_fused(graph, *found->second));
    } else if (fused_away.count(index) == 0 || graph.nodes[i].op == Op::constant) {
      nodes.push_back(graph.nodes[i]);
    }
  }
  graph.nodes = topological(std::move(nodes));
  eliminate_dead_nodes(graph);
  return true;
}

}  // namespace mcc
