// Printing of graphs.
#include <charconv>
#include <cmath>

#include "lib/ir/op.h"
#include "lib/ir/text.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The shortest text that reads back as the same number.
std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string type_text(const TensorType& type) {
  return std::string(dtype_info(type.dtype).name) + shape_text(type.shape);
}

uint64_t content_hash(const Tensor& tensor) {
  // FNV-1a: only tells printed tensors apart.
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    hash = (hash ^ static_cast<uint8_t>(tensor.data()[i])) * 1099511628211u;
  }
  return hash;
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  void graph(const Graph& graph, int depth) {
    indent(depth);
    out_ += "graph " + quoted(graph.name) + " {\n";
    for (const Symbol& symbol : graph.symbols) {
      indent(depth + 1);
      print_symbol(symbol);
    }
    for (ValueId input : graph.inputs) {
      indent(depth + 1);
      out_ += "input " + value(input) + " : " + type_text(graph.type(input));
      name_of(graph, input);
      out_ += "\n";
    }
    for (const Node& node : graph.nodes) print_node(graph, node, depth + 1);
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      indent(depth + 1);
      out_ += "output " + value(graph.outputs[i]);
      if (!graph.output_names[i].empty()) out_ += " " + quoted(graph.output_names[i]);
      out_ += "\n";
    }
    indent(depth);
    out_ += "}\n";
  }

  std::string take() { return std::move(out_); }

 private:
  void indent(int depth) { out_.append(static_cast<size_t>(depth) * 2, ' '); }
  static std::string value(ValueId id) { return id == kNoValue ? "%none" : "%" + std::to_string(id); }

  void name_of(const Graph& graph, ValueId id) {
    const std::string& name = graph.values[static_cast<size_t>(id)].name;
    if (!name.empty()) out_ += " " + quoted(name);
  }

  void print_symbol(const Symbol& symbol) {
    out_ += "symbol " + symbol.name + " " + quoted(symbol.label) + " [" + std::to_string(symbol.range.low) +
            ", " + (symbol.range.high >= Range::kUnbounded ? "inf" : std::to_string(symbol.range.high)) + "] = ";
    switch (symbol.source.kind) {
      case SymbolSource::Kind::input_dim:
        out_ += "dim(" + std::to_string(symbol.source.input) + ", " + std::to_string(symbol.source.axis) + ")";
        break;
      case SymbolSource::Kind::value:
        out_ += "element(" + value(symbol.source.input) + ", " + std::to_string(symbol.source.axis) + ")";
        break;
      case SymbolSource::Kind::expression: out_ += "expr(" + symbol.source.expression.str() + ")"; break;
    }
    out_ += "\n";
  }

  void print_node(const Graph& graph, const Node& node, int depth) {
    indent(depth);
    for (size_t i = 0; i < node.outputs.size(); ++i) out_ += (i == 0 ? "" : ", ") + value(node.outputs[i]);
    out_ += " = " + std::string(op_info(node.op).name) + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) out_ += (i == 0 ? "" : ", ") + value(node.inputs[i]);
    out_ += ")";
    if (!node.attributes.entries().empty()) {
      out_ += " {";
      bool first = true;
      for (const auto& [name, attribute] : node.attributes.entries()) {
        out_ += (first ? "" : ", ") + name + " = ";
        print_attribute(attribute);
        first = false;
      }
      out_ += "}";
    }
    out_ += " : ";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += type_text(graph.type(node.outputs[i]));
      name_of(graph, node.outputs[i]);
    }
    if (options_.origins && !node.origin.empty()) {
      out_ += " from [";
      for (size_t i = 0; i < node.origin.size(); ++i) out_ += (i == 0 ? "" : ", ") + quoted(node.origin[i]);
      out_ += "]";
    }
    if (!node.subgraphs.empty()) {
      out_ += " {\n";
      for (const Graph& subgraph : node.subgraphs) this->graph(subgraph, depth + 1);
      indent(depth);
      out_ += "}";
    }
    out_ += "\n";
  }

  template <typename List, typename Text>
  void list(const List& items, Text text) {
    out_ += "[";
    for (size_t i = 0; i < items.size(); ++i) out_ += (i == 0 ? "" : ", ") + text(items[i]);
    out_ += "]";
  }

  // Lists say what they hold: i[...] integers, f[...] reals, s[...] symbolic.
  void print_attribute(const AttributeValue& attribute) {
    if (const auto* integer = std::get_if<int64_t>(&attribute)) {
      out_ += std::to_string(*integer);
    } else if (const auto* real = std::get_if<double>(&attribute)) {
      out_ += number_text(*real);
    } else if (const auto* text = std::get_if<std::string>(&attribute)) {
      out_ += quoted(*text);
    } else if (const auto* ints = std::get_if<Ints>(&attribute)) {
      out_ += "i";
      list(*ints, [](int64_t item) { return std::to_string(item); });
    } else if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) {
      out_ += "f";
      list(*reals, number_text);
    } else if (const auto* shape = std::get_if<Shape>(&attribute)) {
      out_ += "s";
      list(*shape, [](const Expr& item) { return item.str(); });
    } else if (const auto* dtype = std::get_if<DType>(&attribute)) {
      out_ += std::string(dtype_info(*dtype).name);
    } else {
      print_tensor(*std::get<TensorPtr>(attribute));
    }
  }

  void print_tensor(const Tensor& tensor) {
    out_ += "tensor ";
    Shape shape;
    for (int64_t dim : tensor.shape()) shape.emplace_back(dim);
    out_ += type_text({tensor.dtype(), shape});
    const int64_t count = tensor.elements();
    if (!options_.full && count > options_.max_inline_elements) {
      char hash[24];
      std::snprintf(hash, sizeof hash, " #%016llx", static_cast<unsigned long long>(content_hash(tensor)));
      out_ += hash;
      return;
    }
    out_ += " {";
    for (int64_t i = 0; i < count; ++i) {
      if (i != 0) out_ += ", ";
      if (tensor.dtype() == DType::string) {
        out_ += quoted((*tensor.strings)[static_cast<size_t>(i)]);
      } else if (is_floating(tensor.dtype())) {
        out_ += tensor.dtype() == DType::f32 ? float_text(tensor.as<float>()[i]) : number_text(tensor.get_double(i));
      } else if (tensor.dtype() == DType::u64) {
        out_ += std::to_string(tensor.as<uint64_t>()[i]);
      } else if (dtype_info(tensor.dtype()).kind == DTypeKind::complex) {
        const bool wide = tensor.dtype() == DType::c128;
        for (int part = 0; part < 2; ++part) {
          out_ += (part == 0 ? "" : ", ") + (wide ? number_text(tensor.as<double>()[2 * i + part])
                                                  : float_text(tensor.as<float>()[2 * i + part]));
        }
      } else {
        out_ += std::to_string(tensor.get_int64(i));
      }
    }
    out_ += "}";
  }

  static std::string float_text(float value) {
    if (std::isnan(value) || std::isinf(value)) return number_text(static_cast<double>(value));
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    std::string text(buffer, end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }

  const PrintOptions& options_;
  std::string out_;
};

}  // namespace

std::string print_graph(const Graph& graph, const PrintOptions& options) {
  Printer printer(options);
  printer.graph(graph, 0);
  return printer.take();
}

}  // namespace mcc
