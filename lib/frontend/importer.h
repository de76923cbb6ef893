// The import of one model: symbols, names, nodes in order, problems collected.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lib/frontend/import.h"
#include "lib/frontend/node_context.h"

namespace onnx {
class ModelProto;
class ValueInfoProto;
}  // namespace onnx

namespace mcc::frontend {

class Importer {
 public:
  Importer(std::shared_ptr<const onnx::ModelProto> model, std::string directory, const ImportOptions& options,
           Diagnostics& diagnostics);
  Graph run();

 private:
  using Scope = std::map<std::string, Operand>;

  void read_opsets();
  void import_inputs();
  Expr dimension(const std::string& label, size_t input, size_t axis);
  Expr symbol_for(const std::string& label, size_t input, size_t axis);
  void import_graph(const onnx::GraphProto& graph, Scope& scope);
  void import_initializers(const onnx::GraphProto& graph, Scope& scope);
  void import_node(const onnx::NodeProto& node, Scope& scope);
  Results dispatch(const onnx::NodeProto& node, std::vector<Operand> inputs, Scope& scope);
  Results import_if(const onnx::NodeProto& node, const Operand& condition, Scope& scope);
  void report(const onnx::NodeProto& node, const std::string& reason, const std::string& advice);
  int64_t opset_of(const std::string& domain) const;
  std::string node_label(const onnx::NodeProto& node) const;

  std::shared_ptr<const onnx::ModelProto> model_;
  std::string directory_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  Graph graph_;
  Builder builder_;
  std::map<std::string, int64_t> opsets_;
  std::map<std::string, Expr> symbols_;  // by label
  int node_number_ = 0;
};

}  // namespace mcc::frontend
