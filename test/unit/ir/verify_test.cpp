// The verifier finds each kind of violation; the rewriter and dead-code elimination keep graphs valid.
#include <gtest/gtest.h>

#include "lib/ir/op.h"
#include "lib/ir/text.h"
#include "lib/ir/verify.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

Graph sample() {
  return parse_graph(R"(graph {
    symbol s0 "n" [1, 8] = dim(0, 0)
    input %x : f32[s0, 4]
    %a = map(%x) {fn = "exp"} : f32[s0, 4]
    %b = map(%a) {fn = "neg"} : f32[s0, 4]
    output %b "y"
  })");
}

void expect_violation(const Graph& graph, const char* part) {
  try {
    verify_graph(graph, "a pass of this name");
    FAIL() << "no violation found: " << part;
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("a pass of this name"), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Verify, AcceptsTheSample) { EXPECT_NO_THROW(verify_graph(sample(), "test")); }

TEST(Verify, FindsUseBeforeDefinition) {
  Graph graph = sample();
  std::swap(graph.nodes[0], graph.nodes[1]);
  expect_violation(graph, "before its definition");
}

TEST(Verify, FindsDoubleDefinition) {
  Graph graph = sample();
  graph.nodes.push_back(graph.nodes.back());
  expect_violation(graph, "defined twice");
}

TEST(Verify, FindsWrongTypes) {
  Graph graph = sample();
  graph.values[static_cast<size_t>(graph.outputs[0])].type.dtype = DType::f16;
  expect_violation(graph, "is stated as f16");
}

TEST(Verify, FindsUnknownSymbols) {
  Graph graph = sample();
  graph.symbols.clear();
  expect_violation(graph, "unknown symbol 's0'");
}

TEST(Verify, FindsMissingValues) {
  Graph graph = sample();
  graph.outputs[0] = 77;
  expect_violation(graph, "does not exist");
}

TEST(Verify, FindsWrongOperandCounts) {
  Graph graph = sample();
  graph.nodes[0].inputs.clear();
  expect_violation(graph, "has 0 inputs");
}

TEST(Verify, FindsMissingAttributes) {
  Graph graph = sample();
  graph.nodes[0].attributes.erase("fn");
  expect_violation(graph, "'fn' is missing");
}

TEST(Rewriter, RedirectsUsesThroughChains) {
  Graph graph = sample();
  Rewriter rewriter(graph);
  const ValueId x = graph.inputs[0];
  for (const Node& node : rewriter.old_nodes()) {
    rewriter.replace(node.outputs[0], rewriter.resolve(node.inputs[0]));
  }
  EXPECT_TRUE(rewriter.changed());
  rewriter.finish();
  verify_graph(graph, "test");
  EXPECT_EQ(graph.outputs[0], x);
  EXPECT_TRUE(graph.nodes.empty());
}

TEST(Rewriter, KnowsTheProducersSoFar) {
  Graph graph = sample();
  Rewriter rewriter(graph);
  const std::vector<Node>& old = rewriter.old_nodes();
  EXPECT_EQ(rewriter.producer(old[0].outputs[0]), nullptr);
  rewriter.keep(old[0]);
  const Node* first = rewriter.producer(old[0].outputs[0]);
  ASSERT_NE(first, nullptr);
  Attributes attributes;
  attributes.set("fn", std::string("abs"));
  ValueId value = old[0].outputs[0];
  for (int i = 0; i < 100; ++i) value = rewriter.emit_one(Op::map, {value}, attributes);
  EXPECT_EQ(rewriter.producer(old[0].outputs[0]), first) << "pointers stay valid during the sweep";
  rewriter.replace(old[1].outputs[0], value);
  rewriter.finish();
  verify_graph(graph, "test");
  EXPECT_EQ(graph.nodes.size(), 101u);
}

TEST(Rewriter, RefusesAnotherType) {
  Graph graph = sample();
  Rewriter rewriter(graph);
  Attributes attributes;
  attributes.set("fn", std::string("cast"));
  attributes.set("to", DType::f16);
  const ValueId cast = rewriter.emit_one(Op::map, {graph.inputs[0]}, attributes);
  EXPECT_THROW(rewriter.replace(rewriter.old_nodes()[0].outputs[0], cast), InternalError);
}

TEST(DeadNodes, ChainsGoWhole) {
  Graph graph = sample();
  graph.outputs[0] = graph.inputs[0];
  EXPECT_TRUE(eliminate_dead_nodes(graph));
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_FALSE(eliminate_dead_nodes(graph));
}

}  // namespace
}  // namespace mcc
