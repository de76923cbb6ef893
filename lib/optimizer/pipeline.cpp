// The pipeline: every pass in order, with the reason for its place.
#include <array>

#include "lib/optimizer/fusion/fusion.h"
#include "lib/optimizer/memory/order.h"
#include "lib/optimizer/passes/passes.h"
#include "lib/optimizer/rewrite/patterns.h"

namespace mcc {

bool eliminate_dead_code(Graph& graph, PassContext&) {
  return for_each_graph(graph, eliminate_dead_nodes);
}
bool fuse(Graph& graph, PassContext&) { return fuse_operators(graph); }
bool order_nodes(Graph& graph, PassContext&) { return order_for_memory(graph); }

namespace {

constexpr std::array kPasses{
    PassInfo{"dce", eliminate_dead_code, 0, "drop what no output needs before any work is done on it"},
    PassInfo{"inline-calls", inline_calls, 0, "bodies that always run join the graph around them"},
    PassInfo{"simplify-shapes", simplify_shapes, 0, "shape arithmetic becomes symbolic dimensions"},
    PassInfo{"fold-constants", fold_constants, 1, "evaluate what depends on constants alone"},
    PassInfo{"inline-calls", inline_calls, 1, "branches of conditions that folded"},
    PassInfo{"cse", eliminate_common_subexpressions, 1, "equal computations once"},
    PassInfo{"simplify-algebra", simplify_algebra, 1, "identities and merged views"},
    PassInfo{"recognize-activations", recognize_activations, 1, "one function for its expanded form"},
    PassInfo{"recognize-normalization", recognize_normalization, 1, "one kernel per normalization"},
    PassInfo{"sink-views", sink_views, 1, "maps follow their producer"},
    PassInfo{"simplify-algebra", simplify_algebra, 1, "views that met by sinking"},
    PassInfo{"sink-views", sink_views, 1, "chains of maps behind one view"},
    PassInfo{"fold-scales", fold_scales, 1, "batch normalization and scales into weights"},
    PassInfo{"fold-constants", fold_constants, 1, "the scaled weights"},
    PassInfo{"dce", eliminate_dead_code, 0, "constants that were folded away"},
    PassInfo{"assign-layouts", assign_layouts, 1, "NHWC or NCHW, chosen over the whole graph"},
    PassInfo{"simplify-algebra", simplify_algebra, 1, "conversions that cancel"},
    PassInfo{"sink-views", sink_views, 1, "maps behind conversions"},
    PassInfo{"fold-constants", fold_constants, 1, "constants in their new layout"},
    PassInfo{"cse", eliminate_common_subexpressions, 1, "conversions of one value made twice"},
    PassInfo{"dce", eliminate_dead_code, 0, "nothing dead may reach fusion"},
    PassInfo{"fuse", fuse, 0, "nodes become kernels"},
    PassInfo{"order", order_nodes, 1, "fewer bytes live at once"},
};

}  // namespace

std::span<const PassInfo> passes() { return kPasses; }

}  // namespace mcc
