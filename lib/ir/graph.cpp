// Graph construction and queries.
#include "lib/ir/graph.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc {

ValueId Graph::add_value(TensorType type, std::string value_name) {
  values.push_back({std::move(type), std::move(value_name)});
  return static_cast<ValueId>(values.size()) - 1;
}

ValueId Graph::add_input(TensorType type, std::string value_name) {
  inputs.push_back(add_value(std::move(type), std::move(value_name)));
  return inputs.back();
}

void Graph::add_output(ValueId value, std::string output_name) {
  outputs.push_back(value);
  output_names.push_back(std::move(output_name));
}

namespace {

// Infers the node's output types and gives it fresh output values.
void define_outputs(Graph& graph, Node& node) {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (ValueId input : node.inputs) {
    // An optional operand that is absent has no type; operators that allow it do not look.
    types.push_back(input == kNoValue ? TensorType{} : graph.type(input));
  }
  for (TensorType& type : op_info(node.op).infer(node, types)) {
    node.outputs.push_back(graph.add_value(std::move(type)));
  }
}

}  // namespace

std::vector<ValueId> Graph::append(Node node) {
  define_outputs(*this, node);
  nodes.push_back(std::move(node));
  return nodes.back().outputs;
}

ValueId Graph::append_one(Op op, std::vector<ValueId> node_inputs, Attributes attributes,
                          std::vector<std::string> origin) {
  return append({op, std::move(node_inputs), {}, std::move(attributes), std::move(origin), {}}).at(0);
}

Expr Graph::add_symbol(std::string label, Range range, SymbolSource source) {
  std::string symbol_name = "s" + std::to_string(symbols.size());
  symbols.push_back({symbol_name, std::move(label), range, std::move(source)});
  return Expr::symbol(symbol_name);
}

const Symbol* Graph::find_symbol(std::string_view symbol_name) const {
  for (const Symbol& symbol : symbols) {
    if (symbol.name == symbol_name) return &symbol;
  }
  return nullptr;
}

Ranges Graph::ranges() const {
  Ranges result;
  for (const Symbol& symbol : symbols) result[symbol.name] = symbol.range;
  return result;
}

std::vector<int32_t> Graph::producers() const {
  std::vector<int32_t> result(values.size(), -1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ValueId output : nodes[i].outputs) result[static_cast<size_t>(output)] = static_cast<int32_t>(i);
  }
  return result;
}

std::vector<std::vector<int32_t>> Graph::consumers() const {
  std::vector<std::vector<int32_t>> result(values.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ValueId input : nodes[i].inputs) {
      if (input != kNoValue) result[static_cast<size_t>(input)].push_back(static_cast<int32_t>(i));
    }
  }
  return result;
}

std::vector<int32_t> Graph::use_counts() const {
  std::vector<int32_t> result(values.size(), 0);
  for (const Node& node : nodes) {
    for (ValueId input : node.inputs) {
      if (input != kNoValue) ++result[static_cast<size_t>(input)];
    }
  }
  for (ValueId output : outputs) ++result[static_cast<size_t>(output)];
  for (const Symbol& symbol : symbols) {
    if (symbol.source.kind == SymbolSource::Kind::value && symbol.source.input != kNoValue) {
      ++result[static_cast<size_t>(symbol.source.input)];
    }
  }
  return result;
}

const Tensor* Graph::constant_of(ValueId value, const std::vector<int32_t>& producers_of) const {
  if (value == kNoValue) return nullptr;
  const int32_t producer = producers_of[static_cast<size_t>(value)];
  if (producer < 0) return nullptr;
  const Node& node = nodes[static_cast<size_t>(producer)];
  return node.op == Op::constant ? node.attributes.tensor("value").get() : nullptr;
}

Rewriter::Rewriter(Graph& graph) : graph_(graph), old_(std::move(graph.nodes)) {
  graph_.nodes.clear();
}

ValueId Rewriter::resolve(ValueId value) const {
  for (auto found = replaced_.find(value); found != replaced_.end(); found = replaced_.find(value)) {
    value = found->second;
  }
  return value;
}

void Rewriter::keep(const Node& node) {
  new_.push_back(node);
  for (ValueId& input : new_.back().inputs) input = resolve(input);
  record_producers();
}

void Rewriter::record_producers() {
  producers_.resize(graph_.values.size(), nullptr);
  for (ValueId output : new_.back().outputs) producers_[static_cast<size_t>(output)] = &new_.back();
}

const Node* Rewriter::producer(ValueId value) const {
  if (value == kNoValue || static_cast<size_t>(value) >= producers_.size()) return nullptr;
  return producers_[static_cast<size_t>(value)];
}

std::vector<ValueId> Rewriter::emit(Node node) {
  define_outputs(graph_, node);
  changed_ = true;
  new_.push_back(std::move(node));
  record_producers();
  return new_.back().outputs;
}

ValueId Rewriter::emit_one(Op op, std::vector<ValueId> inputs, Attributes attributes,
                           std::vector<std::string> origin) {
  return emit({op, std::move(inputs), {}, std::move(attributes), std::move(origin), {}}).at(0);
}

void Rewriter::replace(ValueId old_value, ValueId new_value) {
  new_value = resolve(new_value);
  if (old_value == new_value) return;
  check_internal(graph_.type(old_value) == graph_.type(new_value),
                 "a rewrite changes the type of a value");
  Value& target = graph_.values[static_cast<size_t>(new_value)];
  if (target.name.empty()) target.name = graph_.values[static_cast<size_t>(old_value)].name;
  replaced_[old_value] = new_value;
  changed_ = true;
}

void Rewriter::finish() {
  graph_.nodes.assign(std::make_move_iterator(new_.begin()), std::make_move_iterator(new_.end()));
  producers_.clear();
  for (ValueId& output : graph_.outputs) output = resolve(output);
  for (Symbol& symbol : graph_.symbols) {
    if (symbol.source.kind == SymbolSource::Kind::value) symbol.source.input = resolve(symbol.source.input);
  }
}

bool eliminate_dead_nodes(Graph& graph) {
  std::vector<int32_t> uses = graph.use_counts();
  std::vector<bool> dead(graph.nodes.size(), false);
  bool changed = false;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return uses[static_cast<size_t>(output)] > 0;
    });
    if (used) continue;
    dead[i] = changed = true;
    for (ValueId input : node.inputs) {
      if (input != kNoValue) --uses[static_cast<size_t>(input)];
    }
  }
  if (!changed) return false;
  std::vector<Node> alive;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!dead[i]) alive.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(alive);
  return true;
}

}  // namespace mcc
