// Ordering: nodes are rearranged so that fewer bytes are live at once.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc {

// Bytes of a value when every unbounded symbol takes a typical size: only for comparing orders.
int64_t estimated_bytes(const Graph& graph, ValueId value);

// Largest sum of live non-constant bytes over the node order `order` (indices into graph.nodes),
// aliases (reshape) counted once, in-place reuse ignored.
int64_t peak_bytes(const Graph& graph, const std::vector<int32_t>& order);

// Reorders the nodes of a fused graph when that lowers peak_bytes(). Greedy list scheduling: among
// the ready nodes the one that leaves the fewest live bytes goes first; ties keep the model's
// order. Returns true if the order changed.
bool order_for_memory(Graph& graph);

}  // namespace mcc
