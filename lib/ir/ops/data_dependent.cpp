// nonzero, unique, compress: how many elements come out depends on the input's values.
// The dimension is the attribute `count`: a symbol that is bound when the operator runs, or by
// then known by other means (a constant, a symbol read from an earlier value).
#include "lib/ir/ops/data_dependent.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_nonzero(const Node& node, const std::vector<TensorType>& inputs) {
  const Expr& count = shape_of(node, "count", 1)[0];
  return {{DType::i64, {static_cast<int64_t>(inputs[0].shape.size()), count}}};
}

std::vector<TensorType> infer_unique(const Node& node, const std::vector<TensorType>& inputs) {
  const Expr& count = shape_of(node, "count", 1)[0];
  integer_of(node, "sorted");
  const Shape& in = inputs[0].shape;
  TensorType values{inputs[0].dtype, {count}};
  Expr slices = product(in);
  if (integer_of(node, "axis") != -1) {
    const size_t axis = axis_of(node, "axis", in.size());
    values.shape = in;
    values.shape[axis] = count;
    slices = in[axis];
  }
  const TensorType per_value{DType::i64, {count}};
  return {values, per_value, {DType::i64, {slices}}, per_value, {DType::i64, {1}}};
}

std::vector<TensorType> infer_compress(const Node& node, const std::vector<TensorType>& inputs) {
  const Expr& count = shape_of(node, "count", 1)[0];
  if (inputs[1].dtype != DType::boolean) refuse(node, "the condition must be bool.");
  require_rank(node, inputs[1], 1, "the condition");
  TensorType out{inputs[0].dtype, {count}};
  if (integer_of(node, "axis") != -1) {
    const size_t axis = axis_of(node, "axis", inputs[0].shape.size());
    out.shape = inputs[0].shape;
    out.shape[axis] = count;
  }
  return {out};
}

// Whether each element differs from zero (strings: is not empty).
std::vector<bool> nonzero_flags(const Tensor& tensor) {
  std::vector<bool> flags(static_cast<size_t>(tensor.elements()));
  if (tensor.dtype() == DType::string) {
    for (size_t i = 0; i < flags.size(); ++i) flags[i] = !(*tensor.strings)[i].empty();
  } else if (is_floating(tensor.dtype())) {
    const std::vector<double> values = all_doubles(tensor);
    for (size_t i = 0; i < flags.size(); ++i) flags[i] = values[i] != 0;
  } else {
    const std::vector<int64_t> values = all_integers(tensor);
    for (size_t i = 0; i < flags.size(); ++i) flags[i] = values[i] != 0;
  }
  return flags;
}

void evaluate_nonzero(const Node& node, const EvaluationContext& context,
                      std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<bool> flags = nonzero_flags(inputs[0]);
  const int64_t count = std::count(flags.begin(), flags.end(), true);
  check_count(node, context, count);
  outputs[0] = Tensor(DType::i64, {inputs[0].rank(), count});
  int64_t* out = outputs[0].mutable_as<int64_t>();
  const std::vector<int64_t> strides = strides_of(inputs[0].shape());
  int64_t column = 0;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    for (size_t a = 0; a < strides.size(); ++a) {
      out[static_cast<int64_t>(a) * count + column] =
          static_cast<int64_t>(i) / strides[a] % inputs[0].shape()[a];
    }
    ++column;
  }
}

// A slice of the input along an axis as a sequence of comparable numbers. Strings are ranked first.
struct Slices {
  std::vector<std::vector<double>> reals;
  std::vector<std::vector<int64_t>> integers;
  // Three-way comparison; NaNs are all different from each other (as ONNX's tests have it) and
  // come last.
  bool less(size_t a, size_t b) const {
    if (!integers.empty()) return integers[a] < integers[b];
    return std::lexicographical_compare(reals[a].begin(), reals[a].end(), reals[b].begin(),
                                        reals[b].end(), [](double x, double y) {
                                          return x != x ? false : y != y ? true : x < y;
                                        });
  }
};

std::vector<int64_t> string_ranks(const Tensor& tensor) {
  std::map<std::string, int64_t> ranks;
  for (const std::string& text : *tensor.strings) ranks[text] = 0;
  int64_t next = 0;
  for (auto& entry : ranks) entry.second = next++;
  std::vector<int64_t> result;
  for (const std::string& text : *tensor.strings) result.push_back(ranks[text]);
  return result;
}

Slices slices_of(const Tensor& tensor, int64_t axis) {
  const std::vector<int64_t> strides = strides_of(tensor.shape());
  Ints inner;
  for (int64_t i = 0; i < tensor.rank(); ++i) {
    if (axis >= 0 && i != axis) inner.push_back(i);
  }
  const std::vector<int64_t> starts = axis < 0 ? axis_offsets({tensor.elements()}, {1}, {0})
                                               : axis_offsets(tensor.shape(), strides, {axis});
  const std::vector<int64_t> offsets = axis_offsets(tensor.shape(), strides, inner);
  const auto pick = [&](const auto& values) {
    std::vector<std::decay_t<decltype(values)>> slices;
    for (int64_t start : starts) {
      auto& slice = slices.emplace_back();
      for (int64_t offset : offsets) slice.push_back(values[static_cast<size_t>(start + offset)]);
    }
    return slices;
  };
  Slices slices;
  if (tensor.dtype() == DType::string) {
    slices.integers = pick(string_ranks(tensor));
  } else if (is_floating(tensor.dtype())) {
    slices.reals = pick(all_doubles(tensor));
  } else {
    std::vector<int64_t> values = all_integers(tensor);
    if (tensor.dtype() == DType::u64) {
      for (int64_t& value : values)
        value = static_cast<int64_t>(static_cast<uint64_t>(value) ^ (1ULL << 63));
    }
    slices.integers = pick(values);
  }
  return slices;
}

void evaluate_unique(const Node& node, const EvaluationContext& context,
                     std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Tensor& input = inputs[0];
  const int64_t axis = node.attributes.integer("axis");
  const Slices slices = slices_of(input, axis);
  const size_t total = std::max(slices.reals.size(), slices.integers.size());
  std::vector<size_t> order(total);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return slices.less(a, b); });
  // Groups of equal slices; a stable sort puts the first occurrence first.
  std::vector<size_t> first;
  std::vector<int64_t> counts;
  std::vector<int64_t> inverse(total);
  for (size_t i = 0; i < total; ++i) {
    if (i == 0 || slices.less(order[i - 1], order[i])) {
      first.push_back(order[i]);
      counts.push_back(0);
    }
    ++counts.back();
    inverse[order[i]] = static_cast<int64_t>(first.size()) - 1;
  }
  std::vector<size_t> rank(first.size());  // output position -> group
  std::iota(rank.begin(), rank.end(), size_t{0});
  if (node.attributes.integer("sorted") == 0) {
    std::sort(rank.begin(), rank.end(), [&](size_t a, size_t b) { return first[a] < first[b]; });
  }
  const auto count = static_cast<int64_t>(first.size());
  check_count(node, context, count);
  std::vector<int64_t> position(first.size()), first_out, counts_out;
  for (size_t i = 0; i < rank.size(); ++i) {
    position[rank[i]] = static_cast<int64_t>(i);
    first_out.push_back(static_cast<int64_t>(first[rank[i]]));
    counts_out.push_back(counts[rank[i]]);
  }
  for (int64_t& group : inverse) group = position[static_cast<size_t>(group)];

  std::vector<int64_t> shape{count};
  int64_t inner = 1;
  if (axis >= 0) {
    shape = input.shape();
    shape[static_cast<size_t>(axis)] = count;
    inner = strides_of(shape)[static_cast<size_t>(axis)];
  }
  outputs[0] = Tensor(input.dtype(), shape);
  const int64_t slice_count = static_cast<int64_t>(total);
  const int64_t outer = total == 0 ? 0 : input.elements() / (slice_count * inner);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      copy_elements(input, (o * slice_count + first_out[static_cast<size_t>(i)]) * inner,
                    outputs[0], (o * count + i) * inner, inner);
    }
  }
  outputs[1] = Tensor::from_int64(first_out);
  outputs[2] = Tensor::from_int64(inverse);
  outputs[3] = Tensor::from_int64(counts_out);
  outputs[4] = Tensor::from_int64({count});
}

void evaluate_compress(const Node& node, const EvaluationContext& context,
                       std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Tensor& input = inputs[0];
  const int64_t axis = node.attributes.integer("axis");
  const int64_t size = axis < 0 ? input.elements() : input.shape()[static_cast<size_t>(axis)];
  const std::vector<int64_t> condition = all_integers(inputs[1]);
  std::vector<int64_t> chosen;
  // A condition shorter than the axis drops the rest, a longer one must not choose beyond it.
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] == 0) continue;
    if (static_cast<int64_t>(i) >= size) refuse(node, "the condition chooses beyond the axis.");
    chosen.push_back(static_cast<int64_t>(i));
  }
  const auto count = static_cast<int64_t>(chosen.size());
  check_count(node, context, count);
  std::vector<int64_t> shape{count};
  int64_t inner = 1;
  if (axis >= 0) {
    shape = input.shape();
    shape[static_cast<size_t>(axis)] = count;
    inner = strides_of(shape)[static_cast<size_t>(axis)];
  }
  outputs[0] = Tensor(input.dtype(), shape);
  const int64_t outer = size * inner == 0 ? 0 : input.elements() / (size * inner);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      copy_elements(input, (o * size + chosen[static_cast<size_t>(i)]) * inner, outputs[0],
                    (o * count + i) * inner, inner);
    }
  }
}

const OpInfo kRows[] = {
    {Op::nonzero, "nonzero", 1, 1, 1, kDataDependent, infer_nonzero, evaluate_nonzero},
    {Op::unique, "unique", 1, 1, 5, kDataDependent, infer_unique, evaluate_unique},
    {Op::compress, "compress", 2, 2, 1, kDataDependent, infer_compress, evaluate_compress},
};

}  // namespace

void check_count(const Node& node, const EvaluationContext& context, int64_t count) {
  const Expr& expected = node.attributes.shape("count")[0];
  for (const std::string& symbol : expected.symbols()) {
    if (context.bindings.find(symbol) == context.bindings.end()) return;  // bound by this result
  }
  const int64_t value = expected.evaluate(context.bindings);
  if (value != count) {
    refuse(node, std::to_string(count) + " elements were found where " + std::to_string(value) +
                     " were promised.");
  }
}

std::span<const OpInfo> data_dependent_ops() { return rows(kRows); }

}  // namespace mcc::ops
