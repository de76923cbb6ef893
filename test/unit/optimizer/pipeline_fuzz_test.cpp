// Random graphs through the whole pipeline: every result verifies and keeps its values, in every
// layout. A failure prints the seed and the graph; MCC_FUZZ_SEEDS=N runs more seeds.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "test/unit/optimizer/pass_testing.h"

namespace mcc {
namespace {

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Graph run() {
    for (uint32_t i = 0; i < 2 + random_() % 2; ++i) {
      Shape shape;
      for (uint32_t axis = 0; axis < 1 + random_() % 4; ++axis) shape.push_back(dim());
      values_.push_back(graph_.add_input({DType::f32, shape}));
    }
    values_.push_back(graph_.add_input({DType::f32, {Expr(1 + pick(2)), 4, 6, 5}}));
    for (int i = 0; i < 24; ++i) step();
    for (int i = 0; i < 3; ++i) graph_.add_output(any());
    graph_.add_output(values_.back());
    return std::move(graph_);
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint32_t>(n)); }
  Expr dim() { return Expr(1 + pick(4)); }
  // Recent values are likelier, so that chains grow.
  ValueId any() {
    const auto n = static_cast<int64_t>(values_.size());
    const int64_t choice = pick(4);
    if (choice < 2) return values_.back();
    return values_[static_cast<size_t>(choice == 2 ? n - 1 - pick(std::min<int64_t>(n, 3)) : pick(n))];
  }
  ValueId emit(Op op, std::vector<ValueId> inputs, Attributes attributes) {
    return graph_.append_one(op, std::move(inputs), std::move(attributes));
  }
  ValueId map(const char* fn, std::vector<ValueId> inputs) {
    Attributes attributes;
    attributes.set("fn", std::string(fn));
    return emit(Op::map, std::move(inputs), attributes);
  }
  ValueId constant(const Shape& shape) {
    std::vector<int64_t> sizes;
    for (const Expr& size : shape) sizes.push_back(size.constant());
    auto tensor = std::make_shared<Tensor>(DType::f32, sizes);
    const double special[] = {0, 1, 2, 0.5, -1, 0.25, 3};
    const bool uniform = pick(2) == 0;
    const double first = special[pick(7)];
    for (int64_t i = 0; i < tensor->elements(); ++i) {
      tensor->set_double(i, uniform ? first : static_cast<double>(pick(17) - 8) / 4);
    }
    Attributes attributes;
    attributes.set("value", TensorPtr(tensor));
    return emit(Op::constant, {}, attributes);
  }
  // A value of this shape: a scalar, a per-axis vector or a whole tensor of constants, repeated.
  ValueId parameter(const Shape& shape) {
    Attributes attributes;
    attributes.set("shape", shape);
    Shape small;
    Ints axes;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t choice = pick(4);
      if (choice == 0) continue;
      if (choice == 1) small.push_back(shape[axis]);
      if (choice > 1) small.push_back(1);
      axes.push_back(static_cast<int64_t>(axis));
    }
    attributes.set("axes", axes);
    return emit(Op::broadcast, {constant(small)}, attributes);
  }

  void step() {
    const ValueId x = any();
    const Shape shape = graph_.shape(x);
    const auto rank = static_cast<int64_t>(shape.size());
    Attributes attributes;
    switch (pick(14)) {
      case 0: {
        const char* names[] = {"neg", "abs", "tanh", "sigmoid", "relu", "erf"};
        return push(map(names[pick(6)], {x}));
      }
      case 1: return push(map("sqrt", {map("abs", {x})}));
      case 2:
      case 3: {
        const char* names[] = {"add", "sub", "mul", "max", "min"};
        const ValueId constant_operand = parameter(shape);
        const char* name = names[pick(5)];
        return push(pick(3) == 0 ? map(name, {constant_operand, x}) : map(name, {x, constant_operand}));
      }
      case 4: {  // a divisor away from 0
        const ValueId divisor = map("add", {map("abs", {parameter(shape)}), parameter_of(shape, 0.5)});
        return push(map("div", {x, divisor}));
      }
      case 5: {  // two values of one shape
        const char* names[] = {"add", "mul", "sub"};
        for (ValueId other : values_) {
          if (other != x && graph_.shape(other) == shape) return push(map(names[pick(3)], {x, other}));
        }
        return push(map("mul", {x, x}));
      }
      case 6: {
        Ints perm;
        for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
        std::shuffle(perm.begin(), perm.end(), random_);
        attributes.set("perm", perm);
        return push(emit(Op::transpose, {x}, attributes));
      }
      case 7: {
        Shape to = shape;
        if (pick(2) == 0 && rank > 1) {
          const auto at = static_cast<size_t>(pick(rank - 1));
          to[at] = to[at] * to[at + 1];
          to.erase(to.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        } else if (rank < 5) {
          to.insert(to.begin() + pick(rank + 1), Expr(1));
        }
        attributes.set("shape", to);
        return push(emit(Op::reshape, {x}, attributes));
      }
      case 8: {  // repeat along a new axis
        if (rank > 3 || product(shape).constant() > 200) return;
        Shape to = shape;
        const int64_t at = pick(rank + 1);
        to.insert(to.begin() + at, dim());
        Ints axes;
        for (int64_t i = 0; i <= rank; ++i) {
          if (i != at) axes.push_back(i);
        }
        attributes.set("shape", to);
        attributes.set("axes", axes);
        return push(emit(Op::broadcast, {x}, attributes));
      }
      case 9: {
        Shape starts, sizes;
        Ints steps;
        for (const Expr& size : shape) {
          const int64_t n = size.constant();
          const int64_t count = 1 + pick(n);
          const bool backwards = pick(4) == 0;
          starts.emplace_back(backwards ? n - 1 - pick(n - count + 1) : pick(n - count + 1));
          sizes.emplace_back(count);
          steps.push_back(backwards ? -1 : 1);
        }
        attributes.set("starts", starts);
        attributes.set("shape", sizes);
        attributes.set("steps", steps);
        return push(emit(Op::slice, {x}, attributes));
      }
      case 10: {
        attributes.set("axis", rank == 0 ? int64_t{0} : pick(rank));
        if (rank == 0 || product(shape).constant() > 300) return;
        return push(emit(Op::concat, {x, x, parameter(shape)}, attributes));
      }
      case 11: {
        if (rank == 0) return;
        Ints axes;
        for (int64_t i = 0; i < rank; ++i) {
          if (pick(2) == 0) axes.push_back(i);
        }
        attributes.set("axes", axes);
        attributes.set("fn", std::string(pick(2) == 0 ? "sum" : "max"));
        return push(emit(Op::reduce, {x}, attributes));
      }
      case 12: return push(padded(x));
      default: return convolution(x);
    }
  }

  // Mostly by zeros and along spatial axes, as in front of a convolution.
  ValueId padded(ValueId x) {
    Shape low, high;
    const bool anywhere = pick(4) == 0;
    for (int64_t i = 0; i < graph_.rank(x); ++i) {
      low.emplace_back(i < 2 && !anywhere ? int64_t{0} : pick(3));
      high.emplace_back(i < 2 && !anywhere ? int64_t{0} : pick(3));
    }
    Attributes attributes, fill;
    attributes.set("low", low);
    attributes.set("high", high);
    attributes.set("mode", std::string("constant"));
    fill.set("value", std::make_shared<const Tensor>(Tensor::scalar(DType::f32, pick(4) == 0 ? 1 : 0)));
    return emit(Op::pad, {x, emit(Op::constant, {}, fill)}, attributes);
  }

  ValueId parameter_of(const Shape& shape, double value) {
    Attributes scalar, repeated;
    scalar.set("value", std::make_shared<const Tensor>(Tensor::scalar(DType::f32, value)));
    repeated.set("shape", shape);
    repeated.set("axes", Ints{});
    return emit(Op::broadcast, {emit(Op::constant, {}, scalar)}, repeated);
  }

  void convolution(ValueId x) {
    // The latest value that can be convolved.
    for (size_t i = values_.size(); i-- > 0 && graph_.rank(x) != 4;) x = values_[i];
    if (graph_.rank(x) != 4) return;
    if (pick(3) == 0) x = padded(x);
    const Shape shape = graph_.shape(x);
    const int64_t channels = shape[1].constant();
    const bool depthwise = pick(3) == 0;
    const int64_t groups = depthwise ? channels : channels % 2 == 0 && pick(2) == 0 ? 2 : 1;
    const int64_t kernel = 1 + pick(2);
    for (size_t axis : {size_t{2}, size_t{3}}) {
      if (shape[axis].constant() < kernel) return;
    }
    Attributes attributes;
    attributes.set("layout", std::string("nchw"));
    attributes.set("strides", Ints{1 + pick(2), 1});
    attributes.set("dilations", Ints{1, 1});
    attributes.set("pads_low", Shape{pick(2), 0});
    attributes.set("pads_high", Shape{0, pick(2)});
    attributes.set("groups", groups);
    const Shape weight{groups * (1 + pick(groups > 1 ? 2 : 5)), channels / groups, kernel, kernel};
    if (pick(3) == 0) x = map("mul", {x, channel_parameter(shape)});
    ValueId y = emit(Op::conv, {x, constant(weight)}, attributes);
    push(y);
    // Scale, bias and activation, as models have them; sometimes the plain result is read too.
    const Shape out = graph_.shape(y);
    if (pick(2) == 0) push(y = map("mul", {y, channel_parameter(out)}));
    if (pick(2) == 0) push(y = map("add", {y, channel_parameter(out)}));
    if (pick(2) == 0) push(map("relu", {y}));
  }

  ValueId channel_parameter(const Shape& shape) {
    Attributes attributes;
    attributes.set("shape", shape);
    attributes.set("axes", Ints{1});
    return emit(Op::broadcast, {constant({shape[1]})}, attributes);
  }

  void push(ValueId value) {
    if (product(graph_.shape(value)).constant() <= 2000) values_.push_back(value);
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<ValueId> values_;
};

TEST(PipelineFuzz, EveryResultVerifiesAndKeepsItsValues) {
  const char* wanted = std::getenv("MCC_FUZZ_SEEDS");
  const auto seeds = static_cast<uint32_t>(wanted == nullptr ? 150 : std::atoi(wanted));
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    const Graph before = Generator(seed).run();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (LayoutChoice layout : {LayoutChoice::automatic, LayoutChoice::channels_first, LayoutChoice::channels_last}) {
      Graph after = before;
      OptimizerOptions options;
      options.layout = layout;
      options.verify = true;
      ASSERT_NO_THROW(optimize(after, options)) << print_graph(before);
      expect_same_results(before, after, 1e-3);
      if (testing::Test::HasFatalFailure()) {
        std::cerr << print_graph(before) << print_graph(after);
        return;
      }
    }
  }
}

}  // namespace
}  // namespace mcc
