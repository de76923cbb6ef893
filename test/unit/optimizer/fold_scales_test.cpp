// Batch normalization and other constant scales and shifts move into weights and one bias.
#include <algorithm>

#include "test/unit/optimizer/pass_testing.h"

namespace mcc {
namespace {

const std::vector<PassFunction> kFolding{fold_scales, fold_constants, simplify_algebra,
                                         eliminate_common_subexpressions};

std::string per_channel(const std::string& name, const std::string& values,
                        const std::string& shape = "s[2, 3, 4, 4]", const char* axes = "i[1]") {
  const std::string size = std::to_string(std::count(values.begin(), values.end(), ',') + 1);
  return "%" + name + "v = constant() {value = tensor f32[" + size + "] {" + values + "}} : f32[" + size +
         "]\n %" + name + " = broadcast(%" + name + "v) {shape = " + shape + ", axes = " + axes +
         "} : f32" + shape.substr(1) + "\n";
}

// Constants have no place of their own in the order.
Names sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

const char* kWeight =
    "%w = constant() {value = tensor f32[3, 2, 1, 1] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}} : f32[3, 2, 1, 1]\n";
const char* kConv =
    "%c = conv(%x, %w) {layout = \"nchw\", strides = i[1, 1], pads_low = s[0, 0], pads_high = s[0, 0], "
    "dilations = i[1, 1], groups = 1, out = f32} : f32[2, 3, 4, 4]\n";

std::string map_text(const char* out, const char* function, const char* a, const char* b) {
  return std::string("%") + out + " = map(%" + a + ", %" + b + ") {fn = \"" + function +
         "\"} : f32[2, 3, 4, 4]\n";
}

TEST(FoldScales, BatchNormalizationJoinsConvolution) {
  // ((conv + b - mean) / deviation) * gamma + beta
  const Graph graph = run_and_compare(
      "graph {\n input %x : f32[2, 2, 4, 4]\n" + std::string(kWeight) + kConv +
          per_channel("b", "1.0, 2.0, 3.0") + per_channel("m", "0.5, -1.0, 2.0") +
          per_channel("d", "2.0, 3.0, 0.5") + per_channel("g", "1.5, -2.0, 0.25") +
          per_channel("t", "-1.0, 0.0, 4.0") + map_text("e", "add", "c", "b") +
          map_text("f", "sub", "e", "m") + map_text("h", "div", "f", "d") +
          map_text("i", "mul", "g", "h") + map_text("y", "add", "i", "t") + "output %y\n}",
      kFolding);
  EXPECT_EQ(sorted(operators(graph)), (Names{"add", "broadcast", "constant", "constant", "conv"}))
      << print_graph(graph);
}

TEST(FoldScales, ScaleOfAConvolutionWithTwoReadersStays) {
  const Graph graph = run_and_compare(
      "graph {\n input %x : f32[2, 2, 4, 4]\n" + std::string(kWeight) + kConv +
          per_channel("g", "1.5, -2.0, 0.25") + map_text("i", "mul", "c", "g") + "output %i\n output %c\n}",
      kFolding);
  EXPECT_EQ(operators(graph), (Names{"constant", "conv", "constant", "broadcast", "mul"}));
}

TEST(FoldScales, SharedWeightsStay) {
  const Graph graph = run_and_compare(
      "graph {\n input %x : f32[2, 2, 4, 4]\n" + std::string(kWeight) + kConv +
          per_channel("g", "1.5, -2.0, 0.25") + map_text("i", "mul", "c", "g") + "output %i\n output %w\n}",
      kFolding);
  EXPECT_EQ(operators(graph), (Names{"constant", "conv", "constant", "broadcast", "mul"}));
}

TEST(FoldScales, ScaleAlongAnotherAxisStays) {
  const Graph graph = run_and_compare(
      "graph {\n input %x : f32[2, 2, 4, 4]\n" + std::string(kWeight) + kConv +
          per_channel("g", "1.5, -2.0, 0.25, 2.0", "s[2, 3, 4, 4]", "i[3]") +
          map_text("i", "mul", "c", "g") + "output %i\n}",
      kFolding);
  EXPECT_EQ(operators(graph).back(), "mul");
}

TEST(FoldScales, ScaleBeforeAPaddedConvolutionJoinsIt) {
  const Graph graph = run_and_compare(
      "graph {\n input %x : f32[2, 2, 4, 4]\n" + std::string(kWeight) +
          per_channel("g", "1.5, -2.0", "s[2, 2, 4, 4]") +
          "%s = map(%x, %g) {fn = \"mul\"} : f32[2, 2, 4, 4]\n"
          "%c = conv(%s, %w) {layout = \"nchw\", strides = i[1, 1], pads_low = s[1, 0], pads_high = s[0, 1], "
          "dilations = i[1, 1], groups = 1, out = f32} : f32[2, 3, 5, 5]\noutput %c\n}",
      kFolding);
  EXPECT_EQ(operators(graph), (Names{"constant", "conv"}));
}

TEST(FoldScales, DepthwiseScalesTheirOwnChannel) {
  const Graph graph = run_and_compare(
      "graph {\n input %x : f32[1, 2, 4, 4]\n"
      "%w = constant() {value = tensor f32[2, 1, 1, 2] {1.0, 2.0, 3.0, 4.0}} : f32[2, 1, 1, 2]\n" +
          per_channel("g", "1.5, -2.0", "s[1, 2, 4, 4]") +
          "%s = map(%x, %g) {fn = \"mul\"} : f32[1, 2, 4, 4]\n"
          "%c = conv(%s, %w) {layout = \"nchw\", strides = i[1, 1], pads_low = s[0, 0], pads_high = s[0, 0], "
          "dilations = i[1, 1], groups = 2, out = f32} : f32[1, 2, 4, 3]\noutput %c\n}",
      kFolding);
  EXPECT_EQ(operators(graph), (Names{"constant", "conv"}));
}

// An input channel meets several weights of its group, at other places for every group.
TEST(FoldScales, ScaleBeforeAGroupedConvolutionStays) {
  const Graph graph = run_and_compare(
      "graph {\n input %x : f32[1, 4, 4, 4]\n"
      "%w = constant() {value = tensor f32[4, 2, 1, 1] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}} : f32[4, 2, 1, 1]\n" +
          per_channel("g", "1.5, -2.0, 3.0, 0.5", "s[1, 4, 4, 4]") +
          "%s = map(%x, %g) {fn = \"mul\"} : f32[1, 4, 4, 4]\n"
          "%c = conv(%s, %w) {layout = \"nchw\", strides = i[1, 1], pads_low = s[0, 0], pads_high = s[0, 0], "
          "dilations = i[1, 1], groups = 2, out = f32} : f32[1, 4, 4, 4]\noutput %c\n}",
      kFolding);
  EXPECT_EQ(operators(graph), (Names{"constant", "broadcast", "mul", "constant", "conv"}))
      << print_graph(graph);
}

TEST(FoldScales, QueryScaleJoinsWeightAndBias) {
  const Graph graph = run_and_compare(R"(graph {
    symbol s0 "rows" [1, 100] = dim(0, 0)
    input %x : f32[s0, 2]
    %w = constant() {value = tensor f32[2, 3] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}} : f32[2, 3]
    %c = contract(%x, %w) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = f32} : f32[s0, 3]
    %bv = constant() {value = tensor f32[3] {1.0, -2.0, 3.0}} : f32[3]
    %b = broadcast(%bv) {shape = s[s0, 3], axes = i[1]} : f32[s0, 3]
    %y = map(%c, %b) {fn = "add"} : f32[s0, 3]
    %q = constant() {value = tensor f32[] {0.125}} : f32[]
    %qb = broadcast(%q) {shape = s[s0, 3], axes = i[]} : f32[s0, 3]
    %z = map(%y, %qb) {fn = "mul"} : f32[s0, 3]
    output %z
  })", kFolding);
  EXPECT_EQ(sorted(operators(graph)),
            (Names{"add", "broadcast", "constant", "constant", "contract"}))
      << print_graph(graph);
}

TEST(FoldScales, ScaleAlongTheContractedAxisJoinsTheWeight) {
  const Graph graph = run_and_compare(R"(graph {
    input %x : f32[5, 2]
    %sv = constant() {value = tensor f32[2] {3.0, -2.0}} : f32[2]
    %s = broadcast(%sv) {shape = s[5, 2], axes = i[1]} : f32[5, 2]
    %m = map(%x, %s) {fn = "mul"} : f32[5, 2]
    %w = constant() {value = tensor f32[3, 2] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}} : f32[3, 2]
    %c = contract(%m, %w) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[1], out = f32} : f32[5, 3]
    output %c
  })", kFolding);
  EXPECT_EQ(operators(graph), (Names{"constant", "contract"}));
}

TEST(FoldScales, ProductOfTwoActivationsStays) {
  const Graph graph = run_and_compare(R"(graph {
    input %q : f32[5, 2]
    input %k : f32[3, 2]
    %c = contract(%q, %k) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[1], out = f32} : f32[5, 3]
    %s = constant() {value = tensor f32[] {0.125}} : f32[]
    %sb = broadcast(%s) {shape = s[5, 3], axes = i[]} : f32[5, 3]
    %z = map(%c, %sb) {fn = "mul"} : f32[5, 3]
    output %z
  })", kFolding);
  EXPECT_EQ(operators(graph).back(), "mul");
}

}  // namespace
}  // namespace mcc
