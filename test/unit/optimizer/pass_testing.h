// Runs passes on a graph in text form and holds the result against the original by evaluation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "lib/ir/evaluate.h"
#include "lib/ir/op.h"
#include "lib/ir/text.h"
#include "lib/ir/verify.h"
#include "lib/optimizer/passes/passes.h"

namespace mcc {

using PassFunction = bool (*)(Graph&, PassContext&);

// Random inputs of a graph; symbolic dims take `size`.
inline std::vector<Tensor> random_inputs(const Graph& graph, int64_t size = 5, uint32_t seed = 7) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Tensor> inputs;
  for (ValueId input : graph.inputs) {
    std::vector<int64_t> shape;
    for (const Expr& dim : graph.shape(input)) {
      Bindings bindings;
      for (const std::string& name : dim.symbols()) bindings[name] = size;
      shape.push_back(dim.evaluate(bindings));
    }
    Tensor tensor(graph.dtype(input), shape);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      if (is_floating(tensor.dtype())) {
        tensor.set_double(i, normal(random));
      } else {
        tensor.set_int64(i, static_cast<int64_t>(random() % 2));
      }
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

inline void expect_same_results(const Graph& before, const Graph& after, double tolerance = 1e-5) {
  const std::vector<Tensor> inputs = random_inputs(before);
  const std::vector<Tensor> expected = evaluate(before, inputs);
  const std::vector<Tensor> actual = evaluate(after, inputs);
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].shape(), actual[i].shape());
    ASSERT_EQ(expected[i].dtype(), actual[i].dtype());
    for (int64_t k = 0; k < expected[i].elements(); ++k) {
      const double a = expected[i].get_double(k), b = actual[i].get_double(k);
      ASSERT_LE(std::fabs(a - b), tolerance * (1 + std::fabs(a))) << "output " << i << " at " << k;
    }
  }
}

// Applies the passes and returns the result, verified and compared.
inline Graph run_and_compare(const std::string& text, const std::vector<PassFunction>& functions,
                             const OptimizerOptions& options = {}) {
  const Graph before = parse_graph(text);
  Graph graph = before;
  PassContext context{options};
  for (PassFunction function : functions) {
    function(graph, context);
    verify_graph(graph, "the tested pass");
  }
  eliminate_dead_nodes(graph);
  expect_same_results(before, graph);
  return graph;
}

// The operators in order; maps by their function.
inline std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    names.push_back(node.op == Op::map ? node.attributes.text("fn")
                                       : std::string(op_info(node.op).name));
  }
  return names;
}
using Names = std::vector<std::string>;

}  // namespace mcc
