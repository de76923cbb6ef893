// Helpers of the evaluator's tests: one-node graphs on literal tensors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::test {

inline Tensor tensor(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor result(dtype, std::move(shape));
  EXPECT_EQ(result.elements(), static_cast<int64_t>(values.size()));
  store_elements(result, 0, values);
  return result;
}
inline Tensor f32(std::vector<int64_t> shape, const std::vector<double>& values) {
  return tensor(DType::f32, std::move(shape), values);
}
inline Tensor i64(std::vector<int64_t> shape, const std::vector<double>& values) {
  return tensor(DType::i64, std::move(shape), values);
}
inline Tensor boolean(std::vector<int64_t> shape, const std::vector<double>& values) {
  return tensor(DType::boolean, std::move(shape), values);
}
inline Tensor text(std::vector<int64_t> shape, const std::vector<std::string>& values) {
  Tensor result(DType::string, std::move(shape));
  *result.strings = values;
  return result;
}

inline TensorType type_of(const Tensor& value) {
  TensorType type{value.dtype(), {}};
  for (int64_t dim : value.shape()) type.shape.emplace_back(dim);
  return type;
}

using Named = std::initializer_list<Attributes::Entry>;
inline Attributes attributes(Named list) {
  Attributes result;
  for (const auto& [name, value] : list) result.set(name, value);
  return result;
}

// Infers and evaluates one node; the evaluator checks results against the inferred types.
inline std::vector<Tensor> apply(Node node, const std::vector<Tensor>& inputs) {
  Graph graph;
  for (const Tensor& input : inputs) node.inputs.push_back(graph.add_input(type_of(input)));
  for (const Expr& dim : node.attributes.has("count") ? node.attributes.shape("count") : Shape{}) {
    if (dim.as_symbol()) graph.symbols.push_back({*dim.as_symbol(), "", {0, 1000}, {}});
  }
  for (Symbol& symbol : graph.symbols) symbol.source.kind = SymbolSource::Kind::value;
  for (Symbol& symbol : graph.symbols) symbol.source.input = kNoValue;
  for (ValueId output : graph.append(std::move(node))) graph.add_output(output);
  return evaluate(graph, inputs);
}
inline std::vector<Tensor> apply(Op op, Named named, const std::vector<Tensor>& inputs) {
  Node node;
  node.op = op;
  node.attributes = attributes(named);
  return apply(std::move(node), inputs);
}
inline Tensor apply_one(Op op, Named named, const std::vector<Tensor>& inputs) {
  return apply(op, named, inputs).at(0);
}
inline Tensor map(const std::string& fn, const std::vector<Tensor>& inputs) {
  return apply_one(Op::map, {{"fn", fn}}, inputs);
}

inline void expect_tensor(const Tensor& actual, DType dtype, const std::vector<int64_t>& shape,
                          const std::vector<double>& values, double tolerance = 0) {
  EXPECT_EQ(dtype_info(actual.dtype()).name, dtype_info(dtype).name);
  ASSERT_EQ(actual.shape(), shape);
  const std::vector<double> got = all_doubles(actual);
  ASSERT_EQ(got.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != values[i]) {
      EXPECT_NE(got[i], got[i]) << "element " << i;
    } else if (tolerance == 0 || got[i] == values[i]) {
      EXPECT_EQ(got[i], values[i]) << "element " << i;
    } else {
      EXPECT_NEAR(got[i], values[i], tolerance) << "element " << i;
    }
  }
}
inline void expect_f32(const Tensor& actual, const std::vector<int64_t>& shape,
                       const std::vector<double>& values, double tolerance = 1e-6) {
  expect_tensor(actual, DType::f32, shape, values, tolerance);
}
inline void expect_i64(const Tensor& actual, const std::vector<int64_t>& shape,
                       const std::vector<double>& values) {
  expect_tensor(actual, DType::i64, shape, values);
}

// The message of the ModelError that `action` throws; fails the test when it does not.
template <typename Action>
std::string model_error(const Action& action) {
  try {
    action();
  } catch (const ModelError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no ModelError was thrown";
  return {};
}

}  // namespace mcc::test
