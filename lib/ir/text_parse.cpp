// Parsing of the text form.
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "lib/ir/elements.h"
#include "lib/ir/op.h"
#include "lib/ir/text.h"
#include "lib/ir/verify.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

// Characters and tokens of the text, with positions for messages.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const std::string& what) const {
    int line = 1;
    size_t begin = 0;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      if (text_[i] == '\n') {
        ++line;
        begin = i + 1;
      }
    }
    throw ModelError("line " + std::to_string(line) + ", column " + std::to_string(at_ - begin + 1) + ": " + what);
  }

  void skip() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }
  bool end() {
    skip();
    return at_ == text_.size();
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view wanted) {
    skip();
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    // A word must end where `wanted` ends.
    const size_t next = at_ + wanted.size();
    const bool word = is_word(wanted.back());
    if (word && next < text_.size() && is_word(text_[next])) return false;
    at_ = next;
    return true;
  }
  void expect(std::string_view wanted) {
    if (!take(wanted)) fail("expected '" + std::string(wanted) + "'");
  }
  std::string word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin) fail("expected a word");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string number() {
    skip();
    const size_t begin = at_;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '-' || text_[at_] == '+') && text_[at_ - 1] == 'e'))) {
      ++at_;
    }
    if (at_ == begin) fail("expected a number");
    return std::string(text_.substr(begin, at_ - begin));
  }
  int64_t integer() {
    const std::string digits = number();
    char* stop = nullptr;
    errno = 0;
    const long long value = std::strtoll(digits.c_str(), &stop, 10);
    if (*stop != '\0' || errno != 0) fail("'" + digits + "' is not an integer");
    return value;
  }
  double real() {
    const std::string digits = number();
    char* stop = nullptr;
    const double value = std::strtod(digits.c_str(), &stop);
    if (*stop != '\0') fail("'" + digits + "' is not a number");
    return value;
  }
  std::string text() {
    expect("\"");
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        out += text_[at_++];
        continue;
      }
      ++at_;
      if (at_ < text_.size() && text_[at_] == 'x' && at_ + 2 < text_.size()) {
        out += static_cast<char>(std::strtol(std::string(text_.substr(at_ + 1, 2)).c_str(), nullptr, 16));
        at_ += 3;
      } else if (at_ < text_.size()) {
        out += text_[at_++];
      }
    }
    if (at_ == text_.size()) fail("unterminated string");
    ++at_;
    return out;
  }
  // An expression up to a ',' or closing bracket at its own nesting level.
  Expr expression() {
    skip();
    const size_t begin = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (depth == 0 && (c == ',' || c == ']' || c == ')')) break;
      if (c == '(') ++depth;
      if (c == ')') --depth;
      ++at_;
    }
    try {
      return Expr::parse(text_.substr(begin, at_ - begin));
    } catch (const Error& error) {
      fail(error.what());
    }
  }

 private:
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

  std::string_view text_;
  size_t at_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : scan_(text) {}

  Graph run() {
    Graph graph = parse_graph_body();
    if (!scan_.end()) scan_.fail("unexpected text after the graph");
    return graph;
  }

 private:
  static constexpr int64_t kMaximumElements = int64_t{1} << 26;
  static constexpr int kMaximumDepth = 50;

  template <typename Item>
  void list(std::string_view close, Item item) {
    if (scan_.take(close)) return;
    do {
      item();
    } while (scan_.take(","));
    scan_.expect(close);
  }

  ValueId use(const std::map<std::string, ValueId>& names) {
    scan_.expect("%");
    const std::string name = scan_.word();
    if (name == "none") return kNoValue;
    auto found = names.find(name);
    if (found == names.end()) scan_.fail("value %" + name + " is not defined");
    return found->second;
  }

  void define(std::map<std::string, ValueId>& names, const std::string& name, ValueId id) {
    if (!names.emplace(name, id).second) scan_.fail("value %" + name + " is defined twice");
  }

  std::string definition() {
    scan_.expect("%");
    return scan_.word();
  }

  TensorType type() {
    TensorType result;
    const std::string name = scan_.word();
    std::optional<DType> dtype = dtype_from_name(name);
    if (!dtype) scan_.fail("unknown type '" + name + "'");
    result.dtype = *dtype;
    scan_.expect("[");
    list("]", [&] { result.shape.push_back(scan_.expression()); });
    return result;
  }

  Graph parse_graph_body() {
    if (++depth_ > kMaximumDepth) scan_.fail("graphs are nested too deeply");
    Graph graph;
    std::map<std::string, ValueId> names;
    std::vector<std::pair<size_t, std::string>> symbol_values;
    scan_.expect("graph");
    if (scan_.peek() == '"') graph.name = scan_.text();
    scan_.expect("{");
    while (!scan_.take("}")) {
      if (scan_.take("symbol")) {
        symbol(graph, symbol_values);
      } else if (scan_.take("input")) {
        const std::string name = definition();
        scan_.expect(":");
        TensorType input_type = type();
        const std::string label = scan_.peek() == '"' ? scan_.text() : "";
        define(names, name, graph.add_input(std::move(input_type), label));
      } else if (scan_.take("output")) {
        const ValueId value = use(names);
        graph.add_output(value, scan_.peek() == '"' ? scan_.text() : "");
      } else {
        node(graph, names);
      }
    }
    for (const auto& [index, name] : symbol_values) {
      auto found = names.find(name);
      if (found == names.end() && name != "none") scan_.fail("value %" + name + " is not defined");
      graph.symbols[index].source.input = found == names.end() ? kNoValue : found->second;
    }
    --depth_;
    return graph;
  }

  void symbol(Graph& graph, std::vector<std::pair<size_t, std::string>>& symbol_values) {
    Symbol result;
    result.name = scan_.word();
    result.label = scan_.text();
    scan_.expect("[");
    result.range.low = scan_.integer();
    scan_.expect(",");
    result.range.high = scan_.take("inf") ? Range::kUnbounded : scan_.integer();
    scan_.expect("]");
    scan_.expect("=");
    const std::string kind = scan_.word();
    scan_.expect("(");
    if (kind == "dim") {
      result.source.input = static_cast<int32_t>(scan_.integer());
      scan_.expect(",");
      result.source.axis = scan_.integer();
    } else if (kind == "element") {
      result.source.kind = SymbolSource::Kind::value;
      symbol_values.emplace_back(graph.symbols.size(), definition());
      scan_.expect(",");
      result.source.axis = scan_.integer();
    } else if (kind == "expr") {
      result.source.kind = SymbolSource::Kind::expression;
      result.source.expression = scan_.expression();
    } else {
      scan_.fail("unknown symbol source '" + kind + "'");
    }
    scan_.expect(")");
    graph.symbols.push_back(std::move(result));
  }

  void node(Graph& graph, std::map<std::string, ValueId>& names) {
    std::vector<std::string> outputs;
    do {
      outputs.push_back(definition());
    } while (scan_.take(","));
    scan_.expect("=");
    const std::string op_name = scan_.word();
    const OpInfo* info = find_op(op_name);
    if (info == nullptr) scan_.fail("unknown operator '" + op_name + "'");
    Node result;
    result.op = info->op;
    scan_.expect("(");
    list(")", [&] { result.inputs.push_back(use(names)); });
    if (scan_.take("{")) {
      list("}", [&] {
        const std::string name = scan_.word();
        scan_.expect("=");
        result.attributes.set(name, attribute());
      });
    }
    scan_.expect(":");
    std::vector<TensorType> types;
    std::vector<std::string> labels;
    do {
      types.push_back(type());
      labels.push_back(scan_.peek() == '"' ? scan_.text() : "");
    } while (scan_.take(","));
    if (types.size() != outputs.size()) scan_.fail("the node has another number of types than outputs");
    if (scan_.take("from")) {
      scan_.expect("[");
      list("]", [&] { result.origin.push_back(scan_.text()); });
    }
    if (scan_.take("{")) {
      while (!scan_.take("}")) result.subgraphs.push_back(parse_graph_body());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      result.outputs.push_back(graph.add_value(std::move(types[i]), std::move(labels[i])));
      define(names, outputs[i], result.outputs.back());
    }
    graph.nodes.push_back(std::move(result));
  }

  AttributeValue attribute() {
    if (scan_.peek() == '"') return scan_.text();
    if (scan_.take("i[")) {
      Ints ints;
      list("]", [&] { ints.push_back(scan_.integer()); });
      return ints;
    }
    if (scan_.take("f[")) {
      std::vector<double> reals;
      list("]", [&] { reals.push_back(scan_.real()); });
      return reals;
    }
    if (scan_.take("s[")) {
      Shape shape;
      list("]", [&] { shape.push_back(scan_.expression()); });
      return shape;
    }
    if (scan_.take("tensor")) return tensor();
    const std::string word = scan_.number();
    if (std::optional<DType> dtype = dtype_from_name(word)) return *dtype;
    char* stop = nullptr;
    errno = 0;
    const long long integer = std::strtoll(word.c_str(), &stop, 10);
    if (*stop == '\0' && errno == 0) return static_cast<int64_t>(integer);
    const double real = std::strtod(word.c_str(), &stop);
    if (*stop != '\0') scan_.fail("'" + word + "' is no attribute value");
    return real;
  }

  TensorPtr tensor() {
    const TensorType tensor_type = type();
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (const Expr& dim : tensor_type.shape) {
      if (!dim.is_constant() || dim.constant() < 0) scan_.fail("a tensor's shape must be constant");
      shape.push_back(dim.constant());
      if (__builtin_mul_overflow(count, dim.constant(), &count) || count > kMaximumElements) {
        scan_.fail("the tensor is too large for the text form");
      }
    }
    if (scan_.peek() == '#') scan_.fail("the tensor's contents were not printed; print with full tensors");
    auto result = std::make_shared<Tensor>(tensor_type.dtype, shape);
    scan_.expect("{");
    int64_t index = 0;
    const DTypeKind kind = dtype_info(tensor_type.dtype).kind;
    const int64_t numbers = kind == DTypeKind::complex ? 2 * count : count;
    list("}", [&] {
      if (index >= numbers) scan_.fail("the tensor has more elements than its shape");
      if (kind == DTypeKind::string) {
        (*result->strings)[static_cast<size_t>(index++)] = scan_.text();
      } else if (kind == DTypeKind::floating) {
        // Without saturation: an infinity of a small type must stay one.
        const double value = scan_.real();
        store_elements(*result, index++, std::span(&value, 1), false);
      } else if (kind == DTypeKind::complex) {
        const double value = scan_.real();
        if (tensor_type.dtype == DType::c128) {
          result->mutable_as<double>()[index++] = value;
        } else {
          result->mutable_as<float>()[index++] = static_cast<float>(value);
        }
      } else if (tensor_type.dtype == DType::u64) {
        result->mutable_as<uint64_t>()[index++] = std::strtoull(scan_.number().c_str(), nullptr, 10);
      } else {
        result->set_int64(index++, scan_.integer());
      }
    });
    if (index != numbers) scan_.fail("the tensor has fewer elements than its shape");
    return result;
  }

  Scanner scan_;
  int depth_ = 0;
};

}  // namespace

Graph parse_graph(std::string_view text) {
  Graph graph = Parser(text).run();
  try {
    verify_graph(graph, "the parser");
  } catch (const InternalError& error) {
    throw ModelError(error.what());
  }
  return graph;
}

}  // namespace mcc
