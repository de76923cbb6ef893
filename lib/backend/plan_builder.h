// The target-independent part of a plan: signature, symbols, buffers, arena and program.
#pragma once

#include "lib/backend/kernel_set.h"
#include "lib/backend/weights.h"
#include "lib/ir/graph.h"
#include "runtime/plan/manifest.h"

namespace mcc::backend {

// The runtime's form of an expression over the graph's symbols (numbered in graph order).
// InternalError when it mentions a symbol that the graph lacks.
runtime::Expression to_expression(const Expr& expr, const Graph& graph);

// Everything of the manifest but targets and toolchain. Weights are entered into `weights`. The
// arena is planned here when all sizes are constant, else it is left to the runtime.
runtime::Manifest build_manifest(const Graph& graph, const KernelSet& kernels, WeightTable& weights);

}  // namespace mcc::backend
