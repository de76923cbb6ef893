// In-place analysis of fused nodes.
#include "lib/optimizer/memory/inplace.h"

#include <set>

#include "lib/ir/op.h"

namespace mcc {
namespace {

// Operators that read their first input at the position that they write.
bool is_position_preserving(Op op) {
  return has_trait(op, kElementwise) || op == Op::reshape || op == Op::softmax || op == Op::normalize;
}

}  // namespace

std::vector<int> inplace_candidates(const Node& fused) {
  if (fused.op != Op::fused || fused.outputs.size() != 1) return {};
  const Graph& body = fused.subgraphs[0];
  const ValueId output = body.outputs[0];
  // Values whose element at the output's own position is all that is read of them.
  std::set<ValueId> aligned{output};
  std::set<ValueId> elsewhere;
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
    const bool in_position =
        is_position_preserving(node->op) && aligned.count(node->outputs[0]) != 0 &&
        elsewhere.count(node->outputs[0]) == 0;
    for (ValueId input : node->inputs) (in_position ? aligned : elsewhere).insert(input);
  }
  std::vector<int> candidates;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const ValueId input = body.inputs[i];
    if (aligned.count(input) == 0 || elsewhere.count(input) != 0) continue;
    if (dtype_info(body.dtype(input)).bits != dtype_info(body.dtype(output)).bits) continue;
    if (!provably_equal(product(body.shape(input)), product(body.shape(output)))) continue;
    candidates.push_back(static_cast<int>(i));
  }
  return candidates;
}

}  // namespace mcc
