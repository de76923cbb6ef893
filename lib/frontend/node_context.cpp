// NodeContext: typed access to attributes and parameters.
#include "lib/frontend/node_context.h"

#include "lib/frontend/tensor_import.h"

namespace mcc::frontend {
namespace {

[[noreturn]] void wrong_type(std::string_view name) {
  throw ModelError("the attribute '" + std::string(name) + "' has the wrong type.");
}

}  // namespace

const Operand& NodeContext::in(size_t input) const {
  if (!has(input)) {
    throw ModelError("the required input " + std::to_string(input) + " is missing.");
  }
  return inputs[input];
}

const onnx::AttributeProto* NodeContext::attribute(std::string_view name) const {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : found->second;
}

int64_t NodeContext::integer(std::string_view name, int64_t fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return fallback;
  if (found->type() != onnx::AttributeProto::INT) wrong_type(name);
  return found->i();
}

int64_t NodeContext::integer(std::string_view name) const {
  if (!has_attribute(name)) {
    throw ModelError("the required attribute '" + std::string(name) + "' is missing.");
  }
  return integer(name, 0);
}

double NodeContext::real(std::string_view name, double fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return fallback;
  if (found->type() != onnx::AttributeProto::FLOAT) wrong_type(name);
  return static_cast<double>(found->f());
}

std::string NodeContext::text(std::string_view name, std::string_view fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return std::string(fallback);
  if (found->type() != onnx::AttributeProto::STRING) wrong_type(name);
  return found->s();
}

Ints NodeContext::ints(std::string_view name, const Ints& fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return fallback;
  if (found->type() != onnx::AttributeProto::INTS) wrong_type(name);
  return Ints(found->ints().begin(), found->ints().end());
}

std::vector<double> NodeContext::reals(std::string_view name,
                                       const std::vector<double>& fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return fallback;
  if (found->type() != onnx::AttributeProto::FLOATS) wrong_type(name);
  return std::vector<double>(found->floats().begin(), found->floats().end());
}

std::vector<std::string> NodeContext::texts(std::string_view name) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return {};
  if (found->type() != onnx::AttributeProto::STRINGS) wrong_type(name);
  return std::vector<std::string>(found->strings().begin(), found->strings().end());
}

Ints NodeContext::constant_ints(size_t input, const char* what) const {
  const Operand& operand = in(input);
  const Tensor* tensor = operand.constant_tensor();
  if (tensor == nullptr) {
    throw Refusal(std::string(what) + " must be known when the model is compiled.",
                  "make it a constant of the model, or fix the dimensions that it depends on "
                  "with --dim");
  }
  if (!is_integer(tensor->dtype())) throw ModelError(std::string(what) + " must be integers.");
  Ints values;
  for (int64_t i = 0; i < tensor->elements(); ++i) values.push_back(tensor->get_int64(i));
  return values;
}

double NodeContext::constant_real(size_t input, const char* what) const {
  const Tensor* tensor = in(input).constant_tensor();
  if (tensor == nullptr || tensor->elements() != 1) {
    throw Refusal(std::string(what) + " must be one number that is known at compile time.",
                  "make it a constant of the model");
  }
  return tensor->get_double(0);
}

Ints NodeContext::axes_argument(size_t input, std::string_view attribute_name) const {
  if (has(input)) return constant_ints(input, "the axes");
  return ints(attribute_name);
}

DType NodeContext::dtype_attribute(std::string_view name, DType fallback) const {
  const int64_t number = integer(name, 0);
  return number == 0 ? fallback : dtype_from_onnx(static_cast<int>(number));
}

}  // namespace mcc::frontend
