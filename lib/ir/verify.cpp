// The verifier.
#include "lib/ir/verify.h"

#include <set>

#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, const char* stage, const std::set<std::string>& outer_symbols)
      : graph_(graph), stage_(stage), symbols_(outer_symbols) {}

  void run() {
    for (size_t i = 0; i < graph_.symbols.size(); ++i) {
      if (!symbols_.insert(graph_.symbols[i].name).second) {
        fail("symbol '" + graph_.symbols[i].name + "' is defined twice");
      }
    }
    defined_.assign(graph_.values.size(), false);
    for (ValueId input : graph_.inputs) define(input);
    for (const Node& node : graph_.nodes) check_node(node);
    if (graph_.outputs.size() != graph_.output_names.size()) fail("outputs and their names differ in number");
    for (ValueId output : graph_.outputs) use(output);
    for (const Symbol& symbol : graph_.symbols) {
      const bool reads = symbol.source.kind == SymbolSource::Kind::value;
      if (reads && symbol.source.input != kNoValue) use(symbol.source.input);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InternalError("after " + std::string(stage_) + ": " + what);
  }

  std::string describe(const Node& node) const {
    std::string text = std::string(op_info(node.op).name);
    if (!node.outputs.empty()) text += " %" + std::to_string(node.outputs[0]);
    if (!node.origin.empty()) text += " ('" + node.origin[0] + "')";
    return text;
  }

  void check_id(ValueId value) const {
    if (value < 0 || static_cast<size_t>(value) >= graph_.values.size()) {
      fail("value %" + std::to_string(value) + " does not exist");
    }
  }
  void define(ValueId value) {
    check_id(value);
    if (defined_[static_cast<size_t>(value)]) fail("value %" + std::to_string(value) + " is defined twice");
    defined_[static_cast<size_t>(value)] = true;
    for (const Expr& dim : graph_.shape(value)) {
      for (const std::string& name : dim.symbols()) {
        if (symbols_.count(name) == 0) {
          fail("the shape of %" + std::to_string(value) + " mentions the unknown symbol '" + name + "'");
        }
      }
    }
  }
  void use(ValueId value) const {
    check_id(value);
    if (!defined_[static_cast<size_t>(value)]) {
      fail("value %" + std::to_string(value) + " is used before its definition");
    }
  }

  void check_node(const Node& node) {
    const OpInfo& info = op_info(node.op);
    const auto inputs = static_cast<int>(node.inputs.size());
    if (inputs < info.min_inputs || (info.max_inputs >= 0 && inputs > info.max_inputs)) {
      fail(describe(node) + " has " + std::to_string(inputs) + " inputs");
    }
    std::vector<TensorType> types;
    for (ValueId input : node.inputs) {
      if (input != kNoValue) use(input);
      types.push_back(input == kNoValue ? TensorType{} : graph_.type(input));
    }
    for (const Graph& subgraph : node.subgraphs) Verifier(subgraph, stage_, symbols_).run();
    std::vector<TensorType> inferred;
    try {
      inferred = info.infer(node, types);
    } catch (const Error& error) {
      fail(describe(node) + ": " + error.what());
    }
    if (inferred.size() != node.outputs.size()) fail(describe(node) + " has a wrong number of outputs");
    for (size_t i = 0; i < inferred.size(); ++i) {
      define(node.outputs[i]);
      const TensorType& stated = graph_.type(node.outputs[i]);
      if (!(stated == inferred[i])) {
        fail(describe(node) + ": output " + std::to_string(i) + " is stated as " +
             std::string(dtype_info(stated.dtype).name) + shape_text(stated.shape) + " but is " +
             std::string(dtype_info(inferred[i].dtype).name) + shape_text(inferred[i].shape));
      }
    }
  }

  const Graph& graph_;
  const char* stage_;
  std::set<std::string> symbols_;
  std::vector<bool> defined_;
};

}  // namespace

void verify_graph(const Graph& graph, const char* stage) { Verifier(graph, stage, {}).run(); }

}  // namespace mcc
