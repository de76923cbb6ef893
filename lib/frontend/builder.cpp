// Builder: the funnel through which all nodes go, materialization, symbols.
#include "lib/frontend/builder.h"

#include <algorithm>

#include "lib/frontend/symbolic.h"
#include "lib/ir/evaluate.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

// Folding at import serves shapes and parameters; the optimizer folds larger constants.
constexpr int64_t kMostFoldedElements = 4096;
constexpr int64_t kMostReadElements = 65536;

bool is_constant_shape(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Expr& e) { return e.is_constant(); });
}

bool has_symbolic_attribute(const Attributes& attributes) {
  for (const auto& [name, value] : attributes.entries()) {
    const Shape* shape = std::get_if<Shape>(&value);
    if (shape != nullptr && !is_constant_shape(*shape)) return true;
  }
  return false;
}

// The tensors when every input is a constant, nothing depends on symbols and all of it is small.
std::optional<Operands> fold(const Node& node, const Operands& inputs,
                             const std::vector<TensorType>& types, const Graph& graph) {
  const OpInfo& info = op_info(node.op);
  if (info.evaluate == nullptr || node.op == Op::random || node.op == Op::constant ||
      (info.traits & kControl) != 0 || has_symbolic_attribute(node.attributes)) {
    return std::nullopt;
  }
  std::vector<Tensor> arguments;
  int64_t read = 0;
  for (const Operand& input : inputs) {
    const Tensor* tensor = input.constant_tensor();
    if (tensor == nullptr) return std::nullopt;
    read += tensor->elements();
    if (read > kMostReadElements) return std::nullopt;
    arguments.push_back(*tensor);
  }
  std::vector<Tensor> results;
  for (const TensorType& type : types) {
    if (!is_constant_shape(type.shape)) return std::nullopt;
    std::vector<int64_t> dims;
    int64_t elements = 1;
    for (const Expr& dim : type.shape) {
      dims.push_back(dim.constant());
      if (dims.back() < 0 || dims.back() > kMostFoldedElements) return std::nullopt;
      elements *= dims.back();
      if (elements > kMostFoldedElements) return std::nullopt;
    }
    results.emplace_back(type.dtype, dims);
  }
  info.evaluate(node, EvaluationContext{&graph, {}}, arguments, results);
  Operands operands;
  for (Tensor& result : results) {
    operands.push_back(Operand::constant(std::make_shared<const Tensor>(std::move(result))));
  }
  return operands;
}

}  // namespace

Builder::Builder(Graph& graph, Symbols& symbols, Builder* parent)
    : graph_(graph), symbols_(symbols), parent_(parent) {}

Operands Builder::emit_all(Op op, const Operands& inputs, Attributes attributes,
                           std::vector<Graph> subgraphs) {
  Node node;
  node.op = op;
  node.attributes = std::move(attributes);
  node.subgraphs = std::move(subgraphs);
  node.origin = origin;
  std::vector<TensorType> input_types;
  for (const Operand& input : inputs) input_types.push_back(input.type());
  if (node.subgraphs.empty()) {
    const std::vector<TensorType> types = op_info(op).infer(node, input_types);
    if (std::optional<Operands> folded = fold(node, inputs, types, graph_)) return *folded;
    if (types.size() == 1) {
      if (std::optional<KnownValues> values =
              evaluate_symbolically(node, inputs, types[0], symbols_)) {
        return {Operand::known(types[0].dtype, types[0].shape, std::move(*values))};
      }
    }
  }
  for (const Operand& input : inputs) node.inputs.push_back(materialize(input));
  Operands outputs;
  for (ValueId id : graph_.append(std::move(node))) {
    outputs.push_back(Operand::value(this, id, graph_.type(id)));
  }
  return outputs;
}

Operand Builder::emit(Op op, const Operands& inputs, Attributes attributes) {
  return emit_all(op, inputs, std::move(attributes)).at(0);
}

ValueId Builder::materialize(const Operand& operand) {
  if (!operand) throw ModelError("a required input is missing.");
  if (operand.is_poison()) throw InternalError("a failed node's result was used");
  if (operand.is_sequence()) throw ModelError("a sequence was given where a tensor is expected.");
  const bool is_value = operand.constant_tensor() == nullptr && !operand.is_symbolic();
  if (is_value && operand.owner() == this) return operand.id();
  const auto found = nodes_.find(operand.identity());
  if (found != nodes_.end()) return found->second.second;
  ValueId id = kNoValue;
  if (is_value) {
    id = capture(operand);
  } else if (operand.is_symbolic()) {
    id = emit_known(operand);
  } else {
    Node node;
    node.op = Op::constant;
    node.attributes.set("value", operand.tensor_pointer());
    node.origin = origin;
    id = graph_.append(std::move(node))[0];
  }
  if (graph_.values[static_cast<size_t>(id)].name.empty()) {
    graph_.values[static_cast<size_t>(id)].name = operand.name();
  }
  nodes_.emplace(operand.identity(), std::make_pair(operand, id));
  return id;
}

ValueId Builder::capture(const Operand& outer) {
  check_internal(parent_ != nullptr, "an operand belongs to no enclosing graph");
  const ValueId inner = graph_.add_input(outer.type(), outer.name());
  captures_.push_back({outer, inner});
  return inner;
}

// dims, then whatever brings the numbers into type and shape: cast, division, reshape.
ValueId Builder::emit_known(const Operand& operand) {
  const KnownValues values = *operand.known_values();
  Shape numerators;
  bool fractions = false;
  Tensor denominators(DType::i64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    numerators.push_back(values[i].numerator);
    denominators.set_int64(static_cast<int64_t>(i), values[i].denominator);
    fractions = fractions || values[i].denominator != 1;
  }
  Node source;
  source.op = Op::dims;
  source.attributes.set("values", numerators);
  source.origin = origin;
  const ValueId id = graph_.append(std::move(source))[0];
  Operand result = Operand::value(this, id, graph_.type(id));
  if (fractions) {
    // 53 bits hold every size; the division is exact unless the model's own arithmetic was not.
    result = map("div", {cast(result, DType::f64),
                         cast(constant(std::move(denominators)), DType::f64)});
  }
  return materialize(reshape(cast(result, operand.dtype()), operand.shape()));
}

Shape Builder::common_shape(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Expr& dim = result[offset + i];
    if (shorter[i].is_constant(1)) continue;
    if (dim.is_constant(1)) {
      dim = shorter[i];
    } else if (dim.is_constant() && shorter[i].is_constant() && !(dim == shorter[i])) {
      throw ModelError("the shapes " + shape_text(a) + " and " + shape_text(b) +
                       " do not broadcast.");
    } else {
      dim = symbols_.merge(dim, shorter[i]);
    }
  }
  return result;
}

Shape Builder::expressions(const Operand& integers, int64_t low) {
  if (!is_integer(integers.dtype())) throw ModelError("an integer tensor is expected.");
  if (integers.rank() > 1) throw ModelError("a scalar or a vector of integers is expected.");
  Shape result;
  if (const Tensor* tensor = integers.constant_tensor()) {
    for (int64_t i = 0; i < tensor->elements(); ++i) result.emplace_back(tensor->get_int64(i));
    return result;
  }
  if (const std::optional<KnownValues> values = integers.known_values()) {
    for (const Known& value : *values) result.push_back(value.numerator);
    return result;
  }
  const Expr count = product(integers.shape());
  if (!count.is_constant()) {
    throw ModelError("the length of an integer list depends on symbols: " + count.str() + ".");
  }
  const ValueId value = materialize(integers);
  for (int64_t i = 0; i < count.constant(); ++i) {
    const auto [entry, is_new] = runtime_.emplace(std::make_pair(value, i), Expr());
    if (is_new) {
      const std::string label = integers.name().empty() ? "a computed size" : integers.name();
      entry->second = symbols_.runtime(graph_, label, {low, (int64_t{1} << 31) - 1}, value, i);
    }
    result.push_back(entry->second);
  }
  return result;
}

Operands Builder::emit_counted(Op op, const Operands& inputs, Attributes attributes,
                               const std::string& label, size_t count_output) {
  const Expr count =
      symbols_.runtime(graph_, label, {0, (int64_t{1} << 31) - 1}, kNoValue, 0);
  attributes.set("count", Shape{count});
  Operands outputs = emit_all(op, inputs, std::move(attributes));
  for (Symbol& symbol : graph_.symbols) {
    if (symbol.name == *count.as_symbol()) symbol.source.input = outputs.at(count_output).id();
  }
  return outputs;
}

Expr Builder::runtime_count(const Operand& count, const std::string& label) {
  if (const std::optional<KnownValues> values = count.known_values()) return values->at(0).numerator;
  return symbols_.runtime(graph_, label, {0, (int64_t{1} << 31) - 1}, materialize(count), 0);
}

}  // namespace mcc::frontend
