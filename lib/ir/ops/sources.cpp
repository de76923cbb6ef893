// constant, iota, dims, random: operators that need no tensor inputs.
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_constant(const Node& node, const std::vector<TensorType>&) {
  const AttributeValue* value = node.attributes.find("value");
  const TensorPtr* tensor = value == nullptr ? nullptr : std::get_if<TensorPtr>(value);
  if (tensor == nullptr || *tensor == nullptr) refuse(node, "the attribute 'value' is missing.");
  TensorType type{(*tensor)->dtype(), {}};
  for (int64_t dim : (*tensor)->shape()) type.shape.emplace_back(dim);
  return {type};
}

std::vector<TensorType> infer_iota(const Node& node, const std::vector<TensorType>&) {
  const Shape& shape = shape_of(node, "shape");
  axis_of(node, "axis", shape.size());
  const DType dtype = dtype_of(node, "dtype");
  if (!is_floating(dtype) && !is_integer(dtype)) {
    refuse(node, "the element type must be a number type.");
  }
  return {{dtype, shape}};
}

std::vector<TensorType> infer_dims(const Node& node, const std::vector<TensorType>&) {
  return {{DType::i64, {static_cast<int64_t>(shape_of(node, "values").size())}}};
}

std::vector<TensorType> infer_random(const Node& node, const std::vector<TensorType>& inputs) {
  const std::string& distribution =
      choice_of(node, "distribution", {"uniform", "normal", "bernoulli"});
  const Shape& shape = shape_of(node, "shape");
  const DType dtype = dtype_of(node, "dtype");
  integer_of(node, "seed");
  if (distribution == "bernoulli") {
    if (inputs.size() != 1) refuse(node, "bernoulli needs the probabilities as its only input.");
    merge_shapes(node, inputs[0].shape, shape, "the probabilities and the output");
    if (!is_floating(inputs[0].dtype)) refuse(node, "probabilities must be floating.");
    return {{dtype, shape}};
  }
  if (!inputs.empty()) refuse(node, distribution + " takes no inputs.");
  if (!is_floating(dtype)) refuse(node, "the element type must be a floating type.");
  real_of(node, distribution == "uniform" ? "low" : "mean");
  real_of(node, distribution == "uniform" ? "high" : "scale");
  return {{dtype, shape}};
}

const OpInfo kRows[] = {
    {Op::constant, "constant", 0, 0, 1, kSource, infer_constant, nullptr},
    {Op::iota, "iota", 0, 0, 1, kSource, infer_iota, nullptr},
    {Op::dims, "dims", 0, 0, 1, kSource, infer_dims, nullptr},
    {Op::random, "random", 0, 1, 1, kSource, infer_random, nullptr},
};

}  // namespace

std::span<const OpInfo> source_ops() { return rows(kRows); }

}  // namespace mcc::ops
