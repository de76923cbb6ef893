// Random graphs over symbolic shapes: what inference says, evaluation must produce, for several
// sizes of the symbols. The seed of a failing case is in its name and message; MCC_FUZZ_SEED runs
// one more.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "test/unit/ir/evaluation.h"

namespace mcc::test {
namespace {

class GraphMaker {
 public:
  explicit GraphMaker(uint64_t seed) : random_(seed) {}

  Graph make(int nodes) {
    for (int32_t input = 0; input < 2; ++input) {
      SymbolSource source;
      source.input = input;
      source.axis = 0;
      sizes_.push_back(graph_.add_symbol("size", {2, 8}, source));
      graph_.add_input({DType::f32, {sizes_.back(), pick(2, 5), sizes_[0]}});
    }
    for (ValueId input : graph_.inputs) reals_.push_back(input);
    while (static_cast<int>(graph_.nodes.size()) < nodes) {
      (this->*kSteps[static_cast<size_t>(pick(0, std::size(kSteps) - 1))])();
    }
    for (size_t i = 0; i < graph_.values.size(); ++i) graph_.add_output(static_cast<ValueId>(i));
    return std::move(graph_);
  }

 private:
  using Step = void (GraphMaker::*)();

  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  ValueId real() {
    return reals_[static_cast<size_t>(pick(0, static_cast<int64_t>(reals_.size()) - 1))];
  }
  // A value with at least one axis, and one of its axes.
  ValueId real_with_axis(int64_t& axis) {
    ValueId value = real();
    while (graph_.rank(value) == 0) value = real();
    axis = pick(0, graph_.rank(value) - 1);
    return value;
  }
  const Expr& dim(ValueId value, int64_t axis) {
    return graph_.shape(value)[static_cast<size_t>(axis)];
  }
  std::vector<ValueId> append(Op op, std::vector<ValueId> inputs, Named named) {
    Node node;
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = attributes(named);
    return graph_.append(std::move(node));
  }
  ValueId keep(ValueId value) {
    // Small values only, so that products of axes stay affordable.
    const Range range = bounds(product(graph_.shape(value)), graph_.ranges());
    if (graph_.dtype(value) == DType::f32 && range.high <= 20000 && graph_.rank(value) <= 5) {
      reals_.push_back(value);
    }
    return value;
  }
  ValueId map(const char* fn, std::vector<ValueId> inputs) {
    return append(Op::map, std::move(inputs), {{"fn", std::string(fn)}})[0];
  }
  ValueId integers(std::vector<int64_t> shape, std::vector<double> values) {
    return append(Op::constant, {},
                  {{"value", TensorPtr(std::make_shared<const Tensor>(i64(shape, values)))}})[0];
  }
  // Symbolic dimensions of a shape are at least 1 here unless they count results.
  Expr count_symbol() {
    SymbolSource source;
    source.kind = SymbolSource::Kind::value;
    source.input = kNoValue;
    return graph_.add_symbol("count", {0, 100000}, source);
  }
  bool is_positive(const Expr& expr) { return bounds(expr, graph_.ranges()).low >= 1; }

  void unary() { keep(map(pick(0, 1) ? "neg" : "tanh", {real()})); }
  void binary() {
    const ValueId x = real();
    keep(map(pick(0, 1) ? "add" : "max", {x, map("abs", {x})}));
  }
  void select() {
    const ValueId x = real();
    keep(map("select", {map("lt", {x, map("floor", {x})}), x, map("neg", {x})}));
  }
  void cast() {
    const DType through[] = {DType::f16, DType::i4, DType::u8, DType::boolean, DType::f8e5m2};
    const ValueId x =
        append(Op::map, {real()}, {{"fn", std::string("cast")}, {"to", through[pick(0, 4)]}})[0];
    keep(append(Op::map, {x}, {{"fn", std::string("cast")}, {"to", DType::f32}})[0]);
  }
  void flatten_two() {
    const ValueId x = real();
    if (graph_.rank(x) < 2) return;
    const int64_t axis = pick(0, graph_.rank(x) - 2);
    Shape shape = graph_.shape(x);
    shape[static_cast<size_t>(axis)] = dim(x, axis) * dim(x, axis + 1);
    shape.erase(shape.begin() + axis + 1);
    keep(append(Op::reshape, {x}, {{"shape", shape}})[0]);
  }
  void transpose() {
    const ValueId x = real();
    Ints perm;
    for (int64_t i = 0; i < graph_.rank(x); ++i) perm.push_back(i);
    std::shuffle(perm.begin(), perm.end(), random_);
    keep(append(Op::transpose, {x}, {{"perm", perm}})[0]);
  }
  void broadcast() {
    const ValueId x = real();
    Shape shape = graph_.shape(x);
    const int64_t at = pick(0, graph_.rank(x));
    shape.insert(shape.begin() + at, pick(0, 1) ? sizes_[1] : Expr(3));
    Ints axes;
    for (int64_t i = 0; i < graph_.rank(x); ++i) axes.push_back(i < at ? i : i + 1);
    keep(append(Op::broadcast, {x}, {{"shape", shape}, {"axes", axes}})[0]);
  }
  void slice() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    if (!is_positive(dim(x, axis))) return;
    const size_t rank = graph_.shape(x).size();
    Shape starts(rank, 0), shape = graph_.shape(x);
    Ints steps(rank, 1);
    const auto a = static_cast<size_t>(axis);
    switch (pick(0, 2)) {
      case 0:
        starts[a] = dim(x, axis) - 1, steps[a] = -1;
        break;  // reversed
      case 1:
        shape[a] = ceildiv(dim(x, axis), 2), steps[a] = 2;
        break;
      default:
        starts[a] = dim(x, axis) - 1, shape[a] = 1;
        break;  // the last
    }
    keep(append(Op::slice, {x}, {{"starts", starts}, {"shape", shape}, {"steps", steps}})[0]);
  }
  void pad() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    const char* const modes[] = {"edge", "reflect", "wrap"};
    if (!is_positive(dim(x, axis))) return;
    Shape low(graph_.shape(x).size(), 0), high = low;
    low[static_cast<size_t>(axis)] = pick(0, 2);
    high[static_cast<size_t>(axis)] = pick(0, 1) ? Expr(1) : sizes_[0];
    keep(append(Op::pad, {x},
                {{"low", low}, {"high", high}, {"mode", std::string(modes[pick(0, 2)])}})[0]);
  }
  void concat() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    keep(append(Op::concat, {x, map("neg", {x}), x}, {{"axis", axis}})[0]);
  }
  void gather() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    if (!is_positive(dim(x, axis))) return;
    keep(append(Op::gather, {x, integers({2, 1}, {0, -1})}, {{"axis", axis}})[0]);
  }
  void reduce() {
    const ValueId x = real();
    Ints axes;
    for (int64_t i = 0; i < graph_.rank(x); ++i) {
      if (pick(0, 1)) axes.push_back(i);
    }
    const char* const functions[] = {"sum", "max", "min", "prod"};
    keep(append(Op::reduce, {x}, {{"fn", std::string(functions[pick(0, 3)])}, {"axes", axes}})[0]);
  }
  void scan() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    keep(append(Op::scan, {x},
                {{"fn", std::string("sum")},
                 {"axis", axis},
                 {"exclusive", pick(0, 1)},
                 {"reverse", pick(0, 1)}})[0]);
  }
  void window() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    if (!is_positive(dim(x, axis) - 1)) return;
    keep(append(Op::window_reduce, {x},
                {{"fn", std::string(pick(0, 1) ? "max" : "sum")},
                 {"axes", Ints{axis}},
                 {"window", Ints{2}},
                 {"strides", Ints{pick(1, 2)}},
                 {"pads_low", Shape{pick(0, 1)}},
                 {"pads_high", Shape{0}},
                 {"dilations", Ints{1}}})[0]);
  }
  void contract() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    if (graph_.rank(x) > 3) return;
    const Ints one{axis};
    const bool batched = graph_.rank(x) > 1 && pick(0, 1) != 0;
    const Ints batch = batched ? Ints{axis == 0 ? 1 : 0} : Ints{};
    keep(append(Op::contract, {x, map("neg", {x})},
                {{"lhs_batch", batch},
                 {"rhs_batch", batch},
                 {"lhs_contract", one},
                 {"rhs_contract", one}})[0]);
  }
  void conv() {
    const ValueId x = real();
    if (graph_.rank(x) < 3 || !dim(x, 1).is_constant()) return;
    for (int64_t i = 2; i < graph_.rank(x); ++i) {
      if (!is_positive(dim(x, i))) return;
    }
    const auto spatial = static_cast<size_t>(graph_.rank(x)) - 2;
    std::vector<int64_t> shape{2, dim(x, 1).constant()};
    shape.resize(spatial + 2, 2);
    const auto weight = std::make_shared<const Tensor>(Tensor(DType::f32, shape));
    const ValueId w = append(Op::constant, {}, {{"value", TensorPtr(weight)}})[0];
    keep(append(Op::conv, {x, w},
                {{"layout", std::string("nchw")},
                 {"strides", Ints(spatial, pick(1, 3))},
                 {"pads_low", Shape(spatial, 1)},
                 {"pads_high", Shape(spatial, pick(0, 1))},
                 {"dilations", Ints(spatial, 1)},
                 {"groups", int64_t{1}}})[0]);
  }
  void normalize() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    keep(append(Op::softmax, {x}, {{"axis", axis}})[0]);
    keep(append(Op::normalize, {x},
                {{"axes", Ints{axis}}, {"epsilon", 1e-5}, {"kind", std::string("layer")}})[0]);
  }
  void order() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    if (!is_positive(dim(x, axis))) return;
    keep(append(Op::sort, {x}, {{"axis", axis}, {"descending", pick(0, 1)}})[0]);
    const auto top = append(Op::topk, {x},
                            {{"axis", axis},
                             {"k", Shape{ceildiv(dim(x, axis), 2)}},
                             {"largest", pick(0, 1)},
                             {"sorted", int64_t{1}}});
    keep(append(Op::gather_elements, {x, top[1]}, {{"axis", axis}})[0]);
  }
  void data_dependent() {
    int64_t axis = 0;
    const ValueId x = real_with_axis(axis);
    append(Op::nonzero, {x}, {{"count", Shape{count_symbol()}}});
    append(Op::unique, {x},
           {{"axis", pick(0, 1) ? axis : int64_t{-1}},
            {"sorted", pick(0, 1)},
            {"count", Shape{count_symbol()}}});
    const ValueId flat = append(Op::reshape, {x}, {{"shape", Shape{product(graph_.shape(x))}}})[0];
    const ValueId condition = map("gt", {flat, map("neg", {flat})});
    append(Op::compress, {x, condition}, {{"axis", int64_t{-1}}, {"count", Shape{count_symbol()}}});
  }

  static constexpr Step kSteps[] = {
      &GraphMaker::unary,         &GraphMaker::binary,      &GraphMaker::select,
      &GraphMaker::cast,          &GraphMaker::flatten_two, &GraphMaker::transpose,
      &GraphMaker::broadcast,     &GraphMaker::slice,       &GraphMaker::pad,
      &GraphMaker::concat,        &GraphMaker::gather,      &GraphMaker::reduce,
      &GraphMaker::scan,          &GraphMaker::window,      &GraphMaker::contract,
      &GraphMaker::conv,          &GraphMaker::normalize,   &GraphMaker::order,
      &GraphMaker::data_dependent};

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<Expr> sizes_;
  std::vector<ValueId> reals_;
};

void check_graph(uint64_t seed) {
  const Graph graph = GraphMaker(seed).make(12);
  std::mt19937_64 random(seed);
  for (int64_t size : {2, 3, 7}) {
    std::vector<Tensor> inputs;
    Bindings sizes{{"s0", size}, {"s1", static_cast<int64_t>(2 + random() % 6)}};
    for (ValueId input : graph.inputs) {
      std::vector<int64_t> shape;
      for (const Expr& dim : graph.shape(input)) shape.push_back(dim.evaluate(sizes));
      inputs.emplace_back(DType::f32, shape);
      for (int64_t i = 0; i < inputs.back().elements(); ++i) {
        inputs.back().set_double(i, static_cast<double>(random() % 17) / 4 - 2);
      }
    }
    const std::vector<Tensor> outputs = evaluate(graph, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorType& type = graph.type(graph.outputs[i]);
      ASSERT_EQ(outputs[i].dtype(), type.dtype) << "value " << i;
      ASSERT_EQ(outputs[i].shape().size(), type.shape.size()) << "value " << i;
      for (size_t axis = 0; axis < type.shape.size(); ++axis) {
        const std::optional<std::string> name = type.shape[axis].as_symbol();
        if (name && sizes.find(*name) == sizes.end()) sizes[*name] = outputs[i].shape()[axis];
        ASSERT_EQ(outputs[i].shape()[axis], type.shape[axis].evaluate(sizes))
            << "value " << i << " of type " << shape_text(type.shape);
      }
    }
  }
}

void check_seed(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  try {
    check_graph(seed);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

class ConsistencyFuzz : public testing::TestWithParam<uint64_t> {};
TEST_P(ConsistencyFuzz, EvaluationProducesTheInferredTypes) {
  for (uint64_t i = 0; i < 25; ++i) check_seed(GetParam() * 25 + i);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ConsistencyFuzz, testing::Range<uint64_t>(0, 12));

TEST(ConsistencyFuzzOnce, SeedOfTheEnvironment) {
  if (const char* seed = std::getenv("MCC_FUZZ_SEED")) check_seed(std::strtoull(seed, nullptr, 10));
}

}  // namespace
}  // namespace mcc::test
