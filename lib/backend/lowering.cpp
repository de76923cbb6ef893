// Element-wise lowering of a fused group's body: values at symbolic indices.
#include "lib/backend/lowering.h"

#include <algorithm>

#include "lib/ir/view_index.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

bool is_inlined(const Node& node) {
  return has_trait(node.op, kElementwise | kView | kSource | kIndexed);
}

}  // namespace

Expr linear_index(const Indices& indices, const Shape& shape) {
  check_internal(indices.size() == shape.size(), "index and shape of different rank");
  Expr linear = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) linear = linear * shape[axis] + indices[axis];
  return linear;
}

Indices delinearize(const Expr& linear, const Shape& shape) {
  Indices indices(shape.size());
  Expr rest = linear;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (axis == 0) {
      indices[axis] = rest;
    } else {
      indices[axis] = mod(rest, shape[axis]);
      rest = floordiv(rest, shape[axis]);
    }
  }
  return indices;
}

GroupLowering::GroupLowering(const Group& group, LoopKernel& kernel)
    : group_(group), kernel_(kernel), producers_(group.body->producers()) {
  const Graph& body = *group.body;
  for (const Node& node : body.nodes) {
    if (is_inlined(node)) continue;
    check_internal(anchor_ == nullptr, "a fused group with two anchors");
    anchor_ = &node;
  }
  std::set<std::string> symbols;
  auto note_shape = [&](const Shape& shape) {
    for (const Expr& dim : shape) symbols.merge(dim.symbols());
  };
  kernel_.buffers.clear();
  for (size_t input = 0; input < body.inputs.size(); ++input) {
    const TensorType& type = body.type(body.inputs[input]);
    KernelBuffer buffer;
    buffer.dtype = type.dtype;
    buffer.elements = product(type.shape);
    parameter_of_[body.inputs[input]] = static_cast<int>(kernel_.buffers.size());
    kernel_.buffers.push_back(std::move(buffer));
  }
  for (ValueId output : body.outputs) {
    const TensorType& type = body.type(output);
    KernelBuffer buffer;
    buffer.dtype = type.dtype;
    buffer.elements = product(type.shape);
    buffer.output = true;
    kernel_.buffers.push_back(std::move(buffer));
  }
  // Every symbol that shapes or symbolic attributes mention may be needed at run time.
  for (ValueId input : body.inputs) note_shape(body.shape(input));
  for (const Node& node : body.nodes) {
    for (ValueId output : node.outputs) note_shape(body.shape(output));
    for (const auto& [name, value] : node.attributes.entries()) {
      if (const Shape* shape = std::get_if<Shape>(&value)) note_shape(*shape);
    }
  }
  kernel_.dims.assign(symbols.begin(), symbols.end());
  kernel_.ranges = group.outer->ranges();
}

std::string GroupLowering::new_variable(const std::string& prefix, const Expr& extent) {
  std::string variable = prefix + std::to_string(next_variable_++);
  // Graph symbols are "s<n>"; a clash would mix up a size and a loop.
  check_internal(kernel_.ranges.count(variable) == 0, "a loop variable has a symbol's name");
  declare(variable, extent);
  return variable;
}

void GroupLowering::declare(const std::string& variable, const Expr& extent) {
  const Range extent_range = bounds(extent, kernel_.ranges);
  const int64_t high =
      extent_range.high >= Range::kUnbounded ? Range::kUnbounded : extent_range.high - 1;
  kernel_.ranges[variable] = Range{0, std::max<int64_t>(high, 0)};
  upper_bounds_[variable] = extent;
}

Expr GroupLowering::simplified(const Expr& expr) const {
  return simplify(expr, kernel_.ranges, upper_bounds_);
}

ScalarPtr GroupLowering::element(ValueId value, const Indices& indices) {
  if (auto pinned = pinned_.find(value); pinned != pinned_.end()) return pinned->second;
  auto key = std::make_pair(value, indices);
  if (auto found = memo_.find(key); found != memo_.end()) return found->second;
  ScalarPtr result = compute(value, indices);
  memo_.emplace(std::move(key), result);
  return result;
}

ScalarPtr GroupLowering::compute(ValueId value, const Indices& indices) {
  const TensorType& type = body().type(value);
  if (auto parameter = parameter_of_.find(value); parameter != parameter_of_.end()) {
    return load(parameter->second, type.dtype, simplified(linear_index(indices, type.shape)));
  }
  const int32_t producer = producers_[static_cast<size_t>(value)];
  check_internal(producer >= 0, "a fused group reads an undefined value");
  return compute_node(body().nodes[static_cast<size_t>(producer)], indices);
}

std::string GroupLowering::indirect_symbol(ScalarPtr value, const Expr& dimension) {
  // Negative indices count from the end; what is still out of range is clamped, so that a wrong
  // index in the data can never make a kernel read outside its buffer.
  ScalarPtr index = cast_scalar(std::move(value), DType::i64);
  const ScalarPtr extent = index_value(dimension);
  const ScalarPtr zero = literal_integer(DType::i64, 0);
  index = apply("select", {apply("lt", {index, zero}), apply("add", {index, extent}), index});
  index = apply("max", {zero, apply("min", {index, index_value(dimension - 1)})});
  const std::string symbol = new_variable("g", dimension);
  kernel_.indirect[symbol] = index;
  return symbol;
}

ScalarPtr GroupLowering::compute_node(const Node& node, const Indices& indices) {
  const Graph& graph = body();
  auto operand = [&](size_t input, const Indices& at) { return element(node.inputs[input], at); };
  auto shape_of = [&](size_t input) -> const Shape& { return graph.shape(node.inputs[input]); };
  const DType dtype = graph.dtype(node.outputs[0]);

  switch (node.op) {
    case Op::map: {
      std::vector<ScalarPtr> operands;
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        operands.push_back(operand(input, indices));
      }
      const std::string& function = node.attributes.text("fn");
      if (function == "cast") return cast_scalar(operands[0], node.attributes.dtype("to"));
      return apply(function, std::move(operands));
    }
    case Op::constant: {
      const TensorPtr& tensor = node.attributes.tensor("value");
      check_internal(tensor->elements() == 1, "a fused group holds a constant that is not scalar");
      return is_floating(dtype) ? literal(dtype, tensor->get_double(0))
                                : literal_integer(dtype, tensor->get_int64(0));
    }
    case Op::iota: {
      const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
      return index_value(indices[axis], dtype);
    }
    case Op::dims: {
      const Shape& values = node.attributes.shape("values");
      ScalarPtr result = index_value(values.back());
      for (size_t i = values.size() - 1; i-- > 0;) {
        result = guarded({Expr(static_cast<int64_t>(i)) - indices[0]}, index_value(values[i]), result);
      }
      return result;
    }
    case Op::gather: {
      const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
      const size_t index_rank = shape_of(1).size();
      const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(axis);
      const auto end = begin + static_cast<std::ptrdiff_t>(index_rank);
      Indices at(indices.begin(), begin);
      at.push_back(Expr::symbol(indirect_symbol(operand(1, Indices(begin, end)), shape_of(0)[axis])));
      at.insert(at.end(), end, indices.end());
      return operand(0, at);
    }
    case Op::gather_elements: {
      const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
      Indices at = indices;
      at[axis] = Expr::symbol(indirect_symbol(operand(1, indices), shape_of(0)[axis]));
      return operand(0, at);
    }
    case Op::gather_nd: {
      const auto batch = static_cast<size_t>(node.attributes.integer("batch_dims"));
      const size_t index_rank = shape_of(1).size();
      const int64_t depth = shape_of(1).back().constant();
      Indices at(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(batch));
      Indices index_at(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(index_rank - 1));
      index_at.emplace_back(0);
      for (int64_t k = 0; k < depth; ++k) {
        index_at.back() = k;
        const Expr& dimension = shape_of(0)[batch + static_cast<size_t>(k)];
        at.push_back(Expr::symbol(indirect_symbol(operand(1, index_at), dimension)));
      }
      at.insert(at.end(), indices.begin() + static_cast<std::ptrdiff_t>(index_rank - 1), indices.end());
      return operand(0, at);
    }
    case Op::pad: {
      PaddedIndex padded = pad_index(node, indices, shape_of(0));
      Guard guard;
      for (Expr& condition : padded.guard) {
        condition = simplified(condition);
        if (bounds(condition, kernel_.ranges).low < 0) guard.push_back(condition);
      }
      if (guard.empty()) return operand(0, padded.indices);
      return guarded(std::move(guard), operand(0, padded.indices), operand(1, {}));
    }
    case Op::concat: {
      const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
      std::vector<Expr> offsets{0};
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        offsets.push_back(offsets.back() + shape_of(input)[axis]);
      }
      ScalarPtr result;
      for (size_t input = node.inputs.size(); input-- > 0;) {
        if (shape_of(input)[axis].is_constant(0)) continue;
        // Operand `input` holds axis positions below offsets[input + 1].
        const Expr inside = simplified(offsets[input + 1] - 1 - indices[axis]);
        const Range range = bounds(inside, kernel_.ranges);
        if (result != nullptr && range.high < 0) continue;
        Indices at = indices;
        at[axis] = simplified(indices[axis] - offsets[input]);
        ScalarPtr part = operand(input, at);
        result = result == nullptr || range.low >= 0 ? part : guarded({inside}, part, result);
      }
      check_internal(result != nullptr, "concat of nothing but empty tensors");
      return result;
    }
    default: {
      // The remaining views map one output element to one input element.
      if (std::optional<Indices> at = view_source_indices(node, indices, shape_of(0))) {
        for (Expr& index : *at) index = simplified(index);
        return operand(0, *at);
      }
      throw InternalError("operator '" + std::string(op_info(node.op).name) +
                          "' was fused but cannot be computed element by element");
    }
  }
}

int GroupLowering::direct_parameter(ValueId value) const {
  for (;;) {
    if (auto parameter = parameter_of_.find(value); parameter != parameter_of_.end()) {
      return parameter->second;
    }
    const int32_t producer = producers_[static_cast<size_t>(value)];
    if (producer < 0) return -1;
    const Node& node = body().nodes[static_cast<size_t>(producer)];
    if (node.op != Op::reshape) return -1;
    value = node.inputs[0];
  }
}

std::vector<GroupLowering::Result> GroupLowering::results(const Indices& indices,
                                                          const ScalarPtr& value,
                                                          int anchor_output) {
  check_internal(anchor_ != nullptr, "finish() on a group without an anchor");
  std::map<ValueId, Indices> forward;
  const ValueId start = anchor_->outputs[static_cast<size_t>(anchor_output)];
  pinned_.clear();
  pinned_[start] = value;
  forward[start] = indices;
  for (const Node& node : body().nodes) {
    const Indices* at = nullptr;
    for (ValueId input : node.inputs) {
      auto found = forward.find(input);
      if (found == forward.end()) continue;
      if (at == nullptr) at = &found->second;
      check_internal(*at == found->second, "an epilogue reads its anchor at two indices");
    }
    if (at == nullptr) continue;
    if (node.op == Op::map) {
      const Indices here = *at;
      pinned_[node.outputs[0]] = compute_node(node, here);
      forward[node.outputs[0]] = here;
    } else {
      std::optional<Indices> to = view_target_indices(node, *at, body().shape(node.inputs[0]));
      check_internal(to.has_value(), "an epilogue holds a view that cannot be stored through");
      for (Expr& index : *to) index = simplified(index);
      pinned_[node.outputs[0]] = pinned_.at(node.inputs[0]);
      forward[node.outputs[0]] = std::move(*to);
    }
  }
  std::vector<Result> found;
  for (size_t number = 0; number < body().outputs.size(); ++number) {
    const ValueId output = body().outputs[number];
    auto at = forward.find(output);
    if (at == forward.end()) continue;
    const TensorType& type = body().type(output);
    found.push_back({static_cast<int>(body().inputs.size() + number), type.dtype,
                     simplified(linear_index(at->second, type.shape)), pinned_.at(output)});
  }
  pinned_.clear();
  return found;
}

Block GroupLowering::finish(const Indices& indices, const ScalarPtr& value, int anchor_output) {
  Block block;
  for (Result& result : results(indices, value, anchor_output)) {
    block.push_back(make_store(result.buffer, result.storage, result.index, result.value));
  }
  return block;
}

StmtPtr GroupLowering::store_output(int number, const Indices& indices) {
  const ValueId output = body().outputs[static_cast<size_t>(number)];
  const TensorType& type = body().type(output);
  return make_store(static_cast<int>(body().inputs.size()) + number, type.dtype,
                    simplified(linear_index(indices, type.shape)), element(output, indices));
}

}  // namespace mcc::backend
