// attention: softmax(scale * q k^T + mask) v, per batch and head.
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_attention(const Node& node, const std::vector<TensorType>& inputs) {
  const char* const names[] = {"q", "k", "v", "the mask"};
  for (size_t i = 0; i < inputs.size(); ++i) {
    require_rank(node, inputs[i], 4, names[i]);
    require_same_dtype(node, inputs[0].dtype, inputs[i].dtype, "the inputs");
  }
  if (!is_floating(inputs[0].dtype)) refuse(node, "the inputs must be floating.");
  real_of(node, "scale");
  const int64_t causal = integer_of(node, "causal");
  if (causal < 0 || causal > 2) refuse(node, "'causal' must be 0, 1 or 2.");
  const Shape& q = inputs[0].shape;
  const Shape& k = inputs[1].shape;
  const Shape& v = inputs[2].shape;
  Shape out{merge_dims(node, merge_dims(node, q[0], k[0], "batch sizes of q and k"), v[0],
                       "batch sizes of q and v"),
            merge_dims(node, merge_dims(node, q[1], k[1], "heads of q and k"), v[1],
                       "heads of q and v"),
            q[2], v[3]};
  merge_dims(node, q[3], k[3], "head sizes of q and k");
  const Expr keys = merge_dims(node, k[2], v[2], "lengths of k and v");
  if (inputs.size() == 4) {
    const Shape full{out[0], out[1], out[2], keys};
    for (size_t i = 0; i < 4; ++i) {
      if (!inputs[3].shape[i].is_constant(1) && provably_different(inputs[3].shape[i], full[i])) {
        refuse(node, "the mask " + type_text(inputs[3]) + " does not broadcast to " +
                         shape_text(full) + ".");
      }
    }
  }
  return {{inputs[0].dtype, out}};
}

const OpInfo kRows[] = {
    {Op::attention, "attention", 3, 4, 1, 0, infer_attention, nullptr},
};

}  // namespace

std::span<const OpInfo> attention_ops() { return rows(kRows); }

}  // namespace mcc::ops
