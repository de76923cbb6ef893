// if, loop, call, fused: operators that hold subgraphs. Subgraphs see nothing but their explicit
// inputs and the symbols of the outer graph.
#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

const Graph& subgraph(const Node& node, size_t number, size_t expected) {
  if (node.subgraphs.size() != expected) {
    refuse(node, "there are " + std::to_string(node.subgraphs.size()) + " subgraphs where " +
                     std::to_string(expected) + " are needed.");
  }
  return node.subgraphs[number];
}

// Checks that `types` fit the inputs of `body` from its `first` one on.
void check_inputs(const Node& node, const Graph& body, const std::vector<TensorType>& types,
                  size_t skip, size_t first) {
  if (body.inputs.size() != types.size() - skip + first) {
    refuse(node, "the subgraph has " + std::to_string(body.inputs.size()) + " inputs but gets " +
                     std::to_string(types.size() - skip + first) + ".");
  }
  for (size_t i = skip; i < types.size(); ++i) {
    const TensorType& expected = body.type(body.inputs[i - skip + first]);
    const std::string what = "input " + std::to_string(i) + " and the subgraph's input";
    require_same_dtype(node, types[i].dtype, expected.dtype, what);
    merge_shapes(node, types[i].shape, expected.shape, what);
  }
}

// The shape of output `number`: what the attribute out_shape<number> says, else `inferred`.
Shape declared_shape(const Node& node, size_t number, const Shape& inferred) {
  const std::string name = "out_shape" + std::to_string(number);
  if (!node.attributes.has(name)) return inferred;
  return merge_shapes(node, shape_of(node, name), shape_of(node, name), "the output");
}

std::vector<TensorType> output_types(const Graph& body) {
  std::vector<TensorType> types;
  for (ValueId output : body.outputs) types.push_back(body.type(output));
  return types;
}

std::vector<TensorType> infer_if(const Node& node, const std::vector<TensorType>& inputs) {
  if (inputs[0].dtype != DType::boolean) refuse(node, "the condition must be bool.");
  require_single(node, inputs[0], "the condition");
  const std::vector<TensorType> then_types = output_types(subgraph(node, 0, 2));
  const std::vector<TensorType> else_types = output_types(subgraph(node, 1, 2));
  check_inputs(node, node.subgraphs[0], inputs, 1, 0);
  check_inputs(node, node.subgraphs[1], inputs, 1, 0);
  if (then_types.size() != else_types.size()) {
    refuse(node, "the branches have different numbers of outputs.");
  }
  std::vector<TensorType> out;
  for (size_t i = 0; i < then_types.size(); ++i) {
    const std::string what = "output " + std::to_string(i) + " of the branches";
    require_same_dtype(node, then_types[i].dtype, else_types[i].dtype, what);
    const std::string declared = "out_shape" + std::to_string(i);
    out.push_back({then_types[i].dtype,
                   node.attributes.has(declared)
                       ? declared_shape(node, i, {})
                       : merge_shapes(node, then_types[i].shape, else_types[i].shape, what)});
  }
  return out;
}

std::vector<TensorType> infer_loop(const Node& node, const std::vector<TensorType>& inputs) {
  const Graph& body = subgraph(node, 0, 1);
  const int64_t carried_attribute = integer_of(node, "carried");
  if (carried_attribute < 0 || carried_attribute > static_cast<int64_t>(inputs.size()) - 2) {
    refuse(node, "the number of carried values does not fit the inputs.");
  }
  const auto carried = static_cast<size_t>(carried_attribute);
  if (!is_integer(inputs[0].dtype)) refuse(node, "the trip count must be an integer.");
  if (inputs[1].dtype != DType::boolean) refuse(node, "the condition must be bool.");
  require_single(node, inputs[0], "the trip count");
  require_single(node, inputs[1], "the condition");
  // The body's first two inputs are the iteration number and the condition.
  if (body.inputs.size() != inputs.size()) {
    refuse(node, "the subgraph has " + std::to_string(body.inputs.size()) + " inputs but gets " +
                     std::to_string(inputs.size()) + ".");
  }
  if (body.outputs.size() < carried + 1) {
    refuse(node, "the subgraph must return the condition and all carried values.");
  }
  std::vector<TensorType> out;
  for (size_t i = 1; i < body.outputs.size(); ++i) {
    TensorType type = body.type(body.outputs[i]);
    if (i <= carried) {
      const TensorType& entry = inputs[i + 1];
      const std::string what = "carried value " + std::to_string(i - 1);
      require_same_dtype(node, entry.dtype, type.dtype, what + " before and after an iteration");
      if (!node.attributes.has("out_shape" + std::to_string(i - 1))) {
        type.shape =
            merge_shapes(node, type.shape, entry.shape, what + " before and after an iteration");
      }
    } else {
      type.shape.insert(type.shape.begin(), shape_of(node, "count", 1)[0]);
    }
    type.shape = declared_shape(node, i - 1, type.shape);
    out.push_back(type);
  }
  return out;
}

std::vector<TensorType> infer_call(const Node& node, const std::vector<TensorType>& inputs) {
  const Graph& body = subgraph(node, 0, 1);
  if (node.op == Op::fused) text_of(node, "schedule");
  check_inputs(node, body, inputs, 0, 0);
  return output_types(body);
}

void evaluate_if(const Node& node, const EvaluationContext& context, std::span<const Tensor> inputs,
                 std::span<Tensor> outputs) {
  const Graph& branch = node.subgraphs[inputs[0].get_int64(0) != 0 ? 0 : 1];
  std::vector<Tensor> results =
      evaluate_body(branch, context.bindings, {inputs.begin() + 1, inputs.end()});
  std::move(results.begin(), results.end(), outputs.begin());
}

// The scan outputs of all iterations, stacked along a new first axis.
Tensor stacked(const std::vector<Tensor>& parts, DType dtype, std::vector<int64_t> shape) {
  if (!parts.empty()) shape = parts[0].shape();
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  Tensor result(dtype, shape);
  int64_t at = 0;
  for (const Tensor& part : parts) {
    copy_elements(part, 0, result, at, part.elements());
    at += part.elements();
  }
  return result;
}

void evaluate_loop(const Node& node, const EvaluationContext& context,
                   std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Graph& body = node.subgraphs[0];
  const auto carried = static_cast<size_t>(node.attributes.integer("carried"));
  const size_t scans = outputs.size() - carried;
  const int64_t trips = inputs[0].get_int64(0);
  bool running = inputs[1].get_int64(0) != 0;
  std::vector<Tensor> state(inputs.begin() + 2, inputs.begin() + 2 + static_cast<int64_t>(carried));
  std::vector<std::vector<Tensor>> collected(scans);
  for (int64_t trip = 0; running && trip < trips; ++trip) {
    std::vector<Tensor> arguments{Tensor::scalar(DType::i64, 0), Tensor::scalar(DType::boolean, 1)};
    arguments[0].set_int64(0, trip);
    arguments.insert(arguments.end(), state.begin(), state.end());
    arguments.insert(arguments.end(), inputs.begin() + 2 + static_cast<int64_t>(carried),
                     inputs.end());
    const std::vector<Tensor> results = evaluate_body(body, context.bindings, arguments);
    running = results[0].get_int64(0) != 0;
    for (size_t i = 0; i < carried; ++i) state[i] = results[i + 1];
    for (size_t i = 0; i < scans; ++i) collected[i].push_back(results[i + 1 + carried]);
  }
  for (size_t i = 0; i < carried; ++i) outputs[i] = state[i];
  for (size_t i = 0; i < scans; ++i) {
    // Without iterations the shape is the declared one; dimensions unknown then are 0.
    const TensorType& type = body.type(body.outputs[i + 1 + carried]);
    std::vector<int64_t> shape;
    for (const Expr& dim : type.shape) {
      bool known = true;
      for (const std::string& symbol : dim.symbols()) {
        known = known && context.bindings.find(symbol) != context.bindings.end();
      }
      shape.push_back(known ? dim.evaluate(context.bindings) : 0);
    }
    outputs[carried + i] = stacked(collected[i], type.dtype, shape);
  }
}

void evaluate_call(const Node& node, const EvaluationContext& context,
                   std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<Tensor> results =
      evaluate_body(node.subgraphs[0], context.bindings, {inputs.begin(), inputs.end()});
  std::move(results.begin(), results.end(), outputs.begin());
}

const OpInfo kRows[] = {
    {Op::if_op, "if", 1, -1, -1, kControl, infer_if, evaluate_if},
    {Op::loop, "loop", 2, -1, -1, kControl, infer_loop, evaluate_loop},
    {Op::call, "call", 0, -1, -1, kControl, infer_call, evaluate_call},
    {Op::fused, "fused", 0, -1, -1, kControl, infer_call, evaluate_call},
};

}  // namespace

std::span<const OpInfo> control_ops() { return rows(kRows); }

}  // namespace mcc::ops
