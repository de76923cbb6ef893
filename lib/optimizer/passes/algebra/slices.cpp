// Slice, pad, concat and gather: what does nothing goes, what meets merges, constant indices become
// slices.
#include <algorithm>

#include "lib/ir/elements.h"
#include "lib/optimizer/passes/algebra/tables.h"

namespace mcc::algebra {
namespace {

bool all_zero(const Shape& list) {
  return std::all_of(list.begin(), list.end(), [](const Expr& e) { return e.is_constant(0); });
}

ValueId slice_of_everything(const Node& node, PatternScope& scope) {
  if (scope.shape(node.inputs[0]) != node.attributes.shape("shape")) return kNoValue;
  // With equal sizes, only a start of 0 and a step of 1 stay inside, apart from reversal.
  const Ints& steps = node.attributes.ints("steps");
  const bool forward = std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
  return forward && all_zero(node.attributes.shape("starts")) ? node.inputs[0] : kNoValue;
}

ValueId slice_of_slice(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::slice);
  if (inner == nullptr) return kNoValue;
  Shape starts;
  Ints steps;
  for (size_t i = 0; i < node.attributes.ints("steps").size(); ++i) {
    const int64_t step = inner->attributes.ints("steps")[i];
    starts.push_back(inner->attributes.shape("starts")[i] +
                     node.attributes.shape("starts")[i] * Expr(step));
    steps.push_back(step * node.attributes.ints("steps")[i]);
  }
  return scope.slice(inner->inputs[0], starts, node.attributes.shape("shape"), steps, node.origin);
}

// A slice inside one part of a concatenation reads that part.
ValueId slice_of_concat(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::concat);
  if (inner == nullptr) return kNoValue;
  const auto axis = static_cast<size_t>(inner->attributes.integer("axis"));
  Shape starts = node.attributes.shape("starts");
  const Shape& shape = node.attributes.shape("shape");
  const Expr first = starts[axis];
  const Expr last = first + (shape[axis] - 1) * Expr(node.attributes.ints("steps")[axis]);
  Expr begin = 0;
  for (ValueId part : inner->inputs) {
    const Expr end = begin + scope.shape(part)[axis];
    // Decided when the distances are constants, symbolic sizes included.
    const auto inside = [&](const Expr& index) {
      const Expr low = index - begin, high = end - 1 - index;
      return low.is_constant() && low.constant() >= 0 && high.is_constant() && high.constant() >= 0;
    };
    // A whole part of symbolic size: the end lies inside by construction.
    const bool whole = first == begin && shape[axis] == scope.shape(part)[axis] &&
                       node.attributes.ints("steps")[axis] == 1;
    if (whole || (inside(first) && inside(last))) {
      starts[axis] = first - begin;
      return scope.slice(part, starts, shape, node.attributes.ints("steps"), node.origin);
    }
    begin = end;
  }
  return kNoValue;
}

// Slicing repeated elements repeats fewer of them.
ValueId slice_of_broadcast(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::broadcast);
  if (inner == nullptr) return kNoValue;
  const Shape& shape = node.attributes.shape("shape");
  const Shape& from = scope.shape(inner->inputs[0]);
  const Ints& axes = inner->attributes.ints("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const bool untouched = shape[axis] == scope.shape(node.inputs[0])[axis] &&
                           node.attributes.shape("starts")[axis].is_constant(0) &&
                           node.attributes.ints("steps")[axis] == 1;
    if (!untouched && !from[i].is_constant(1)) return kNoValue;
  }
  return scope.broadcast(inner->inputs[0], shape, axes, node.origin);
}

ValueId pad_by_nothing(const Node& node, PatternScope&) {
  const bool nothing =
      all_zero(node.attributes.shape("low")) && all_zero(node.attributes.shape("high"));
  return nothing ? node.inputs[0] : kNoValue;
}

bool never_negative(const Shape& list) {
  return std::all_of(list.begin(), list.end(),
                     [](const Expr& e) { return e.is_constant() && e.constant() >= 0; });
}

// Constant padding twice with one value; cropping in between would lose elements.
ValueId pad_of_pad(const Node& node, PatternScope& scope) {
  const Node* inner = scope.producer(node.inputs[0], Op::pad);
  if (inner == nullptr || node.inputs.size() != 2 || inner->inputs.size() != 2) return kNoValue;
  const std::optional<double> fill = scope.splat(node.inputs[1]);
  if (!fill || scope.splat(inner->inputs[1]) != fill) return kNoValue;
  for (const Node* pad : {&node, inner}) {
    if (!never_negative(pad->attributes.shape("low")) ||
        !never_negative(pad->attributes.shape("high"))) {
      return kNoValue;
    }
  }
  Attributes attributes = node.attributes;
  for (const char* side : {"low", "high"}) {
    Shape sum = node.attributes.shape(side);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + inner->attributes.shape(side)[i];
    attributes.set(side, std::move(sum));
  }
  return scope.emit(Op::pad, {inner->inputs[0], node.inputs[1]}, attributes, node.origin);
}

// Zero padding of spatial axes belongs to the convolution.
ValueId conv_of_pad(const Node& node, PatternScope& scope) {
  const Node* pad = scope.producer(node.inputs[0], Op::pad);
  if (pad == nullptr || pad->inputs.size() != 2 || scope.splat(pad->inputs[1]) != 0.0) return kNoValue;
  const Shape& low = pad->attributes.shape("low");
  const Shape& high = pad->attributes.shape("high");
  if (!never_negative(low) || !never_negative(high)) return kNoValue;
  // Padding in front of a crop: the sum is the same only if nothing was cropped.
  if (!never_negative(node.attributes.shape("pads_low")) ||
      !never_negative(node.attributes.shape("pads_high"))) {
    return kNoValue;
  }
  const bool channels_last = node.attributes.text("layout") == "nhwc";
  const size_t channel = channels_last ? low.size() - 1 : 1;
  const size_t begin = channels_last ? 1 : 2;
  for (size_t axis : {size_t{0}, channel}) {
    if (!low[axis].is_constant(0) || !high[axis].is_constant(0)) return kNoValue;
  }
  Shape pads_low = node.attributes.shape("pads_low");
  Shape pads_high = node.attributes.shape("pads_high");
  for (size_t i = 0; i < pads_low.size(); ++i) {
    pads_low[i] = pads_low[i] + low[begin + i];
    pads_high[i] = pads_high[i] + high[begin + i];
  }
  Attributes attributes = node.attributes;
  attributes.set("pads_low", std::move(pads_low));
  attributes.set("pads_high", std::move(pads_high));
  return scope.emit(node.op, {pad->inputs[0], node.inputs[1]}, attributes, node.origin);
}

ValueId concat_of_little(const Node& node, PatternScope& scope) {
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  std::vector<ValueId> parts;
  for (ValueId part : node.inputs) {
    if (!scope.shape(part)[axis].is_constant(0)) parts.push_back(part);
  }
  if (parts.size() == 1) return parts[0];
  if (parts.empty() || parts.size() == node.inputs.size()) return kNoValue;
  return scope.emit(Op::concat, parts, node.attributes, node.origin);
}

ValueId concat_of_concat(const Node& node, PatternScope& scope) {
  std::vector<ValueId> parts;
  for (ValueId part : node.inputs) {
    const Node* inner = scope.producer(part, Op::concat);
    const bool joins = inner != nullptr && scope.single_use(part) &&
                       inner->attributes.integer("axis") == node.attributes.integer("axis");
    if (joins) {
      parts.insert(parts.end(), inner->inputs.begin(), inner->inputs.end());
    } else {
      parts.push_back(part);
    }
  }
  if (parts.size() == node.inputs.size()) return kNoValue;
  return scope.emit(Op::concat, parts, node.attributes, node.origin);
}

// Constant indices that count up are a slice; a single index is a slice of one.
ValueId gather_of_range(const Node& node, PatternScope& scope) {
  const Tensor* indices = scope.constant(node.inputs[1]);
  if (indices == nullptr || indices->elements() == 0) return kNoValue;
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  const Shape& data = scope.shape(node.inputs[0]);
  const int64_t count = indices->elements();
  const int64_t first = indices->get_int64(0);
  const int64_t last = first + count - 1;
  for (int64_t i = 0; i < count; ++i) {
    if (indices->get_int64(i) != first + i) return kNoValue;
  }
  if (first < 0 && last >= 0) return kNoValue;  // wraps around the end
  // Of a dimension of unknown size only the ends are known to exist; devices clamp other indices.
  const bool fits = data[axis].is_constant()
                        ? last < data[axis].constant() && -first <= data[axis].constant()
                        : count == 1 && (first == 0 || first == -1);
  if (!fits) return kNoValue;
  Shape starts(data.size(), Expr(0));
  Shape shape = data;
  starts[axis] = first < 0 ? data[axis] + first : Expr(first);
  shape[axis] = count;
  const ValueId slice = scope.slice(node.inputs[0], starts, shape, Ints(data.size(), 1), node.origin);
  return scope.reshape(slice, scope.shape(node.outputs[0]), node.origin);
}

constexpr Pattern kPatterns[] = {
    {Op::slice, "slice of everything", slice_of_everything},
    {Op::slice, "slice of slice", slice_of_slice},
    {Op::slice, "slice of concat", slice_of_concat},
    {Op::slice, "slice of broadcast", slice_of_broadcast},
    {Op::pad, "pad by nothing", pad_by_nothing},
    {Op::pad, "pad of pad", pad_of_pad},
    {Op::conv, "convolution of zero padding", conv_of_pad},
    {Op::concat, "concat of one part", concat_of_little},
    {Op::concat, "concat of concat", concat_of_concat},
    {Op::gather, "gather of consecutive indices", gather_of_range},
};

}  // namespace

std::span<const Pattern> slice_patterns() { return kPatterns; }

}  // namespace mcc::algebra
