// Sources, views, gather and scatter.
#include <numeric>

#include "lib/ir/philox.h"
#include "test/unit/ir/evaluation.h"

namespace mcc::test {
namespace {

TEST(OpTable, HasOneRowPerOperatorFoundByName) {
  for (const OpInfo& row : all_ops()) {
    EXPECT_EQ(find_op(row.name), &op_info(row.op)) << row.name;
    EXPECT_NE(row.infer, nullptr) << row.name;
    EXPECT_NE(row.evaluate, nullptr) << row.name;
  }
  EXPECT_EQ(find_op("no_such_operator"), nullptr);
}

TEST(Sources, IotaCountsAlongItsAxis) {
  expect_tensor(
      apply_one(Op::iota, {{"shape", Shape{2, 3}}, {"axis", int64_t{1}}, {"dtype", DType::i32}},
                {}),
      DType::i32, {2, 3}, {0, 1, 2, 0, 1, 2});
  expect_f32(apply_one(Op::iota,
                       {{"shape", Shape{2, 3}}, {"axis", int64_t{0}}, {"dtype", DType::f32}}, {}),
             {2, 3}, {0, 0, 0, 1, 1, 1});
}

TEST(Sources, ConstantAndDims) {
  const auto value = std::make_shared<const Tensor>(f32({2}, {1.5, -2}));
  expect_f32(apply_one(Op::constant, {{"value", TensorPtr(value)}}, {}), {2}, {1.5, -2});
  expect_i64(apply_one(Op::dims, {{"values", Shape{4, Expr(3) * Expr(5)}}}, {}), {2}, {4, 15});
}

TEST(Sources, PhiloxMatchesItsPublishedVectors) {
  // Known answer of Random123's kat_vectors: philox4x32 10, zero counter and key.
  const auto words = philox(0, 0);
  EXPECT_THAT(words, testing::ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
}

TEST(Sources, RandomNumbersFollowTheirDistributionAndSeed) {
  const auto draw = [](const std::string& kind, int64_t seed) {
    return all_doubles(apply_one(Op::random,
                                 {{"shape", Shape{20000}},
                                  {"dtype", DType::f32},
                                  {"seed", seed},
                                  {"distribution", kind},
                                  {"low", 2.0},
                                  {"high", 4.0},
                                  {"mean", 5.0},
                                  {"scale", 2.0}},
                                 {}));
  };
  const auto uniform = draw("uniform", 7);
  EXPECT_EQ(uniform, draw("uniform", 7));
  EXPECT_NE(uniform, draw("uniform", 8));
  double sum = 0;
  for (double x : uniform) {
    EXPECT_GE(x, 2);
    EXPECT_LT(x, 4);
    sum += x;
  }
  EXPECT_NEAR(sum / 20000, 3, 0.02);
  double mean = 0, square = 0;
  for (double x : draw("normal", 1)) mean += x / 20000, square += x * x / 20000;
  EXPECT_NEAR(mean, 5, 0.05);
  EXPECT_NEAR(square - mean * mean, 4, 0.15);
  const auto coins = all_doubles(apply_one(Op::random,
                                           {{"shape", Shape{20000}},
                                            {"dtype", DType::boolean},
                                            {"seed", int64_t{3}},
                                            {"distribution", std::string("bernoulli")}},
                                           {f32({20000}, std::vector<double>(20000, 0.25))}));
  EXPECT_NEAR(std::accumulate(coins.begin(), coins.end(), 0.0) / 20000, 0.25, 0.02);
}

TEST(Views, ReshapeTransposeBroadcast) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_f32(apply_one(Op::reshape, {{"shape", Shape{3, 2}}}, {x}), {3, 2}, {1, 2, 3, 4, 5, 6});
  expect_f32(apply_one(Op::transpose, {{"perm", Ints{1, 0}}}, {x}), {3, 2}, {1, 4, 2, 5, 3, 6});
  expect_f32(apply_one(Op::broadcast, {{"shape", Shape{2, 2, 3}}, {"axes", Ints{1, 2}}},
                       {f32({2, 1}, {7, 8})}),
             {2, 2, 3}, {7, 7, 7, 8, 8, 8, 7, 7, 7, 8, 8, 8});
  expect_f32(apply_one(Op::broadcast, {{"shape", Shape{2}}, {"axes", Ints{}}}, {f32({}, {9})}), {2},
             {9, 9});
}

TEST(Views, SliceTakesStepsOfEitherSign) {
  const Tensor x = i64({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_i64(
      apply_one(Op::slice,
                {{"starts", Shape{1, 4}}, {"shape", Shape{1, 3}}, {"steps", Ints{1, -2}}}, {x}),
      {1, 3}, {9, 7, 5});
}

TEST(Views, PadModesAreThoseOfNumpy) {
  const Tensor x = f32({4}, {1, 2, 3, 4});
  const auto pad = [&](const char* mode, Expr low, Expr high) {
    std::vector<Tensor> inputs{x};
    if (std::string(mode) == "constant") inputs.push_back(f32({}, {-1}));
    return apply_one(
        Op::pad, {{"low", Shape{low}}, {"high", Shape{high}}, {"mode", std::string(mode)}}, inputs);
  };
  expect_f32(pad("constant", 2, 1), {7}, {-1, -1, 1, 2, 3, 4, -1});
  expect_f32(pad("constant", -1, 1), {4}, {2, 3, 4, -1});
  expect_f32(pad("edge", 2, 1), {7}, {1, 1, 1, 2, 3, 4, 4});
  expect_f32(pad("reflect", 2, 2), {8}, {3, 2, 1, 2, 3, 4, 3, 2});
  expect_f32(pad("reflect", 5, 0), {9}, {2, 3, 4, 3, 2, 1, 2, 3, 4});
  expect_f32(pad("wrap", 3, 2), {9}, {2, 3, 4, 1, 2, 3, 4, 1, 2});
}

TEST(Views, ConcatAlongAnInnerAxisAndOfPackedTypes) {
  expect_f32(apply_one(Op::concat, {{"axis", int64_t{1}}},
                       {f32({2, 1}, {1, 2}), f32({2, 2}, {3, 4, 5, 6}), f32({2, 0}, {})}),
             {2, 3}, {1, 3, 4, 2, 5, 6});
  const Tensor a = tensor(DType::i4, {3}, {-8, 7, 1}), b = tensor(DType::i4, {2}, {-1, 3});
  expect_tensor(apply_one(Op::concat, {{"axis", int64_t{0}}}, {a, b}), DType::i4, {5},
                {-8, 7, 1, -1, 3});
}

TEST(Views, MoveStringsAndPackedElements) {
  const Tensor words = text({2, 2}, {"a", "b", "c", "d"});
  const Tensor turned = apply_one(Op::transpose, {{"perm", Ints{1, 0}}}, {words});
  EXPECT_THAT(*turned.strings, testing::ElementsAre("a", "c", "b", "d"));
  expect_tensor(apply_one(Op::transpose, {{"perm", Ints{1, 0}}},
                          {tensor(DType::u2, {2, 3}, {0, 1, 2, 3, 0, 1})}),
                DType::u2, {3, 2}, {0, 3, 1, 0, 2, 1});
}

TEST(Views, RefuseWhatDoesNotFitInASentence) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(model_error([&] {
                apply(Op::reshape, {{"shape", Shape{4}}}, {x});
              }),
              testing::HasSubstr("reshape: f32[2, 3] cannot be reshaped to [4]"));
  EXPECT_THAT(model_error([&] {
                apply(Op::transpose, {{"perm", Ints{0, 0}}}, {x});
              }),
              testing::HasSubstr("permutation"));
  EXPECT_THAT(model_error([&] { apply(Op::transpose, {}, {x}); }),
              testing::HasSubstr("'perm' is missing"));
  EXPECT_THAT(model_error([&] {
                apply(Op::slice,
                      {{"starts", Shape{0, 2}}, {"shape", Shape{2, 2}}, {"steps", Ints{1, 1}}},
                      {x});
              }),
              testing::HasSubstr("outside of axis 1"));
}

TEST(Gather, TakesRowsWithNegativeIndices) {
  const Tensor data = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_f32(apply_one(Op::gather, {{"axis", int64_t{0}}}, {data, i64({2}, {-1, 0})}), {2, 2},
             {5, 6, 1, 2});
  expect_f32(apply_one(Op::gather, {{"axis", int64_t{1}}}, {data, i64({1, 2}, {1, 1})}), {3, 1, 2},
             {2, 2, 4, 4, 6, 6});
  EXPECT_THAT(model_error([&] {
                apply(Op::gather, {{"axis", int64_t{0}}}, {data, i64({}, {3})});
              }),
              testing::HasSubstr("index 3 is outside of an axis of size 3"));
}

TEST(Gather, ElementsAndTuples) {
  const Tensor data = f32({2, 2}, {1, 2, 3, 4});
  expect_f32(
      apply_one(Op::gather_elements, {{"axis", int64_t{1}}}, {data, i64({2, 2}, {0, 0, 1, 0})}),
      {2, 2}, {1, 1, 4, 3});
  expect_f32(
      apply_one(Op::gather_nd, {{"batch_dims", int64_t{0}}}, {data, i64({2, 2}, {0, 0, 1, 1})}),
      {2}, {1, 4});
  const Tensor cube = f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_f32(apply_one(Op::gather_nd, {{"batch_dims", int64_t{1}}}, {cube, i64({2, 1}, {1, 0})}),
             {2, 2}, {2, 3, 4, 5});
}

TEST(Scatter, ElementsReplaceOrReduce) {
  const Tensor data = f32({1, 5}, {1, 2, 3, 4, 5});
  const Tensor indices = i64({1, 2}, {1, 1}), updates = f32({1, 2}, {1.1, 2.1});
  const auto scatter = [&](const char* reduction) {
    return apply_one(Op::scatter_elements,
                     {{"axis", int64_t{1}}, {"reduction", std::string(reduction)}},
                     {data, indices, updates});
  };
  expect_f32(scatter("none"), {1, 5}, {1, 2.1, 3, 4, 5});
  expect_f32(scatter("add"), {1, 5}, {1, 5.2, 3, 4, 5});
  expect_f32(scatter("mul"), {1, 5}, {1, 4.62, 3, 4, 5});
  expect_f32(scatter("min"), {1, 5}, {1, 1.1, 3, 4, 5});
  expect_f32(scatter("max"), {1, 5}, {1, 2.1, 3, 4, 5});
}

TEST(Scatter, TuplesWriteWholeBlocks) {
  expect_f32(
      apply_one(Op::scatter_nd, {{"reduction", std::string("add")}},
                {f32({3, 2}, {1, 1, 1, 1, 1, 1}), i64({2, 1}, {2, 2}), f32({2, 2}, {1, 2, 3, 4})}),
      {3, 2}, {1, 1, 1, 1, 5, 7});
  expect_tensor(apply_one(Op::scatter_nd, {{"reduction", std::string("max")}},
                          {tensor(DType::u64, {2}, {1, 2}), i64({1, 1}, {0}),
                           tensor(DType::u64, {1}, {0x1p63})}),
                DType::u64, {2}, {0x1p63, 2});
}

}  // namespace
}  // namespace mcc::test
