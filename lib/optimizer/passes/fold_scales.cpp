// Scales and shifts by constants move towards the weights.
//
// Batch normalization arrives as a map by per-channel constants behind a convolution: the scale is
// multiplied into the weights (Jacob et al., "Quantization and training of neural networks for
// efficient integer-arithmetic-only inference", 2018, section 3.2, for the same folding), the
// shift joins the bias. Chains of constant scales and shifts become one of each:
//
//   (x + b) * s = x * s + b * s      (x * s) * t = x * (s * t)      (x + b) + c = x + (b + c)
//
// The products of constants are left to fold-constants. Only floating values; a weight that others
// read too stays, because folding would store it twice.
#include <algorithm>

#include "lib/optimizer/passes/passes.h"
#include "lib/optimizer/rewrite/patterns.h"

namespace mcc {
namespace {

constexpr int kMaxConstantDepth = 8;

// Whether fold-constants will compute the value.
bool is_known(ValueId value, const PatternScope& scope, int depth = 0) {
  const Node* node = scope.producer(value);
  if (node == nullptr || depth > kMaxConstantDepth) return false;
  if (node->op == Op::constant) return true;
  const bool plain = has_trait(node->op, kElementwise | kView) && !node->inputs.empty();
  return plain && std::all_of(node->inputs.begin(), node->inputs.end(),
                              [&](ValueId input) { return is_known(input, scope, depth + 1); });
}

// A constant that varies along some axes of the shape that it is repeated to.
struct Parameter {
  ValueId source = kNoValue;
  Ints axes;  // of the full shape, one for each axis of source
};

std::optional<Parameter> parameter_of(ValueId value, const PatternScope& scope) {
  if (!is_floating(scope.type(value).dtype)) return std::nullopt;
  const Node* node = scope.producer(value, Op::broadcast);
  if (node == nullptr || !is_known(node->inputs[0], scope)) return std::nullopt;
  // The normal form of simplify-algebra; a parameter with unit dimensions could not be compared.
  const Shape& shape = scope.shape(node->inputs[0]);
  if (non_unit_axes(shape).size() != shape.size()) return std::nullopt;
  return Parameter{node->inputs[0], node->attributes.ints("axes")};
}

// function(a, b) on the small side; nullopt when the two vary along different axes.
std::optional<Parameter> combined(std::string_view function, Parameter a, Parameter b,
                                  const Node& node, PatternScope& scope) {
  const bool a_smaller = a.axes.empty() && !b.axes.empty();
  Parameter& smaller = a_smaller ? a : b;
  const Parameter& larger = a_smaller ? b : a;
  const Shape shape = scope.shape(larger.source);
  if (smaller.axes.empty()) {
    smaller = {scope.broadcast(smaller.source, shape, {}, node.origin), larger.axes};
  }
  if (a.axes != b.axes || scope.shape(a.source) != scope.shape(b.source)) return std::nullopt;
  return Parameter{scope.map(function, {a.source, b.source}, node.origin), a.axes};
}

ValueId repeated(const Parameter& parameter, ValueId like, const Node& node, PatternScope& scope) {
  const Shape shape = scope.shape(like);
  return scope.broadcast(parameter.source, shape, parameter.axes, node.origin);
}

// -- weights

// The contraction-like node that computes `value` for its only reader, and its constant operand.
struct Anchor {
  const Node* node = nullptr;
  size_t weight = 1;
};

std::optional<Anchor> weighted(const Node* node, const PatternScope& scope) {
  if (node == nullptr || !has_trait(node->op, kContraction)) return std::nullopt;
  for (size_t operand : {size_t{1}, size_t{0}}) {
    if (operand == 0 && node->op != Op::contract) break;
    const ValueId weight = node->inputs[operand];
    const bool fits = is_known(weight, scope) && scope.single_use(weight) &&
                      is_floating(scope.type(weight).dtype);
    if (fits) return Anchor{node, operand};
  }
  return std::nullopt;
}

int64_t channel_axis(const Node& conv, const PatternScope& scope) {
  const auto rank = static_cast<int64_t>(scope.shape(conv.inputs[0]).size());
  return conv.attributes.text("layout") == "nhwc" ? rank - 1 : 1;
}

bool contains(const Ints& list, int64_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// The axis of the weight that output axis `axis` comes from, or -1.
int64_t weight_axis_of_output(const Anchor& anchor, int64_t axis, const PatternScope& scope) {
  const Node& node = *anchor.node;
  if (node.op != Op::contract) {
    if (axis != channel_axis(node, scope)) return -1;
    if (node.op == Op::conv) return 0;
    return node.attributes.integer("groups") == 1 ? 1 : -1;
  }
  // Output axes: batch, free axes of the left operand, free axes of the right one.
  const Ints& batch = node.attributes.ints(anchor.weight == 1 ? "rhs_batch" : "lhs_batch");
  auto next = static_cast<int64_t>(batch.size());
  if (axis < next) return batch[static_cast<size_t>(axis)];
  for (size_t operand : {size_t{0}, size_t{1}}) {
    const Ints& own_batch = node.attributes.ints(operand == 0 ? "lhs_batch" : "rhs_batch");
    const Ints& folded = node.attributes.ints(operand == 0 ? "lhs_contract" : "rhs_contract");
    const auto rank = static_cast<int64_t>(scope.shape(node.inputs[operand]).size());
    for (int64_t i = 0; i < rank; ++i) {
      if (contains(own_batch, i) || contains(folded, i)) continue;
      if (next++ == axis) return operand == anchor.weight ? i : -1;
    }
  }
  return -1;
}

// The axis of the weight that axis `axis` of the other operand meets, or -1.
int64_t weight_axis_of_input(const Anchor& anchor, int64_t axis, const PatternScope& scope) {
  const Node& node = *anchor.node;
  if (node.op == Op::contract) {
    for (const auto& [left, right] : {std::pair{"lhs_contract", "rhs_contract"},
                                      std::pair{"lhs_batch", "rhs_batch"}}) {
      const Ints& other = node.attributes.ints(anchor.weight == 1 ? left : right);
      const Ints& own = node.attributes.ints(anchor.weight == 1 ? right : left);
      const auto found = std::find(other.begin(), other.end(), axis);
      if (found != other.end()) return own[static_cast<size_t>(found - other.begin())];
    }
    return -1;
  }
  if (axis != channel_axis(node, scope)) return -1;
  if (node.op == Op::conv_transpose) return 0;
  if (node.attributes.integer("groups") == 1) return 1;
  // Depthwise: output channel i reads input channel i alone.
  const Shape& weight = scope.shape(node.inputs[1]);
  const bool depthwise = weight[1].is_constant(1) && weight[0] == Expr(node.attributes.integer("groups"));
  return depthwise ? 0 : -1;
}

using AxisMap = int64_t (*)(const Anchor&, int64_t, const PatternScope&);

// The weight times the parameter; nullopt when the parameter varies along other axes.
std::optional<ValueId> scaled_weight(const Anchor& anchor, const Parameter& scale, AxisMap axis_of,
                                     const Node& node, PatternScope& scope) {
  const ValueId weight = anchor.node->inputs[anchor.weight];
  if (scope.type(weight).dtype != scope.type(scale.source).dtype) return std::nullopt;
  Ints axes;
  for (int64_t axis : scale.axes) axes.push_back(axis_of(anchor, axis, scope));
  const bool usable = std::is_sorted(axes.begin(), axes.end()) && !contains(axes, -1);
  const bool distinct = std::adjacent_find(axes.begin(), axes.end()) == axes.end();
  if (!usable || !distinct) return std::nullopt;
  return scope.map("mul", {weight, repeated({scale.source, axes}, weight, node, scope)}, node.origin);
}

ValueId with_weight(const Anchor& anchor, ValueId weight, ValueId other, PatternScope& scope) {
  std::vector<ValueId> inputs = anchor.node->inputs;
  inputs[anchor.weight] = weight;
  inputs[1 - anchor.weight] = other;
  return scope.emit(anchor.node->op, inputs, anchor.node->attributes, anchor.node->origin);
}

// -- patterns

// weighted(x, w) * s = weighted(x, w * s)
ValueId scale_of_anchor(const Node& node, PatternScope& scope) {
  if (node.attributes.text("fn") != "mul") return kNoValue;
  const std::optional<Parameter> scale = parameter_of(node.inputs[1], scope);
  if (!scale || !scope.single_use(node.inputs[0])) return kNoValue;
  const std::optional<Anchor> anchor = weighted(scope.producer(node.inputs[0]), scope);
  if (!anchor) return kNoValue;
  const std::optional<ValueId> weight =
      scaled_weight(*anchor, *scale, weight_axis_of_output, node, scope);
  if (!weight) return kNoValue;
  return with_weight(*anchor, *weight, anchor->node->inputs[1 - anchor->weight], scope);
}

// weighted(x * s, w) = weighted(x, w * s); zero padding stays zero.
ValueId anchor_of_scale(const Node& node, PatternScope& scope) {
  const std::optional<Anchor> anchor = weighted(&node, scope);
  if (!anchor) return kNoValue;
  const ValueId other = node.inputs[1 - anchor->weight];
  const Node* map = scope.map_of(other, "mul");
  if (map == nullptr || !scope.single_use(other)) return kNoValue;
  const std::optional<Parameter> scale = parameter_of(map->inputs[1], scope);
  if (!scale) return kNoValue;
  const std::optional<ValueId> weight =
      scaled_weight(*anchor, *scale, weight_axis_of_input, node, scope);
  return weight ? with_weight(*anchor, *weight, map->inputs[0], scope) : kNoValue;
}

ValueId parameter_to_the_right(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  if ((fn != "add" && fn != "mul") || !parameter_of(node.inputs[0], scope) ||
      parameter_of(node.inputs[1], scope)) {
    return kNoValue;
  }
  return scope.map(fn, {node.inputs[1], node.inputs[0]}, node.origin);
}

// Whether the value is scaled or shifted by constants, or can be.
bool is_affine(ValueId value, const PatternScope& scope) {
  const Node* node = scope.producer(value);
  if (node == nullptr || !scope.single_use(value)) return false;
  if (weighted(node, scope)) return true;
  if (node->op != Op::map) return false;
  const std::string& fn = node->attributes.text("fn");
  return (fn == "add" || fn == "mul" || fn == "sub" || fn == "div") &&
         parameter_of(node->inputs[1], scope).has_value();
}

// x - b = x + -b, x / s = x * (1 / s), where the result joins others.
ValueId inverse_of_parameter(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  if ((fn != "sub" && fn != "div") || !is_affine(node.inputs[0], scope)) return kNoValue;
  std::optional<Parameter> parameter = parameter_of(node.inputs[1], scope);
  if (!parameter) return kNoValue;
  parameter->source =
      scope.map(fn == "sub" ? "neg" : "reciprocal", {parameter->source}, node.origin);
  const ValueId inverse = repeated(*parameter, node.inputs[1], node, scope);
  return scope.map(fn == "sub" ? "add" : "mul", {node.inputs[0], inverse}, node.origin);
}

// (x + b) + c, (x * s) * t and (x + b) * s
ValueId chained_parameters(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  const Node* inner = scope.producer(node.inputs[0], Op::map);
  if ((fn != "add" && fn != "mul") || inner == nullptr || !scope.single_use(node.inputs[0])) {
    return kNoValue;
  }
  const std::string& inner_fn = inner->attributes.text("fn");
  const bool distributes = fn == "mul" && inner_fn == "add";
  if (inner_fn != fn && !distributes) return kNoValue;
  const std::optional<Parameter> first = parameter_of(inner->inputs[1], scope);
  const std::optional<Parameter> second = parameter_of(node.inputs[1], scope);
  if (!first || !second || parameter_of(inner->inputs[0], scope)) return kNoValue;
  const std::optional<Parameter> both = combined(fn, *first, *second, node, scope);
  if (!both) return kNoValue;
  const ValueId x = inner->inputs[0];
  const ValueId constant = repeated(*both, x, node, scope);
  if (!distributes) return scope.map(fn, {x, constant}, node.origin);
  const ValueId scaled = scope.map("mul", {x, node.inputs[1]}, node.origin);
  return scope.map("add", {scaled, constant}, inner->origin);
}

constexpr Pattern kPatterns[] = {
    {Op::map, "parameter to the right", parameter_to_the_right},
    {Op::map, "subtraction and division by a parameter", inverse_of_parameter},
    {Op::map, "scale behind a weight", scale_of_anchor},
    {Op::map, "chained parameters", chained_parameters},
    {Op::conv, "scale before a convolution", anchor_of_scale},
    {Op::conv_transpose, "scale before a transposed convolution", anchor_of_scale},
    {Op::contract, "scale before a contraction", anchor_of_scale},
};

}  // namespace

bool fold_scales(Graph& graph, PassContext&) { return apply_patterns(graph, kPatterns); }

}  // namespace mcc
