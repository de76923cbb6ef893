// Random small graphs against the reference evaluator. Every case is replayed by its seed:
// MCC_FUZZ_SEED=17 runs that one, MCC_FUZZ_CASES=500 more of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "kernel_harness.h"
#include "lib/ir/op.h"
#include "lib/ir/text.h"

namespace mcc {
namespace {

constexpr int64_t kMostElements = 20000;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  std::string run() {
    graph_.name = "g";
    const int64_t rank = pick(2, 4);
    Shape shape;
    do {
      shape.clear();
      for (int64_t axis = 0; axis < rank; ++axis) shape.emplace_back(dim());
    } while (product(shape).constant() > kMostElements);
    add(input(shape));
    const int64_t steps = pick(3, 8);
    for (int64_t step = 0; step < steps; ++step) extend();
    graph_.add_output(values_.back(), "y");
    if (pick(0, 1) == 0) graph_.add_output(values_[static_cast<size_t>(pick(0, static_cast<int64_t>(values_.size()) - 1))], "z");
    PrintOptions options;
    options.full = true;
    return print_graph(graph_, options);
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  int64_t dim() {
    constexpr int64_t kDims[] = {1, 2, 3, 5, 8, 11, 16, 17, 24, 33};
    return kDims[pick(0, 9)];
  }
  int64_t extent(ValueId value, int64_t axis) const { return graph_.shape(value)[static_cast<size_t>(axis)].constant(); }
  int64_t rank(ValueId value) const { return static_cast<int64_t>(graph_.shape(value).size()); }
  ValueId input(const Shape& shape, DType dtype = DType::f32) { return graph_.add_input({dtype, shape}); }

  bool fits(ValueId value) const {
    const int64_t elements = product(graph_.shape(value)).constant();
    return elements > 0 && elements <= kMostElements;
  }
  void add(ValueId value) {
    if (fits(value)) values_.push_back(value);
  }
  ValueId apply(Op op, std::vector<ValueId> inputs, const std::vector<Attributes::Entry>& attributes) {
    Attributes all;
    for (const auto& [name, value] : attributes) all.set(name, value);
    return graph_.append_one(op, std::move(inputs), all);
  }
  ValueId map(const char* function, std::vector<ValueId> inputs) {
    return apply(Op::map, std::move(inputs), {{"fn", std::string(function)}});
  }

  void extend() {
    const ValueId x = values_[static_cast<size_t>(pick(0, static_cast<int64_t>(values_.size()) - 1))];
    switch (pick(0, 15)) {
      case 0:
      case 1: return unary(x);
      case 2:
      case 3: return binary(x);
      case 4: return transpose(x);
      case 5: return slice(x);
      case 6: return pad(x);
      case 7: return concat(x);
      case 8: return gather(x);
      case 9:
      case 10: return reduce(x);
      case 11: return row_operator(x);
      case 12: return contract(x);
      case 13: return convolve(x);
      case 14: return pool(x);
      default: return reshape(x);
    }
  }

  void unary(ValueId x) {
    constexpr const char* kFunctions[] = {"relu", "tanh", "sigmoid", "abs", "neg", "gelu", "erf", "cos"};
    add(map(kFunctions[pick(0, 7)], {x}));
  }

  // With another value of the same shape, or a broadcast row, column or scalar.
  void binary(ValueId x) {
    constexpr const char* kFunctions[] = {"add", "sub", "mul", "max", "min"};
    ValueId other = kNoValue;
    for (ValueId value : values_) {
      if (pick(0, 1) == 0 && value != x && graph_.shape(value) == graph_.shape(x)) other = value;
    }
    if (other == kNoValue) {
      Shape small;
      Ints axes;
      for (int64_t axis = 0; axis < rank(x); ++axis) {
        small.emplace_back(pick(0, 1) == 0 ? 1 : extent(x, axis));
        axes.push_back(axis);
      }
      other = apply(Op::broadcast, {input(small)}, {{"shape", graph_.shape(x)}, {"axes", axes}});
    }
    add(map(kFunctions[pick(0, 4)], {x, other}));
  }

  void transpose(ValueId x) {
    Ints perm;
    for (int64_t axis = 0; axis < rank(x); ++axis) perm.push_back(axis);
    std::shuffle(perm.begin(), perm.end(), random_);
    add(apply(Op::transpose, {x}, {{"perm", perm}}));
  }

  void reshape(ValueId x) {
    const Shape& old = graph_.shape(x);
    if (old.size() < 2) return;
    // Merges two neighbouring axes.
    const auto at = static_cast<size_t>(pick(0, static_cast<int64_t>(old.size()) - 2));
    Shape shape = old;
    shape[at] = shape[at] * shape[at + 1];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    add(apply(Op::reshape, {x}, {{"shape", shape}}));
  }

  void slice(ValueId x) {
    Shape starts, shape;
    Ints steps;
    for (int64_t axis = 0; axis < rank(x); ++axis) {
      const int64_t start = pick(0, extent(x, axis) - 1);
      const bool backward = pick(0, 3) == 0;
      const int64_t step = pick(1, 2);
      const int64_t most = backward ? start / step + 1 : (extent(x, axis) - 1 - start) / step + 1;
      starts.emplace_back(start);
      steps.push_back(backward ? -step : step);
      shape.emplace_back(pick((most + 1) / 2, most));
    }
    add(apply(Op::slice, {x}, {{"starts", starts}, {"shape", shape}, {"steps", steps}}));
  }

  void pad(ValueId x) {
    constexpr const char* kModes[] = {"constant", "edge"};
    Shape low, high;
    for (int64_t axis = 0; axis < rank(x); ++axis) {
      low.emplace_back(pick(0, 2));
      high.emplace_back(pick(0, 2));
    }
    const std::string mode = kModes[pick(0, 1)];
    std::vector<ValueId> inputs{x};
    if (mode == "constant") {
      inputs.push_back(apply(Op::constant, {}, {{"value", std::make_shared<const Tensor>(Tensor::scalar(DType::f32, 0.5))}}));
    }
    add(apply(Op::pad, inputs, {{"low", low}, {"high", high}, {"mode", mode}}));
  }

  void concat(ValueId x) {
    const int64_t axis = pick(0, rank(x) - 1);
    Shape other = graph_.shape(x);
    other[static_cast<size_t>(axis)] = Expr(dim());
    add(apply(Op::concat, {x, input(other)}, {{"axis", axis}}));
  }

  void gather(ValueId x) {
    const int64_t axis = pick(0, rank(x) - 1);
    if (extent(x, axis) < 5) return;  // the harness draws indices below 5
    add(apply(Op::gather, {x, input({Expr(dim())}, DType::i64)}, {{"axis", axis}}));
  }

  Ints some_axes(ValueId x) {
    Ints axes;
    for (int64_t axis = 0; axis < rank(x); ++axis) {
      if (pick(0, 1) == 0) axes.push_back(axis);
    }
    if (axes.empty()) axes.push_back(pick(0, rank(x) - 1));
    return axes;
  }

  void reduce(ValueId x) {
    constexpr const char* kFunctions[] = {"sum", "max", "min"};
    const Ints axes = some_axes(x);
    if (static_cast<int64_t>(axes.size()) == rank(x)) return;
    add(apply(Op::reduce, {x}, {{"fn", std::string(kFunctions[pick(0, 2)])}, {"axes", axes}}));
  }

  void row_operator(ValueId x) {
    if (pick(0, 1) == 0) {
      add(apply(Op::softmax, {x}, {{"axis", pick(0, rank(x) - 1)}}));
    } else {
      add(apply(Op::normalize, {x}, {{"axes", some_axes(x)}, {"epsilon", 0.1}, {"kind", std::string(pick(0, 1) == 0 ? "layer" : "rms")}}));
    }
  }

  TensorPtr weights(std::vector<int64_t> shape) {
    auto tensor = std::make_shared<Tensor>(DType::f32, std::move(shape));
    for (int64_t i = 0; i < tensor->elements(); ++i) tensor->set_double(i, static_cast<double>(pick(-64, 64)) / 64.0);
    return tensor;
  }
  ValueId constant(std::vector<int64_t> shape) { return apply(Op::constant, {}, {{"value", weights(std::move(shape))}}); }

  // A product over the last axis, with a constant or a computed right operand.
  void contract(ValueId x) {
    const int64_t depth = extent(x, rank(x) - 1);
    const int64_t columns = dim() * pick(1, 5);
    const bool turned = pick(0, 1) == 0;
    const std::vector<int64_t> dims = turned ? std::vector<int64_t>{columns, depth} : std::vector<int64_t>{depth, columns};
    const ValueId w = pick(0, 1) == 0 ? constant(dims) : input({Expr(dims[0]), Expr(dims[1])});
    add(apply(Op::contract, {x, w},
              {{"lhs_batch", Ints{}}, {"rhs_batch", Ints{}}, {"lhs_contract", Ints{rank(x) - 1}},
               {"rhs_contract", Ints{turned ? 1 : 0}}, {"out", DType::f32}}));
  }

  void convolve(ValueId x) {
    if (rank(x) != 4) return;
    const bool last = pick(0, 2) != 0;
    const int64_t channels = extent(x, last ? 3 : 1);
    const int64_t kernel = pick(1, 3);
    const bool depthwise = pick(0, 2) == 0 && channels > 1;
    const int64_t groups = depthwise ? channels : 1;
    const int64_t out = depthwise ? channels : dim() * pick(1, 4);
    const int64_t dilation = pick(1, 2);
    const int64_t pad_by = pick(0, 2);
    const int64_t height = extent(x, last ? 1 : 2);
    const int64_t width = extent(x, last ? 2 : 3);
    if (std::min(height, width) + 2 * pad_by <= dilation * (kernel - 1)) return;
    add(apply(Op::conv, {x, constant({out, channels / groups, kernel, kernel})},
              {{"layout", std::string(last ? "nhwc" : "nchw")}, {"strides", Ints{pick(1, 2), pick(1, 2)}},
               {"pads_low", Shape{pad_by, pad_by}}, {"pads_high", Shape{pad_by, pad_by}},
               {"dilations", Ints{dilation, dilation}}, {"groups", groups}, {"out", DType::f32}}));
  }

  void pool(ValueId x) {
    constexpr const char* kFunctions[] = {"sum", "max", "min"};
    if (rank(x) < 3) return;
    const int64_t first = pick(0, rank(x) - 2);
    const int64_t window = pick(1, 3);
    if (extent(x, first) + 1 < window || extent(x, first + 1) + 1 < window) return;
    add(apply(Op::window_reduce, {x},
              {{"fn", std::string(kFunctions[pick(0, 2)])}, {"axes", Ints{first, first + 1}}, {"window", Ints{window, window}},
               {"strides", Ints{pick(1, 2), pick(1, 2)}}, {"pads_low", Shape{0, 1}}, {"pads_high", Shape{1, 0}},
               {"dilations", Ints{1, 1}}}));
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<ValueId> values_;
};

TEST(HostFuzz, RandomGraphs) {
  const char* seed = std::getenv("MCC_FUZZ_SEED");
  const char* cases = std::getenv("MCC_FUZZ_CASES");
  const uint32_t first = seed != nullptr ? static_cast<uint32_t>(std::atoi(seed)) : 1;
  const uint32_t count = seed != nullptr ? 1 : cases != nullptr ? static_cast<uint32_t>(std::atoi(cases)) : 12;
  for (uint32_t i = first; i < first + count; ++i) {
    const std::string text = Generator(i).run();
    SCOPED_TRACE("seed " + std::to_string(i) + "\n" + text);
    // One instruction set per case: half of the time is spent compiling.
    const backend::Target target = i % 2 == 0 && __builtin_cpu_supports("avx512f") ? backend::host_target_v4()
                                                                                   : backend::host_target_v3();
    test::check_on_host(text, test::RunOptions{target, {}, i, 2e-4});
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace mcc
