// Attribute and operand access.
#include "lib/frontend/node_context.h"

#include <onnx/onnx_pb.h>

#include "lib/support/error.h"

namespace mcc::frontend {

const Operand& NodeContext::in(size_t index) const {
  if (!has(index)) throw ModelError("required input " + std::to_string(index) + " is missing");
  return inputs[index];
}

size_t NodeContext::output_count() const { return static_cast<size_t>(node.output_size()); }

bool NodeContext::wants(size_t index) const {
  return index < output_count() && !node.output(static_cast<int>(index)).empty();
}

const onnx::AttributeProto* NodeContext::find(const std::string& name) const {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

namespace {

void expect(bool fits, const std::string& name) {
  if (!fits) throw ModelError("attribute '" + name + "' has the wrong type");
}

}  // namespace

int64_t NodeContext::integer(const std::string& name, int64_t fallback) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return fallback;
  expect(attribute->type() == onnx::AttributeProto::INT, name);
  return attribute->i();
}

double NodeContext::real(const std::string& name, double fallback) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return fallback;
  expect(attribute->type() == onnx::AttributeProto::FLOAT, name);
  return static_cast<double>(attribute->f());
}

std::string NodeContext::text(const std::string& name, const std::string& fallback) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return fallback;
  expect(attribute->type() == onnx::AttributeProto::STRING, name);
  return attribute->s();
}

Ints NodeContext::ints(const std::string& name, const Ints& fallback) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return fallback;
  expect(attribute->type() == onnx::AttributeProto::INTS, name);
  return Ints(attribute->ints().begin(), attribute->ints().end());
}

std::vector<double> NodeContext::reals(const std::string& name) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return {};
  expect(attribute->type() == onnx::AttributeProto::FLOATS, name);
  return std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}

std::vector<std::string> NodeContext::texts(const std::string& name) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return {};
  expect(attribute->type() == onnx::AttributeProto::STRINGS, name);
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

TensorPtr NodeContext::tensor(const std::string& name) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return nullptr;
  expect(attribute->type() == onnx::AttributeProto::TENSOR, name);
  return import_tensor(attribute->t(), nullptr, {});
}

Shape NodeContext::known_integers(const Operand& operand, const char* what) const {
  const std::optional<KnownValues> values = operand.known_values();
  if (!values) throw ModelError(std::string(what) + " depends on the data and must be known when compiling");
  Shape integers;
  for (const Known& value : *values) {
    if (value.denominator == 1) {
      integers.push_back(value.numerator);
    } else if (std::optional<Expr> exact = exact_division(value.numerator, Expr(value.denominator))) {
      integers.push_back(*exact);
    } else {
      throw ModelError(std::string(what) + " is not an integer");
    }
  }
  return integers;
}

Ints NodeContext::constant_integers(const Operand& operand, const char* what) const {
  Ints result;
  for (const Expr& value : known_integers(operand, what)) {
    if (!value.is_constant()) throw ModelError(std::string(what) + " must be constant");
    result.push_back(value.constant());
  }
  return result;
}

std::optional<Ints> NodeContext::axes(size_t index, int64_t since, int64_t rank) const {
  Ints list;
  if (opset >= since) {
    if (!has(index)) return std::nullopt;
    list = constant_integers(in(index), "the list of axes");
  } else {
    if (!has_attribute("axes")) return std::nullopt;
    list = ints("axes");
  }
  for (int64_t& axis : list) axis = normalize_axis(axis, rank);
  return list;
}

}  // namespace mcc::frontend
