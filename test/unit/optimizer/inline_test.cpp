// Calls, decided branches and captured constants.
#include "test/unit/optimizer/pass_testing.h"

namespace mcc {
namespace {

TEST(InlineCalls, CallJoinsTheGraph) {
  const Graph graph = run_and_compare(R"(graph {
    symbol s0 "n" [1, 9] = dim(0, 0)
    input %x : f32[s0]
    %y = call(%x) : f32[s0] {
      graph {
        input %v : f32[s0]
        %e = map(%v) {fn = "exp"} : f32[s0]
        %i = call(%e) : f32[s0] {
          graph {
            input %v : f32[s0]
            %e = map(%v) {fn = "neg"} : f32[s0]
            output %e
          }
        }
        output %i
      }
    }
    output %y
  })", {inline_calls});
  EXPECT_EQ(operators(graph), (Names{"exp", "neg"}));
}

const char* kBranches = R"(
    %y = if(%c, %x, %k) : f32[2] {
      graph {
        input %v : f32[2]
        input %k : f32[2]
        %r = map(%v, %k) {fn = "add"} : f32[2]
        output %r
      }
      graph {
        input %v : f32[2]
        input %k : f32[2]
        %r = map(%v, %k) {fn = "mul"} : f32[2]
        output %r
      }
    }
    output %y
  })";
const char* kConstant = "%k = constant() {value = tensor f32[2] {1.0, 2.0}} : f32[2]\n";

TEST(InlineCalls, CertainBranchJoinsTheGraph) {
  const Graph graph = run_and_compare(
      "graph {\ninput %x : f32[2]\n%c = constant() {value = tensor bool[] {0}} : bool[]\n" +
          std::string(kConstant) + kBranches, {inline_calls});
  EXPECT_EQ(operators(graph), (Names{"constant", "mul"}));
}

TEST(InlineCalls, CapturedConstantsMoveIntoOpenBranches) {
  const Graph graph = run_and_compare(
      "graph {\ninput %x : f32[2]\ninput %c : bool[]\n" + std::string(kConstant) + kBranches, {inline_calls});
  ASSERT_EQ(operators(graph), (Names{"if"}));
  EXPECT_EQ(graph.nodes[0].inputs.size(), 2u);
  EXPECT_EQ(operators(graph.nodes[0].subgraphs[0]), (Names{"constant", "add"}));
}

TEST(InlineCalls, CarriedConstantsStayOutside) {
  const Graph graph = run_and_compare(R"(graph {
    %n = constant() {value = tensor i64[] {3}} : i64[]
    %t = constant() {value = tensor bool[] {1}} : bool[]
    %a = constant() {value = tensor f32[] {1.0}} : f32[]
    %b = constant() {value = tensor f32[] {2.0}} : f32[]
    %r = loop(%n, %t, %a, %b) {carried = 1} : f32[] {
      graph {
        input %i : i64[]
        input %c : bool[]
        input %v : f32[]
        input %k : f32[]
        %w = map(%v, %k) {fn = "mul"} : f32[]
        output %c
        output %w
      }
    }
    output %r
  })", {inline_calls});
  EXPECT_EQ(graph.nodes.back().inputs.size(), 3u);
  EXPECT_EQ(operators(graph.nodes.back().subgraphs[0]), (Names{"constant", "mul"}));
}

}  // namespace
}  // namespace mcc
