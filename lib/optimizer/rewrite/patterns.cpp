// The driver of local rewriting, and the questions that patterns ask.
#include "lib/optimizer/rewrite/patterns.h"

#include <algorithm>

namespace mcc {
namespace {

// A pattern's result may make another one fit; chains longer than this are left for the next run.
constexpr int kMaxSweeps = 8;
// Larger constants are weights, which are hardly ever uniform.
constexpr int64_t kSplatSearchElements = 64;
constexpr int kMaxViewDepth = 8;

bool sweep(Graph& graph, std::span<const Pattern> patterns) {
  std::vector<int32_t> uses = graph.use_counts();
  Rewriter rewriter(graph);
  PatternScope scope(rewriter, std::move(uses));
  bool changed = false;
  for (const Node& old : rewriter.old_nodes()) {
    if (old.outputs.size() != 1 || !old.subgraphs.empty()) {
      rewriter.keep(old);
      continue;
    }
    Node node = old;
    for (ValueId& input : node.inputs) input = rewriter.resolve(input);
    bool replaced = false;
    for (const Pattern& pattern : patterns) {
      if (pattern.op != node.op) continue;
      const ValueId replacement = pattern.rewrite(node, scope);
      if (replacement == kNoValue || replacement == node.outputs[0]) continue;
      if (!(graph.type(replacement) == graph.type(node.outputs[0]))) continue;
      scope.take_over(node.outputs[0], replacement);
      rewriter.replace(node.outputs[0], replacement);
      replaced = changed = true;
      break;
    }
    if (!replaced) rewriter.keep(old);
  }
  rewriter.finish();
  return changed;
}

}  // namespace

const Node* PatternScope::producer(ValueId value, Op op) const {
  const Node* node = producer(value);
  return node != nullptr && node->op == op ? node : nullptr;
}

const Node* PatternScope::map_of(ValueId value, std::string_view function) const {
  const Node* node = producer(value, Op::map);
  return node != nullptr && node->attributes.text("fn") == function ? node : nullptr;
}

const Tensor* PatternScope::constant(ValueId value) const {
  const Node* node = producer(value, Op::constant);
  return node == nullptr ? nullptr : node->attributes.tensor("value").get();
}

std::optional<double> PatternScope::splat(ValueId value) const {
  for (int depth = 0; depth < kMaxViewDepth; ++depth) {
    const Node* node = producer(value);
    if (node == nullptr) return std::nullopt;
    const bool keeps_elements = node->op == Op::broadcast || node->op == Op::reshape ||
                                node->op == Op::transpose || node->op == Op::slice;
    if (!keeps_elements) break;
    value = node->inputs[0];
  }
  const Tensor* tensor = constant(value);
  if (tensor == nullptr) return std::nullopt;
  const int64_t count = tensor->elements();
  const bool number = is_floating(tensor->dtype()) || is_integer(tensor->dtype());
  if (!number || count < 1 || count > kSplatSearchElements) return std::nullopt;
  // Integers that a double cannot hold are no numbers to calculate with here.
  constexpr int64_t kExact = int64_t{1} << 53;
  if (is_integer(tensor->dtype()) &&
      (tensor->get_int64(0) > kExact || tensor->get_int64(0) < -kExact)) {
    return std::nullopt;
  }
  const double first = tensor->get_double(0);
  for (int64_t i = 1; i < count; ++i) {
    if (tensor->get_double(i) != first) return std::nullopt;
  }
  return first;
}

int32_t PatternScope::uses(ValueId value) const {
  // Values that the sweep made have at least the use that they were made for.
  return static_cast<size_t>(value) < uses_.size() ? uses_[static_cast<size_t>(value)] : 1;
}

bool PatternScope::single_use(ValueId value) const { return uses(value) <= 1; }

void PatternScope::take_over(ValueId replaced, ValueId replacement) {
  const size_t needed = static_cast<size_t>(std::max(replaced, replacement)) + 1;
  const bool emitted = static_cast<size_t>(replacement) >= uses_.size() ||
                       uses_[static_cast<size_t>(replacement)] == 0;
  if (uses_.size() < needed) uses_.resize(needed, 0);
  const int32_t moved = uses_[static_cast<size_t>(replaced)];
  // An older value keeps its own readers; the replaced node itself may have been one of them.
  uses_[static_cast<size_t>(replacement)] =
      emitted ? moved : uses_[static_cast<size_t>(replacement)] + moved;
}

ValueId PatternScope::map(std::string_view function, std::vector<ValueId> inputs,
                          const std::vector<std::string>& origin) {
  Attributes attributes;
  attributes.set("fn", std::string(function));
  return emit(Op::map, std::move(inputs), std::move(attributes), origin);
}

ValueId PatternScope::reshape(ValueId value, const Shape& to,
                              const std::vector<std::string>& origin) {
  if (shape(value) == to) return value;
  Attributes attributes;
  attributes.set("shape", to);
  return emit(Op::reshape, {value}, std::move(attributes), origin);
}

ValueId PatternScope::transpose(ValueId value, const Ints& perm,
                                const std::vector<std::string>& origin) {
  if (std::is_sorted(perm.begin(), perm.end())) return value;
  Attributes attributes;
  attributes.set("perm", perm);
  return emit(Op::transpose, {value}, std::move(attributes), origin);
}

ValueId PatternScope::broadcast(ValueId value, const Shape& to, const Ints& axes,
                                const std::vector<std::string>& origin) {
  if (shape(value) == to) return value;
  Attributes attributes;
  attributes.set("shape", to);
  attributes.set("axes", axes);
  return emit(Op::broadcast, {value}, std::move(attributes), origin);
}

ValueId PatternScope::slice(ValueId value, const Shape& starts, const Shape& to, const Ints& steps,
                            const std::vector<std::string>& origin) {
  Attributes attributes;
  attributes.set("starts", starts);
  attributes.set("shape", to);
  attributes.set("steps", steps);
  return emit(Op::slice, {value}, std::move(attributes), origin);
}

ValueId PatternScope::constant_of(Tensor tensor, const std::vector<std::string>& origin) {
  Attributes attributes;
  attributes.set("value", std::make_shared<const Tensor>(std::move(tensor)));
  return emit(Op::constant, {}, std::move(attributes), origin);
}

ValueId PatternScope::filled(TensorType type, double value,
                             const std::vector<std::string>& origin) {
  const ValueId scalar = constant_of(Tensor::scalar(type.dtype, value), origin);
  return broadcast(scalar, type.shape, {}, origin);
}

bool apply_patterns(Graph& graph, std::span<const Pattern> patterns) {
  return for_each_graph(graph, [&](Graph& body) {
    bool changed = false;
    for (int i = 0; i < kMaxSweeps && sweep(body, patterns); ++i) {
      changed = true;
      // Uses by nodes that nothing reads any more would hide single readers.
      eliminate_dead_nodes(body);
    }
    return changed;
  });
}

Shape without_units(const Shape& shape) {
  Shape result;
  for (const Expr& dim : shape) {
    if (!dim.is_constant(1)) result.push_back(dim);
  }
  return result;
}

Ints non_unit_axes(const Shape& shape) {
  Ints axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_constant(1)) axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

}  // namespace mcc
