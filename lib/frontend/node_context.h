// What an operator's import function sees of its node: operands, attributes, opset, the builder.
// Invariant: names and messages of the node are added by the importer; import functions only throw
// ModelError or Refusal with a sentence.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/frontend/builder.h"
#include "lib/support/error.h"
#include "onnx/onnx_pb.h"

namespace mcc::frontend {

// A ModelError with a way out.
class Refusal : public ModelError {
 public:
  Refusal(const std::string& reason, std::string way_out)
      : ModelError(reason), advice(std::move(way_out)) {}
  std::string advice;
};

using AttributeTable = std::map<std::string, const onnx::AttributeProto*, std::less<>>;

class Importer;

class NodeContext {
 public:
  NodeContext(const onnx::NodeProto& node_proto, int64_t opset_version, Builder& graph_builder,
              Importer& owner)
      : proto(node_proto), opset(opset_version), b(graph_builder), importer(owner) {}

  const onnx::NodeProto& proto;
  const int64_t opset;  // of the node's domain
  Builder& b;
  Importer& importer;  // for control flow
  Operands inputs;     // absent operands for inputs left out
  Operands outputs;    // filled by the import function; may be shorter than the node's
  AttributeTable attributes;

  bool has(size_t input) const { return input < inputs.size() && inputs[input]; }
  // ModelError when left out.
  const Operand& in(size_t input) const;
  // The input, or absent.
  Operand optional(size_t input) const { return has(input) ? inputs[input] : Operand(); }
  // Whether anything can read the output.
  bool wants(size_t output) const {
    const int index = static_cast<int>(output);
    return index < proto.output_size() && !proto.output(index).empty();
  }
  void out(Operand result) { outputs.push_back(std::move(result)); }

  // Attributes; ModelError when of another type than asked for.
  bool has_attribute(std::string_view name) const { return attributes.count(name) != 0; }
  int64_t integer(std::string_view name, int64_t fallback) const;
  int64_t integer(std::string_view name) const;  // required
  double real(std::string_view name, double fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  Ints ints(std::string_view name, const Ints& fallback = {}) const;
  std::vector<double> reals(std::string_view name, const std::vector<double>& fallback = {}) const;
  std::vector<std::string> texts(std::string_view name) const;
  const onnx::AttributeProto* attribute(std::string_view name) const;

  // Reading an input as parameters: ModelError when it isn't known at import.
  Ints constant_ints(size_t input, const char* what) const;
  double constant_real(size_t input, const char* what) const;
  // Axes from input `input` if given, else from the attribute; empty when neither is.
  Ints axes_argument(size_t input, std::string_view attribute_name = "axes") const;
  // An attribute or data type number as our type. ModelError for one we don't have.
  DType dtype_attribute(std::string_view name, DType fallback) const;
};

using ImportFunction = std::function<void(NodeContext&)>;

struct OperatorEntry {
  std::string_view domain;  // "" is ai.onnx
  std::string_view name;
  int since_version;        // holds from this opset on, until a newer entry of the same name
  ImportFunction import;
  std::string_view note = {};
};

}  // namespace mcc::frontend
