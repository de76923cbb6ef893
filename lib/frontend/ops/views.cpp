// Operators that only move elements.
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "lib/frontend/ops/families.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

Results import_reshape(NodeContext& n) {
  const Operand x = n.in(0);
  const Shape wanted = n.known_integers(n.in(1), "the new shape");
  const bool zero_is_zero = n.integer("allowzero", 0) != 0;
  Shape shape;
  int64_t unknown = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is_constant(-1)) {
      if (unknown >= 0) throw ModelError("the new shape has more than one -1");
      unknown = static_cast<int64_t>(i);
      shape.emplace_back(1);
    } else if (wanted[i].is_constant(0) && !zero_is_zero) {
      if (i >= x.shape().size()) throw ModelError("a 0 in the new shape copies a dimension that does not exist");
      shape.push_back(x.dim(static_cast<int64_t>(i)));
    } else {
      shape.push_back(wanted[i]);
    }
  }
  const Expr total = product(x.shape());
  if (unknown >= 0) {
    const Expr known = product(shape);
    if (known.is_constant(0)) {
      shape[static_cast<size_t>(unknown)] = 0;
    } else if (std::optional<Expr> rest = exact_division(total, known)) {
      shape[static_cast<size_t>(unknown)] = *rest;
    } else if (total.is_constant() && known.is_constant()) {
      throw ModelError("a tensor of shape " + shape_text(x.shape()) + " cannot be reshaped to " + shape_text(wanted));
    } else {
      shape[static_cast<size_t>(unknown)] = floordiv(total, known);
    }
  }
  return {n.b.reshape(x, shape)};
}

Results import_flatten(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t given = n.integer("axis", 1);
  const int64_t axis = given < 0 ? given + x.rank() : given;
  if (axis < 0 || axis > x.rank()) throw ModelError("axis " + std::to_string(given) + " is out of range");
  const auto middle = x.shape().begin() + axis;
  return {n.b.reshape(x, {product(Shape(x.shape().begin(), middle)), product(Shape(middle, x.shape().end()))})};
}

Results import_transpose(NodeContext& n) {
  Ints perm = n.ints("perm");
  if (!n.has_attribute("perm")) {
    perm = axis_range(0, n.in(0).rank());
    std::reverse(perm.begin(), perm.end());
  }
  return {n.b.transpose(n.in(0), perm)};
}

Operand unsqueeze(NodeContext& n, Ints axes) {
  const Operand x = n.in(0);
  const auto rank = x.rank() + static_cast<int64_t>(axes.size());
  for (int64_t& axis : axes) axis = normalize_axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  Shape shape;
  auto next = x.shape().begin();
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (std::binary_search(axes.begin(), axes.end(), axis)) {
      shape.emplace_back(1);
    } else {
      if (next == x.shape().end()) throw ModelError("an axis is listed twice");
      shape.push_back(*next++);
    }
  }
  return n.b.reshape(x, shape);
}
Results import_unsqueeze_attribute(NodeContext& n) { return {unsqueeze(n, n.ints("axes"))}; }
Results import_unsqueeze(NodeContext& n) { return {unsqueeze(n, n.constant_integers(n.in(1), "the list of axes"))}; }

Results import_squeeze(NodeContext& n) {
  const Operand x = n.in(0);
  const std::optional<Ints> axes = n.axes(1, 13, x.rank());
  Shape shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const bool listed = axes && std::count(axes->begin(), axes->end(), axis) != 0;
    if (listed && x.dim(axis).is_constant() && !x.dim(axis).is_constant(1)) {
      throw ModelError("axis " + std::to_string(axis) + " has size " + x.dim(axis).str() + " and cannot be removed");
    }
    const bool drop = axes ? listed : x.dim(axis).is_constant(1);
    if (!drop) shape.push_back(x.dim(axis));
  }
  return {n.b.reshape(x, shape)};
}

Results import_concat(NodeContext& n) {
  const int64_t axis = normalize_axis(n.integer("axis", 1), n.in(0).rank());
  std::vector<Operand> parts;
  for (size_t i = 0; i < n.inputs.size(); ++i) parts.push_back(n.in(i));
  return {n.b.concat(parts, axis)};
}

Results import_split(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t axis = normalize_axis(n.integer("axis", 0), x.rank());
  const Expr& dim = x.dim(axis);
  const auto outputs = static_cast<int64_t>(n.output_count());
  Shape sizes;
  if (n.opset >= 13 ? n.has(1) : n.has_attribute("split")) {
    if (n.opset >= 13) {
      sizes = n.known_integers(n.in(1), "the sizes of the parts");
    } else {
      for (int64_t size : n.ints("split")) sizes.emplace_back(size);
    }
  } else {
    const int64_t parts = n.opset >= 18 ? n.integer("num_outputs", outputs) : outputs;
    const Expr each = ceildiv(dim, parts);
    for (int64_t i = 0; i + 1 < parts; ++i) sizes.push_back(each);
    sizes.push_back(dim - each * Expr(parts - 1));
  }
  if (static_cast<int64_t>(sizes.size()) < outputs) throw ModelError("there are fewer parts than outputs");
  Results results;
  Expr start = 0;
  for (int64_t i = 0; i < outputs; ++i) {
    results.push_back(n.b.slice(x, axis, start, sizes[static_cast<size_t>(i)]));
    start = start + sizes[static_cast<size_t>(i)];
  }
  return results;
}

// One axis of Slice: clamped start and the number of elements, for constant steps.
void slice_axis(NodeContext& n, const Expr& dim, const Expr& start, const Expr& end, int64_t step, Expr& first, Expr& count) {
  const Ranges ranges = n.b.graph().ranges();
  auto from_end = [&](const Expr& position, const char* what) {
    const Range range = bounds(position, ranges);
    if (range.low >= 0) return position;
    if (range.high < 0) return position + dim;
    // The sign is not known: clamping below decides at run time only for non-negative positions.
    throw ModelError(std::string("it is not known whether the ") + what + " of a slice counts from the end");
  };
  constexpr int64_t kHuge = int64_t{1} << 30;
  const bool to_end = end.is_constant() && end.constant() >= kHuge;
  const bool to_begin = end.is_constant() && end.constant() <= -kHuge;
  auto clamp = [&](const Expr& value, const Expr& low, const Expr& high) {
    return simplify(min(max(value, low), high), ranges);
  };
  if (step > 0) {
    first = clamp(from_end(start, "start"), 0, dim);
    const Expr last = to_end ? dim : clamp(from_end(end, "end"), 0, dim);
    count = simplify(max(Expr(0), ceildiv(last - first, step)), ranges);
  } else {
    const bool from_last = start.is_constant() && start.constant() >= kHuge;
    first = from_last ? dim - 1 : clamp(from_end(start, "start"), 0, dim - 1);
    const Expr last = to_begin ? Expr(-1) : clamp(from_end(end, "end"), -1, dim - 1);
    count = simplify(max(Expr(0), ceildiv(first - last, -step)), ranges);
  }
}

Results import_slice(NodeContext& n) {
  const Operand x = n.in(0);
  Shape starts, ends;
  Ints axes, steps;
  if (n.opset >= 10) {
    starts = n.known_integers(n.in(1), "the start of the slice");
    ends = n.known_integers(n.in(2), "the end of the slice");
    if (n.has(3)) axes = n.constant_integers(n.in(3), "the list of axes");
    if (n.has(4)) steps = n.constant_integers(n.in(4), "the step of the slice");
  } else {
    for (int64_t value : n.ints("starts")) starts.emplace_back(value);
    for (int64_t value : n.ints("ends")) ends.emplace_back(value);
    axes = n.ints("axes");
  }
  if (axes.empty()) axes = axis_range(0, static_cast<int64_t>(starts.size()));
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    throw ModelError("starts, ends, axes and steps differ in length");
  }
  Shape first(x.shape().size(), Expr(0));
  Shape shape = x.shape();
  Ints all_steps(x.shape().size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<size_t>(normalize_axis(axes[i], x.rank()));
    if (steps[i] == 0) throw ModelError("the step of a slice is 0");
    all_steps[axis] = steps[i];
    slice_axis(n, x.shape()[axis], starts[i], ends[i], steps[i], first[axis], shape[axis]);
  }
  if (shape == x.shape() && std::all_of(all_steps.begin(), all_steps.end(), [](int64_t s) { return s == 1; })) return {x};
  Attributes attributes;
  attributes.set("starts", first);
  attributes.set("shape", shape);
  attributes.set("steps", all_steps);
  return {n.b.emit(Op::slice, {x}, std::move(attributes))};
}

Results import_expand(NodeContext& n) {
  const Shape wanted = n.known_integers(n.in(1), "the new shape");
  return {n.b.broadcast_to(n.in(0), Builder::broadcast_shape({n.in(0).shape(), wanted}))};
}

Results import_tile(NodeContext& n) {
  // Each axis becomes a pair (repeats, size): broadcast over the repeats and merge again.
  const Operand x = n.in(0);
  const Shape repeats = n.known_integers(n.in(1), "the number of repeats");
  if (static_cast<int64_t>(repeats.size()) != x.rank()) throw ModelError("the number of repeats differs from the rank");
  Shape pairs, result;
  Ints axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    pairs.push_back(repeats[static_cast<size_t>(axis)]);
    axes.push_back(static_cast<int64_t>(pairs.size()));
    pairs.push_back(x.dim(axis));
    result.push_back(repeats[static_cast<size_t>(axis)] * x.dim(axis));
  }
  if (result == x.shape()) return {x};
  Attributes attributes;
  attributes.set("shape", pairs);
  attributes.set("axes", axes);
  return {n.b.reshape(n.b.emit(Op::broadcast, {x}, std::move(attributes)), result)};
}

Results import_depth_to_space(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t block = n.integer("blocksize", 1);
  const Expr channels = floordiv(x.dim(1), block * block);
  const Expr height = x.dim(2);
  const Expr width = x.dim(3);
  const Expr size = block;
  Operand result;
  if (n.text("mode", "DCR") == "DCR") {
    result = n.b.transpose(n.b.reshape(x, {x.dim(0), size, size, channels, height, width}), {0, 3, 4, 1, 5, 2});
  } else {
    result = n.b.transpose(n.b.reshape(x, {x.dim(0), channels, size, size, height, width}), {0, 1, 4, 2, 5, 3});
  }
  return {n.b.reshape(result, {x.dim(0), channels, height * size, width * size})};
}

Results import_space_to_depth(NodeContext& n) {
  const Operand x = n.in(0);
  const int64_t block = n.integer("blocksize", 1);
  const Expr height = floordiv(x.dim(2), block);
  const Expr width = floordiv(x.dim(3), block);
  const Operand split = n.b.reshape(x, {x.dim(0), x.dim(1), height, Expr(block), width, Expr(block)});
  return {n.b.reshape(n.b.transpose(split, {0, 3, 5, 1, 2, 4}), {x.dim(0), x.dim(1) * Expr(block * block), height, width})};
}

Results import_pad(NodeContext& n) {
  const Operand x = n.in(0);
  const std::string mode = n.text("mode", "constant");
  Shape amounts;
  Operand fill = n.b.like(x, 0);
  Ints axes = axis_range(0, x.rank());
  if (n.opset >= 11) {
    amounts = n.known_integers(n.in(1), "the padding");
    if (n.has(2)) fill = n.b.reshape(n.in(2), {});
    if (n.has(3)) {
      axes = n.constant_integers(n.in(3), "the list of axes");
      for (int64_t& axis : axes) axis = normalize_axis(axis, x.rank());
    }
  } else {
    for (int64_t amount : n.ints("pads")) amounts.emplace_back(amount);
    fill = n.b.like(x, n.real("value", 0));
  }
  if (amounts.size() != 2 * axes.size()) throw ModelError("the padding has a wrong length");
  Shape low(x.shape().size(), Expr(0));
  Shape high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    low[static_cast<size_t>(axes[i])] = amounts[i];
    high[static_cast<size_t>(axes[i])] = amounts[i + axes.size()];
  }
  Attributes attributes;
  attributes.set("low", low);
  attributes.set("high", high);
  attributes.set("mode", mode);
  std::vector<Operand> operands{x};
  if (mode == "constant") operands.push_back(n.b.cast(fill, x.dtype()));
  return {n.b.emit(Op::pad, operands, std::move(attributes))};
}

Results import_trilu(NodeContext& n) {
  const Operand x = n.in(0);
  int64_t k = 0;
  if (n.has(1)) k = n.constant_integers(n.in(1), "the diagonal").at(0);
  const Shape matrix{x.dim(x.rank() - 2), x.dim(x.rank() - 1)};
  Operand index[2];
  for (int64_t axis = 0; axis < 2; ++axis) {
    Attributes attributes;
    attributes.set("shape", matrix);
    attributes.set("axis", axis);
    attributes.set("dtype", DType::i64);
    index[axis] = n.b.emit(Op::iota, {}, std::move(attributes));
  }
  const Operand diagonal = n.b.map("add", {index[0], n.b.scalar(DType::i64, static_cast<double>(k))});
  const Operand keep = n.b.map(n.integer("upper", 1) != 0 ? "ge" : "le", {index[1], diagonal});
  return {n.b.map("select", {keep, x, n.b.like(x, 0)})};
}

constexpr OperatorEntry kEntries[] = {
    {"Reshape", 5, import_reshape, Moves::first}, {"Flatten", 1, import_flatten, Moves::first},
    {"Transpose", 1, import_transpose, Moves::first}, {"Unsqueeze", 1, import_unsqueeze_attribute, Moves::first},
    {"Unsqueeze", 13, import_unsqueeze, Moves::first}, {"Squeeze", 1, import_squeeze, Moves::first},
    {"Concat", 4, import_concat, Moves::all}, {"Split", 2, import_split, Moves::first},
    {"Slice", 1, import_slice, Moves::first}, {"Expand", 8, import_expand, Moves::first},
    {"Tile", 6, import_tile, Moves::first}, {"DepthToSpace", 1, import_depth_to_space},
    {"SpaceToDepth", 1, import_space_to_depth}, {"Pad", 2, import_pad}, {"Trilu", 14, import_trilu},
};

}  // namespace

std::span<const OperatorEntry> view_operators() { return kEntries; }

}  // namespace mcc::frontend
