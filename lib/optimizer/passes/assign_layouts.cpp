// Memory formats: channels-first or channels-last for every value around convolutions and pooling.
//
// The choice is made for the whole graph at once. Each value of the region (convolutions, pools and
// what works element by element between them) gets one of two labels; an operator executes in the
// label of its output; an edge between different labels costs a conversion. Minimising the sum is a
// minimum s-t cut (Kolmogorov and Zabih, "What energy functions can be minimized via graph cuts?",
// PAMI 2004: two labels, pairwise costs that are non-negative for unequal labels), found exactly by
// augmenting paths (Edmonds and Karp 1972).
//
// Costs are in bytes moved: a conversion reads and writes the tensor once; executing a convolution
// channels-first costs what re-reading its operands without vector-friendly channels would.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>

#include "lib/ir/op.h"
#include "lib/optimizer/memory/order.h"
#include "lib/optimizer/passes/passes.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

// A flow network with capacities on directed edges.
class FlowNetwork {
 public:
  explicit FlowNetwork(size_t nodes) : edges_(nodes) {}

  void add(size_t from, size_t to, int64_t capacity, int64_t reverse) {
    if (capacity == 0 && reverse == 0) return;
    edges_[from].push_back({to, edges_[to].size(), capacity});
    edges_[to].push_back({from, edges_[from].size() - 1, reverse});
  }

  // Nodes on the source's side of a minimum cut.
  std::vector<bool> cut(size_t source, size_t sink) {
    for (;;) {
      std::vector<std::pair<size_t, size_t>> parent(edges_.size(), {edges_.size(), 0});
      std::queue<size_t> queue;
      queue.push(source);
      parent[source] = {source, 0};
      while (!queue.empty() && parent[sink].first == edges_.size()) {
        const size_t at = queue.front();
        queue.pop();
        for (size_t e = 0; e < edges_[at].size(); ++e) {
          const Edge& edge = edges_[at][e];
          if (edge.capacity <= 0 || parent[edge.to].first != edges_.size()) continue;
          parent[edge.to] = {at, e};
          queue.push(edge.to);
        }
      }
      std::vector<bool> reached(edges_.size());
      for (size_t i = 0; i < edges_.size(); ++i) reached[i] = parent[i].first != edges_.size();
      if (!reached[sink]) return reached;
      int64_t flow = kInfinite;
      for (size_t at = sink; at != source; at = parent[at].first) {
        flow = std::min(flow, edges_[parent[at].first][parent[at].second].capacity);
      }
      for (size_t at = sink; at != source; at = parent[at].first) {
        Edge& edge = edges_[parent[at].first][parent[at].second];
        edge.capacity -= flow;
        edges_[edge.to][edge.reverse].capacity += flow;
      }
    }
  }

 private:
  struct Edge {
    size_t to;
    size_t reverse;
    int64_t capacity;
  };
  std::vector<std::vector<Edge>> edges_;
};

// Axis i of the channels-last form is axis perm[i] of the channels-first form.
Ints to_last(int64_t rank) {
  Ints perm{0};
  for (int64_t axis = 2; axis < rank; ++axis) perm.push_back(axis);
  perm.push_back(1);
  return perm;
}
Ints to_first(int64_t rank) {
  Ints perm{0, rank - 1};
  for (int64_t axis = 1; axis + 1 < rank; ++axis) perm.push_back(axis);
  return perm;
}
// Where axis `axis` of the channels-first form is in the channels-last form.
int64_t moved_axis(int64_t axis, int64_t rank) { return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1; }

template <typename List>
List permuted(const List& list, const Ints& perm) {
  List result;
  for (int64_t axis : perm) result.push_back(list[static_cast<size_t>(axis)]);
  return result;
}

Attributes transpose_by(const Ints& perm) {
  Attributes attributes;
  attributes.set("perm", perm);
  return attributes;
}

class Layouts {
 public:
  Layouts(Graph& graph, LayoutChoice choice)
      : graph_(graph), choice_(choice), variable_(graph.values.size(), -1) {}

  bool run() {
    if (choice_ == LayoutChoice::channels_first) return false;
    find_region();
    if (count_ == 0) return false;
    decide();
    if (last_.empty()) return false;
    rewrite();
    return true;
  }

 private:
  bool in_region(ValueId value) const { return value != kNoValue && variable_[static_cast<size_t>(value)] >= 0; }
  bool is_last(ValueId value) const { return last_.count(value) != 0; }

  static bool is_spatial(const Node& node) {
    return node.op == Op::conv || node.op == Op::conv_transpose || node.op == Op::window_reduce;
  }
  // Operators that work alike on permuted axes.
  static bool follows(const Node& node) {
    return has_trait(node.op, kElementwise) || node.op == Op::concat || node.op == Op::slice || node.op == Op::pad;
  }

  // Values of the region: outputs of spatial operators, and of followers that read such a value of
  // the same rank.
  void find_region() {
    for (const Node& node : graph_.nodes) {
      if (is_spatial(node)) {
        if (graph_.rank(node.outputs[0]) < 3) continue;
        if (node.op == Op::window_reduce && !windows_behind_channels(node)) continue;
        if (node.op != Op::window_reduce && node.attributes.text("layout") != "nchw") continue;
        enter(node.outputs[0]);
      } else if (follows(node)) {
        const int64_t rank = graph_.rank(node.outputs[0]);
        if (rank < 3) continue;
        bool any = false;
        for (ValueId input : node.inputs) any = any || (in_region(input) && graph_.rank(input) == rank);
        if (any) enter(node.outputs[0]);
      }
    }
  }
  void enter(ValueId value) {
    variable_[static_cast<size_t>(value)] = count_++;
    values_.push_back(value);
  }
  bool windows_behind_channels(const Node& node) const {
    const Ints& axes = node.attributes.ints("axes");
    return std::all_of(axes.begin(), axes.end(), [](int64_t axis) { return axis >= 2; });
  }

  // Bytes that executing the node channels-first costs more than channels-last (negative: less).
  int64_t preference(const Node& node) const {
    const int64_t output = estimated_bytes(graph_, node.outputs[0]);
    if (node.op == Op::window_reduce) return 2 * output;
    if (node.op == Op::conv || node.op == Op::conv_transpose) {
      const Shape& weight = graph_.shape(node.inputs[1]);
      int64_t taps = 1;
      for (size_t axis = 2; axis < weight.size(); ++axis) taps *= weight[axis].is_constant() ? weight[axis].constant() : 1;
      const int64_t input = estimated_bytes(graph_, node.inputs[0]);
      return 4 * (input * taps + output);
    }
    return 0;
  }

  void decide() {
    if (choice_ == LayoutChoice::channels_last) {
      last_.insert(values_.begin(), values_.end());
      return;
    }
    // Source side = channels last.
    const size_t source = static_cast<size_t>(count_);
    const size_t sink = source + 1;
    FlowNetwork network(static_cast<size_t>(count_) + 2);
    auto id = [&](ValueId value) { return static_cast<size_t>(variable_[static_cast<size_t>(value)]); };
    // One conversion serves all readers of a value: an auxiliary node per value would express that;
    // pairwise costs overestimate it, which favours fewer borders.
    for (const Node& node : graph_.nodes) {
      const ValueId output = node.outputs.empty() ? kNoValue : node.outputs[0];
      const bool member = in_region(output);
      if (member) network.add(source, id(output), preference(node), 0);
      for (ValueId input : node.inputs) {
        const int64_t conversion = input == kNoValue ? 0 : 2 * estimated_bytes(graph_, input);
        if (in_region(input)) {
          if (member && graph_.rank(input) == graph_.rank(output)) {
            network.add(id(input), id(output), conversion, conversion);
          } else if (!reads_any_layout(node)) {
            network.add(id(input), sink, conversion, 0);  // readers outside want channels first
          }
        } else if (member && !is_free(input) && graph_.rank(input) == graph_.rank(output)) {
          network.add(id(output), sink, conversion, 0);
        }
      }
    }
    for (ValueId output : graph_.outputs) {
      if (in_region(output)) network.add(id(output), sink, 2 * estimated_bytes(graph_, output), 0);
    }
    const std::vector<bool> side = network.cut(source, sink);
    for (ValueId value : values_) {
      if (side[id(value)]) last_.insert(value);
    }
  }

  // Reductions and transposes read either layout without a copy.
  static bool reads_any_layout(const Node& node) {
    return node.op == Op::reduce || node.op == Op::transpose || node.op == Op::normalize;
  }

  // Constants and broadcasts are re-laid out without moving data at run time.
  bool is_free(ValueId value) {
    if (producers_.empty()) {
      for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        for (ValueId output : graph_.nodes[i].outputs) producers_[output] = &graph_.nodes[i];
      }
    }
    auto found = producers_.find(value);
    if (found == producers_.end()) return false;
    return found->second->op == Op::constant || found->second->op == Op::broadcast;
  }

  // ---- Rewriting: values in last_ exist channels-last; others see them through a transpose.
  void rewrite() {
    Rewriter rewriter(graph_);
    for (const Node& node : rewriter.old_nodes()) {
      for (ValueId output : node.outputs) producers_[output] = &node;
    }
    for (const Node& node : rewriter.old_nodes()) {
      if (!node.outputs.empty() && is_last(node.outputs[0])) {
        emit_last(rewriter, node);
      } else if (node.op == Op::reduce && is_last(node.inputs[0])) {
        emit_reduce(rewriter, node);
      } else {
        rewriter.keep(node);
      }
    }
    rewriter.finish();
  }

  // The channels-last form of a value.
  ValueId as_last(Rewriter& rewriter, ValueId value, const Node& reader) {
    auto known = converted_.find(value);
    if (known != converted_.end()) return known->second;
    const int64_t rank = graph_.rank(value);
    ValueId result = kNoValue;
    auto producer = producers_.find(value);
    if (producer != producers_.end() && producer->second->op == Op::broadcast) {
      // The same broadcast along moved axes; its input's axes must stay in increasing order.
      const Node& broadcast = *producer->second;
      Ints axes;
      for (int64_t axis : broadcast.attributes.ints("axes")) axes.push_back(moved_axis(axis, rank));
      ValueId input = rewriter.resolve(broadcast.inputs[0]);
      std::vector<size_t> order(axes.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return axes[a] < axes[b]; });
      Ints perm;
      for (size_t i : order) perm.push_back(static_cast<int64_t>(i));
      if (!std::is_sorted(perm.begin(), perm.end())) {
        input = rewriter.emit_one(Op::transpose, {input}, transpose_by(perm), broadcast.origin);
      }
      std::sort(axes.begin(), axes.end());
      Attributes attributes;
      attributes.set("shape", permuted(broadcast.attributes.shape("shape"), to_last(rank)));
      attributes.set("axes", axes);
      result = rewriter.emit_one(Op::broadcast, {input}, std::move(attributes), broadcast.origin);
    } else {
      // The conversion of a graph input belongs to the node that asks for it.
      const bool computed = producer != producers_.end() && !producer->second->origin.empty();
      const std::vector<std::string>& origin = computed ? producer->second->origin : reader.origin;
      result = rewriter.emit_one(Op::transpose, {rewriter.resolve(value)}, transpose_by(to_last(rank)), origin);
    }
    converted_[value] = result;
    return result;
  }

  void publish(Rewriter& rewriter, const Node& node, ValueId last) {
    converted_[node.outputs[0]] = last;
    const ValueId first = rewriter.emit_one(Op::transpose, {last}, transpose_by(to_first(graph_.rank(last))), node.origin);
    rewriter.replace(node.outputs[0], first);
  }

  void emit_last(Rewriter& rewriter, const Node& node) {
    const int64_t rank = graph_.rank(node.outputs[0]);
    Attributes attributes = node.attributes;
    std::vector<ValueId> inputs;
    if (node.op == Op::conv || node.op == Op::conv_transpose) {
      attributes.set("layout", std::string("nhwc"));
      inputs = {as_last(rewriter, node.inputs[0], node), rewriter.resolve(node.inputs[1])};
    } else if (node.op == Op::window_reduce) {
      Ints axes;
      for (int64_t axis : node.attributes.ints("axes")) axes.push_back(moved_axis(axis, rank));
      attributes.set("axes", axes);
      inputs = {as_last(rewriter, node.inputs[0], node)};
    } else {
      for (ValueId input : node.inputs) {
        inputs.push_back(graph_.rank(input) == rank ? as_last(rewriter, input, node) : rewriter.resolve(input));
      }
      if (node.op == Op::concat) attributes.set("axis", moved_axis(node.attributes.integer("axis"), rank));
      for (const char* name : {"starts", "shape", "low", "high"}) {
        if (attributes.has(name)) attributes.set(name, permuted(node.attributes.shape(name), to_last(rank)));
      }
      if (attributes.has("steps")) attributes.set("steps", permuted(node.attributes.ints("steps"), to_last(rank)));
    }
    publish(rewriter, node, rewriter.emit_one(node.op, std::move(inputs), std::move(attributes), node.origin));
  }

  // A reduction over axes of a channels-last value: the same axes under their new numbers, when the
  // kept ones stay in order.
  void emit_reduce(Rewriter& rewriter, const Node& node) {
    const int64_t rank = graph_.rank(node.inputs[0]);
    Ints axes;
    for (int64_t axis : node.attributes.ints("axes")) axes.push_back(moved_axis(axis, rank));
    std::sort(axes.begin(), axes.end());
    Ints kept_order;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const Ints& old = node.attributes.ints("axes");
      if (std::find(old.begin(), old.end(), axis) == old.end()) kept_order.push_back(moved_axis(axis, rank));
    }
    if (!std::is_sorted(kept_order.begin(), kept_order.end())) return rewriter.keep(node);
    Attributes attributes = node.attributes;
    attributes.set("axes", axes);
    const ValueId result =
        rewriter.emit_one(node.op, {as_last(rewriter, node.inputs[0], node)}, std::move(attributes), node.origin);
    rewriter.replace(node.outputs[0], result);
  }

  Graph& graph_;
  LayoutChoice choice_;
  std::vector<int32_t> variable_;  // number in the region, -1 outside
  int32_t count_ = 0;
  std::vector<ValueId> values_;
  std::set<ValueId> last_;
  std::map<ValueId, const Node*> producers_;
  std::map<ValueId, ValueId> converted_;  // old value -> its channels-last form
};

}  // namespace

bool assign_layouts(Graph& graph, PassContext& context) { return Layouts(graph, context.options.layout).run(); }

}  // namespace mcc
