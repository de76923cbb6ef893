// softmax, normalize: whole-row statistics followed by an elementwise step.
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

void require_floating(const Node& node, const TensorType& type) {
  if (!is_floating(type.dtype)) {
    refuse(node, "the input must be floating, but its type is " + type_text(type) + ".");
  }
}

std::vector<TensorType> infer_softmax(const Node& node, const std::vector<TensorType>& inputs) {
  require_floating(node, inputs[0]);
  axis_of(node, "axis", inputs[0].shape.size());
  return {inputs[0]};
}

std::vector<TensorType> infer_normalize(const Node& node, const std::vector<TensorType>& inputs) {
  require_floating(node, inputs[0]);
  sorted_axes_of(node, "axes", inputs[0].shape.size());
  real_of(node, "epsilon");
  choice_of(node, "kind", {"layer", "rms"});
  return {inputs[0]};
}

const OpInfo kRows[] = {
    {Op::softmax, "softmax", 1, 1, 1, kReduction, infer_softmax, nullptr},
    {Op::normalize, "normalize", 1, 1, 1, kReduction, infer_normalize, nullptr},
};

}  // namespace

std::span<const OpInfo> normalize_ops() { return rows(kRows); }

}  // namespace mcc::ops
