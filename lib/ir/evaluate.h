// The reference evaluator: plain, slow, trusted. Constant folding, `mcc verify` and the tests of
// passes use it.
// Invariant: evaluation never modifies the graph; errors are ModelError/UsageError with the
// node's origin.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc {

struct EvaluationContext {
  const Graph* graph = nullptr;
  Bindings bindings;  // values of all symbols
};

// Called after each evaluated node (outer graph only) with its outputs; used by `mcc verify`.
using NodeObserver = std::function<void(const Node&, const std::vector<Tensor>& outputs)>;

// Binds the symbols from the inputs' shapes (input_dim sources and expressions). UsageError when
// an input has the wrong dtype or rank, contradicts a fixed dimension, or leaves a range.
Bindings bind_symbols(const Graph& graph, const std::vector<Tensor>& inputs);

// Evaluates the whole graph; returns one tensor per graph output. Frees intermediates early.
std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs,
                             const NodeObserver& observer = nullptr);

// Evaluates a subgraph of a node: `bindings` are the outer graph's symbols.
std::vector<Tensor> evaluate_body(const Graph& body, const Bindings& bindings,
                                  const std::vector<Tensor>& inputs);

// Evaluates one node on concrete inputs under the bindings.
std::vector<Tensor> evaluate_node(const Graph& graph, const Node& node,
                                  const EvaluationContext& context,
                                  const std::vector<Tensor>& inputs);

}  // namespace mcc
