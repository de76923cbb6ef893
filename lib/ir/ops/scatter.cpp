// scatter_elements, scatter_nd: writing (or reducing) at computed indices into a copy of the data.
#include <cmath>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/indexing.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

void check_reduction(const Node& node, DType dtype) {
  const std::string& reduction = choice_of(node, "reduction", {"none", "add", "mul", "min", "max"});
  if (reduction != "none" && !is_floating(dtype) && !is_integer(dtype)) {
    refuse(node, "the reduction '" + reduction + "' has no meaning for " +
                     std::string(dtype_info(dtype).name) + ".");
  }
}

std::vector<TensorType> infer_scatter_elements(const Node& node,
                                               const std::vector<TensorType>& inputs) {
  const Shape& data = inputs[0].shape;
  require_index_dtype(node, inputs[1]);
  require_same_dtype(node, inputs[0].dtype, inputs[2].dtype, "the data and the updates");
  require_rank(node, inputs[1], data.size(), "the index tensor");
  merge_shapes(node, inputs[1].shape, inputs[2].shape, "the indices and the updates");
  const size_t axis = axis_of(node, "axis", data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    const Expr excess = inputs[1].shape[i] - data[i];
    if (i != axis && excess.is_constant() && excess.constant() > 0) {
      refuse(node, "the index tensor " + type_text(inputs[1]) + " is larger than the data " +
                       type_text(inputs[0]) + " along axis " + std::to_string(i) + ".");
    }
  }
  check_reduction(node, inputs[0].dtype);
  return {inputs[0]};
}

std::vector<TensorType> infer_scatter_nd(const Node& node, const std::vector<TensorType>& inputs) {
  const Shape& data = inputs[0].shape;
  const Shape& indices = inputs[1].shape;
  require_index_dtype(node, inputs[1]);
  require_same_dtype(node, inputs[0].dtype, inputs[2].dtype, "the data and the updates");
  if (indices.empty() || !indices.back().is_constant()) {
    refuse(node, "the last dimension of the indices must be a known number.");
  }
  const int64_t depth = indices.back().constant();
  if (depth < 1 || depth > static_cast<int64_t>(data.size())) {
    refuse(node, "indices of type " + type_text(inputs[1]) + " do not fit data of type " +
                     type_text(inputs[0]) + ".");
  }
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + depth, data.end());
  merge_shapes(node, expected, inputs[2].shape, "the places to write and the updates");
  check_reduction(node, inputs[0].dtype);
  return {inputs[0]};
}

double combine(const std::string& reduction, double a, double b) {
  if (reduction == "add") return a + b;
  if (reduction == "mul") return a * b;
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return (reduction == "min") == (a < b) ? a : b;
}

int64_t combine(const std::string& reduction, int64_t a, int64_t b, bool is_unsigned) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if (reduction == "add") return static_cast<int64_t>(x + y);
  if (reduction == "mul") return static_cast<int64_t>(x * y);
  const bool less = is_unsigned ? x < y : a < b;
  return (reduction == "min") == less ? a : b;
}

// Combines `count` updates from `from` on into the output's elements from `to` on.
void update(const std::string& reduction, const Tensor& updates, int64_t from, Tensor& out,
            int64_t to, int64_t count) {
  if (reduction == "none") {
    copy_elements(updates, from, out, to, count);
    return;
  }
  const auto size = static_cast<size_t>(count);
  if (is_floating(out.dtype())) {
    std::vector<double> old(size), change(size);
    load_elements(out, to, old);
    load_elements(updates, from, change);
    for (size_t i = 0; i < size; ++i) old[i] = combine(reduction, old[i], change[i]);
    store_elements(out, to, old);
  } else {
    std::vector<int64_t> old(size), change(size);
    load_elements(out, to, old);
    load_elements(updates, from, change);
    const bool is_unsigned = dtype_info(out.dtype()).kind == DTypeKind::unsigned_integer;
    for (size_t i = 0; i < size; ++i) old[i] = combine(reduction, old[i], change[i], is_unsigned);
    store_elements(out, to, old);
  }
}

void evaluate_scatter_elements(const Node& node, const EvaluationContext&,
                               std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  const std::string& reduction = node.attributes.text("reduction");
  copy_elements(inputs[0], 0, outputs[0], 0, inputs[0].elements());
  for_each_indexed(node, inputs[0].shape(), inputs[1], axis, [&](int64_t target, int64_t i) {
    update(reduction, inputs[2], i, outputs[0], target, 1);
  });
}

void evaluate_scatter_nd(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) {
  const std::string& reduction = node.attributes.text("reduction");
  copy_elements(inputs[0], 0, outputs[0], 0, inputs[0].elements());
  const TupleIndices tuples(node, inputs[1], inputs[0].shape(), 0);
  for (int64_t i = 0; i < tuples.count(); ++i) {
    update(reduction, inputs[2], i * tuples.block(), outputs[0], tuples.offset(i), tuples.block());
  }
}

const OpInfo kRows[] = {
    {Op::scatter_elements, "scatter_elements", 3, 3, 1, 0, infer_scatter_elements,
     evaluate_scatter_elements},
    {Op::scatter_nd, "scatter_nd", 3, 3, 1, 0, infer_scatter_nd, evaluate_scatter_nd},
};

}  // namespace

std::span<const OpInfo> scatter_ops() { return rows(kRows); }

}  // namespace mcc::ops
