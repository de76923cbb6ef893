// softmax, normalize: whole-row statistics followed by an elementwise step.
#include <algorithm>
#include <cmath>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"
#include "lib/support/parallel.h"

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

// Calls row(values, base, offsets) for every row over `axes`, in parallel; the results replace the
// values and are stored.
template <typename Row>
void for_each_row(const Tensor& input, const Ints& axes, Tensor& out, const Row& row) {
  Ints kept;
  for (int64_t i = 0; i < input.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.push_back(i);
  }
  const std::vector<int64_t> strides = strides_of(input.shape());
  const std::vector<int64_t> bases = axis_offsets(input.shape(), strides, kept);
  const std::vector<int64_t> offsets = axis_offsets(input.shape(), strides, axes);
  if (offsets.empty()) return;
  std::vector<double> values = all_doubles(input);
  const auto length = static_cast<int64_t>(offsets.size());
  parallel_for(static_cast<int64_t>(bases.size()), std::max<int64_t>(1, 20000 / length),
               [&](int64_t begin, int64_t end) {
                 std::vector<double> gathered(offsets.size());
                 for (int64_t r = begin; r < end; ++r) {
                   double* base = values.data() + bases[static_cast<size_t>(r)];
                   for (size_t i = 0; i < offsets.size(); ++i) gathered[i] = base[offsets[i]];
                   row(gathered);
                   for (size_t i = 0; i < offsets.size(); ++i) base[offsets[i]] = gathered[i];
                 }
               });
  store_elements(out, 0, values);
}

void evaluate_softmax(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                      std::span<Tensor> outputs) {
  for_each_row(inputs[0], {node.attributes.integer("axis")}, outputs[0],
               [](std::vector<double>& row) {
                 const double largest = *std::max_element(row.begin(), row.end());
                 double sum = 0;
                 for (double& value : row) sum += value = std::exp(value - largest);
                 for (double& value : row) value /= sum;
               });
}

void evaluate_normalize(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                        std::span<Tensor> outputs) {
  const double epsilon = node.attributes.real("epsilon");
  const bool centred = node.attributes.text("kind") == "layer";
  for_each_row(inputs[0], node.attributes.ints("axes"), outputs[0], [&](std::vector<double>& row) {
    const auto count = static_cast<double>(row.size());
    double mean = 0, square = 0;
    if (centred) {
      for (double value : row) mean += value;
      mean /= count;
    }
    for (double value : row) square += (value - mean) * (value - mean);
    const double scale = 1 / std::sqrt(square / count + epsilon);
    for (double& value : row) value = (value - mean) * scale;
  });
}

const OpInfo kRows[] = {
    {Op::softmax, "softmax", 1, 1, 1, kReduction, infer_softmax, evaluate_softmax},
    {Op::normalize, "normalize", 1, 1, 1, kReduction, infer_normalize, evaluate_normalize},
};

}  // namespace

std::span<const OpInfo> normalize_ops() { return rows(kRows); }

}  // namespace mcc::ops
