// Builder: one function for each primitive that import functions use.
#include <algorithm>
#include <cmath>

#include "lib/frontend/builder.h"
#include "lib/support/error.h"

namespace mcc::frontend {

Operand Builder::scalar(DType dtype, double value) {
  return Operand::constant(std::make_shared<const Tensor>(Tensor::scalar(dtype, value)));
}

Operand Builder::integers(const Ints& values) { return constant(Tensor::from_int64(values)); }

Operand Builder::constant(Tensor tensor) {
  return Operand::constant(std::make_shared<const Tensor>(std::move(tensor)));
}

Operand Builder::dims(const Shape& values) {
  KnownValues known;
  for (const Expr& value : values) known.push_back({value, 1});
  return Operand::known(DType::i64, {static_cast<int64_t>(values.size())}, std::move(known));
}

Operand Builder::number(const Expr& value, DType dtype) {
  if (value.is_constant()) return scalar(dtype, static_cast<double>(value.constant()));
  return Operand::known(dtype, {}, {{value, 1}});
}

Operand Builder::full(const Shape& shape, const Operand& rank0) {
  return broadcast(rank0, shape, {});
}

Operand Builder::iota(const Shape& shape, int64_t axis, DType dtype) {
  Attributes attributes;
  attributes.set("shape", shape);
  attributes.set("axis", axis);
  attributes.set("dtype", dtype);
  return emit(Op::iota, {}, std::move(attributes));
}

Operands Builder::broadcast_together(Operands operands) {
  Shape shape = operands.at(0).shape();
  for (size_t i = 1; i < operands.size(); ++i) shape = common_shape(shape, operands[i].shape());
  for (Operand& operand : operands) operand = broadcast_to(operand, shape);
  return operands;
}

Operand Builder::map(std::string_view fn, Operands operands) {
  Attributes attributes;
  attributes.set("fn", std::string(fn));
  return emit(Op::map, broadcast_together(std::move(operands)), std::move(attributes));
}

Operand Builder::cast(const Operand& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Attributes attributes;
  attributes.set("fn", std::string("cast"));
  attributes.set("to", dtype);
  return emit(Op::map, {x}, std::move(attributes));
}

Operand Builder::reshape(const Operand& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Attributes attributes;
  attributes.set("shape", shape);
  return emit(Op::reshape, {x}, std::move(attributes));
}

Operand Builder::transpose(const Operand& x, const Ints& perm) {
  if (perm == iota_axes(0, x.rank())) return x;
  Attributes attributes;
  attributes.set("perm", perm);
  return emit(Op::transpose, {x}, std::move(attributes));
}

Operand Builder::move_axis(const Operand& x, int64_t from, int64_t to) {
  Ints perm = other_axes(x.rank(), {from});
  perm.insert(perm.begin() + to, from);
  return transpose(x, perm);
}

Operand Builder::broadcast(const Operand& x, const Shape& shape, const Ints& axes) {
  if (x.shape() == shape) return x;
  Attributes attributes;
  attributes.set("shape", shape);
  attributes.set("axes", axes);
  return emit(Op::broadcast, {x}, std::move(attributes));
}

Operand Builder::broadcast_to(const Operand& x, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  const Ints axes = iota_axes(rank - x.rank(), rank);
  // Dimensions taken to be equal need no node.
  bool same = x.rank() == rank;
  for (size_t i = 0; same && i < shape.size(); ++i) {
    same = !x.shape()[i].is_constant(1) || shape[i].is_constant(1);
  }
  return same ? x : broadcast(x, shape, axes);
}

Operand Builder::along_axis(const Operand& vector, int64_t axis, int64_t rank) {
  Shape shape(static_cast<size_t>(rank), Expr(1));
  shape.at(static_cast<size_t>(axis)) = product(vector.shape());
  return reshape(vector, shape);
}

Operand Builder::unsqueeze(const Operand& x, Ints axes) {
  const int64_t rank = x.rank() + static_cast<int64_t>(axes.size());
  axes = normalized_axes(axes, rank);
  Shape shape = x.shape();
  for (int64_t axis : axes) shape.insert(shape.begin() + axis, Expr(1));
  return reshape(x, shape);
}

Operand Builder::squeeze(const Operand& x, Ints axes) {
  axes = normalized_axes(axes, x.rank());
  Shape shape = x.shape();
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    merge(shape[static_cast<size_t>(*axis)], 1);
    shape.erase(shape.begin() + *axis);
  }
  return reshape(x, shape);
}

Operand Builder::slice(const Operand& x, const Shape& starts, const Shape& shape,
                       const Ints& steps) {
  bool whole = x.shape() == shape;
  for (size_t i = 0; whole && i < steps.size(); ++i) {
    whole = starts[i].is_constant(0) && steps[i] == 1;
  }
  if (whole) return x;
  Attributes attributes;
  attributes.set("starts", starts);
  attributes.set("shape", shape);
  attributes.set("steps", steps);
  return emit(Op::slice, {x}, std::move(attributes));
}

Operand Builder::slice_axis(const Operand& x, int64_t axis, const Expr& start, const Expr& size,
                            int64_t step) {
  Shape starts(x.shape().size(), Expr(0));
  Shape shape = x.shape();
  Ints steps(x.shape().size(), 1);
  starts.at(static_cast<size_t>(axis)) = start;
  shape.at(static_cast<size_t>(axis)) = size;
  steps.at(static_cast<size_t>(axis)) = step;
  return slice(x, starts, shape, steps);
}

Operand Builder::reverse(const Operand& x, int64_t axis) {
  return slice_axis(x, axis, x.dim(axis) - 1, x.dim(axis), -1);
}

Operand Builder::pad(const Operand& x, const Shape& low, const Shape& high,
                     const std::string& mode, const Operand& fill) {
  const auto is_zero = [](const Expr& e) { return e.is_constant(0); };
  if (std::all_of(low.begin(), low.end(), is_zero) &&
      std::all_of(high.begin(), high.end(), is_zero)) {
    return x;
  }
  Attributes attributes;
  attributes.set("low", low);
  attributes.set("high", high);
  attributes.set("mode", mode);
  Operands inputs{x};
  if (mode == "constant") inputs.push_back(fill ? fill : scalar(x.dtype(), 0));
  return emit(Op::pad, inputs, std::move(attributes));
}

Operand Builder::concat(const Operands& parts, int64_t axis) {
  if (parts.empty()) throw ModelError("there is nothing to concatenate.");
  // Parts that are empty for certain contribute nothing (an empty cache, a ScatterND remainder).
  Operands used;
  for (const Operand& part : parts) {
    if (part.rank() != parts[0].rank()) {
      throw ModelError("the parts to concatenate have different ranks: " +
                       shape_text(parts[0].shape()) + " and " + shape_text(part.shape()) + ".");
    }
    if (!part.dim(axis).is_constant(0)) used.push_back(part);
  }
  if (used.empty()) return parts[0];
  for (size_t i = 1; i < used.size(); ++i) {
    for (int64_t a = 0; a < used[0].rank(); ++a) {
      if (a != axis) merge(used[0].dim(a), used[i].dim(a));
    }
  }
  if (used.size() == 1) return used[0];
  Attributes attributes;
  attributes.set("axis", axis);
  return emit(Op::concat, used, std::move(attributes));
}

Operand Builder::gather(const Operand& x, const Operand& indices, int64_t axis) {
  Attributes attributes;
  attributes.set("axis", axis);
  return emit(Op::gather, {x, indices}, std::move(attributes));
}

Operand Builder::reduce(std::string_view fn, const Operand& x, Ints axes, bool keep_dims) {
  axes = normalized_axes(axes, x.rank());
  Operand result = x;
  if (!axes.empty()) {
    Attributes attributes;
    attributes.set("fn", std::string(fn));
    attributes.set("axes", axes);
    result = emit(Op::reduce, {x}, std::move(attributes));
  }
  return keep_dims ? unsqueeze(result, axes) : result;
}

Operand Builder::mean(const Operand& x, Ints axes, bool keep_dims) {
  Expr count(1);
  for (int64_t axis : normalized_axes(axes, x.rank())) count = count * x.dim(axis);
  return map("div", {reduce("sum", x, axes, keep_dims), number(count, x.dtype())});
}

Operand Builder::contract(const Operand& a, const Operand& b, const Ints& a_batch,
                          const Ints& b_batch, const Ints& a_contract, const Ints& b_contract,
                          std::optional<DType> out) {
  for (size_t i = 0; i < a_batch.size(); ++i) merge(a.dim(a_batch[i]), b.dim(b_batch[i]));
  for (size_t i = 0; i < a_contract.size(); ++i) {
    merge(a.dim(a_contract[i]), b.dim(b_contract[i]));
  }
  Attributes attributes;
  attributes.set("lhs_batch", a_batch);
  attributes.set("rhs_batch", b_batch);
  attributes.set("lhs_contract", a_contract);
  attributes.set("rhs_contract", b_contract);
  if (out) attributes.set("out", *out);
  return emit(Op::contract, {a, b}, std::move(attributes));
}

// numpy.matmul: vectors get a dimension that the result loses; leading dimensions broadcast.
Operand Builder::matmul(const Operand& a, const Operand& b, std::optional<DType> out) {
  if (a.rank() == 0 || b.rank() == 0) throw ModelError("a matrix product needs rank 1 or more.");
  const int64_t a_last = a.rank() - 1;
  if (b.rank() <= 2) {
    // A plain matrix (weights): all leading dimensions of `a` are rows.
    return contract(a, b, {}, {}, {a_last}, {0}, out);
  }
  if (a.rank() == 1) {
    const Operand result = matmul(unsqueeze(a, {0}), b, out);
    return squeeze(result, {result.rank() - 2});
  }
  const auto leading = [](const Operand& x) { return Shape(x.shape().begin(), x.shape().end() - 2); };
  const Shape batch = common_shape(leading(a), leading(b));
  const auto batch_rank = static_cast<int64_t>(batch.size());
  const auto expand = [&](const Operand& x) {
    Shape shape = batch;
    shape.push_back(x.dim(x.rank() - 2));
    shape.push_back(x.dim(x.rank() - 1));
    return broadcast_to(x, shape);
  };
  const Ints axes = iota_axes(0, batch_rank);
  return contract(expand(a), expand(b), axes, axes, {batch_rank + 1}, {batch_rank}, out);
}

Operand Builder::softmax(const Operand& x, int64_t axis) {
  Attributes attributes;
  attributes.set("axis", axis);
  return emit(Op::softmax, {x}, std::move(attributes));
}

Ints other_axes(int64_t rank, const Ints& axes) {
  Ints rest;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) rest.push_back(axis);
  }
  return rest;
}

int64_t normalized_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    throw ModelError("axis " + std::to_string(axis) + " is outside of a tensor of rank " +
                     std::to_string(rank) + ".");
  }
  return axis < 0 ? axis + rank : axis;
}

Ints normalized_axes(const Ints& axes, int64_t rank) {
  Ints result;
  for (int64_t axis : axes) result.push_back(normalized_axis(axis, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    throw ModelError("an axis is named twice.");
  }
  return result;
}

Ints iota_axes(int64_t first, int64_t last) {
  Ints axes;
  for (int64_t axis = first; axis < last; ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace mcc::frontend
