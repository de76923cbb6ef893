// topk, sort: ordering along one axis, with the indices of the chosen elements.
#include <algorithm>
#include <numeric>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

void require_ordered(const Node& node, const TensorType& type) {
  if (!is_floating(type.dtype) && !is_integer(type.dtype)) {
    refuse(node,
           "elements of type " + std::string(dtype_info(type.dtype).name) + " have no order.");
  }
}

std::vector<TensorType> infer_topk(const Node& node, const std::vector<TensorType>& inputs) {
  require_ordered(node, inputs[0]);
  TensorType values = inputs[0];
  const size_t axis = axis_of(node, "axis", values.shape.size());
  const Expr& count = shape_of(node, "k", 1)[0];
  integer_of(node, "largest");
  integer_of(node, "sorted");
  const Expr excess = count - values.shape[axis];
  if (excess.is_constant() && excess.constant() > 0) {
    refuse(node, "k = " + count.str() + " is larger than axis " + std::to_string(axis) + " of " +
                     type_text(inputs[0]) + ".");
  }
  values.shape[axis] = count;
  return {values, {DType::i64, values.shape}};
}

std::vector<TensorType> infer_sort(const Node& node, const std::vector<TensorType>& inputs) {
  require_ordered(node, inputs[0]);
  axis_of(node, "axis", inputs[0].shape.size());
  integer_of(node, "descending");
  return {inputs[0], {DType::i64, inputs[0].shape}};
}

// Keys in one totally ordered type: NaN above everything (as numpy sorts it).
struct Key {
  double real = 0;
  int64_t integer = 0;
  friend bool operator<(const Key& a, const Key& b) {
    if (a.real != a.real) return false;
    if (b.real != b.real) return true;
    return a.real != b.real ? a.real < b.real : a.integer < b.integer;
  }
};

std::vector<Key> keys_of(const Tensor& input) {
  std::vector<Key> keys(static_cast<size_t>(input.elements()));
  if (is_floating(input.dtype())) {
    const std::vector<double> values = all_doubles(input);
    for (size_t i = 0; i < keys.size(); ++i) keys[i].real = values[i];
  } else {
    const std::vector<int64_t> values = all_integers(input);
    const uint64_t flip = input.dtype() == DType::u64 ? uint64_t{1} << 63 : 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i].integer = static_cast<int64_t>(static_cast<uint64_t>(values[i]) ^ flip);
    }
  }
  return keys;
}

// Writes the first `count` elements of every row along `axis` in order; equal elements keep their
// order in the input (the lower index first).
void order_rows(const Node& node, const Tensor& input, int64_t axis, bool descending, int64_t count,
                std::span<Tensor> outputs) {
  const std::vector<Key> keys = keys_of(input);
  std::vector<int64_t> shape = input.shape();
  shape[static_cast<size_t>(axis)] = count;
  expect_shape(node, outputs[0], shape);
  Ints kept;
  for (int64_t i = 0; i < input.rank(); ++i) {
    if (i != axis) kept.push_back(i);
  }
  const std::vector<int64_t> strides = strides_of(input.shape());
  const std::vector<int64_t> bases = axis_offsets(input.shape(), strides, kept);
  const std::vector<int64_t> targets =
      axis_offsets(outputs[0].shape(), strides_of(outputs[0].shape()), kept);
  const int64_t size = input.shape()[static_cast<size_t>(axis)];
  const int64_t stride = strides[static_cast<size_t>(axis)];
  std::vector<int64_t> order(static_cast<size_t>(size));
  int64_t* indices = outputs[1].mutable_as<int64_t>();
  for (size_t row = 0; row < bases.size(); ++row) {
    std::iota(order.begin(), order.end(), int64_t{0});
    const Key* base = keys.data() + bases[row];
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return descending ? base[b * stride] < base[a * stride] : base[a * stride] < base[b * stride];
    });
    for (int64_t i = 0; i < count; ++i) {
      const int64_t chosen = order[static_cast<size_t>(i)];
      const int64_t place = targets[row] + i * stride;
      indices[place] = chosen;
      copy_elements(input, bases[row] + chosen * stride, outputs[0], place, 1);
    }
  }
}

void evaluate_topk(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                   std::span<Tensor> outputs) {
  const int64_t axis = node.attributes.integer("axis");
  const int64_t count = outputs[0].shape()[static_cast<size_t>(axis)];
  if (count > inputs[0].shape()[static_cast<size_t>(axis)]) {
    refuse(node, "k = " + std::to_string(count) + " is larger than the axis.");
  }
  order_rows(node, inputs[0], axis, node.attributes.integer("largest") != 0, count, outputs);
}

void evaluate_sort(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                   std::span<Tensor> outputs) {
  const int64_t axis = node.attributes.integer("axis");
  order_rows(node, inputs[0], axis, node.attributes.integer("descending") != 0,
             inputs[0].shape()[static_cast<size_t>(axis)], outputs);
}

const OpInfo kRows[] = {
    {Op::topk, "topk", 1, 1, 2, 0, infer_topk, evaluate_topk},
    {Op::sort, "sort", 1, 1, 2, 0, infer_sort, evaluate_sort},
};

}  // namespace

std::span<const OpInfo> sort_ops() { return rows(kRows); }

}  // namespace mcc::ops
