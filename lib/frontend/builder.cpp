// Emission of IR nodes.
#include "lib/frontend/builder.h"

#include <algorithm>

#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {

Ints axis_range(int64_t low, int64_t high) {
  Ints axes;
  for (int64_t axis = low; axis < high; ++axis) axes.push_back(axis);
  return axes;
}

int64_t normalize_axis(int64_t axis, int64_t rank) {
  const int64_t positive = axis < 0 ? axis + rank : axis;
  if (positive < 0 || positive >= std::max<int64_t>(rank, 1)) {
    throw ModelError("axis " + std::to_string(axis) + " is out of range for a tensor of rank " + std::to_string(rank));
  }
  return positive;
}

ValueId Builder::value(const Operand& operand) {
  if (!operand) throw ModelError("a required input is missing");
  if (operand.is_poison()) throw ModelError("an input could not be imported");
  if (operand.owner() == this) return operand.id();
  auto found = materialised_.find(operand.identity());
  if (found != materialised_.end()) return found->second;
  ValueId id = kNoValue;
  if (operand.constant_tensor() != nullptr) {
    Attributes attributes;
    attributes.set("value", operand.tensor_pointer());
    id = graph_.append_one(Op::constant, {}, std::move(attributes));
    graph_.values[static_cast<size_t>(id)].name = operand.name();
  } else {
    const KnownValues values = operand.known_values().value();
    Shape numerators;
    bool whole = true;
    for (const Known& known : values) {
      numerators.push_back(known.numerator);
      whole = whole && known.denominator == 1;
    }
    Attributes attributes;
    attributes.set("values", numerators);
    const ValueId integers = graph_.append_one(Op::dims, {}, std::move(attributes), {origin_});
    Operand result = Operand::value(this, integers, graph_.type(integers));
    result = reshape(cast(result, operand.dtype()), operand.shape());
    if (!whole) {
      std::vector<Known> denominators;
      for (const Known& known : values) denominators.push_back({Expr(known.denominator), 1});
      result = map("div", {result, Operand::known(operand.dtype(), operand.shape(), denominators)});
    }
    id = result.id();
  }
  materialised_[operand.identity()] = id;
  kept_.push_back(operand);
  return id;
}

std::vector<Operand> Builder::emit_all(Op op, const std::vector<Operand>& inputs, Attributes attributes) {
  Node node;
  node.op = op;
  for (const Operand& input : inputs) node.inputs.push_back(input ? value(input) : kNoValue);
  node.attributes = std::move(attributes);
  if (!origin_.empty()) node.origin = {origin_};
  std::vector<Operand> results;
  for (ValueId id : graph_.append(std::move(node))) results.push_back(Operand::value(this, id, graph_.type(id)));
  return results;
}

Operand Builder::emit(Op op, const std::vector<Operand>& inputs, Attributes attributes) {
  return emit_all(op, inputs, std::move(attributes)).at(0);
}

Shape Builder::broadcast_shape(const std::vector<Shape>& shapes) {
  size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape result(rank, Expr(1));
  for (const Shape& shape : shapes) {
    const size_t lead = rank - shape.size();
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      Expr& dim = result[lead + axis];
      if (shape[axis].is_constant(1) || dim == shape[axis]) continue;
      if (dim.is_constant(1)) {
        dim = shape[axis];
      } else if (dim.is_constant() && shape[axis].is_constant()) {
        throw ModelError("shapes " + shape_text(result) + " and " + shape_text(shape) + " cannot be broadcast together");
      } else if (shape[axis].is_constant()) {
        dim = shape[axis];  // a symbolic dim that meets a constant must equal it
      }
    }
  }
  return result;
}

Operand Builder::broadcast_to(const Operand& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const size_t lead = shape.size() - x.shape().size();
  Ints axes;
  Shape source;
  // Unit dims that grow are dropped first where everything before them is a unit too: a scalar then
  // stays recognisable as one.
  bool all_units = true;
  for (const Expr& dim : x.shape()) all_units = all_units && dim.is_constant(1);
  Operand from = x;
  if (all_units && x.rank() > 0) {
    from = reshape(x, {});
  } else {
    axes = axis_range(static_cast<int64_t>(lead), static_cast<int64_t>(shape.size()));
  }
  Attributes attributes;
  attributes.set("shape", shape);
  attributes.set("axes", axes);
  return emit(Op::broadcast, {from}, std::move(attributes));
}

Operand Builder::map(const std::string& fn, const std::vector<Operand>& operands) {
  std::vector<Shape> shapes;
  for (const Operand& operand : operands) shapes.push_back(operand.shape());
  const Shape shape = broadcast_shape(shapes);
  std::vector<Operand> inputs;
  for (const Operand& operand : operands) inputs.push_back(broadcast_to(operand, shape));
  Attributes attributes;
  attributes.set("fn", fn);
  return emit(Op::map, inputs, std::move(attributes));
}

Operand Builder::cast(const Operand& x, DType to) {
  if (x.dtype() == to) return x;
  Attributes attributes;
  attributes.set("fn", std::string("cast"));
  attributes.set("to", to);
  return emit(Op::map, {x}, std::move(attributes));
}

Operand Builder::scalar(DType dtype, double value) {
  return Operand::constant(std::make_shared<const Tensor>(Tensor::scalar(dtype, value)));
}

Operand Builder::reshape(const Operand& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (x.constant_tensor() != nullptr) {
    std::vector<int64_t> dims;
    for (const Expr& dim : shape) dims.push_back(dim.constant());
    return Operand::constant(std::make_shared<const Tensor>(x.constant_tensor()->reshaped(dims)));
  }
  Attributes attributes;
  attributes.set("shape", shape);
  return emit(Op::reshape, {x}, std::move(attributes));
}

Operand Builder::transpose(const Operand& x, const Ints& perm) {
  if (perm == axis_range(0, x.rank())) return x;
  Attributes attributes;
  attributes.set("perm", perm);
  return emit(Op::transpose, {x}, std::move(attributes));
}

Operand Builder::slice(const Operand& x, int64_t axis, const Expr& start, const Expr& size, int64_t step) {
  Shape starts(x.shape().size(), Expr(0));
  Shape shape = x.shape();
  Ints steps(x.shape().size(), 1);
  starts[static_cast<size_t>(axis)] = start;
  shape[static_cast<size_t>(axis)] = size;
  steps[static_cast<size_t>(axis)] = step;
  if (shape == x.shape() && step == 1) return x;
  Attributes attributes;
  attributes.set("starts", starts);
  attributes.set("shape", shape);
  attributes.set("steps", steps);
  return emit(Op::slice, {x}, std::move(attributes));
}

Operand Builder::concat(const std::vector<Operand>& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  Attributes attributes;
  attributes.set("axis", axis);
  return emit(Op::concat, parts, std::move(attributes));
}

Operand Builder::reduce(const std::string& fn, const Operand& x, Ints axes, bool keep_dims) {
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  Operand result = x;
  if (!axes.empty()) {
    Attributes attributes;
    attributes.set("fn", fn);
    attributes.set("axes", axes);
    result = emit(Op::reduce, {x}, std::move(attributes));
  }
  if (!keep_dims) return result;
  Shape shape = x.shape();
  for (int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  return reshape(result, shape);
}

Operand Builder::gather(const Operand& data, const Operand& indices, int64_t axis) {
  Attributes attributes;
  attributes.set("axis", axis);
  return emit(Op::gather, {data, indices}, std::move(attributes));
}

Operand Builder::matmul(const Operand& left, const Operand& right, DType out) {
  // Vectors become matrices for the product, and lose the added axis again.
  const bool left_vector = left.rank() == 1;
  const bool right_vector = right.rank() == 1;
  Operand a = left_vector ? reshape(left, {Expr(1), left.dim(0)}) : left;
  Operand b = right_vector ? reshape(right, {right.dim(0), Expr(1)}) : right;
  const int64_t ra = a.rank();
  const int64_t rb = b.rank();
  Attributes attributes;
  attributes.set("out", out);
  Operand result;
  if (rb == 2) {
    // The leading axes of the left operand are rows: one product instead of many small ones.
    attributes.set("lhs_batch", Ints{});
    attributes.set("rhs_batch", Ints{});
    attributes.set("lhs_contract", Ints{ra - 1});
    attributes.set("rhs_contract", Ints{0});
    result = emit(Op::contract, {a, b}, std::move(attributes));
  } else {
    const Shape batch_a(a.shape().begin(), a.shape().end() - 2);
    const Shape batch_b(b.shape().begin(), b.shape().end() - 2);
    const Shape batch = broadcast_shape({batch_a, batch_b});
    auto spread = [&](const Operand& x) {
      Shape shape = batch;
      shape.insert(shape.end(), x.shape().end() - 2, x.shape().end());
      return broadcast_to(x, shape);
    };
    a = spread(a);
    b = spread(b);
    const auto rank = static_cast<int64_t>(batch.size());
    attributes.set("lhs_batch", axis_range(0, rank));
    attributes.set("rhs_batch", axis_range(0, rank));
    attributes.set("lhs_contract", Ints{rank + 1});
    attributes.set("rhs_contract", Ints{rank});
    result = emit(Op::contract, {a, b}, std::move(attributes));
  }
  Shape shape = result.shape();
  if (right_vector) shape.pop_back();
  if (left_vector) shape.erase(shape.end() - (right_vector ? 1 : 2));
  return reshape(result, shape);
}

}  // namespace mcc::frontend
