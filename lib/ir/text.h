// The text form of graphs: prints and parses without loss.
//
//   graph "resnet" {
//     symbol s0 "batch" [1, 64] = dim(0, 0)
//     input %0 : f32[s0, 3, 224, 224] "pixels"
//     %1 = constant() {value = tensor f32[2] {1.0, 2.5}} : f32[2]   small tensors inline, exact
//     %2 = constant() {value = tensor f32[64, 3] #9f..} : f32[64, 3]   large ones by their hash
//     %5 = map(%0, %4) {fn = "add"} : f32[s0, 3] "tensor name" from ["Add_3"]
//     %7, %8 = topk(%5) {...} : f32[..], i64[..]
//     %9 = fused(%5, %2) {schedule = "pointwise"} : f32[..] {
//       graph { ... }
//     }
//     output %9 "logits"
//   }
#pragma once

#include <string>
#include <string_view>

#include "lib/ir/graph.h"

namespace mcc {

struct PrintOptions {
  // Tensors with more elements print as `splat`/hash form `#<hash>` unless `full` is set; only the
  // full form parses back.
  int64_t max_inline_elements = 16;
  bool full = false;
  bool origins = true;
};

std::string print_graph(const Graph& graph, const PrintOptions& options = {});
// ModelError with line and column when malformed. The result is verified.
Graph parse_graph(std::string_view text);

}  // namespace mcc
