// If and Loop nodes: see loop_builder.h.
//
// Subgraphs take what they read from outside as explicit inputs. A dimension that a run decides
// (branches that differ, carried values that grow) is a symbol of the outer graph; the node gets
// an additional output with the sizes, which is that symbol's source.
#include "lib/frontend/ops/loop_builder.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

namespace mcc::frontend {
namespace {

constexpr int64_t kLargestSize = (int64_t{1} << 31) - 1;
constexpr int64_t kMostUnrolledNodes = 1024;

bool uses_symbols_of(const Expr& expr, const Graph& graph) {
  const std::set<std::string> used = expr.symbols();
  return std::any_of(graph.symbols.begin(), graph.symbols.end(),
                     [&](const Symbol& symbol) { return used.count(symbol.name) != 0; });
}

// A symbol of the outer graph whose value will be element `index` of a value known later.
struct PendingSymbol {
  std::string name;
  size_t size_index;  // among the sizes that the node returns
};

Expr pending_symbol(Builder& b, size_t index, std::vector<PendingSymbol>& pending) {
  const Expr symbol =
      b.symbols().runtime(b.graph(), "size after a branch or loop", {0, kLargestSize}, kNoValue,
                          static_cast<int64_t>(index));
  pending.push_back({*symbol.as_symbol(), index});
  return symbol;
}

void settle(Builder& b, const std::vector<PendingSymbol>& pending, const Operand& sizes) {
  for (const PendingSymbol& p : pending) {
    for (Symbol& symbol : b.graph().symbols) {
      if (symbol.name == p.name) symbol.source.input = sizes.id();
    }
  }
}

bool is_true(const Operand& operand) {
  const Tensor* tensor = operand.constant_tensor();
  return !operand || (tensor != nullptr && tensor->elements() == 1 && tensor->get_int64(0) != 0);
}


// Adds inputs to `graph` so that its captures are `all`, in that order, after `fixed` inputs.
void align_captures(Graph& graph, const Builder& builder, const Operands& all, size_t fixed) {
  std::vector<ValueId> inputs(graph.inputs.begin(),
                              graph.inputs.begin() + static_cast<std::ptrdiff_t>(fixed));
  for (const Operand& outer : all) {
    ValueId inner = kNoValue;
    for (const Builder::Capture& capture : builder.captures()) {
      if (capture.outer.identity() == outer.identity()) inner = capture.inner;
    }
    if (inner == kNoValue) inner = graph.add_input(outer.type(), outer.name());
    inputs.push_back(inner);
  }
  graph.inputs = inputs;
}

struct Branch {
  Graph graph;
  std::unique_ptr<Builder> builder;
  Operands results;
};

// Sizes of all outputs as one i64 vector, appended to a subgraph's outputs.
void add_sizes(Builder& builder, const Operands& results, const std::vector<size_t>& which) {
  Shape sizes;
  for (size_t i : which) {
    const Shape& shape = results[i].shape();
    sizes.insert(sizes.end(), shape.begin(), shape.end());
  }
  builder.graph().add_output(builder.materialize(builder.dims(sizes)), "");
}

// -- Loop

struct Carried {
  TensorType type;           // inside of the body
  std::vector<bool> varies;  // per axis
};

// The body as a graph. False when a carried value's shape varies more than assumed so far: the
// assumption is then widened and the body must be built again.
bool build_body(const LoopSpec& spec, bool endless_condition, Builder& outer,
                std::vector<Carried>& carried, Branch& body, LoopResult& result) {
  body.graph = Graph();
  body.builder = std::make_unique<Builder>(body.graph, outer.symbols(), &outer);
  Builder& b = *body.builder;
  b.origin = outer.origin;
  const auto input = [&](const TensorType& type, const std::string& name) {
    return Operand::value(&b, body.graph.add_input(type, name), type);
  };
  const Operand iteration = input({DType::i64, {}}, "iteration");
  Operand condition = input({DType::boolean, {}}, "condition");
  if (endless_condition) condition = b.scalar(DType::boolean, 1);
  Operands values;
  for (size_t i = 0; i < carried.size(); ++i) {
    TensorType type = carried[i].type;
    for (size_t axis = 0; axis < type.shape.size(); ++axis) {
      if (!carried[i].varies[axis]) continue;
      type.shape[axis] = outer.symbols().inner_dimension(
          body.graph, static_cast<int32_t>(i + 2), static_cast<int64_t>(axis));
    }
    values.push_back(input(type, spec.carried[i].name()));
  }
  result = spec.body(b, iteration, condition, values);
  if (any_poison(result.carried) || any_poison(result.scans)) return true;
  bool stable = true;
  for (size_t i = 0; i < carried.size(); ++i) {
    const TensorType& after = result.carried[i].type();
    if (after.shape.size() != carried[i].type.shape.size()) {
      throw Refusal("a loop's carried value changes its rank.", "give it a fixed rank");
    }
    for (size_t axis = 0; axis < after.shape.size(); ++axis) {
      if (carried[i].varies[axis] || after.shape[axis] == values[i].shape()[axis]) continue;
      carried[i].varies[axis] = true;
      stable = false;
    }
  }
  return stable;
}

Operands emit_loop_node(NodeContext& c, const LoopSpec& spec) {
  Builder& outer = c.b;
  std::vector<Carried> carried;
  for (const Operand& value : spec.carried) {
    if (value.is_sequence()) {
      throw Refusal("a sequence carried through a loop of unknown length is not supported.",
                    "collect the values as scan outputs of the loop instead");
    }
    carried.push_back({value.type(), std::vector<bool>(value.shape().size(), false)});
  }
  Branch body;
  LoopResult result;
  bool endless = is_true(spec.condition);
  for (;;) {
    const bool stable = build_body(spec, endless, outer, carried, body, result);
    if (any_poison(result.carried) || any_poison(result.scans)) return {Operand::poison()};
    if (endless && !is_true(result.condition)) {
      endless = false;  // the condition is computed after all
      continue;
    }
    if (stable) break;
  }
  Builder& b = *body.builder;
  Operand condition = result.condition;
  if (!condition) condition = b.scalar(DType::boolean, 1);
  body.graph.add_output(b.materialize(b.reshape(condition, {})), "");
  for (const Operand& value : result.carried) body.graph.add_output(b.materialize(value), "");
  // What a run decides is carried along: the sizes of varying values, the number of iterations.
  std::vector<size_t> varying;
  Shape initial_sizes;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (std::find(carried[i].varies.begin(), carried[i].varies.end(), true) ==
        carried[i].varies.end()) {
      continue;
    }
    varying.push_back(i);
    const Shape& shape = spec.carried[i].shape();
    initial_sizes.insert(initial_sizes.end(), shape.begin(), shape.end());
  }
  const bool counts = spec.scan_count > 0 && (!endless || !spec.trip_count);
  Operands initial = spec.carried;
  std::vector<ValueId> extra_inputs;
  const auto carry = [&](const Operand& start, const Operand& next) {
    extra_inputs.push_back(body.graph.add_input(start.type(), ""));
    body.graph.add_output(b.materialize(next), "");
    initial.push_back(start);
  };
  if (!varying.empty()) {
    Shape sizes;
    for (size_t i : varying) {
      const Shape& shape = result.carried[i].shape();
      sizes.insert(sizes.end(), shape.begin(), shape.end());
    }
    carry(outer.dims(initial_sizes), b.dims(sizes));
  }
  if (counts) {
    const TensorType scalar{DType::i64, {}};
    const Operand iteration = Operand::value(&b, body.graph.inputs[0], scalar);
    carry(outer.scalar(DType::i64, 0), b.with_scalar("add", iteration, 1));
  }
  for (const Operand& value : result.scans) {
    for (const Expr& dim : value.shape()) {
      if (uses_symbols_of(dim, body.graph)) {
        throw Refusal("a loop's scan output has a shape that changes between iterations.",
                      "pad the values to one shape");
      }
    }
    body.graph.add_output(b.materialize(value), "");
  }
  // Captures come after all carried values.
  Operands captures;
  for (const Builder::Capture& capture : b.captures()) captures.push_back(capture.outer);
  std::vector<ValueId> order(body.graph.inputs.begin(),
                             body.graph.inputs.begin() +
                                 static_cast<std::ptrdiff_t>(2 + carried.size()));
  order.insert(order.end(), extra_inputs.begin(), extra_inputs.end());
  for (const Builder::Capture& capture : b.captures()) order.push_back(capture.inner);
  body.graph.inputs = order;

  Attributes attributes;
  attributes.set("carried", static_cast<int64_t>(initial.size()));
  std::vector<PendingSymbol> sizes_pending, count_pending;
  size_t at = 0;
  for (size_t i : varying) {
    Shape shape = spec.carried[i].shape();
    for (size_t axis = 0; axis < shape.size(); ++axis, ++at) {
      if (carried[i].varies[axis]) shape[axis] = pending_symbol(outer, at, sizes_pending);
    }
    attributes.set("out_shape" + std::to_string(i), shape);
  }
  if (spec.scan_count > 0) {
    const Expr count = counts ? pending_symbol(outer, 0, count_pending)
                              : outer.expressions(outer.reshape(spec.trip_count, {}))[0];
    attributes.set("count", Shape{counts ? count : outer.simplified(max(count, Expr(0)))});
  }
  const Operand endless_trips = outer.constant([] {
    Tensor tensor(DType::i64, {});
    tensor.set_int64(0, std::numeric_limits<int64_t>::max());
    return tensor;
  }());
  Operands inputs{spec.trip_count ? outer.reshape(spec.trip_count, {}) : endless_trips,
                  spec.condition ? outer.reshape(spec.condition, {})
                                 : outer.scalar(DType::boolean, 1)};
  inputs.insert(inputs.end(), initial.begin(), initial.end());
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  eliminate_dead_nodes(body.graph);
  std::vector<Graph> subgraphs;
  subgraphs.push_back(std::move(body.graph));
  Operands all = outer.emit_all(Op::loop, inputs, std::move(attributes), std::move(subgraphs));
  if (!varying.empty()) settle(outer, sizes_pending, all[carried.size()]);
  if (counts) settle(outer, count_pending, all[carried.size() + (varying.empty() ? 0 : 1)]);
  Operands results(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(carried.size()));
  results.insert(results.end(), all.begin() + static_cast<std::ptrdiff_t>(initial.size()),
                 all.end());
  return results;
}

// Iterations one after the other, as long as each condition is known.
std::optional<Operands> unrolled(NodeContext& c, const LoopSpec& spec) {
  if (!spec.trip_count || spec.trip_count.constant_tensor() == nullptr) return std::nullopt;
  if (spec.condition && spec.condition.constant_tensor() == nullptr) return std::nullopt;
  const int64_t trips =
      std::max(spec.trip_count.constant_tensor()->get_int64(0), int64_t{0});
  if (trips > 1 && trips * std::max(spec.body_nodes, int64_t{1}) > kMostUnrolledNodes) {
    return std::nullopt;
  }
  Operands carried = spec.carried;
  std::vector<Operands> scans(spec.scan_count);
  Operand condition = spec.condition;
  int64_t done = 0;
  for (; done < trips && is_true(condition); ++done) {
    LoopResult result = spec.body(c.b, c.b.number(done, DType::i64),
                                  c.b.scalar(DType::boolean, 1), carried);
    if (any_poison(result.carried) || any_poison(result.scans)) return Operands{Operand::poison()};
    if (result.condition && result.condition.constant_tensor() == nullptr) return std::nullopt;
    condition = result.condition;
    carried = std::move(result.carried);
    for (size_t i = 0; i < scans.size(); ++i) {
      scans[i].push_back(c.b.unsqueeze(result.scans[i], {0}));
    }
  }
  Operands results = carried;
  if (done == 0 && spec.scan_count > 0) {
    // No iteration: the types still come from the body.
    Graph scratch;
    Builder builder(scratch, c.b.symbols(), &c.b);
    const LoopResult result = spec.body(builder, builder.scalar(DType::i64, 0),
                                        builder.scalar(DType::boolean, 1), spec.carried);
    if (any_poison(result.scans)) return Operands{Operand::poison()};
    for (const Operand& value : result.scans) {
      Shape shape = value.shape();
      shape.insert(shape.begin(), Expr(0));
      results.push_back(c.b.full(shape, c.b.scalar(value.dtype(), 0)));
    }
    return results;
  }
  for (const Operands& parts : scans) results.push_back(c.b.concat(parts, 0));
  return results;
}

}  // namespace

bool any_poison(const Operands& operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const Operand& operand) { return operand.is_poison(); });
}

Operands emit_loop(NodeContext& c, const LoopSpec& spec) {
  if (std::optional<Operands> results = unrolled(c, spec)) return *results;
  return emit_loop_node(c, spec);
}

Operands emit_if(NodeContext& c, const Operand& condition, const BranchBody& then_branch,
                 const BranchBody& else_branch) {
  Builder& outer = c.b;
  Branch branches[2];
  for (int i = 0; i < 2; ++i) {
    Branch& branch = branches[i];
    branch.builder = std::make_unique<Builder>(branch.graph, outer.symbols(), &outer);
    branch.builder->origin = outer.origin;
    branch.results = (i == 0 ? then_branch : else_branch)(*branch.builder);
    if (any_poison(branch.results)) return {Operand::poison()};
    for (const Operand& result : branch.results) {
      if (result.is_sequence()) {
        throw Refusal("a branch that is chosen at run time returns a sequence.",
                      "make the condition a constant, or return tensors");
      }
      branch.graph.add_output(branch.builder->materialize(result), "");
    }
  }
  if (branches[0].results.size() != branches[1].results.size()) {
    throw ModelError("the branches have different numbers of outputs.");
  }
  // Outputs whose dimensions differ get symbols; the branches return the sizes as well.
  Attributes attributes;
  std::vector<size_t> differing;
  std::vector<PendingSymbol> pending;
  size_t at = 0;
  for (size_t i = 0; i < branches[0].results.size(); ++i) {
    const Shape& a = branches[0].results[i].shape();
    const Shape& b = branches[1].results[i].shape();
    if (a.size() != b.size()) {
      throw Refusal("the branches return tensors of different rank (" + shape_text(a) + " and " +
                        shape_text(b) + ").",
                    "make both branches return the same rank");
    }
    const auto same = [&](size_t axis) {
      return a[axis] == b[axis] && !uses_symbols_of(a[axis], branches[0].graph);
    };
    bool all_same = true;
    for (size_t axis = 0; axis < a.size(); ++axis) all_same = all_same && same(axis);
    if (all_same) continue;
    differing.push_back(i);
    Shape shape = a;
    for (size_t axis = 0; axis < a.size(); ++axis, ++at) {
      if (!same(axis)) shape[axis] = pending_symbol(outer, at, pending);
    }
    attributes.set("out_shape" + std::to_string(i), shape);
  }
  if (!differing.empty()) {
    for (Branch& branch : branches) add_sizes(*branch.builder, branch.results, differing);
  }
  Operands captures;
  for (const Branch& branch : branches) {
    for (const Builder::Capture& capture : branch.builder->captures()) {
      const bool known = std::any_of(captures.begin(), captures.end(), [&](const Operand& o) {
        return o.identity() == capture.outer.identity();
      });
      if (!known) captures.push_back(capture.outer);
    }
  }
  Operands inputs{outer.reshape(condition, {})};
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  std::vector<Graph> subgraphs;
  for (Branch& branch : branches) {
    align_captures(branch.graph, *branch.builder, captures, 0);
    eliminate_dead_nodes(branch.graph);
    subgraphs.push_back(std::move(branch.graph));
  }
  Operands results = outer.emit_all(Op::if_op, inputs, std::move(attributes), std::move(subgraphs));
  if (!differing.empty()) {
    settle(outer, pending, results.back());
    results.pop_back();
  }
  return results;
}

}  // namespace mcc::frontend
