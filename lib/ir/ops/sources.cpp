// constant, iota, dims, random: operators that need no tensor inputs.
#include <cmath>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"
#include "lib/ir/philox.h"

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

void evaluate_constant(const Node& node, const EvaluationContext&, std::span<const Tensor>,
                       std::span<Tensor> outputs) {
  outputs[0] = *node.attributes.tensor("value");
}

void evaluate_iota(const Node& node, const EvaluationContext&, std::span<const Tensor>,
                   std::span<Tensor> outputs) {
  Tensor& out = outputs[0];
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  const int64_t size = out.shape()[axis];
  const int64_t stride = strides_of(out.shape())[axis];
  std::vector<int64_t> values(static_cast<size_t>(out.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i) / stride % size;
  store_elements(out, 0, values);
}

void evaluate_dims(const Node& node, const EvaluationContext& context, std::span<const Tensor>,
                   std::span<Tensor> outputs) {
  std::vector<int64_t> values;
  for (const Expr& expr : node.attributes.shape("values")) {
    values.push_back(expr.evaluate(context.bindings));
  }
  store_elements(outputs[0], 0, values);
}

// The normal deviate of an element: Box and Muller, "A note on the generation of random normal
// deviates" (1958); 1 - u keeps the logarithm finite.
double normal_deviate(uint64_t seed, uint64_t index) {
  constexpr double kTwoPi = 6.283185307179586477;
  const auto words = philox(seed, index);
  return std::sqrt(-2 * std::log(1.0 - double{unit_interval(words[0])})) *
         std::cos(kTwoPi * double{unit_interval(words[1])});
}

void evaluate_random(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                     std::span<Tensor> outputs) {
  const std::string& distribution = node.attributes.text("distribution");
  const auto seed = static_cast<uint64_t>(node.attributes.integer("seed"));
  std::vector<double> values(static_cast<size_t>(outputs[0].elements()));
  const auto uniform = [seed](size_t i) { return double{unit_interval(philox(seed, i)[0])}; };
  if (distribution == "bernoulli") {
    const std::vector<double> probabilities = all_doubles(inputs[0]);
    for (size_t i = 0; i < values.size(); ++i) values[i] = uniform(i) < probabilities[i] ? 1 : 0;
  } else if (distribution == "uniform") {
    const double low = node.attributes.real("low");
    const double high = node.attributes.real("high");
    for (size_t i = 0; i < values.size(); ++i) values[i] = low + (high - low) * uniform(i);
  } else {
    const double mean = node.attributes.real("mean");
    const double scale = node.attributes.real("scale");
    for (size_t i = 0; i < values.size(); ++i) values[i] = mean + scale * normal_deviate(seed, i);
  }
  store_elements(outputs[0], 0, values);
}

const OpInfo kRows[] = {
    {Op::constant, "constant", 0, 0, 1, kSource, infer_constant, evaluate_constant},
    {Op::iota, "iota", 0, 0, 1, kSource, infer_iota, evaluate_iota},
    {Op::dims, "dims", 0, 0, 1, kSource, infer_dims, evaluate_dims},
    {Op::random, "random", 0, 1, 1, kSource, infer_random, evaluate_random},
};

}  // namespace

std::span<const OpInfo> source_ops() { return rows(kRows); }

}  // namespace mcc::ops
