// Function bodies of PTX: registers, variables, labels, instructions and their operands.
#include <algorithm>

#include "runtime/sim/error.h"
#include "runtime/sim/text/parser.h"

namespace mcc::sim {

void Parser::body() {
  expect("{");
  scopes_.assign(1, {});
  location_ = {};
  for (const std::vector<Variable>* list : {&function_->returns, &function_->parameters}) {
    for (const Variable& variable : *list) scopes_[0].variables[variable.name] = variable.name;
  }
  while (true) {
    if (peek().kind == TokenKind::end) fail("the function has no closing brace");
    if (accept("{")) {
      scopes_.emplace_back();
    } else if (accept("}")) {
      scopes_.pop_back();
      if (scopes_.empty()) return;
    } else if (accept(".loc")) {
      location();
    } else if (accept(".reg")) {
      registers();
    } else if (is(".local") || is(".shared") || is(".param") || is(".global") || is(".const")) {
      const std::string_view word = next().text;
      const Space space = word == ".local"    ? Space::local
                          : word == ".shared" ? Space::shared
                          : word == ".param"  ? Space::param
                          : word == ".global" ? Space::global
                                              : Space::constant;
      do {
        Variable v = variable(space);
        const std::string unique = v.name + "#" + std::to_string(unique_++);
        scopes_.back().variables[v.name] = unique;
        v.name = unique;
        const bool module_level = space == Space::global || space == Space::constant;
        (module_level ? module_.variables : function_->variables).push_back(std::move(v));
      } while (accept(","));
      expect(";");
    } else if (is(".pragma") || is(".callprototype") || is(".calltargets")) {
      skip_to_semicolon();
    } else if (accept(".file")) {
      const int id = static_cast<int>(integer());
      module_.files[id] = std::string(next().text);
      skip_line();
    } else if (accept(";")) {
    } else if (!label_or_table()) {
      statement();
    }
  }
}

void Parser::location() {
  location_.file = static_cast<int>(integer());
  location_.line = static_cast<int>(integer());
  skip_line();
}

void Parser::registers() {
  Type type = Type::b32;
  while (peek().text.size() > 1 && peek().text[0] == '.') {
    type = type_from_name(next().text.substr(1));
    if (type == Type::none) fail("a register needs a scalar type");
  }
  do {
    RegisterRange range{std::string(next().text), 0, type};
    if (accept("<")) {
      range.count = integer();
      expect(">");
    }
    scopes_.back().ranges.push_back(std::move(range));
  } while (accept(","));
  expect(";");
}

int Parser::find_register(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto known = scope->registers.find(name);
    if (known != scope->registers.end()) return known->second;
    for (const RegisterRange& range : scope->ranges) {
      // "%r<8>" declares %r0 to %r7.
      bool match = name.compare(0, range.prefix.size(), range.prefix) == 0;
      const std::string rest = match ? name.substr(range.prefix.size()) : "";
      match = match && (range.count == 0 ? rest.empty()
                                         : !rest.empty() && rest.size() < 10 &&
                                               rest.find_first_not_of("0123456789") == std::string::npos &&
                                               (rest.size() == 1 || rest[0] != '0') && std::stoll(rest) < range.count);
      if (!match) continue;
      const int id = static_cast<int>(function_->registers.size());
      function_->registers.push_back({name, range.type});
      scope->registers[name] = id;
      return id;
    }
  }
  return -1;
}

// "label:" or "table: .branchtargets a, b;" or "proto: .callprototype ...;"
bool Parser::label_or_table() {
  if (peek().kind != TokenKind::identifier || peek(1).text != ":") return false;
  const Token name = next();
  next();
  if (accept(".branchtargets")) {
    std::vector<std::string>& targets = function_->branch_targets[std::string(name.text)];
    do targets.emplace_back(next().text);
    while (accept(","));
    expect(";");
    return true;
  }
  if (is(".callprototype") || is(".calltargets")) {
    skip_to_semicolon();
    return true;
  }
  if (!function_->labels.emplace(std::string(name.text), static_cast<int>(function_->statements.size())).second) {
    fail_at(name.line, "the label '" + std::string(name.text) + "' is defined twice");
  }
  return true;
}

void Parser::statement() {
  Statement result;
  result.line = peek().line;
  result.location = location_;
  if (accept("@")) {
    result.guard_negated = accept("!");
    const std::string name(next().text);
    result.guard = find_register(name);
    if (result.guard < 0) fail("'" + name + "' is not a predicate register");
    result.line = peek().line;
  }
  const Token opcode = next();
  if (opcode.kind != TokenKind::identifier || opcode.text[0] == '.') {
    fail_at(opcode.line, "'" + std::string(opcode.text) + "' is not an instruction");
  }
  result.words.push_back(opcode.text);
  while (peek().glued && peek().kind == TokenKind::identifier && peek().text[0] == '.') {
    result.words.push_back(next().text.substr(1));
  }
  while (!is(";")) {
    result.operands.push_back(operand());
    if (!accept(",")) break;
  }
  expect(";");
  function_->statements.push_back(std::move(result));
}

Operand Parser::operand() {
  Operand result;
  if (accept("!")) {
    result = operand();
    result.negated = true;
    return result;
  }
  if (is("[")) return address();
  if (is("{") || is("(")) {
    const bool list = next().text == "(";
    result.kind = list ? OperandKind::list : OperandKind::vector;
    while (!accept(list ? ")" : "}")) {
      result.items.push_back(operand());
      accept(",");
    }
    return result;
  }
  if (accept("-")) {
    result = number();
    if (result.single) result.bits ^= int64_t{1} << 31;
    else if (result.floating) result.bits ^= INT64_MIN;
    else result.bits = -result.bits;
    return result;
  }
  if (peek().kind == TokenKind::number || is("WARP_SZ")) return number();
  return name_operand();
}

Operand Parser::name_operand() {
  Operand result;
  const Token token = next();
  if (token.kind != TokenKind::identifier) fail_at(token.line, "'" + std::string(token.text) + "' is not an operand");
  std::string name(token.text);
  if (name == "_") {
    result.kind = OperandKind::sink;
  } else if (const int reg = find_register(name); reg >= 0) {
    result.kind = OperandKind::reg;
    result.reg = reg;
  } else if (name[0] == '%') {
    result.kind = OperandKind::special;
    while (peek().glued && peek().text.size() > 1 && peek().text[0] == '.') name += std::string(next().text);
    result.name = name;
    return result;
  } else {
    result.kind = OperandKind::symbol;
    result.name = name;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      auto found = scope->variables.find(name);
      if (found == scope->variables.end()) continue;
      result.name = found->second;
      break;
    }
    if (is("+") || is("-")) {
      const bool minus = next().text == "-";
      result.bits = minus ? -integer() : integer();
    }
    return result;
  }
  // "d|p", also "_|p"
  if (accept("|")) {
    if (accept("_")) return result;
    const std::string second(next().text);
    result.second_reg = find_register(second);
    if (result.second_reg < 0) fail("'" + second + "' is not a register");
  }
  return result;
}

Operand Parser::address() {
  Operand result;
  result.kind = OperandKind::address;
  expect("[");
  if (peek().kind == TokenKind::number) {
    result.items.push_back(number());
  } else {
    Operand base = name_operand();
    result.bits = base.bits;
    base.bits = 0;
    if (base.kind == OperandKind::symbol) result.name = base.name;
    result.items.push_back(std::move(base));
  }
  while (is("+") || is("-")) {
    const bool minus = next().text == "-";
    result.bits += minus ? -integer() : integer();
  }
  while (accept(",")) result.items.push_back(operand());  // tensor coordinates
  expect("]");
  return result;
}

}  // namespace mcc::sim
