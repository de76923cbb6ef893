// Symbolic evaluation of shape arithmetic.
#include "lib/optimizer/rewrite/symbolic.h"

#include <algorithm>

#include "lib/ir/elements.h"
#include "lib/ir/op.h"
#include "lib/ir/view_index.h"

namespace mcc {
namespace {

// Shape tensors are short; anything longer is data.
constexpr int64_t kMaxElements = 64;

std::optional<std::vector<int64_t>> concrete_shape(const Shape& shape) {
  std::vector<int64_t> result;
  int64_t count = 1;
  for (const Expr& dim : shape) {
    if (!dim.is_constant() || dim.constant() < 0 || dim.constant() > kMaxElements) return std::nullopt;
    count *= dim.constant();
    if (count > kMaxElements) return std::nullopt;
    result.push_back(dim.constant());
  }
  return result;
}

// One application of a map; nullopt when an Expr cannot state it.
std::optional<Expr> apply(const std::string& function, const std::vector<Expr>& x,
                          const Ranges& ranges) {
  const auto positive = [&](const Expr& e) { return bounds(e, ranges).low > 0; };
  const auto nonnegative = [&](const Expr& e) { return bounds(e, ranges).low >= 0; };
  if (function == "add") return x[0] + x[1];
  if (function == "sub") return x[0] - x[1];
  if (function == "mul") return x[0] * x[1];
  if (function == "neg") return -x[0];
  if (function == "min") return min(x[0], x[1]);
  if (function == "max") return max(x[0], x[1]);
  if (function == "relu") return max(x[0], 0);
  if (function == "abs" && nonnegative(x[0])) return x[0];
  if (function == "floordiv" && positive(x[1])) return floordiv(x[0], x[1]);
  if (function == "mod" && positive(x[1])) return mod(x[0], x[1]);
  // Truncation is floor for operands that are not negative.
  if (function == "div" && positive(x[1]) && nonnegative(x[0])) return floordiv(x[0], x[1]);
  if (function == "fmod" && positive(x[1]) && nonnegative(x[0])) return mod(x[0], x[1]);
  return std::nullopt;
}

// Whether every value of the expression fits the type, as far as the ranges tell.
bool fits(const Expr& expr, DType dtype, const Ranges& ranges) {
  if (dtype == DType::i64) return true;
  if (dtype != DType::i32) return false;
  const Range range = bounds(expr, ranges);
  // An unbounded dimension is taken to stay below 2^31: models store their sizes in i32 themselves.
  const auto inside = [](int64_t bound) { return bound >= INT32_MIN && bound <= INT32_MAX; };
  return inside(range.low) && (range.high >= Range::kUnbounded || inside(range.high));
}

int64_t flat_index(const Indices& indices, const std::vector<int64_t>& shape) {
  int64_t index = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!indices[i].is_constant()) return -1;
    const int64_t at = indices[i].constant();
    if (at < 0 || at >= shape[i]) return -1;
    index = index * shape[i] + at;
  }
  return index;
}

Indices unflatten(int64_t index, const std::vector<int64_t>& shape) {
  Indices indices(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    indices[i] = index % shape[i];
    index /= shape[i];
  }
  return indices;
}

}  // namespace

const std::vector<Expr>* SymbolicValues::find(ValueId value) const {
  auto found = known_.find(value);
  return found == known_.end() ? nullptr : &found->second;
}

void SymbolicValues::learn(const Graph& graph, const Node& node, const Ranges& ranges) {
  if (node.outputs.size() != 1) return;
  const DType dtype = graph.dtype(node.outputs[0]);
  if (dtype != DType::i64 && dtype != DType::i32) return;
  std::optional<Elements> elements = derive(graph, node, ranges);
  if (!elements) return;
  for (Expr& element : *elements) {
    if (!fits(element, dtype, ranges)) return;
    element = simplify(element, ranges);
  }
  known_[node.outputs[0]] = std::move(*elements);
}

std::optional<SymbolicValues::Elements> SymbolicValues::derive(const Graph& graph, const Node& node,
                                                               const Ranges& ranges) const {
  if (node.op == Op::dims) return node.attributes.shape("values");
  const std::optional<std::vector<int64_t>> shape = concrete_shape(graph.shape(node.outputs[0]));
  if (!shape) return std::nullopt;
  const int64_t count = count_of(*shape);
  Elements result;
  if (node.op == Op::constant) {
    for (int64_t value : all_integers(*node.attributes.tensor("value"))) result.emplace_back(value);
    return result;
  }
  std::vector<const Elements*> operands;
  for (ValueId input : node.inputs) {
    operands.push_back(find(input));
    if (operands.back() == nullptr) return std::nullopt;
  }
  if (operands.empty()) return std::nullopt;
  const std::optional<std::vector<int64_t>> from = concrete_shape(graph.shape(node.inputs[0]));
  if (!from) return std::nullopt;
  if (node.op == Op::map) {
    const std::string& function = node.attributes.text("fn");
    if (function == "cast") return *operands[0];
    for (int64_t i = 0; i < count; ++i) {
      std::vector<Expr> arguments;
      for (const Elements* operand : operands) arguments.push_back((*operand)[static_cast<size_t>(i)]);
      std::optional<Expr> value = apply(function, arguments, ranges);
      if (!value) return std::nullopt;
      result.push_back(std::move(*value));
    }
    return result;
  }
  if (node.op == Op::reshape) return *operands[0];
  if (node.op == Op::concat && shape->size() == 1) {
    for (const Elements* operand : operands) result.insert(result.end(), operand->begin(), operand->end());
    return result;
  }
  if (node.op == Op::gather && from->size() == 1) {
    for (const Expr& index : *operands[1]) {
      if (!index.is_constant()) return std::nullopt;
      const int64_t at = index.constant() + (index.constant() < 0 ? from->front() : 0);
      if (at < 0 || at >= from->front()) return std::nullopt;
      result.push_back((*operands[0])[static_cast<size_t>(at)]);
    }
    return result;
  }
  const bool reduces = node.op == Op::reduce && node.attributes.ints("axes").size() == from->size();
  if (reduces && (node.attributes.text("fn") == "prod" || node.attributes.text("fn") == "sum")) {
    const bool multiplies = node.attributes.text("fn") == "prod";
    Expr total = multiplies ? 1 : 0;
    for (const Expr& element : *operands[0]) total = multiplies ? total * element : total + element;
    return Elements{total};
  }
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<Indices> source =
        view_source_indices(node, unflatten(i, *shape), graph.shape(node.inputs[0]));
    if (!source) return std::nullopt;
    const int64_t at = flat_index(*source, *from);
    if (at < 0) return std::nullopt;
    result.push_back((*operands[0])[static_cast<size_t>(at)]);
  }
  return result;
}

}  // namespace mcc
