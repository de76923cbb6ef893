// The verifier: every invariant of graph.h, attributes and types against the operator table.
#pragma once

#include "lib/ir/graph.h"

namespace mcc {

// Throws InternalError naming the first violation, with `stage` (a pass name) in the message.
void verify_graph(const Graph& graph, const char* stage);

}  // namespace mcc
