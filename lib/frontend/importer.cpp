// The import of one model.
#include "lib/frontend/importer.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "lib/frontend/known_arithmetic.h"
#include "lib/ir/op.h"
#include "lib/ir/verify.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

// Sizes stay below 2^31 unless the user says otherwise.
constexpr int64_t kLargestDim = (int64_t{1} << 31) - 1;

bool is_identifier(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// What exporters write for "unknown": no name, so two of them need not be equal.
bool is_placeholder(const std::string& name) { return name.empty() || name == "?" || name == "-1" || name == "None"; }

bool may_be_empty(const std::string& label) {
  std::string lower = label;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("past") != std::string::npos || lower.find("cache") != std::string::npos;
}

}  // namespace

Importer::Importer(std::shared_ptr<const onnx::ModelProto> model, std::string directory,
                   const ImportOptions& options, Diagnostics& diagnostics)
    : model_(std::move(model)), directory_(std::move(directory)), options_(options), diagnostics_(diagnostics),
      builder_(graph_) {}

void Importer::read_opsets() {
  for (const auto& entry : model_->opset_import()) {
    const std::string domain = entry.domain() == "ai.onnx" ? "" : entry.domain();
    opsets_[domain] = entry.version();
  }
  if (opsets_.count("") == 0) opsets_[""] = 1;
}

int64_t Importer::opset_of(const std::string& domain) const {
  auto found = opsets_.find(domain);
  return found == opsets_.end() ? 1 : found->second;
}

Expr Importer::symbol_for(const std::string& label, size_t input, size_t axis) {
  auto known = symbols_.find(label);
  if (known != symbols_.end()) return known->second;
  Range range{1, kLargestDim};
  auto chosen = options_.dims.find(label);
  if (chosen != options_.dims.end()) {
    range = chosen->second;
  } else {
    const std::string& input_name = model_->graph().input(static_cast<int>(input)).name();
    if (may_be_empty(label) || may_be_empty(input_name)) range.low = 0;
  }
  if (range.low == range.high) {
    symbols_.emplace(label, Expr(range.low));
    return range.low;
  }
  SymbolSource source;
  source.kind = SymbolSource::Kind::input_dim;
  source.input = static_cast<int32_t>(graph_.inputs.size());
  source.axis = static_cast<int64_t>(axis);
  const Expr symbol = graph_.add_symbol(label, range, source);
  symbols_.emplace(label, symbol);
  return symbol;
}

// A number, a name, or an expression over names.
Expr Importer::dimension(const std::string& label, size_t input, size_t axis) {
  if (!label.empty() && std::all_of(label.begin(), label.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
    if (label.size() > 18) throw UsageError("dimension " + label + " is too large");
    return static_cast<int64_t>(std::stoll(label));
  }
  if (is_identifier(label)) return symbol_for(label, input, axis);
  try {
    const Expr expression = Expr::parse(label);
    std::map<std::string, Expr, std::less<>> replacements;
    bool known = true;
    for (const std::string& name : expression.symbols()) {
      auto found = symbols_.find(name);
      known = known && found != symbols_.end();
      if (known) replacements.emplace(name, found->second);
    }
    if (known) return expression.substitute(replacements);
  } catch (const UsageError&) {
    // Any other text is just a name.
  }
  return symbol_for(label, input, axis);
}

void Importer::import_inputs() {
  std::set<std::string> initializers;
  for (const auto& tensor : model_->graph().initializer()) initializers.insert(tensor.name());
  struct Pending {
    size_t number;
    const onnx::ValueInfoProto* info;
    std::vector<std::string> dims;
    DType dtype;
  };
  std::vector<Pending> inputs;
  std::set<std::string> names;
  for (int i = 0; i < model_->graph().input_size(); ++i) {
    const onnx::ValueInfoProto& info = model_->graph().input(i);
    if (initializers.count(info.name()) != 0) continue;  // a default value, not an input
    names.insert(info.name());
    if (!info.type().has_tensor_type()) {
      diagnostics_.report({"", "input '" + info.name() + "'", "is not a tensor", "sequence and optional inputs are not supported"});
      continue;
    }
    const auto& type = info.type().tensor_type();
    Pending pending{static_cast<size_t>(i), &info, {}, import_dtype(type.elem_type())};
    auto given = options_.input_shapes.find(info.name());
    if (given != options_.input_shapes.end()) {
      if (type.has_shape() && static_cast<size_t>(type.shape().dim_size()) != given->second.size()) {
        throw UsageError("--input " + info.name() + ": the model's input has rank " +
                         std::to_string(type.shape().dim_size()) + ", not " + std::to_string(given->second.size()));
      }
      pending.dims = given->second;
      for (size_t axis = 0; type.has_shape() && axis < pending.dims.size(); ++axis) {
        const auto& dim = type.shape().dim(static_cast<int>(axis));
        if (dim.has_dim_value() && dim.dim_value() > 0 && pending.dims[axis] != std::to_string(dim.dim_value())) {
          throw UsageError("--input " + info.name() + ": the model fixes dimension " + std::to_string(axis) + " to " +
                           std::to_string(dim.dim_value()));
        }
      }
    } else if (!type.has_shape()) {
      diagnostics_.report({"", "input '" + info.name() + "'", "has no shape", "give one with --input " + info.name() + ":1x3x224x224"});
      continue;
    } else {
      for (int axis = 0; axis < type.shape().dim_size(); ++axis) {
        const auto& dim = type.shape().dim(axis);
        if (dim.has_dim_value() && dim.dim_value() > 0) {
          pending.dims.push_back(std::to_string(dim.dim_value()));
        } else if (dim.has_dim_param() && !is_placeholder(dim.dim_param())) {
          pending.dims.push_back(dim.dim_param());
        } else {
          pending.dims.push_back(info.name() + "[" + std::to_string(axis) + "]");
        }
      }
    }
    inputs.push_back(std::move(pending));
  }
  for (const auto& [name, shape] : options_.input_shapes) {
    if (names.count(name) == 0) throw UsageError("--input " + name + ": the model has no such input");
  }
  // Plain names first: a symbol must come from an input that has it as a whole dimension.
  std::vector<std::vector<Expr>> shapes(inputs.size());
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      shapes[i].resize(inputs[i].dims.size());
      for (size_t axis = 0; axis < inputs[i].dims.size(); ++axis) {
        const std::string& label = inputs[i].dims[axis];
        if ((round == 0) != is_identifier(label)) continue;
        // symbol_for records the number of inputs made so far as the source: set it to this one.
        const size_t before = graph_.symbols.size();
        shapes[i][axis] = dimension(label, inputs[i].number, axis);
        if (graph_.symbols.size() > before) graph_.symbols.back().source.input = static_cast<int32_t>(i);
      }
    }
  }
  for (const auto& [label, range] : options_.dims) {
    if (symbols_.count(label) != 0) continue;
    std::string known;
    for (const auto& [name, symbol] : symbols_) known += (known.empty() ? "" : ", ") + name;
    throw UsageError("--dim " + label + ": the model has no such dynamic dimension" +
                     (known.empty() ? " (all its dimensions are fixed)" : "; it has " + known));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    graph_.add_input({inputs[i].dtype, shapes[i]}, inputs[i].info->name());
  }
}

void Importer::import_initializers(const onnx::GraphProto& graph, Scope& scope) {
  for (const onnx::TensorProto& proto : graph.initializer()) {
    try {
      Operand operand = Operand::constant(import_tensor(proto, model_, directory_));
      operand.set_name(proto.name());
      scope[proto.name()] = operand;
    } catch (const ModelError& error) {
      diagnostics_.report({"", "initializer '" + proto.name() + "'", error.what(), ""});
      scope[proto.name()] = Operand::poison();
    }
  }
  if (graph.sparse_initializer_size() != 0) {
    diagnostics_.report({"", "sparse initializers", "are not supported", "store them as dense tensors"});
  }
}

std::string Importer::node_label(const onnx::NodeProto& node) const {
  return node.name().empty() ? "#" + std::to_string(node_number_) : node.name();
}

void Importer::report(const onnx::NodeProto& node, const std::string& reason, const std::string& advice) {
  const std::string domain = node.domain().empty() || node.domain() == "ai.onnx" ? "" : node.domain() + ".";
  diagnostics_.report({node_label(node),
                       domain + node.op_type() + " (opset " + std::to_string(opset_of(node.domain() == "ai.onnx" ? "" : node.domain())) + ")",
                       reason, advice});
}

Results Importer::import_if(const onnx::NodeProto& node, const Operand& condition, Scope& scope) {
  const std::optional<KnownValues> known = condition.known_values();
  if (!known || known->size() != 1 || !(*known)[0].numerator.is_constant()) {
    throw ModelError("the branch depends on the data");
  }
  const std::string wanted = (*known)[0].numerator.constant() != 0 ? "then_branch" : "else_branch";
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() != wanted) continue;
    Scope inner = scope;
    import_graph(attribute.g(), inner);
    Results results;
    for (const auto& output : attribute.g().output()) {
      auto found = inner.find(output.name());
      if (found == inner.end()) throw ModelError("a branch does not define its output '" + output.name() + "'");
      results.push_back(found->second);
    }
    return results;
  }
  throw ModelError("attribute '" + wanted + "' is missing");
}

Results Importer::dispatch(const onnx::NodeProto& node, std::vector<Operand> inputs, Scope& scope) {
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  if (domain.empty() && node.op_type() == "If") return import_if(node, inputs.at(0), scope);
  const int64_t opset = opset_of(domain);
  const OperatorEntry* entry = find_operator(domain, node.op_type(), opset);
  if (entry == nullptr) throw ModelError("is not supported");
  NodeContext context(node, std::move(inputs), builder_, opset);
  const Ranges ranges = graph_.ranges();
  if (std::optional<Operand> known = known_elementwise(context, ranges)) return {*known};
  if (entry->moves != Moves::none) {
    if (std::optional<Results> moved = known_moves(context, *entry, ranges)) return *moved;
  }
  return entry->import(context);
}

void Importer::import_node(const onnx::NodeProto& node, Scope& scope) {
  ++node_number_;
  std::vector<Operand> inputs;
  bool poisoned = false;
  for (const std::string& name : node.input()) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    auto found = scope.find(name);
    if (found == scope.end()) {
      report(node, "reads '" + name + "', which nothing defines", "the model is malformed");
      poisoned = true;
      break;
    }
    poisoned = poisoned || found->second.is_poison();
    inputs.push_back(found->second);
  }
  Results results;
  const size_t nodes_before = graph_.nodes.size();
  if (!poisoned) {
    builder_.set_origin(node_label(node));
    try {
      results = dispatch(node, std::move(inputs), scope);
    } catch (const Error& error) {
      if (error.code() == ExitCode::internal) throw;
      const bool unknown = std::string(error.what()) == "is not supported";
      report(node, error.what(), unknown ? "`mcc ops` lists the supported operators" : "");
      results.clear();
      poisoned = true;
    }
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    Operand result = Operand::poison();
    if (!poisoned) {
      if (static_cast<size_t>(i) < results.size() && results[static_cast<size_t>(i)]) {
        result = results[static_cast<size_t>(i)];
        if (result.owner() == &builder_ && graph_.nodes.size() > nodes_before) {
          std::string& name = graph_.values[static_cast<size_t>(result.id())].name;
          if (name.empty()) name = node.output(i);
        }
      } else {
        report(node, "output " + std::to_string(i) + " is not supported", "");
      }
    }
    scope[node.output(i)] = result;
  }
}

void Importer::import_graph(const onnx::GraphProto& graph, Scope& scope) {
  import_initializers(graph, scope);
  for (const onnx::NodeProto& node : graph.node()) import_node(node, scope);
}

Graph Importer::run() {
  read_opsets();
  graph_.name = model_->graph().name();
  import_inputs();
  diagnostics_.throw_if_any();
  Scope scope;
  for (ValueId input : graph_.inputs) {
    scope[graph_.values[static_cast<size_t>(input)].name] = Operand::value(&builder_, input, graph_.type(input));
  }
  import_graph(model_->graph(), scope);
  builder_.set_origin("");
  for (const auto& output : model_->graph().output()) {
    auto found = scope.find(output.name());
    if (found == scope.end()) {
      diagnostics_.report({"", "output '" + output.name() + "'", "is not defined by any node", "the model is malformed"});
    } else if (!found->second.is_poison()) {
      graph_.add_output(builder_.value(found->second), output.name());
    }
  }
  diagnostics_.throw_if_any();
  eliminate_dead_nodes(graph_);
  verify_graph(graph_, "import");
  return std::move(graph_);
}

}  // namespace mcc::frontend
