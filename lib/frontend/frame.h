// Importer::Frame: the surroundings of the nodes under import, one per graph or function body.
#pragma once

#include <map>
#include <string>

#include "lib/frontend/importer.h"

namespace mcc::frontend {

struct Importer::Frame {
  using Opsets = std::map<std::string, int64_t, std::less<>>;
  using Functions = std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*>;

  explicit Frame(const onnx::ModelProto& model) {
    for (const auto& import : model.opset_import()) {
      opsets[std::string(plain_domain(import.domain()))] = import.version();
    }
    for (const auto& function : model.functions()) {
      functions[{std::string(plain_domain(function.domain())), function.name()}] = &function;
    }
  }
  // A body inside of `outer`: same opsets and attributes, a scope of its own.
  Frame(const Frame& outer, Scope inner)
      : scope(std::move(inner)),
        opsets(outer.opsets),
        functions(outer.functions),
        attributes(outer.attributes),
        prefix(outer.prefix),
        own_origin(outer.own_origin) {}

  int64_t opset(const std::string& domain) const {
    const auto found = opsets.find(domain);
    return found == opsets.end() ? 1 : found->second;
  }
  const onnx::FunctionProto* local_function(const onnx::NodeProto& node) const {
    const auto found =
        functions.find({std::string(plain_domain(node.domain())), node.op_type()});
    return found == functions.end() ? nullptr : found->second;
  }
  bool is_local_function(const onnx::NodeProto& node) const {
    return local_function(node) != nullptr;
  }

  Scope scope;
  Opsets opsets;
  Functions functions;
  AttributeTable attributes;  // what ref_attr_name refers to inside of a function
  std::string prefix;         // of node names in reports
  bool own_origin = true;     // false inside of functions: nodes stand for the calling node
};

}  // namespace mcc::frontend
