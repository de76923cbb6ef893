// Ordering, data-dependent operators, recurrent layers.
#include <cmath>
#include <limits>

#include "test/unit/ir/evaluation.h"

namespace mcc::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Shape kCount{Expr::symbol("found")};

TEST(TopK, LargestAndSmallestWithTiesByIndex) {
  const auto topk = [](const Tensor& x, int64_t axis, int64_t k, int64_t largest) {
    return apply(Op::topk,
                 {{"axis", axis}, {"k", Shape{k}}, {"largest", largest}, {"sorted", int64_t{1}}},
                 {x});
  };
  const Tensor x = f32({2, 4}, {3, 1, 3, 2, 0, -1, 5, 5});
  auto result = topk(x, 1, 3, 1);
  expect_f32(result[0], {2, 3}, {3, 3, 2, 5, 5, 0});
  expect_i64(result[1], {2, 3}, {0, 2, 3, 2, 3, 0});
  result = topk(x, 0, 1, 0);
  expect_f32(result[0], {1, 4}, {0, -1, 3, 2});
  expect_i64(result[1], {1, 4}, {1, 1, 0, 0});
  expect_tensor(topk(tensor(DType::u64, {2}, {1, 0x1p63}), 0, 1, 1)[0], DType::u64, {1}, {0x1p63});
  EXPECT_THAT(model_error([&] { topk(x, 1, 5, 1); }), testing::HasSubstr("k = 5 is larger"));
}

TEST(Sort, IsStable) {
  const auto result = apply(Op::sort, {{"axis", int64_t{0}}, {"descending", int64_t{0}}},
                            {f32({5}, {2, kNan, 1, 2, 0})});
  expect_f32(result[0], {5}, {0, 1, 2, 2, kNan});
  expect_i64(result[1], {5}, {4, 2, 0, 3, 1});
}

TEST(NonZero, ListsCoordinates) {
  expect_i64(apply_one(Op::nonzero, {{"count", kCount}}, {f32({2, 2}, {1, 0, 0, -3})}), {2, 2},
             {0, 1, 0, 1});
  expect_i64(apply_one(Op::nonzero, {{"count", kCount}}, {boolean({3}, {0, 0, 0})}), {1, 0}, {});
  expect_i64(apply_one(Op::nonzero, {{"count", kCount}}, {f32({}, {2})}), {0, 1}, {});
  EXPECT_THAT(model_error([] {
                apply(Op::nonzero, {{"count", Shape{3}}}, {f32({2}, {1, 1})});
              }),
              testing::HasSubstr("2 elements were found where 3 were promised"));
}

TEST(Unique, SortedAndByFirstOccurrence) {
  const auto unique = [](const Tensor& x, int64_t axis, int64_t sorted) {
    return apply(Op::unique, {{"axis", axis}, {"sorted", sorted}, {"count", kCount}}, {x});
  };
  const Tensor x = f32({6}, {2, 1, 1, 3, 4, 3});
  auto result = unique(x, -1, 1);
  expect_f32(result[0], {4}, {1, 2, 3, 4});
  expect_i64(result[1], {4}, {1, 0, 3, 4});
  expect_i64(result[2], {6}, {1, 0, 0, 2, 3, 2});
  expect_i64(result[3], {4}, {2, 1, 2, 1});
  expect_i64(result[4], {1}, {4});
  result = unique(x, -1, 0);
  expect_f32(result[0], {4}, {2, 1, 3, 4});
  expect_i64(result[1], {4}, {0, 1, 3, 4});
  expect_i64(result[2], {6}, {0, 1, 1, 2, 3, 2});
  result = unique(f32({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4}), 0, 1);
  expect_f32(result[0], {2, 3}, {1, 0, 0, 2, 3, 4});
  expect_i64(result[1], {2}, {0, 2});
  expect_i64(result[2], {3}, {0, 0, 1});
  result = unique(f32({1, 3}, {1, 0, 1}), 1, 1);
  expect_f32(result[0], {1, 2}, {0, 1});
  EXPECT_THAT(*unique(text({3}, {"b", "a", "b"}), -1, 1)[0].strings,
              testing::ElementsAre("a", "b"));
}

TEST(Compress, ChoosesAlongAnAxisOrFlattened) {
  const Tensor x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto compress = [&](int64_t axis, std::vector<double> condition) {
    const auto size = static_cast<int64_t>(condition.size());
    return apply_one(Op::compress, {{"axis", axis}, {"count", kCount}},
                     {x, boolean({size}, condition)});
  };
  expect_f32(compress(0, {0, 1, 1}), {2, 2}, {3, 4, 5, 6});
  expect_f32(compress(1, {0, 1}), {3, 1}, {2, 4, 6});
  expect_f32(compress(-1, {0, 1, 0, 0, 1}), {2}, {2, 5});
}

TEST(Nms, KeepsTheBestOfOverlappingBoxes) {
  const std::vector<double> corners{0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                                    0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101};
  const auto nms = [](const Tensor& boxes, const Tensor& scores, int64_t center, double limit,
                      double iou, double score) {
    return apply(Op::nms, {{"center_point_box", center}, {"count", kCount}},
                 {boxes, scores, i64({1}, {limit}), f32({1}, {iou}), f32({1}, {score})});
  };
  const Tensor boxes = f32({1, 6, 4}, corners),
               scores = f32({1, 1, 6}, {0.9, 0.75, 0.6, 0.95, 0.5, 0.3});
  auto result = nms(boxes, scores, 0, 3, 0.5, 0);
  expect_i64(result[0], {3, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 5});
  expect_i64(result[1], {1}, {3});
  expect_i64(nms(boxes, scores, 0, 2, 0.5, 0)[0], {2, 3}, {0, 0, 3, 0, 0, 0});
  expect_i64(nms(boxes, scores, 0, 3, 0.5, 0.4)[0], {2, 3}, {0, 0, 3, 0, 0, 0});
  const Tensor centers = f32({1, 2, 4}, {0.5, 0.5, 1, 1, 0.5, 0.6, 1, 1});
  expect_i64(nms(centers, f32({1, 1, 2}, {0.5, 0.6}), 1, 3, 0.5, 0)[0], {1, 3}, {0, 0, 1});
  expect_i64(nms(boxes, scores, 0, 0, 0.5, 0)[0], {0, 3}, {});
}

Attributes layer(const char* cell, const char* direction, const char* activations) {
  return attributes({{"cell", std::string(cell)},
                     {"direction", std::string(direction)},
                     {"activations", std::string(activations)},
                     {"clip", 0.0},
                     {"linear_before_reset", int64_t{0}},
                     {"input_forget", int64_t{0}}});
}
std::vector<Tensor> recurrent(Attributes attributes, const std::vector<Tensor>& inputs) {
  Node node;
  node.op = Op::recurrent;
  node.attributes = std::move(attributes);
  return apply(std::move(node), inputs);
}
Tensor zeros(std::vector<int64_t> shape) { return Tensor(DType::f32, std::move(shape)); }
Tensor lengths(std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return tensor(DType::i32, {size}, values);
}

TEST(Recurrent, RnnRunsForwardAndBackward) {
  // h' = x + h (affine activation): running sums, per sequence up to its length.
  const Tensor x = f32({3, 2, 1}, {1, 10, 2, 20, 3, 30});
  const std::vector<Tensor> forward{x,
                                    f32({1, 1, 1}, {1}),
                                    f32({1, 1, 1}, {1}),
                                    zeros({1, 2}),
                                    lengths({3, 2}),
                                    zeros({1, 2, 1})};
  auto result = recurrent(layer("rnn", "forward", "affine:1:0"), forward);
  expect_f32(result[0], {3, 1, 2, 1}, {1, 10, 3, 30, 6, 0});
  expect_f32(result[1], {1, 2, 1}, {6, 30});
  result = recurrent(layer("rnn", "reverse", "affine"), forward);
  expect_f32(result[0], {3, 1, 2, 1}, {6, 30, 5, 20, 3, 0});
  const std::vector<Tensor> both{x,
                                 f32({2, 1, 1}, {1, 1}),
                                 f32({2, 1, 1}, {1, 1}),
                                 zeros({2, 2}),
                                 lengths({3, 2}),
                                 zeros({2, 2, 1})};
  result = recurrent(layer("rnn", "bidirectional", "affine,affine:2"), both);
  expect_f32(result[0], {3, 2, 2, 1}, {1, 10, 34, 100, 3, 30, 16, 40, 6, 0, 6, 0}, 1e-5);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Recurrent, LstmOneStepByHand) {
  // Gates iofc with weights 1, 2, 3, 4 on x = 0.5 and no recurrence; c0 = 1, peepholes 0.1, 0.2,
  // 0.3.
  const double i = sigmoid(0.5 + 0.1), f = sigmoid(1.5 + 0.3), g = std::tanh(2.0);
  const double c = f * 1 + i * g, o = sigmoid(1.0 + 0.2 * c);
  const auto result = recurrent(
      layer("lstm", "forward", "sigmoid,tanh,tanh"),
      {f32({1, 1, 1}, {0.5}), f32({1, 4, 1}, {1, 2, 3, 4}), zeros({1, 4, 1}), zeros({1, 8}),
       lengths({1}), zeros({1, 1, 1}), f32({1, 1, 1}, {1}), f32({1, 3}, {0.1, 0.2, 0.3})});
  expect_f32(result[0], {1, 1, 1, 1}, {o * std::tanh(c)});
  expect_f32(result[1], {1, 1, 1}, {o * std::tanh(c)});
  expect_f32(result[2], {1, 1, 1}, {c});
}

TEST(Recurrent, GruResetsBeforeOrAfterTheProduct) {
  // Gates zrh; x = 1, h0 = 0.5, recurrence weights 1, biases wb = (0, 0, 0.1), rb = (0, 0, 0.2).
  const double z = sigmoid(1 + 0.5), r = sigmoid(2 + 0.5);
  const auto run = [](int64_t linear) {
    Attributes gru = layer("gru", "forward", "sigmoid,tanh");
    gru.set("linear_before_reset", linear);
    return recurrent(gru,
                     {f32({1, 1, 1}, {1}), f32({1, 3, 1}, {1, 2, 3}), f32({1, 3, 1}, {1, 1, 1}),
                      f32({1, 6}, {0, 0, 0.1, 0, 0, 0.2}), lengths({1}), f32({1, 1, 1}, {0.5})})[1];
  };
  const double before = std::tanh(3 + 0.1 + 0.2 + r * 0.5),
               after = std::tanh(3 + 0.1 + r * (0.5 + 0.2));
  expect_f32(run(0), {1, 1, 1}, {(1 - z) * before + z * 0.5});
  expect_f32(run(1), {1, 1, 1}, {(1 - z) * after + z * 0.5});
}

TEST(Recurrent, RefusesUnknownActivations) {
  EXPECT_THAT(model_error([] {
                recurrent(layer("rnn", "forward", "swish"),
                          {zeros({1, 1, 1}), zeros({1, 1, 1}), zeros({1, 1, 1}), zeros({1, 2}),
                           lengths({1}), zeros({1, 1, 1})});
              }),
              testing::HasSubstr("must name 1 known functions"));
}

}  // namespace
}  // namespace mcc::test
