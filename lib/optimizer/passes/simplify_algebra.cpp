// Algebraic simplification: identities, views that do nothing, views that merge.
//
// The patterns are tables in lib/optimizer/passes/algebra/. All are exact up to the sign of zero,
// except that chains of constant factors or summands are combined, which rounds once instead of
// twice.
#include <vector>

#include "lib/optimizer/passes/algebra/tables.h"
#include "lib/optimizer/passes/passes.h"

namespace mcc {

bool simplify_algebra(Graph& graph, PassContext&) {
  static const std::vector<Pattern> kPatterns = [] {
    std::vector<Pattern> all;
    for (std::span<const Pattern> table : {algebra::view_patterns(), algebra::slice_patterns(),
                                           algebra::map_patterns(), algebra::operand_patterns()}) {
      all.insert(all.end(), table.begin(), table.end());
    }
    return all;
  }();
  return apply_patterns(graph, kPatterns);
}

}  // namespace mcc
