// Constant folding, common subexpressions and shape arithmetic.
#include "test/unit/optimizer/pass_testing.h"

namespace mcc {
namespace {

TEST(FoldConstants, EvaluatesWhatDependsOnConstants) {
  const Graph graph = run_and_compare(R"(graph {
    input %x : f32[2]
    %a = constant() {value = tensor f32[2] {1.0, 2.0}} : f32[2]
    %b = constant() {value = tensor f32[2] {3.0, 5.0}} : f32[2]
    %c = map(%a, %b) {fn = "mul"} : f32[2]
    %y = map(%x, %c) {fn = "add"} : f32[2]
    output %y
  })", {fold_constants});
  EXPECT_EQ(operators(graph), (Names{"constant", "add"}));
}

TEST(FoldConstants, LeavesBroadcastsAsViews) {
  const Graph graph = run_and_compare(R"(graph {
    input %x : f32[3, 200]
    %a = constant() {value = tensor f32[3] {1.0, 2.0, 3.0}} : f32[3]
    %n = map(%a) {fn = "neg"} : f32[3]
    %b = broadcast(%n) {shape = s[3, 200], axes = i[0]} : f32[3, 200]
    %y = map(%x, %b) {fn = "add"} : f32[3, 200]
    output %y
  })", {fold_constants});
  EXPECT_EQ(operators(graph), (Names{"constant", "broadcast", "add"}));
}

TEST(FoldConstants, EqualElementsBecomeABroadcastScalar) {
  const Graph graph = run_and_compare(R"(graph {
    input %x : f32[3, 200]
    %a = constant() {value = tensor f32[] {2.0}} : f32[]
    %b = broadcast(%a) {shape = s[3, 200], axes = i[]} : f32[3, 200]
    %c = map(%b) {fn = "sqrt"} : f32[3, 200]
    %y = map(%x, %c) {fn = "mul"} : f32[3, 200]
    output %y
  })", {fold_constants});
  EXPECT_EQ(operators(graph), (Names{"constant", "broadcast", "mul"}));
  EXPECT_EQ(graph.rank(graph.nodes[0].outputs[0]), 0);
}

TEST(FoldConstants, RespectsTheSizeLimit) {
  OptimizerOptions options;
  options.folding_limit_bytes = 4;
  const Graph graph = run_and_compare(R"(graph {
    %a = constant() {value = tensor f32[2] {1.0, 2.0}} : f32[2]
    %y = map(%a) {fn = "exp"} : f32[2]
    output %y
  })", {fold_constants}, options);
  EXPECT_EQ(operators(graph), (Names{"constant", "exp"}));
}

TEST(FoldConstants, WorksInsideBodies) {
  const Graph graph = run_and_compare(R"(graph {
    input %c : bool[]
    input %x : f32[2]
    %y = if(%c, %x) : f32[2] {
      graph {
        input %v : f32[2]
        %a = constant() {value = tensor f32[2] {1.0, 2.0}} : f32[2]
        %b = map(%a) {fn = "exp"} : f32[2]
        %r = map(%v, %b) {fn = "add"} : f32[2]
        output %r
      }
      graph {
        input %v : f32[2]
        output %v
      }
    }
    output %y
  })", {fold_constants});
  EXPECT_EQ(operators(graph.nodes[0].subgraphs[0]), (Names{"constant", "add"}));
}

TEST(CommonSubexpressions, MergeEqualNodesOnly) {
  const Graph graph = run_and_compare(R"(graph {
    input %x : f32[4, 6]
    %a = scan(%x) {fn = "sum", axis = 1, exclusive = 0, reverse = 0} : f32[4, 6]
    %b = scan(%x) {fn = "sum", axis = 1, exclusive = 0, reverse = 0} : f32[4, 6]
    %c = scan(%x) {fn = "sum", axis = 1, exclusive = 0, reverse = 1} : f32[4, 6]
    %d = map(%a, %b) {fn = "mul"} : f32[4, 6]
    %y = map(%d, %c) {fn = "add"} : f32[4, 6]
    output %y
  })", {eliminate_common_subexpressions});
  EXPECT_EQ(operators(graph), (Names{"scan", "scan", "mul", "add"}));
}

TEST(CommonSubexpressions, ConstantsCompareByContents) {
  const Graph graph = run_and_compare(R"(graph {
    input %x : f32[2]
    %a = constant() {value = tensor f32[2] {1.0, 2.0}} : f32[2]
    %b = constant() {value = tensor f32[2] {1.0, 2.0}} : f32[2]
    %c = constant() {value = tensor f32[2] {1.0, 3.0}} : f32[2]
    %d = map(%x, %a) {fn = "mul"} : f32[2]
    %e = map(%d, %b) {fn = "add"} : f32[2]
    %y = map(%e, %c) {fn = "add"} : f32[2]
    output %y
  })", {eliminate_common_subexpressions});
  EXPECT_EQ(operators(graph), (Names{"constant", "constant", "mul", "add", "add"}));
}

TEST(SimplifyShapes, ArithmeticBecomesOneDimsNode) {
  const Graph graph = run_and_compare(R"(graph {
    symbol s0 "batch" [1, 64] = dim(0, 0)
    input %x : f32[s0, 8]
    %d = dims() {values = s[s0, 8]} : i64[2]
    %i = constant() {value = tensor i64[1] {0}} : i64[1]
    %b = gather(%d, %i) {axis = 0} : i64[1]
    %two = constant() {value = tensor i64[1] {2}} : i64[1]
    %m = map(%b, %two) {fn = "mul"} : i64[1]
    %c = concat(%m, %two) {axis = 0} : i64[2]
    output %c
  })"
  , {simplify_shapes});
  EXPECT_EQ(operators(graph), (Names{"dims"}));
  EXPECT_EQ(shape_text(graph.nodes[0].attributes.shape("values")), "[2*s0, 2]");
}

TEST(SimplifyShapes, RangesSimplifyAttributesAndTypes) {
  const Graph graph = run_and_compare(R"(graph {
    symbol s0 "batch" [1, 64] = dim(0, 0)
    input %x : f32[s0, 8]
    %y = slice(%x) {starts = s[0, 0], shape = s[max(s0, 1), 4], steps = i[1, 1]} : f32[max(1, s0), 4]
    output %y
  })", {simplify_shapes});
  EXPECT_EQ(shape_text(graph.shape(graph.outputs[0])), "[s0, 4]");
}

TEST(Text, SymbolsWithoutAValueSurvive) {
  const std::string text = print_graph(parse_graph(R"(graph "g" {
    symbol s0 "count" [0, inf] = element(%none, 0)
    input %x : f32[4]
    %y = nonzero(%x) {count = s[s0]} : i64[1, s0]
    output %y
  })"));
  EXPECT_EQ(print_graph(parse_graph(text)), text);
}

}  // namespace
}  // namespace mcc
