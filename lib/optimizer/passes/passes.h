// Every pass of the optimizer; pipeline.cpp orders them.
#pragma once

#include "lib/ir/graph.h"
#include "lib/optimizer/optimizer.h"

namespace mcc {

// Cleanup
bool inline_calls(Graph& graph, PassContext& context);
bool eliminate_dead_code(Graph& graph, PassContext& context);
bool eliminate_common_subexpressions(Graph& graph, PassContext& context);
bool fold_constants(Graph& graph, PassContext& context);
bool simplify_shapes(Graph& graph, PassContext& context);
// Algebra
bool simplify_algebra(Graph& graph, PassContext& context);
bool recognize_activations(Graph& graph, PassContext& context);
bool recognize_normalization(Graph& graph, PassContext& context);
bool fold_scales(Graph& graph, PassContext& context);
bool sink_views(Graph& graph, PassContext& context);
// Placement
bool assign_layouts(Graph& graph, PassContext& context);
bool fuse(Graph& graph, PassContext& context);
bool order_nodes(Graph& graph, PassContext& context);

}  // namespace mcc
