// Values of small integer tensors as expressions over the graph's symbols.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc {

// Follows integer arithmetic, views and gathers node by node. Invariant: an entry states the exact
// value of every element; what cannot be stated exactly has no entry.
class SymbolicValues {
 public:
  // Learns the output of a node whose operands were learnt before; does nothing if it can't.
  void learn(const Graph& graph, const Node& node, const Ranges& ranges);
  // The elements of a value, row-major, or nullptr.
  const std::vector<Expr>* find(ValueId value) const;

 private:
  using Elements = std::vector<Expr>;
  std::optional<Elements> derive(const Graph& graph, const Node& node, const Ranges& ranges) const;

  std::map<ValueId, Elements> known_;
};

}  // namespace mcc
