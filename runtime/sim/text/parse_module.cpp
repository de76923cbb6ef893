// Module level of PTX: directives, variables, function headers.
#include <cstring>

#include "runtime/sim/error.h"
#include "runtime/sim/text/parser.h"

namespace mcc::sim {

ParsedModule parse(std::string_view text) { return Parser(text).run(); }

bool Parser::accept(std::string_view text) {
  if (!is(text)) return false;
  ++at_;
  return true;
}

void Parser::expect(std::string_view text) {
  if (!accept(text)) fail("expected '" + std::string(text) + "' before '" + std::string(peek().text) + "'");
}

void Parser::fail(const std::string& message) const { fail_at(peek().line, message); }

void Parser::skip_line() {
  const int line = tokens_[at_ == 0 ? 0 : at_ - 1].line;
  while (peek().kind != TokenKind::end && peek().line == line) ++at_;
}

void Parser::skip_to_semicolon() {
  while (peek().kind != TokenKind::end && !is(";")) ++at_;
  expect(";");
}

void Parser::skip_braces() {
  expect("{");
  for (int depth = 1; depth > 0; ++at_) {
    if (peek().kind == TokenKind::end) fail("a '{' is never closed");
    if (is("{")) ++depth;
    if (is("}")) --depth;
  }
}

ParsedModule Parser::run() {
  while (peek().kind != TokenKind::end) {
    const Token token = next();
    const std::string_view word = token.text;
    if (word == ".version") {
      module_.version = std::string(next().text);
    } else if (word == ".target") {
      module_.target = std::string(next().text);
      while (accept(",")) next();
    } else if (word == ".address_size") {
      module_.address_bits = static_cast<int>(integer());
      if (module_.address_bits != 64)
        fail_at(token.line, "only .address_size 64 is supported; compile for a 64-bit target");
    } else if (word == ".file") {
      const int id = static_cast<int>(integer());
      module_.files[id] = std::string(next().text);
      skip_line();
    } else if (word == ".loc") {
      skip_line();
    } else if (word == ".section") {
      next();
      skip_braces();
    } else if (word == ".pragma" || word == ".alias") {
      skip_to_semicolon();
    } else if (word == ".visible" || word == ".weak" || word == ".extern" || word == ".common") {
      // Linkage: the directive that follows decides; .extern variables are marked below.
    } else if (word == ".entry" || word == ".func") {
      function(word == ".entry");
    } else if (word == ".global" || word == ".const" || word == ".shared") {
      const bool external = at_ >= 2 && tokens_[at_ - 2].text == ".extern";
      const Space space = word == ".global" ? Space::global : word == ".const" ? Space::constant : Space::shared;
      do {
        Variable v = variable(space);
        v.external = external;
        module_.variables.push_back(std::move(v));
      } while (accept(","));
      expect(";");
    } else if (word == ";") {
    } else {
      fail_at(token.line, "'" + std::string(word) + "' is not a module-level directive that the simulator knows");
    }
  }
  return std::move(module_);
}

int64_t Parser::integer() {
  const bool minus = accept("-");
  const Operand value = number();
  if (value.floating) fail("an integer is needed here");
  return minus ? -value.bits : value.bits;
}

// Literals: decimal, 0x, 0b, octal, trailing U; 0fXXXXXXXX, 0dXXXXXXXXXXXXXXXX, decimal reals.
Operand Parser::number() {
  const Token token = next();
  Operand result;
  result.kind = OperandKind::immediate;
  if (token.text == "WARP_SZ") {
    result.bits = 32;
    return result;
  }
  if (token.kind != TokenKind::number) fail_at(token.line, "'" + std::string(token.text) + "' is not a number");
  const std::string text(token.text);
  char* end = nullptr;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F')) {
    const auto bits = static_cast<uint32_t>(std::strtoull(text.c_str() + 2, &end, 16));
    result.floating = result.single = true;
    result.bits = bits;
  } else if (text.size() > 2 && text[0] == '0' && (text[1] == 'd' || text[1] == 'D')) {
    result.floating = true;
    result.bits = static_cast<int64_t>(std::strtoull(text.c_str() + 2, &end, 16));
  } else if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) {
    result.bits = static_cast<int64_t>(std::strtoull(text.c_str() + 2, &end, 2));
  } else if (text.find('.') != std::string::npos ||
             (text.find_first_of("eE") != std::string::npos && text.substr(0, 2) != "0x" && text.substr(0, 2) != "0X")) {
    const double value = std::strtod(text.c_str(), &end);
    result.floating = true;
    std::memcpy(&result.bits, &value, sizeof value);
  } else {
    result.bits = static_cast<int64_t>(std::strtoull(text.c_str(), &end, 0));
    if (*end == 'U') ++end;
  }
  if (*end != '\0') fail_at(token.line, "'" + text + "' is not a number");
  return result;
}

// After the space: [.align n] [.attribute(...)] [.v2|.v4] .type name [dims] [= initializer]
Variable Parser::variable(Space space) {
  Variable result;
  result.space = space;
  result.line = peek().line;
  int64_t vector = 1;
  for (bool more = true; more;) {
    const Token token = next();
    if (token.text == ".align") {
      result.align = integer();
    } else if (token.text == ".ptr" || token.text == ".global" || token.text == ".shared" || token.text == ".const" ||
               token.text == ".local" || token.text == ".managed" || token.text == ".generic" ||
               token.text == ".param") {
    } else if (token.text == ".attribute") {
      while (!accept(")")) next();
    } else if (token.text == ".v2" || token.text == ".v4") {
      vector = token.text == ".v2" ? 2 : 4;
    } else if (token.text == ".texref" || token.text == ".samplerref" || token.text == ".surfref") {
      fail_at(token.line, "textures and surfaces are not supported");
    } else if (token.text.size() > 1 && token.text[0] == '.') {
      result.type = type_from_name(token.text.substr(1));
      if (result.type == Type::none) fail_at(token.line, "'" + std::string(token.text) + "' is not a type");
    } else {
      result.name = std::string(token.text);
      more = false;
    }
    // Pointer attributes (.ptr .global .align 4) may follow the type and precede the name.
  }
  const int element = std::max(1, size_of(result.type));
  result.align = std::max<int64_t>(result.align, element);
  int64_t count = vector;
  bool open = false;
  while (accept("[")) {
    if (accept("]")) {
      open = true;
      continue;
    }
    count *= integer();
    expect("]");
  }
  if (count < 0 || count > (int64_t{1} << 34)) fail("the variable is too large");
  result.bytes = count * element;
  if (accept("=")) initializer(result, element);
  if (open) result.bytes = static_cast<int64_t>(result.data.size());
  return result;
}

void Parser::initializer(Variable& variable, int element_bytes) {
  if (accept("{")) {
    while (!accept("}")) {
      initializer(variable, element_bytes);
      accept(",");
    }
    return;
  }
  const auto at = static_cast<int64_t>(variable.data.size());
  int64_t bits = 0;
  int bytes = element_bytes;
  const bool minus = accept("-");
  if (peek().kind == TokenKind::number) {
    const Operand value = number();
    bits = !minus           ? value.bits
           : value.single   ? value.bits ^ (int64_t{1} << 31)
           : value.floating ? value.bits ^ INT64_MIN
                            : -value.bits;
    if (value.floating && !value.single && variable.type == Type::f32) {
      double wide;
      std::memcpy(&wide, &bits, sizeof wide);
      const auto narrow = static_cast<float>(wide);
      uint32_t pattern;
      std::memcpy(&pattern, &narrow, sizeof narrow);
      bits = pattern;
    }
  } else {
    // symbol, symbol+n, generic(symbol)+n; 0xFF(symbol) byte masks are refused by number().
    const bool generic = accept("generic");
    if (generic) expect("(");
    Variable::Reference reference{at, std::string(next().text), 0};
    if (generic) expect(")");
    if (accept("+")) reference.addend = integer();
    variable.references.push_back(reference);
  }
  for (int i = 0; i < bytes; ++i) variable.data.push_back(static_cast<uint8_t>(static_cast<uint64_t>(bits) >> (8 * i)));
}

std::vector<Variable> Parser::parameters() {
  std::vector<Variable> result;
  expect("(");
  while (!accept(")")) {
    if (!accept(".param") && !accept(".reg")) fail("expected .param");
    result.push_back(variable(Space::param));
    accept(",");
  }
  return result;
}

void Parser::directives_of_function() {
  while (!is("{") && !is(";")) {
    const Token token = next();
    if (token.text == ".maxntid" || token.text == ".reqntid") {
      int* target = token.text == ".maxntid" ? function_->max_threads : function_->required_threads;
      for (int i = 0; i < 3; ++i) target[i] = 1;
      for (int i = 0; i < 3; ++i) {
        target[i] = static_cast<int>(integer());
        if (!accept(",")) break;
      }
    } else if (token.text == ".maxnreg") {
      function_->max_registers = static_cast<int>(integer());
    } else if (token.text == ".minnctapersm" || token.text == ".maxnctapersm" || token.text == ".maxclusterrank") {
      integer();
    } else if (token.text == ".reqnctapercluster") {
      bool single = integer() == 1;
      while (accept(",")) single = integer() == 1 && single;
      if (!single) fail_at(token.line, "clusters of more than one block are not supported");
    } else if (token.text == ".pragma") {
      skip_to_semicolon();
    } else if (token.text == ".attribute") {
      while (!accept(")")) next();
    } else if (token.text == ".noreturn" || token.text == ".explicitcluster" || token.text == ".blocksareclusters" ||
               token.text == ".abi_preserve" || token.text == ".abi_preserve_control") {
      if (peek().kind == TokenKind::number) next();
    } else {
      fail_at(token.line, "'" + std::string(token.text) + "' is not a function directive that the simulator knows");
    }
  }
}

void Parser::function(bool entry) {
  ParsedFunction result;
  result.entry = entry;
  result.line = peek().line;
  while (is(".attribute")) {
    while (!accept(")")) next();
  }
  if (!entry && is("(")) result.returns = parameters();
  result.name = std::string(next().text);
  if (is("(")) result.parameters = parameters();
  function_ = &result;
  directives_of_function();
  if (!accept(";")) {
    result.defined = true;
    body();
  }
  function_ = nullptr;
  // A later definition replaces an earlier declaration.
  for (ParsedFunction& known : module_.functions) {
    if (known.name != result.name) continue;
    if (result.defined) known = std::move(result);
    return;
  }
  module_.functions.push_back(std::move(result));
}

}  // namespace mcc::sim
