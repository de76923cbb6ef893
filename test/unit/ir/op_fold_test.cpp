// Reductions, windows, scans, normalization, attention, contractions, convolutions.
#include <limits>
#include <numeric>

#include "test/unit/ir/evaluation.h"

namespace mcc::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> counting(int64_t count, double first = 0) {
  std::vector<double> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

Tensor reduce(const char* fn, const Tensor& x, Ints axes) {
  return apply_one(Op::reduce, {{"fn", std::string(fn)}, {"axes", std::move(axes)}}, {x});
}

TEST(Reduce, FoldsAnyAxes) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_f32(reduce("sum", x, {1}), {2}, {6, 15});
  expect_f32(reduce("sum", x, {0}), {3}, {5, 7, 9});
  expect_f32(reduce("prod", x, {0, 1}), {}, {720});
  expect_f32(reduce("max", x, {}), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_f32(reduce("max", f32({2}, {kNan, 1}), {0}), {}, {kNan});
  expect_f32(reduce("min", f32({2}, {1, kNan}), {0}), {}, {kNan});
  expect_tensor(reduce("sum", tensor(DType::i8, {2}, {100, 100}), {0}), DType::i8, {}, {-56});
  expect_tensor(reduce("max", tensor(DType::u64, {2}, {1, 0x1p63}), {0}), DType::u64, {}, {0x1p63});
  expect_tensor(reduce("any", boolean({2, 2}, {0, 0, 1, 0}), {1}), DType::boolean, {2}, {0, 1});
  expect_tensor(reduce("all", boolean({2, 2}, {1, 1, 1, 0}), {1}), DType::boolean, {2}, {1, 0});
}

TEST(Reduce, OfNothingIsNeutral) {
  expect_f32(reduce("sum", f32({2, 0}, {}), {1}), {2}, {0, 0});
  expect_f32(reduce("max", f32({0}, {}), {0}), {}, {-std::numeric_limits<double>::infinity()});
  expect_tensor(reduce("min", tensor(DType::i8, {0}, {}), {0}), DType::i8, {}, {127});
}

TEST(ArgReduce, PicksFirstOrLast) {
  const auto arg = [](const char* fn, int64_t last, const Tensor& x, int64_t axis) {
    return apply_one(Op::arg_reduce,
                     {{"fn", std::string(fn)}, {"axis", axis}, {"select_last", last}}, {x});
  };
  const Tensor x = f32({2, 3}, {2, 5, 5, 1, 1, 7});
  expect_i64(arg("max", 0, x, 1), {2}, {1, 2});
  expect_i64(arg("max", 1, x, 1), {2}, {2, 2});
  expect_i64(arg("min", 0, x, 1), {2}, {0, 0});
  expect_i64(arg("min", 1, x, 1), {2}, {0, 1});
  expect_i64(arg("max", 0, x, 0), {3}, {0, 0, 1});
  expect_i64(arg("max", 0, f32({3}, {1, kNan, 2}), 0), {}, {1});
}

TEST(Scan, CumulatesInBothDirections) {
  const auto scan = [](const char* fn, int64_t exclusive, int64_t reverse, const Tensor& x) {
    return apply_one(Op::scan,
                     {{"fn", std::string(fn)},
                      {"axis", int64_t{0}},
                      {"exclusive", exclusive},
                      {"reverse", reverse}},
                     {x});
  };
  const Tensor x = f32({4}, {1, 2, 3, 4});
  expect_f32(scan("sum", 0, 0, x), {4}, {1, 3, 6, 10});
  expect_f32(scan("sum", 1, 0, x), {4}, {0, 1, 3, 6});
  expect_f32(scan("sum", 0, 1, x), {4}, {10, 9, 7, 4});
  expect_f32(scan("sum", 1, 1, x), {4}, {9, 7, 4, 0});
  expect_f32(scan("prod", 1, 0, x), {4}, {1, 1, 2, 6});
  expect_f32(scan("max", 0, 0, f32({3}, {1, 3, 2})), {3}, {1, 3, 3});
}

TEST(WindowReduce, PoolsInAnyLayout) {
  const auto pool = [](const char* fn, const Tensor& x, Ints axes, Ints window, Ints strides,
                       Shape low, Shape high, Ints dilations) {
    return apply_one(Op::window_reduce,
                     {{"fn", std::string(fn)},
                      {"axes", axes},
                      {"window", window},
                      {"strides", strides},
                      {"pads_low", low},
                      {"pads_high", high},
                      {"dilations", dilations}},
                     {x});
  };
  const Tensor nchw = f32({1, 1, 3, 3}, counting(9, 1));
  expect_f32(pool("max", nchw, {2, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}), {1, 1, 2, 2},
             {5, 6, 8, 9});
  expect_f32(pool("sum", nchw, {2, 3}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}), {1, 1, 2, 2},
             {12, 16, 24, 28});
  expect_f32(pool("max", nchw, {2, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {2, 2}), {1, 1, 1, 1}, {9});
  const Tensor nhwc = f32({1, 3, 3, 1}, counting(9, 1));
  expect_f32(pool("min", nhwc, {1, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}), {1, 2, 2, 1},
             {1, 2, 4, 5});
  expect_i64(pool("arg_max", f32({1, 1, 2, 3}, {1, 9, 2, 9, 0, 8}), {2, 3}, {2, 2}, {1, 1}, {0, 0},
                  {0, 0}, {1, 1}),
             {1, 1, 1, 2}, {1, 1});
  expect_tensor(
      pool("max", tensor(DType::u8, {1, 4}, {1, 200, 3, 4}), {1}, {2}, {2}, {0}, {0}, {1}),
      DType::u8, {1, 2}, {200, 4});
}

TEST(Softmax, IsStableForLargeInputs) {
  expect_f32(apply_one(Op::softmax, {{"axis", int64_t{1}}}, {f32({1, 3}, {1000, 1001, 1002})}),
             {1, 3}, {0.09003057317038046, 0.24472847105479767, 0.6652409557748219});
  expect_f32(apply_one(Op::softmax, {{"axis", int64_t{0}}}, {f32({2, 2}, {0, 1, 0, 1})}), {2, 2},
             {0.5, 0.5, 0.5, 0.5});
}

TEST(Normalize, LayerAndRms) {
  const Tensor x = f32({2, 2}, {1, 3, -2, 2});
  const auto normalize = [&](const char* kind) {
    return apply_one(Op::normalize,
                     {{"axes", Ints{1}}, {"epsilon", 0.0}, {"kind", std::string(kind)}}, {x});
  };
  expect_f32(normalize("layer"), {2, 2}, {-1, 1, -1, 1});
  expect_f32(normalize("rms"), {2, 2}, {0.4472135955, 1.3416407865, -1, 1});
}

TEST(Attention, MasksAndCausality) {
  const Tensor q = f32({1, 1, 2, 1}, {0, 0}), k = f32({1, 1, 3, 1}, {1, 2, 3});
  const Tensor v = f32({1, 1, 3, 2}, {3, 0, 6, 0, 9, 3});
  const auto attend = [&](int64_t causal, std::vector<Tensor> inputs) {
    return apply_one(Op::attention, {{"scale", 1.0}, {"causal", causal}}, inputs);
  };
  expect_f32(attend(0, {q, k, v}), {1, 1, 2, 2}, {6, 1, 6, 1});
  expect_f32(attend(1, {q, k, v}), {1, 1, 2, 2}, {3, 0, 4.5, 0});
  expect_f32(attend(2, {q, k, v}), {1, 1, 2, 2}, {4.5, 0, 6, 1});
  expect_f32(attend(0, {q, k, v, f32({1, 1, 1, 3}, {0, -1e30, 0})}), {1, 1, 2, 2},
             {6, 1.5, 6, 1.5});
  const Tensor sharp = f32({1, 1, 2, 1}, {100, -100});
  expect_f32(attend(0, {sharp, k, v}), {1, 1, 2, 2}, {9, 3, 3, 0});
}

Attributes matmul(Ints lb, Ints rb, Ints lc, Ints rc) {
  return attributes(
      {{"lhs_batch", lb}, {"rhs_batch", rb}, {"lhs_contract", lc}, {"rhs_contract", rc}});
}
Tensor contract(Attributes attributes, const Tensor& a, const Tensor& b) {
  Node node;
  node.op = Op::contract;
  node.attributes = std::move(attributes);
  return apply(std::move(node), {a, b}).at(0);
}

TEST(Contract, MatrixProductsAndOuterProducts) {
  const Tensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6}), b = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_f32(contract(matmul({}, {}, {1}, {0}), a, b), {2, 2}, {22, 28, 49, 64});
  expect_f32(contract(matmul({}, {}, {0}, {1}), a, b), {3, 3}, {9, 19, 29, 12, 26, 40, 15, 33, 51});
  expect_f32(contract(matmul({}, {}, {}, {}), f32({2}, {1, 2}), f32({2}, {3, 4})), {2, 2},
             {3, 4, 6, 8});
  expect_f32(contract(matmul({}, {}, {0}, {0}), f32({2}, {1, 2}), f32({2}, {3, 4})), {}, {11});
  expect_f32(contract(matmul({0}, {0}, {2}, {1}), f32({2, 1, 2}, {1, 2, 3, 4}),
                      f32({2, 2, 1}, {1, 1, 2, 2})),
             {2, 1, 1}, {3, 14});
}

TEST(Contract, LargeProductsAgreeWithAPlainLoop) {
  const int64_t batch = 2, rows = 37, depth = 300, columns = 131;
  std::vector<double> a, b;
  for (int64_t i = 0; i < batch * rows * depth; ++i)
    a.push_back(static_cast<double>(i * 7919 % 101 - 50) / 16);
  for (int64_t i = 0; i < batch * depth * columns; ++i)
    b.push_back(static_cast<double>(i * 104729 % 89 - 44) / 16);
  const Tensor c = contract(matmul({0}, {0}, {2}, {1}), f32({batch, rows, depth}, a),
                            f32({batch, depth, columns}, b));
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) {
          sum += a[static_cast<size_t>((n * rows + i) * depth + k)] *
                 b[static_cast<size_t>((n * depth + k) * columns + j)];
        }
        ASSERT_EQ(static_cast<double>(c.as<float>()[(n * rows + i) * columns + j]),
                  static_cast<double>(static_cast<float>(sum)));
      }
    }
  }
}

TEST(Contract, IntegersAccumulateInTheirOutputType) {
  const Tensor a = tensor(DType::u8, {1, 2}, {255, 255}),
               b = tensor(DType::i8, {2, 1}, {-128, 127});
  expect_tensor(contract(matmul({}, {}, {1}, {0}), a, b), DType::i32, {1, 1}, {-255});
  const Tensor c = i64({1, 2}, {0x1p61, 3}), d = i64({2, 1}, {8, 5});
  expect_i64(contract(matmul({}, {}, {1}, {0}), c, d), {1, 1}, {15});  // 2^64 wraps to 0
  Attributes half = matmul({}, {}, {1}, {0});
  half.set("out", DType::f32);
  expect_f32(contract(half, tensor(DType::f16, {1, 1}, {300}), tensor(DType::f16, {1, 1}, {300})),
             {1, 1}, {90000});
}

Tensor conv(const Tensor& x, const Tensor& w, const char* layout, Ints strides, Shape low,
            Shape high, Ints dilations, int64_t groups) {
  return apply_one(Op::conv,
                   {{"layout", std::string(layout)},
                    {"strides", strides},
                    {"pads_low", low},
                    {"pads_high", high},
                    {"dilations", dilations},
                    {"groups", groups}},
                   {x, w});
}

TEST(Conv, KnownAnswersOfTheOnnxSpecification) {
  const Tensor x = f32({1, 1, 5, 5}, counting(25)),
               w = f32({1, 1, 3, 3}, std::vector<double>(9, 1));
  expect_f32(conv(x, w, "nchw", {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1), {1, 1, 5, 5},
             {12,  21, 27, 33,  24,  33,  54,  63, 72,  51,  63,  99, 108,
              117, 81, 93, 144, 153, 162, 111, 72, 111, 117, 123, 84});
  expect_f32(conv(x, w, "nchw", {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1), {1, 1, 3, 3},
             {54, 63, 72, 99, 108, 117, 144, 153, 162});
  expect_f32(conv(x, w, "nchw", {2, 2}, {0, 0}, {0, 0}, {2, 2}, 1), {1, 1, 1, 1}, {108});
}

TEST(Conv, LayoutsAndGroupsAgree) {
  const Tensor x = f32({2, 4, 5, 3}, counting(120, -60)), w = f32({6, 2, 3, 2}, counting(72, -36));
  const Tensor plain = conv(x, w, "nchw", {2, 1}, {1, 0}, {1, 1}, {1, 1}, 2);
  const Tensor last = apply_one(Op::transpose, {{"perm", Ints{0, 2, 3, 1}}}, {x});
  const Tensor other = conv(last, w, "nhwc", {2, 1}, {1, 0}, {1, 1}, {1, 1}, 2);
  const Tensor back = apply_one(Op::transpose, {{"perm", Ints{0, 3, 1, 2}}}, {other});
  expect_f32(back, plain.shape(), all_doubles(plain), 0);
  // One output by hand: n=1, oc=4 (group 1: channels 2, 3), oh=1 (rows 1..3), ow=2 (columns 2,
  // pad).
  double sum = 0;
  for (int64_t c = 0; c < 2; ++c) {
    for (int64_t r = 0; r < 3; ++r) {
      sum += static_cast<double>(x.as<float>()[((1 * 4 + 2 + c) * 5 + 1 + r) * 3 + 2]) *
             static_cast<double>(w.as<float>()[((4 * 2 + c) * 3 + r) * 2]);
    }
  }
  EXPECT_EQ(plain.shape(), (std::vector<int64_t>{2, 6, 3, 3}));
  EXPECT_EQ(static_cast<double>(plain.as<float>()[((1 * 6 + 4) * 3 + 1) * 3 + 2]), sum);
}

TEST(Conv, OneAndThreeDimensionsAndIntegers) {
  expect_f32(
      conv(f32({1, 1, 4}, {1, 2, 3, 4}), f32({1, 1, 2}, {1, -1}), "nchw", {1}, {0}, {0}, {1}, 1),
      {1, 1, 3}, {-1, -1, -1});
  expect_f32(
      conv(f32({1, 1, 2, 2, 2}, counting(8)), f32({1, 1, 2, 2, 2}, std::vector<double>(8, 1)),
           "nchw", {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1),
      {1, 1, 1, 1, 1}, {28});
  expect_tensor(
      conv(tensor(DType::u8, {1, 1, 2, 2}, {255, 1, 2, 3}), tensor(DType::i8, {1, 1, 1, 1}, {-2}),
           "nchw", {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1),
      DType::i32, {1, 1, 2, 2}, {-510, -2, -4, -6});
}

TEST(ConvTranspose, KnownAnswersOfTheOnnxSpecification) {
  const auto run = [](const Tensor& x, const Tensor& w, Ints strides, Shape low, Shape high,
                      Ints extra, int64_t groups, const char* layout = "nchw") {
    return apply_one(Op::conv_transpose,
                     {{"layout", std::string(layout)},
                      {"strides", strides},
                      {"pads_low", low},
                      {"pads_high", high},
                      {"dilations", Ints{1, 1}},
                      {"groups", groups},
                      {"output_padding", extra}},
                     {x, w});
  };
  const Tensor x = f32({1, 1, 3, 3}, counting(9));
  expect_f32(
      run(x, f32({1, 1, 3, 3}, std::vector<double>(9, 1)), {1, 1}, {0, 0}, {0, 0}, {0, 0}, 1),
      {1, 1, 5, 5},
      {0, 1, 3, 3, 2, 3, 8, 15, 12, 7, 9, 21, 36, 27, 15, 9, 20, 33, 24, 13, 6, 13, 21, 15, 8});
  expect_f32(run(f32({1, 1, 1, 2}, {1, 2}), f32({1, 2, 1, 2}, {1, 10, 100, 1000}), {1, 2}, {0, 0},
                 {0, 0}, {0, 1}, 1),
             {1, 2, 1, 5}, {1, 10, 2, 20, 0, 100, 1000, 200, 2000, 0});
  expect_f32(
      run(x, f32({1, 1, 3, 3}, std::vector<double>(9, 1)), {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1),
      {1, 1, 3, 3}, {8, 15, 12, 21, 36, 27, 20, 33, 24});
  // Two groups, channels last: each input channel makes its own output channel.
  expect_f32(run(f32({1, 1, 1, 2}, {2, 3}), f32({2, 1, 1, 2}, {1, 2, 3, 4}), {1, 1}, {0, 0}, {0, 0},
                 {0, 0}, 2, "nhwc"),
             {1, 1, 2, 2}, {2, 9, 4, 12});
}

}  // namespace
}  // namespace mcc::test
