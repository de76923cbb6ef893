// Ordering for low peak memory.
#include "lib/optimizer/memory/order.h"

#include <algorithm>
#include <set>

#include "lib/ir/op.h"

namespace mcc {
namespace {

constexpr int64_t kTypicalSymbol = 64;

// Storage of each value: aliases share the storage of what they view.
std::vector<ValueId> storage_of_values(const Graph& graph) {
  std::vector<ValueId> storage(graph.values.size());
  for (size_t value = 0; value < storage.size(); ++value) storage[value] = static_cast<ValueId>(value);
  for (const Node& node : graph.nodes) {
    if (node.op == Op::reshape) {
      storage[static_cast<size_t>(node.outputs[0])] = storage[static_cast<size_t>(node.inputs[0])];
    }
  }
  return storage;
}

class Liveness {
 public:
  explicit Liveness(const Graph& graph)
      : graph_(graph), storage_(storage_of_values(graph)), bytes_(graph.values.size(), 0),
        uses_(graph.values.size(), 0) {
    // Inputs, outputs and constants live outside of the arena.
    for (const Node& node : graph.nodes) {
      if (node.op == Op::constant) continue;
      for (ValueId output : node.outputs) {
        if (root(output) == output) bytes_[static_cast<size_t>(output)] = estimated_bytes(graph, output);
      }
      std::set<ValueId> inputs;
      for (ValueId input : node.inputs) inputs.insert(root(input));
      for (ValueId input : inputs) ++uses_[static_cast<size_t>(input)];
    }
    for (ValueId output : graph.outputs) bytes_[static_cast<size_t>(root(output))] = 0;
    remaining_ = uses_;
  }

  // Live bytes while the node runs, and after it.
  int64_t during(const Node& node) const { return live_ + produced(node); }
  int64_t after(const Node& node) const { return live_ + produced(node) - freed(node); }
  void execute(const Node& node) {
    live_ = after(node);
    for (ValueId input : roots(node)) --remaining_[static_cast<size_t>(input)];
  }

 private:
  ValueId root(ValueId value) const { return storage_[static_cast<size_t>(value)]; }
  std::set<ValueId> roots(const Node& node) const {
    std::set<ValueId> inputs;
    for (ValueId input : node.inputs) inputs.insert(root(input));
    return inputs;
  }
  int64_t produced(const Node& node) const {
    int64_t sum = 0;
    for (ValueId output : node.outputs) {
      if (root(output) == output) sum += bytes_[static_cast<size_t>(output)];
    }
    return sum;
  }
  int64_t freed(const Node& node) const {
    int64_t sum = 0;
    for (ValueId input : roots(node)) {
      if (remaining_[static_cast<size_t>(input)] == 1) sum += bytes_[static_cast<size_t>(input)];
    }
    for (ValueId output : node.outputs) {
      if (uses_[static_cast<size_t>(output)] == 0) sum += bytes_[static_cast<size_t>(output)];
    }
    return sum;
  }

  const Graph& graph_;
  std::vector<ValueId> storage_;
  std::vector<int64_t> bytes_;
  std::vector<int32_t> uses_;
  std::vector<int32_t> remaining_;
  int64_t live_ = 0;
};

std::vector<int32_t> greedy_order(const Graph& graph) {
  const std::vector<int32_t> producers = graph.producers();
  std::vector<int32_t> waiting(graph.nodes.size(), 0);
  std::vector<std::vector<int32_t>> readers(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    std::set<int32_t> before;
    for (ValueId input : graph.nodes[i].inputs) {
      const int32_t producer = producers[static_cast<size_t>(input)];
      if (producer >= 0) before.insert(producer);
    }
    waiting[i] = static_cast<int32_t>(before.size());
    for (int32_t producer : before) readers[static_cast<size_t>(producer)].push_back(static_cast<int32_t>(i));
  }
  std::set<int32_t> ready;
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) ready.insert(static_cast<int32_t>(i));
  }
  Liveness liveness(graph);
  std::vector<int32_t> order;
  while (!ready.empty()) {
    int32_t best = -1;
    int64_t best_after = 0;
    for (int32_t candidate : ready) {
      const int64_t after = liveness.after(graph.nodes[static_cast<size_t>(candidate)]);
      if (best < 0 || after < best_after) {
        best = candidate;
        best_after = after;
      }
    }
    ready.erase(best);
    liveness.execute(graph.nodes[static_cast<size_t>(best)]);
    order.push_back(best);
    for (int32_t reader : readers[static_cast<size_t>(best)]) {
      if (--waiting[static_cast<size_t>(reader)] == 0) ready.insert(reader);
    }
  }
  return order;
}

}  // namespace

int64_t estimated_bytes(const Graph& graph, ValueId value) {
  const TensorType& type = graph.type(value);
  Bindings typical;
  for (const Symbol& symbol : graph.symbols) {
    typical[symbol.name] =
        std::clamp(kTypicalSymbol, std::max<int64_t>(symbol.range.low, 0), symbol.range.high);
  }
  const int64_t elements = product(type.shape).evaluate(typical);
  return dtype_bytes(type.dtype, std::max<int64_t>(elements, 0));
}

int64_t peak_bytes(const Graph& graph, const std::vector<int32_t>& order) {
  Liveness liveness(graph);
  int64_t peak = 0;
  for (int32_t index : order) {
    const Node& node = graph.nodes[static_cast<size_t>(index)];
    peak = std::max(peak, liveness.during(node));
    liveness.execute(node);
  }
  return peak;
}

bool order_for_memory(Graph& graph) {
  std::vector<int32_t> original(graph.nodes.size());
  for (size_t i = 0; i < original.size(); ++i) original[i] = static_cast<int32_t>(i);
  const std::vector<int32_t> order = greedy_order(graph);
  if (order == original || peak_bytes(graph, order) >= peak_bytes(graph, original)) return false;
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (int32_t index : order) nodes.push_back(std::move(graph.nodes[static_cast<size_t>(index)]));
  graph.nodes = std::move(nodes);
  return true;
}

}  // namespace mcc
