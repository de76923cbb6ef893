// Layer normalization, RMS normalization and softmax in their expanded form become one operator,
// which one kernel computes with its statistics in registers.
//
//   rms:     x * rsqrt(mean(x^2) + eps)
//   layer:   d * rsqrt(mean(d^2) + eps) with d = x - mean(x)
//   softmax: exp(x - max(x)) / sum(exp(x - max(x))), along one axis
//
// The statistics pass through reshapes and a broadcast on their way back to the full shape; what
// axes they vary along is compared with the axes they were reduced over. Scale and bias stay maps.
#include "lib/optimizer/passes/passes.h"
#include "lib/optimizer/rewrite/arithmetic.h"

namespace mcc {
namespace {

// The v of 1/sqrt(v) (inverse) or sqrt(v).
ValueId below_root(ValueId value, bool inverse, const PatternScope& scope) {
  value = below_unit_reshapes(value, scope);
  if (!inverse) {
    const Node* root = scope.map_of(value, "sqrt");
    return root == nullptr ? kNoValue : root->inputs[0];
  }
  if (const Node* root = scope.map_of(value, "rsqrt")) return root->inputs[0];
  const Node* reciprocal = scope.map_of(value, "reciprocal");
  return reciprocal == nullptr ? kNoValue : below_root(reciprocal->inputs[0], false, scope);
}

// The x of x - mean(x) over `axes`, or kNoValue.
ValueId centred(ValueId value, const Ints& axes, const PatternScope& scope) {
  const Node* difference = scope.map_of(value, "sub");
  if (difference == nullptr) return kNoValue;
  const ValueId x = difference->inputs[0];
  const std::optional<Spread> back = spread(difference->inputs[1], scope);
  const std::optional<Reduced> average = back ? mean(back->source, scope) : std::nullopt;
  const bool fits = average && average->source == x && average->axes == axes &&
                    spreads_over(back->axes, scope.shape(x), axes);
  return fits ? x : kNoValue;
}

// `value` scaled by the statistic that `factor` repeats.
ValueId normalized(ValueId value, ValueId factor, bool inverse, const Node& node,
                   PatternScope& scope) {
  const std::optional<Spread> back = spread(factor, scope);
  if (!back) return kNoValue;
  const ValueId radicand = below_root(back->source, inverse, scope);
  if (radicand == kNoValue) return kNoValue;
  const std::optional<Shifted> sum = shifted(below_unit_reshapes(radicand, scope), scope);
  if (!sum || sum->scalar < 0) return kNoValue;
  const std::optional<Reduced> average = mean(sum->term, scope);
  if (!average || !spreads_over(back->axes, scope.shape(value), average->axes)) return kNoValue;
  const Product square = product_of(average->source, scope, 1, value);
  if (square.scalar != 1 || square.factors != std::vector<ValueId>(2, value)) return kNoValue;
  const ValueId x = centred(value, average->axes, scope);
  Attributes attributes;
  attributes.set("axes", average->axes);
  attributes.set("epsilon", sum->scalar);
  attributes.set("kind", std::string(x == kNoValue ? "rms" : "layer"));
  return scope.emit(Op::normalize, {x == kNoValue ? value : x}, attributes, node.origin);
}

ValueId normalization(const Node& node, PatternScope& scope) {
  const std::string& fn = node.attributes.text("fn");
  if (fn == "div") return normalized(node.inputs[0], node.inputs[1], false, node, scope);
  if (fn != "mul") return kNoValue;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId result = normalized(node.inputs[i], node.inputs[1 - i], true, node, scope);
    if (result != kNoValue) return result;
  }
  return kNoValue;
}

ValueId expanded_softmax(const Node& node, PatternScope& scope) {
  if (node.attributes.text("fn") != "div") return kNoValue;
  const Node* exp = scope.map_of(node.inputs[0], "exp");
  const std::optional<Spread> back = spread(node.inputs[1], scope);
  if (exp == nullptr || !back) return kNoValue;
  const std::optional<Reduced> sum = reduced(back->source, "sum", scope);
  const Shape& shape = scope.shape(node.inputs[0]);
  if (!sum || sum->source != node.inputs[0] || sum->axes.size() != 1 ||
      !spreads_over(back->axes, shape, sum->axes)) {
    return kNoValue;
  }
  const Node* difference = scope.map_of(exp->inputs[0], "sub");
  const std::optional<Spread> shift =
      difference == nullptr ? std::nullopt : spread(difference->inputs[1], scope);
  const std::optional<Reduced> largest =
      shift ? reduced(shift->source, "max", scope) : std::nullopt;
  if (!largest || largest->source != difference->inputs[0] || largest->axes != sum->axes ||
      !spreads_over(shift->axes, shape, sum->axes)) {
    return kNoValue;
  }
  Attributes attributes;
  attributes.set("axis", sum->axes[0]);
  return scope.emit(Op::softmax, {difference->inputs[0]}, attributes, node.origin);
}

constexpr Pattern kPatterns[] = {
    {Op::map, "layer and rms normalization", normalization},
    {Op::map, "softmax from the exponential", expanded_softmax},
};

}  // namespace

bool recognize_normalization(Graph& graph, PassContext&) {
  return apply_patterns(graph, kPatterns);
}

}  // namespace mcc
