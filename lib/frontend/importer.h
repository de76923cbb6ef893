// Walks a model's graph (and the bodies of functions and branches) and calls the operators'
// import functions.
// Invariant: a problem in one node never hides an independent one: its results are poisoned and
// their consumers skipped, everything else is still imported.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/frontend/model_file.h"
#include "lib/frontend/node_context.h"
#include "lib/frontend/tensor_import.h"
#include "lib/support/diagnostics.h"

namespace mcc::frontend {

// Names visible at a point of the model; inner scopes see the outer ones.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}
  void set(const std::string& name, Operand operand) { names_[name] = std::move(operand); }
  // nullptr when unknown.
  const Operand* find(const std::string& name) const;

 private:
  const Scope* outer_;
  std::map<std::string, Operand> names_;
};

class Importer {
 public:
  // One attempt; see Equalities in symbols.h.
  Importer(const LoadedModel& model, const ImportOptions& options, Diagnostics& diagnostics,
           ExternalFiles& files, Equalities& equalities);
  ~Importer();
  Graph run();
  bool learned() const;

  // -- for control flow
  // Imports the nodes of a body into `builder` with the names of the scope that the node under
  // import sees, plus `names`; returns the body's outputs. Poison in an output means that problems
  // have been reported.
  Operands import_body(const onnx::GraphProto& body, Builder& builder,
                       const std::map<std::string, Operand>& names);
  // An attribute's tensor.
  Operand tensor_operand(const onnx::TensorProto& proto);
  Operand sparse_operand(const onnx::SparseTensorProto& proto);

 private:
  struct Frame;  // scope, opsets, attribute bindings, name prefix of the nodes under import

  std::vector<DeclaredInput> declare_inputs();
  void import_initializers(const onnx::GraphProto& graph, Scope& scope);
  void import_nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                    Builder& builder, Frame& frame);
  void import_node(const onnx::NodeProto& node, const std::string& name, Builder& builder,
                   Frame& frame);
  // True when the operator is a function (of the model or of its schema) and was expanded.
  bool expand_function(NodeContext& context, const std::string& name, Frame& frame);
  void finish_outputs(Builder& builder, const Scope& scope);
  void report(const std::string& node, const std::string& operation, const std::string& reason,
              const std::string& advice);

  const LoadedModel& model_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  ExternalFiles& files_;
  Equalities& equalities_;
  Graph graph_;
  std::unique_ptr<Symbols> symbols_;
  std::vector<int> input_types_;
  // Keeps the message under import alive: tensors share its bytes and outlive the importer.
  std::shared_ptr<const void> proto_owner_;
  Frame* frame_ = nullptr;  // of the node under import
  int depth_ = 0;           // of nested functions and bodies
};

}  // namespace mcc::frontend
