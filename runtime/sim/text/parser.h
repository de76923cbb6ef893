// The recursive descent parser behind parse(): a cursor over tokens shared by its parts.
// Invariant: each member consumes exactly what its name says, up to and including a closing ';'
// or brace, or throws SimError with the line.
#pragma once

#include <string>
#include <vector>

#include "runtime/sim/text/lexer.h"
#include "runtime/sim/text/syntax.h"

namespace mcc::sim {

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokenize(text)) {}
  ParsedModule run();

 private:
  struct RegisterRange {
    std::string prefix;
    int64_t count = 0;  // 0: one register with the very name
    Type type = Type::b32;
  };
  // A pair of braces: names inside hide those outside.
  struct Scope {
    std::vector<RegisterRange> ranges;
    std::map<std::string, int> registers;
    std::map<std::string, std::string> variables;  // as written -> unique
  };

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is(std::string_view text) const { return peek().text == text && peek().kind != TokenKind::string; }
  bool accept(std::string_view text);
  void expect(std::string_view text);
  [[noreturn]] void fail(const std::string& message) const;
  void skip_line();
  void skip_to_semicolon();
  void skip_braces();

  int64_t integer();
  Operand number();
  Variable variable(Space space);
  void initializer(Variable& variable, int element_bytes);
  std::vector<Variable> parameters();
  void function(bool entry);
  void directives_of_function();
  void body();
  void location();
  void registers();
  void statement();
  bool label_or_table();
  Operand operand();
  Operand address();
  Operand name_operand();
  int find_register(const std::string& name);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  ParsedModule module_;
  ParsedFunction* function_ = nullptr;
  std::vector<Scope> scopes_;
  SourceLocation location_;
  int unique_ = 0;
};

}  // namespace mcc::sim
