// The evaluator's driver: binds symbols, runs the nodes in order, frees what is no longer needed.
//
// A symbol gets its value as soon as it can be known: from an input's shape, from an element of a
// computed value, from earlier symbols, or, for a data-dependent operator, from the shape of the
// result (a plain symbol in the declared type that nothing has bound yet).
#include "lib/ir/evaluate.h"

#include <optional>

#include "lib/ir/elements.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

bool all_bound(const Expr& expr, const Bindings& bindings) {
  for (const std::string& symbol : expr.symbols()) {
    if (bindings.find(symbol) == bindings.end()) return false;
  }
  return true;
}

std::string symbol_text(const Symbol& symbol) {
  return symbol.label.empty() ? "dimension " + symbol.name
                              : "dimension '" + symbol.label + "' (" + symbol.name + ")";
}

void bind(const Symbol& symbol, int64_t value, Bindings& bindings) {
  if (value < symbol.range.low || value > symbol.range.high) {
    throw UsageError(symbol_text(symbol) + " is " + std::to_string(value) +
                     ", outside of its range [" + std::to_string(symbol.range.low) + ", " +
                     (symbol.range.high >= Range::kUnbounded ? std::string("unbounded")
                                                             : std::to_string(symbol.range.high)) +
                     "].");
  }
  bindings[symbol.name] = value;
}

// Binds the symbols that are expressions of bound ones.
void bind_expressions(const Graph& graph, Bindings& bindings) {
  for (const Symbol& symbol : graph.symbols) {
    if (symbol.source.kind == SymbolSource::Kind::expression &&
        bindings.find(symbol.name) == bindings.end() &&
        all_bound(symbol.source.expression, bindings)) {
      bind(symbol, symbol.source.expression.evaluate(bindings), bindings);
    }
  }
}

// Binds the symbols that are elements of `value`.
void bind_from_value(const Graph& graph, ValueId value, const Tensor& tensor, Bindings& bindings) {
  bool any = false;
  for (const Symbol& symbol : graph.symbols) {
    if (symbol.source.kind != SymbolSource::Kind::value || symbol.source.input != value) continue;
    if (symbol.source.axis < 0 || symbol.source.axis >= tensor.elements()) {
      throw ModelError(symbol_text(symbol) + " is read beyond the end of a tensor.");
    }
    bind(symbol, tensor.get_int64(symbol.source.axis), bindings);
    any = true;
  }
  if (any) bind_expressions(graph, bindings);
}

// Checks a result against its declared type and binds plain symbols that are still unknown.
void settle(const Graph& graph, const Node& node, ValueId value, const Tensor& tensor,
            Bindings& bindings) {
  const TensorType& type = graph.type(value);
  const auto disagree = [&] {
    std::string where = node.origin.empty() ? "" : " of node '" + node.origin.front() + "'";
    throw ModelError(std::string(op_info(node.op).name) + ": the result" + where +
                     " does not have the declared type " +
                     std::string(dtype_info(type.dtype).name) + shape_text(type.shape) + ".");
  };
  if (tensor.dtype() != type.dtype || tensor.shape().size() != type.shape.size()) disagree();
  for (size_t i = 0; i < type.shape.size(); ++i) {
    const Expr& dim = type.shape[i];
    if (all_bound(dim, bindings)) {
      if (dim.evaluate(bindings) != tensor.shape()[i]) disagree();
    } else if (const std::optional<std::string> name = dim.as_symbol()) {
      const Symbol* symbol = graph.find_symbol(*name);
      if (symbol != nullptr) {
        bind(*symbol, tensor.shape()[i], bindings);
      } else {
        bindings[*name] = tensor.shape()[i];
      }
      bind_expressions(graph, bindings);
    }
  }
}

std::vector<Tensor> run(const Graph& graph, Bindings bindings, const std::vector<Tensor>& inputs,
                        const NodeObserver& observer) {
  std::vector<Tensor> values(graph.values.size());
  std::vector<int32_t> uses = graph.use_counts();
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<size_t>(graph.inputs[i])] = inputs[i];
    bind_from_value(graph, graph.inputs[i], inputs[i], bindings);
  }
  bind_expressions(graph, bindings);
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> arguments;
    for (ValueId input : node.inputs) arguments.push_back(values[static_cast<size_t>(input)]);
    const std::vector<Tensor> results =
        evaluate_node(graph, node, EvaluationContext{&graph, bindings}, arguments);
    for (size_t i = 0; i < results.size(); ++i) {
      settle(graph, node, node.outputs[i], results[i], bindings);
      bind_from_value(graph, node.outputs[i], results[i], bindings);
      if (uses[static_cast<size_t>(node.outputs[i])] > 0) {
        values[static_cast<size_t>(node.outputs[i])] = results[i];
      }
    }
    if (observer) observer(node, results);
    for (ValueId input : node.inputs) {
      if (--uses[static_cast<size_t>(input)] == 0) values[static_cast<size_t>(input)] = Tensor();
    }
  }
  std::vector<Tensor> outputs;
  for (ValueId output : graph.outputs) outputs.push_back(values[static_cast<size_t>(output)]);
  return outputs;
}

std::string input_text(const Graph& graph, size_t number) {
  const std::string& name = graph.values[static_cast<size_t>(graph.inputs[number])].name;
  return name.empty() ? "input " + std::to_string(number) : "input '" + name + "'";
}

}  // namespace

Bindings bind_symbols(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    throw UsageError("the graph has " + std::to_string(graph.inputs.size()) + " inputs but " +
                     std::to_string(inputs.size()) + " were given.");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph.type(graph.inputs[i]);
    if (inputs[i].dtype() != type.dtype) {
      throw UsageError(input_text(graph, i) + " must have the element type " +
                       std::string(dtype_info(type.dtype).name) + ", not " +
                       std::string(dtype_info(inputs[i].dtype()).name) + ".");
    }
    if (inputs[i].shape().size() != type.shape.size()) {
      throw UsageError(input_text(graph, i) + " must have rank " +
                       std::to_string(type.shape.size()) + ", not " +
                       std::to_string(inputs[i].shape().size()) + ".");
    }
  }
  Bindings bindings;
  for (const Symbol& symbol : graph.symbols) {
    if (symbol.source.kind != SymbolSource::Kind::input_dim) continue;
    const auto input = static_cast<size_t>(symbol.source.input);
    const auto axis = static_cast<size_t>(symbol.source.axis);
    check_internal(input < inputs.size() && axis < inputs[input].shape().size(),
                   "a symbol's source is not a dimension of an input");
    bind(symbol, inputs[input].shape()[axis], bindings);
  }
  bind_expressions(graph, bindings);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = graph.shape(graph.inputs[i]);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (!all_bound(shape[axis], bindings)) continue;
      const int64_t expected = shape[axis].evaluate(bindings);
      if (inputs[i].shape()[axis] != expected) {
        throw UsageError("dimension " + std::to_string(axis) + " of " + input_text(graph, i) +
                         " is " + std::to_string(inputs[i].shape()[axis]) + " where " +
                         shape[axis].str() + " = " + std::to_string(expected) +
                         " is expected (shape " + shape_text(shape) + ").");
      }
    }
  }
  return bindings;
}

std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs,
                             const NodeObserver& observer) {
  return run(graph, bind_symbols(graph, inputs), inputs, observer);
}

std::vector<Tensor> evaluate_body(const Graph& body, const Bindings& bindings,
                                  const std::vector<Tensor>& inputs) {
  check_internal(inputs.size() == body.inputs.size(), "a subgraph gets a wrong number of inputs");
  Bindings all = bindings;
  // A subgraph may have symbols of its own; its inputs bind them anew on every evaluation.
  for (const Symbol& symbol : body.symbols) {
    all.erase(symbol.name);
    if (symbol.source.kind != SymbolSource::Kind::input_dim) continue;
    bind(symbol,
         inputs.at(static_cast<size_t>(symbol.source.input))
             .shape()
             .at(static_cast<size_t>(symbol.source.axis)),
         all);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = body.type(body.inputs[i]);
    bool fits = type.dtype == inputs[i].dtype() && type.shape.size() == inputs[i].shape().size();
    for (size_t a = 0; fits && a < type.shape.size(); ++a) {
      fits = !all_bound(type.shape[a], all) ||
             type.shape[a].evaluate(all) == inputs[i].shape()[a];
    }
    if (!fits) {
      throw ModelError("input " + std::to_string(i) +
                       " of a subgraph does not have the declared type " +
                       std::string(dtype_info(type.dtype).name) + shape_text(type.shape) + ".");
    }
  }
  return run(body, std::move(all), inputs, nullptr);
}

std::vector<Tensor> evaluate_node(const Graph& graph, const Node& node,
                                  const EvaluationContext& context,
                                  const std::vector<Tensor>& inputs) {
  const OpInfo& info = op_info(node.op);
  std::vector<Tensor> outputs(node.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorType& type = graph.type(node.outputs[i]);
    std::vector<int64_t> shape;
    bool known = true;
    for (const Expr& dim : type.shape) {
      known = known && all_bound(dim, context.bindings);
      if (!known && (info.traits & (kDataDependent | kControl)) != 0) break;
      shape.push_back(dim.evaluate(context.bindings));  // UsageError names a missing symbol
    }
    // Data-dependent and control operators make their outputs themselves; constants share theirs.
    if (!known || (info.traits & (kDataDependent | kControl)) != 0 || node.op == Op::constant) {
      continue;
    }
    outputs[i] = Tensor(type.dtype, shape);
  }
  try {
    info.evaluate(node, context, inputs, outputs);
  } catch (const ModelError& error) {
    if (node.origin.empty()) throw;
    throw ModelError("node '" + node.origin.front() + "': " + error.what());
  }
  return outputs;
}

}  // namespace mcc
