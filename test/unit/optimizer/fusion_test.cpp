// Fusion: what joins which kernel, and that values stay the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lib/ir/evaluate.h"
#include "lib/ir/op.h"
#include "lib/ir/text.h"
#include "lib/ir/verify.h"
#include "lib/optimizer/fusion/fusion.h"
#include "lib/optimizer/memory/inplace.h"
#include "lib/optimizer/memory/order.h"

namespace mcc {
namespace {

Tensor random_tensor(const TensorType& type, std::mt19937& random) {
  std::vector<int64_t> shape;
  for (const Expr& dim : type.shape) shape.push_back(dim.constant());
  Tensor tensor(type.dtype, shape);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.set_double(i, normal(random));
  return tensor;
}

std::vector<std::string> schedules(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::fused) names.push_back(node.attributes.text("schedule"));
  }
  return names;
}

// Fuses, verifies, and compares every output with the unfused graph.
Graph fuse_and_compare(const std::string& text) {
  Graph graph = parse_graph(text);
  std::mt19937 random(7);
  std::vector<Tensor> inputs;
  for (ValueId input : graph.inputs) inputs.push_back(random_tensor(graph.type(input), random));
  const std::vector<Tensor> before = evaluate(graph, inputs);
  EXPECT_TRUE(fuse_operators(graph));
  verify_graph(graph, "fusion");
  const std::vector<Tensor> after = evaluate(graph, inputs);
  EXPECT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    for (int64_t k = 0; k < before[i].elements(); ++k) {
      EXPECT_DOUBLE_EQ(before[i].get_double(k), after[i].get_double(k));
    }
  }
  return graph;
}

TEST(Fusion, ElementwiseChainIsOneKernel) {
  const Graph graph = fuse_and_compare(R"(graph "chain" {
    input %a : f32[4, 8]
    input %b : f32[4, 8]
    %c = map(%a, %b) {fn = "add"} : f32[4, 8]
    %d = map(%c) {fn = "exp"} : f32[4, 8]
    %e = map(%d, %a) {fn = "mul"} : f32[4, 8]
    output %e "y"
  })");
  EXPECT_EQ(schedules(graph), (std::vector<std::string>{"pointwise"}));
}

TEST(Fusion, ContractionTakesBiasActivationAndResidual) {
  const Graph graph = fuse_and_compare(R"(graph "mlp" {
    input %x : f32[4, 8]
    input %w : f32[8, 6]
    input %bias : f32[6]
    input %res : f32[4, 6]
    %y = contract(%x, %w) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = f32} : f32[4, 6]
    %b = broadcast(%bias) {shape = s[4, 6], axes = i[1]} : f32[4, 6]
    %z = map(%y, %b) {fn = "add"} : f32[4, 6]
    %g = map(%z) {fn = "tanh"} : f32[4, 6]
    %o = map(%g, %res) {fn = "add"} : f32[4, 6]
    output %o "y"
  })");
  EXPECT_EQ(schedules(graph), (std::vector<std::string>{"contraction"}));
  // The residual is read position by position: the output may take its memory over.
  EXPECT_EQ(inplace_candidates(graph.nodes.back()).size(), 1u);
}

TEST(Fusion, DiamondAfterAnAnchorIsAbsorbedWhole) {
  const Graph graph = fuse_and_compare(R"(graph "hardswish" {
    input %x : f32[4, 8]
    input %w : f32[8, 6]
    %y = contract(%x, %w) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = f32} : f32[4, 6]
    %s = map(%y) {fn = "sigmoid"} : f32[4, 6]
    %t = map(%s) {fn = "exp"} : f32[4, 6]
    %o = map(%y, %t) {fn = "mul"} : f32[4, 6]
    output %o "y"
  })");
  EXPECT_EQ(schedules(graph), (std::vector<std::string>{"contraction"}));
}

TEST(Fusion, ValueReadTwiceElsewhereIsStored) {
  const Graph graph = fuse_and_compare(R"(graph "residual" {
    input %x : f32[4, 8]
    %a = map(%x) {fn = "exp"} : f32[4, 8]
    %n = normalize(%a) {axes = i[1], epsilon = 1e-05, kind = "layer"} : f32[4, 8]
    %y = map(%n, %a) {fn = "add"} : f32[4, 8]
    %m = reduce(%a) {fn = "sum", axes = i[0]} : f32[8]
    output %y "y"
    output %m "m"
  })");
  std::vector<std::string> names = schedules(graph);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"pointwise", "reduction", "reduction"}));
}

TEST(Fusion, ViewsAreReadThrough) {
  const Graph graph = fuse_and_compare(R"(graph "views" {
    input %x : f32[2, 6, 4]
    %t = transpose(%x) {perm = i[0, 2, 1]} : f32[2, 4, 6]
    %r = reshape(%t) {shape = s[8, 6]} : f32[8, 6]
    %s = slice(%r) {starts = s[0, 1], shape = s[8, 4], steps = i[1, 1]} : f32[8, 4]
    %e = map(%s) {fn = "exp"} : f32[8, 4]
    %m = softmax(%e) {axis = 1} : f32[8, 4]
    output %m "y"
  })");
  EXPECT_EQ(schedules(graph), (std::vector<std::string>{"reduction"}));
}

TEST(Fusion, StridedTransposeAfterAContractionIsLeftToItsReader) {
  const Graph graph = fuse_and_compare(R"(graph "attention" {
    input %q : f32[2, 4, 8]
    input %k : f32[2, 4, 8]
    input %w : f32[8, 8]
    %p = contract(%k, %w) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[2], rhs_contract = i[0], out = f32} : f32[2, 4, 8]
    %t = transpose(%p) {perm = i[0, 2, 1]} : f32[2, 8, 4]
    %s = contract(%q, %t) {lhs_batch = i[0], rhs_batch = i[0], lhs_contract = i[2], rhs_contract = i[1], out = f32} : f32[2, 4, 4]
    output %s "y"
  })");
  EXPECT_EQ(schedules(graph), (std::vector<std::string>{"contraction", "contraction"}));
}

TEST(Order, ReordersForLowerPeak) {
  // Model order makes both big values before either is reduced.
  Graph graph = parse_graph(R"(graph "order" {
    input %x : f32[4]
    %a = broadcast(%x) {shape = s[1000, 4], axes = i[1]} : f32[1000, 4]
    %b = broadcast(%x) {shape = s[2000, 4], axes = i[1]} : f32[2000, 4]
    %ra = reduce(%a) {fn = "sum", axes = i[0]} : f32[4]
    %rb = reduce(%b) {fn = "max", axes = i[0]} : f32[4]
    output %ra "a"
    output %rb "b"
  })");
  std::vector<int32_t> original{0, 1, 2, 3};
  const int64_t before = peak_bytes(graph, original);
  EXPECT_TRUE(order_for_memory(graph));
  EXPECT_LT(peak_bytes(graph, original), before);
  verify_graph(graph, "order");
}

}  // namespace
}  // namespace mcc
