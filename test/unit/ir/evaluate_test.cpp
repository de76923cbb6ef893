// The evaluator's driver: symbols, control flow, subgraphs, errors.
#include "test/unit/ir/evaluation.h"

namespace mcc::test {
namespace {

Expr dim(Graph& graph, int32_t input, int64_t axis, Range range = {1, 100}) {
  SymbolSource source;
  source.input = input;
  source.axis = axis;
  return graph.add_symbol("rows", range, source);
}

TEST(BindSymbols, ReadsThemFromInputShapes) {
  Graph graph;
  const Expr n = dim(graph, 0, 0);
  const ValueId x = graph.add_input({DType::f32, {n, 3}}, "x");
  graph.add_input({DType::f32, {n * 2}}, "y");
  graph.add_output(x);
  const Bindings bindings =
      bind_symbols(graph, {Tensor(DType::f32, {4, 3}), Tensor(DType::f32, {8})});
  EXPECT_EQ(bindings.at(*n.as_symbol()), 4);
  const auto message = [&](std::vector<Tensor> inputs) {
    try {
      bind_symbols(graph, inputs);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message({Tensor(DType::f32, {4, 3})}), testing::HasSubstr("has 2 inputs but 1"));
  EXPECT_THAT(message({Tensor(DType::f16, {4, 3}), Tensor(DType::f32, {8})}),
              testing::HasSubstr("input 'x' must have the element type f32, not f16"));
  EXPECT_THAT(message({Tensor(DType::f32, {4}), Tensor(DType::f32, {8})}),
              testing::HasSubstr("rank 2"));
  EXPECT_THAT(message({Tensor(DType::f32, {4, 2}), Tensor(DType::f32, {8})}),
              testing::HasSubstr("dimension 1 of input 'x' is 2"));
  EXPECT_THAT(message({Tensor(DType::f32, {4, 3}), Tensor(DType::f32, {9})}),
              testing::HasSubstr("= 8 is expected"));
  EXPECT_THAT(message({Tensor(DType::f32, {101, 3}), Tensor(DType::f32, {202})}),
              testing::HasSubstr("dimension 'rows' (s0) is 101, outside of its range [1, 100]"));
}

TEST(Evaluate, BindsSymbolsFromComputedValues) {
  Graph graph;
  const ValueId length = graph.add_input({DType::i64, {1}}, "length");
  const ValueId twice =
      graph.append_one(Op::map, {length, length}, attributes({{"fn", std::string("add")}}));
  SymbolSource source;
  source.kind = SymbolSource::Kind::value;
  source.input = twice;
  const Expr n = graph.add_symbol("n", {0, 10}, source);
  SymbolSource derived;
  derived.kind = SymbolSource::Kind::expression;
  derived.expression = n + 1;
  const Expr m = graph.add_symbol("m", {0, 20}, derived);
  graph.add_output(graph.append_one(
      Op::iota, {},
      attributes({{"shape", Shape{m}}, {"axis", int64_t{0}}, {"dtype", DType::i64}})));
  expect_i64(evaluate(graph, {i64({1}, {2})})[0], {5}, {0, 1, 2, 3, 4});
  EXPECT_THROW(evaluate(graph, {i64({1}, {6})}), UsageError);
}

TEST(Evaluate, BindsTheCountOfADataDependentOperator) {
  Graph graph;
  const ValueId x = graph.add_input({DType::f32, {4}}, "x");
  SymbolSource source;
  source.kind = SymbolSource::Kind::value;
  source.input = kNoValue;
  const Expr n = graph.add_symbol("n", {0, 4}, source);
  const ValueId places = graph.append_one(Op::nonzero, {x}, attributes({{"count", Shape{n}}}));
  const ValueId flat = graph.append_one(Op::reshape, {places}, attributes({{"shape", Shape{n}}}));
  graph.add_output(
      graph.append_one(Op::map, {flat, flat}, attributes({{"fn", std::string("add")}})));
  expect_i64(evaluate(graph, {f32({4}, {0, 1, 0, 1})})[0], {2}, {2, 6});
  expect_i64(evaluate(graph, {f32({4}, {0, 0, 0, 0})})[0], {0}, {});
}

TEST(Evaluate, ShowsNodesToTheObserverAndReturnsRepeatedOutputs) {
  Graph graph;
  const ValueId x = graph.add_input({DType::f32, {1}});
  const ValueId y =
      graph.append_one(Op::map, {x}, attributes({{"fn", std::string("neg")}}), {"Neg_0"});
  graph.add_output(y);
  graph.add_output(y);
  graph.add_output(x);
  std::vector<std::string> seen;
  const auto results =
      evaluate(graph, {f32({1}, {2})}, [&](const Node& node, const std::vector<Tensor>& outputs) {
        seen.push_back(node.origin.at(0));
        expect_f32(outputs.at(0), {1}, {-2});
      });
  EXPECT_THAT(seen, testing::ElementsAre("Neg_0"));
  expect_f32(results[1], {1}, {-2});
  expect_f32(results[2], {1}, {2});
}

TEST(Evaluate, NamesTheNodeThatFails) {
  Graph graph;
  const ValueId data = graph.add_input({DType::f32, {2}}),
                index = graph.add_input({DType::i64, {}});
  graph.add_output(graph.append_one(Op::gather, {data, index}, attributes({{"axis", int64_t{0}}}),
                                    {"Gather_7"}));
  EXPECT_EQ(model_error([&] {
              evaluate(graph, {f32({2}, {1, 2}), i64({}, {5})});
            }),
            "node 'Gather_7': gather: index 5 is outside of an axis of size 2.");
}

// (x) -> fn(x, x)
Graph pair_body(const char* fn, TensorType type) {
  Graph body;
  const ValueId x = body.add_input(std::move(type));
  body.add_output(body.append_one(Op::map, {x, x}, attributes({{"fn", std::string(fn)}})));
  return body;
}

TEST(Control, IfChoosesABranch) {
  Node node;
  node.op = Op::if_op;
  node.subgraphs = {pair_body("add", {DType::f32, {2}}), pair_body("mul", {DType::f32, {2}})};
  const Tensor x = f32({2}, {3, 4});
  expect_f32(apply(node, {boolean({}, {1}), x})[0], {2}, {6, 8});
  expect_f32(apply(node, {boolean({}, {0}), x})[0], {2}, {9, 16});
}

TEST(Control, IfBranchesOfDifferentShapesNeedADeclaredOne) {
  Node node;
  node.op = Op::if_op;
  for (int64_t size : {2, 3}) {
    Graph body;
    body.add_output(body.append_one(
        Op::iota, {},
        attributes({{"shape", Shape{size}}, {"axis", int64_t{0}}, {"dtype", DType::i64}})));
    node.subgraphs.push_back(std::move(body));
  }
  EXPECT_THAT(model_error([&] { apply(node, {boolean({}, {1})}); }),
              testing::HasSubstr("output 0 of the branches"));
  node.attributes.set("out_shape0", Shape{Expr::symbol("found")});
  expect_i64(apply(node, {boolean({}, {1})})[0], {2}, {0, 1});
  expect_i64(apply(node, {boolean({}, {0})})[0], {3}, {0, 1, 2});
}

// Body of a loop: sum' = sum + step, runs while sum' < 10, collects sum'.
Node sum_loop() {
  Graph body;
  body.add_input({DType::i64, {}}, "iteration");
  body.add_input({DType::boolean, {}}, "condition");
  const ValueId sum = body.add_input({DType::i64, {}}), step = body.add_input({DType::i64, {}});
  const ValueId next =
      body.append_one(Op::map, {sum, step}, attributes({{"fn", std::string("add")}}));
  const auto ten = std::make_shared<const Tensor>(i64({}, {10}));
  const ValueId limit = body.append_one(Op::constant, {}, attributes({{"value", TensorPtr(ten)}}));
  body.add_output(body.append_one(Op::map, {next, limit}, attributes({{"fn", std::string("lt")}})));
  body.add_output(next);
  body.add_output(next);
  Node node;
  node.op = Op::loop;
  node.attributes = attributes({{"carried", int64_t{1}}, {"count", Shape{Expr::symbol("found")}}});
  node.subgraphs.push_back(std::move(body));
  return node;
}

TEST(Control, LoopCarriesAndCollects) {
  auto result = apply(sum_loop(), {i64({}, {100}), boolean({}, {1}), i64({}, {0}), i64({}, {4})});
  expect_i64(result[0], {}, {12});
  expect_i64(result[1], {3}, {4, 8, 12});
  result = apply(sum_loop(), {i64({}, {2}), boolean({}, {1}), i64({}, {0}), i64({}, {4})});
  expect_i64(result[1], {2}, {4, 8});
  result = apply(sum_loop(), {i64({}, {2}), boolean({}, {0}), i64({}, {7}), i64({}, {4})});
  expect_i64(result[0], {}, {7});
  expect_i64(result[1], {0}, {});
}

TEST(Control, LoopMayGrowACarriedValue) {
  Graph body;
  body.add_input({DType::i64, {}});
  const ValueId go = body.add_input({DType::boolean, {}});
  const Expr size = Expr::symbol("inner");
  SymbolSource source;
  source.input = 2;
  body.symbols.push_back({"inner", "", {0, 1000}, source});
  const ValueId list = body.add_input({DType::i64, {size}});
  body.add_output(go);
  body.add_output(body.append_one(Op::concat, {list, list}, attributes({{"axis", int64_t{0}}})));
  Node node;
  node.op = Op::loop;
  node.attributes =
      attributes({{"carried", int64_t{1}}, {"out_shape0", Shape{Expr::symbol("found")}}});
  node.subgraphs.push_back(std::move(body));
  expect_i64(apply(node, {i64({}, {2}), boolean({}, {1}), i64({1}, {5})})[0], {4}, {5, 5, 5, 5});
}

TEST(Control, FusedAndCallRunTheirBody) {
  Node node;
  node.op = Op::fused;
  node.attributes = attributes({{"schedule", std::string("pointwise")}});
  node.subgraphs = {pair_body("mul", {DType::f32, {2}})};
  expect_f32(apply(node, {f32({2}, {3, -4})})[0], {2}, {9, 16});
  node.op = Op::call;
  expect_f32(apply(node, {f32({2}, {3, -4})})[0], {2}, {9, 16});
  EXPECT_THAT(model_error([&] {
                apply(node, {f32({3}, {1, 2, 3})});
              }),
              testing::HasSubstr("same shape"));
}

}  // namespace
}  // namespace mcc::test
