// attention: softmax(scale * q k^T + mask) v, per batch and head.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"
#include "lib/support/parallel.h"

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
  Shape out{
      merge_dims(node, merge_dims(node, q[0], k[0], "batch sizes of q and k"), v[0],
                 "batch sizes of q and v"),
      merge_dims(node, merge_dims(node, q[1], k[1], "heads of q and k"), v[1], "heads of q and v"),
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

// Strides of a mask that broadcasts: 0 along its dimensions of size 1.
std::vector<int64_t> broadcast_strides(const Tensor& mask) {
  std::vector<int64_t> strides = strides_of(mask.shape());
  for (size_t i = 0; i < strides.size(); ++i) {
    if (mask.shape()[i] == 1) strides[i] = 0;
  }
  return strides;
}

void evaluate_attention(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                        std::span<Tensor> outputs) {
  const double scale = node.attributes.real("scale");
  const int64_t causal = node.attributes.integer("causal");
  const int64_t heads = outputs[0].shape()[1], queries = outputs[0].shape()[2];
  const int64_t width = outputs[0].shape()[3];
  const int64_t keys = inputs[1].shape()[2], depth = inputs[0].shape()[3];
  const std::vector<double> q = all_doubles(inputs[0]), k = all_doubles(inputs[1]);
  const std::vector<double> v = all_doubles(inputs[2]);
  const std::vector<double> mask =
      inputs.size() > 3 ? all_doubles(inputs[3]) : std::vector<double>();
  const std::vector<int64_t> mask_strides =
      inputs.size() > 3 ? broadcast_strides(inputs[3]) : std::vector<int64_t>(4, 0);
  std::vector<double> result(static_cast<size_t>(outputs[0].elements()), 0);
  const int64_t rows = outputs[0].shape()[0] * heads * queries;
  parallel_for(rows, std::max<int64_t>(1, 20000 / std::max<int64_t>(1, keys * depth)),
               [&](int64_t begin, int64_t end) {
                 std::vector<double> scores(static_cast<size_t>(keys));
                 for (int64_t row = begin; row < end; ++row) {
                   const int64_t head = row / queries, i = row % queries;
                   const double* query = q.data() + row * depth;
                   const int64_t seen =
                       causal == 0 ? keys
                                   : std::clamp<int64_t>(
                                         causal == 1 ? i + 1 : i + 1 + keys - queries, 0, keys);
                   const int64_t mask_row = head / heads * mask_strides[0] +
                                            head % heads * mask_strides[1] + i * mask_strides[2];
                   double largest = -std::numeric_limits<double>::infinity();
                   for (int64_t j = 0; j < seen; ++j) {
                     const double* key = k.data() + (head * keys + j) * depth;
                     double sum = 0;
                     for (int64_t d = 0; d < depth; ++d) sum += query[d] * key[d];
                     sum *= scale;
                     if (!mask.empty())
                       sum += mask[static_cast<size_t>(mask_row + j * mask_strides[3])];
                     scores[static_cast<size_t>(j)] = sum;
                     largest = std::max(largest, sum);
                   }
                   double total = 0;
                   for (int64_t j = 0; j < seen; ++j) {
                     double& score = scores[static_cast<size_t>(j)];
                     total += score = std::exp(score - largest);
                   }
                   double* target = result.data() + row * width;
                   for (int64_t j = 0; j < seen; ++j) {
                     const double weight = scores[static_cast<size_t>(j)] / total;
                     const double* value = v.data() + (head * keys + j) * width;
                     for (int64_t d = 0; d < width; ++d) target[d] += weight * value[d];
                   }
                 }
               });
  store_elements(outputs[0], 0, result);
}

const OpInfo kRows[] = {
    {Op::attention, "attention", 3, 4, 1, 0, infer_attention, evaluate_attention},
};

}  // namespace

std::span<const OpInfo> attention_ops() { return rows(kRows); }

}  // namespace mcc::ops
