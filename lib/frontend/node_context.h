// What an operator's import function sees: its operands, attributes and the builder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/frontend/builder.h"

namespace onnx {
class NodeProto;
class AttributeProto;
class GraphProto;
class TensorProto;
}  // namespace onnx

namespace mcc::frontend {

class Importer;

class NodeContext {
 public:
  NodeContext(const onnx::NodeProto& proto, std::vector<Operand> operands, Builder& builder, int64_t version)
      : node(proto), inputs(std::move(operands)), b(builder), opset(version) {}

  const onnx::NodeProto& node;
  std::vector<Operand> inputs;  // absent optional ones are empty operands
  Builder& b;
  int64_t opset;

  // Required operand; ModelError when it is missing.
  const Operand& in(size_t index) const;
  bool has(size_t index) const { return index < inputs.size() && inputs[index]; }
  size_t output_count() const;
  // Whether output `index` is asked for.
  bool wants(size_t index) const;

  const onnx::AttributeProto* find(const std::string& name) const;
  bool has_attribute(const std::string& name) const { return find(name) != nullptr; }
  int64_t integer(const std::string& name, int64_t fallback) const;
  double real(const std::string& name, double fallback) const;
  std::string text(const std::string& name, const std::string& fallback) const;
  Ints ints(const std::string& name, const Ints& fallback = {}) const;
  std::vector<double> reals(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;
  // A tensor attribute, or nullptr.
  TensorPtr tensor(const std::string& name) const;

  // Integers of an operand as symbolic expressions; ModelError ("must be known when compiling")
  // when they depend on data.
  Shape known_integers(const Operand& operand, const char* what) const;
  // The same, all constant.
  Ints constant_integers(const Operand& operand, const char* what) const;
  // Axes as attribute (before opset `since`) or as input `index` (from it on), made non-negative.
  std::optional<Ints> axes(size_t index, int64_t since, int64_t rank) const;
};

using Results = std::vector<Operand>;
using ImportFunction = Results (*)(NodeContext& node);

// Which inputs hold data whose elements the operator only moves: for those the importer can trace
// symbolic integers through it.
enum class Moves : uint8_t { none, first, all };

struct OperatorEntry {
  const char* name;
  int since;  // first opset version that this entry implements
  ImportFunction import;
  Moves moves = Moves::none;
  const char* domain = "";
};

// All entries, joined from the families.
std::vector<const OperatorEntry*> operator_entries();
// The entry for an operator at an opset version, or nullptr.
const OperatorEntry* find_operator(const std::string& domain, const std::string& name, int64_t opset);

// A tensor of the model. Shares the protobuf's or the mapped file's memory where it can.
TensorPtr import_tensor(const onnx::TensorProto& tensor, const std::shared_ptr<const void>& owner,
                        const std::string& directory);
// ModelError for a type that the IR lacks.
DType import_dtype(int onnx_type);

}  // namespace mcc::frontend
