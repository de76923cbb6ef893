// The infix text form of symbolic expressions: printing and parsing.
#include <cctype>

#include "lib/ir/expr.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

constexpr const char* kOperatorNames[] = {"", "floordiv", "mod", "min", "max"};

std::string atom_text(const Atom& atom) {
  if (atom.kind == AtomKind::symbol) return atom.name;
  return std::string(kOperatorNames[static_cast<int>(atom.kind)]) + "(" + atom.left.str() + ", " +
         atom.right.str() + ")";
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expr run() {
    Expr value = sum();
    skip();
    if (at_ != text_.size()) fail("unexpected text");
    return value;
  }

 private:
  // Nested parentheses recurse; a bound keeps hostile input from exhausting the stack.
  static constexpr int kMaximumDepth = 200;

  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError("cannot read the expression '" + std::string(text_) + "': " + what +
                     " at position " + std::to_string(at_));
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char wanted) {
    skip();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  Expr sum() {
    if (++depth_ > kMaximumDepth) fail("too deeply nested");
    Expr value = take('-') ? -product() : product();
    for (;;) {
      if (take('+')) {
        value = value + product();
      } else if (take('-')) {
        value = value - product();
      } else {
        --depth_;
        return value;
      }
    }
  }

  Expr product() {
    Expr value = primary();
    while (take('*')) value = value * primary();
    return value;
  }

  Expr primary() {
    skip();
    if (at_ == text_.size()) fail("unexpected end");
    if (take('-')) return -primary();
    if (take('(')) {
      Expr value = sum();
      if (!take(')')) fail("missing ')'");
      return value;
    }
    const auto first = static_cast<unsigned char>(text_[at_]);
    if (std::isdigit(first) != 0) return number();
    if (std::isalpha(first) == 0 && first != '_') fail("unexpected character");
    return name();
  }

  Expr number() {
    int64_t value = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_) {
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value)) {
        fail("number too large");
      }
    }
    return value;
  }

  Expr name() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (!take('(')) return Expr::symbol(word);
    const Expr left = sum();
    if (!take(',')) fail("missing ','");
    const Expr right = sum();
    if (!take(')')) fail("missing ')'");
    if (word == "floordiv") return floordiv(left, right);
    if (word == "ceildiv") return ceildiv(left, right);
    if (word == "mod") return mod(left, right);
    if (word == "min") return min(left, right);
    if (word == "max") return max(left, right);
    fail("unknown function '" + std::string(word) + "'");
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Expr::str() const {
  std::string text;
  for (const Term& term : node_->terms) {
    int64_t coefficient = term.coefficient;
    if (text.empty()) {
      if (coefficient == -1) text += "-";
    } else {
      text += coefficient < 0 ? " - " : " + ";
      coefficient = coefficient < 0 ? -coefficient : coefficient;
    }
    bool first = true;
    if (coefficient != 1 && coefficient != -1) {
      text += std::to_string(coefficient);
      first = false;
    }
    for (const auto& factor : term.factors) {
      if (!first) text += "*";
      text += atom_text(*factor);
      first = false;
    }
  }
  if (text.empty()) return std::to_string(node_->constant);
  if (node_->constant > 0) text += " + " + std::to_string(node_->constant);
  if (node_->constant < 0) text += " - " + std::to_string(-node_->constant);
  return text;
}

Expr Expr::parse(std::string_view text) { return Parser(text).run(); }

}  // namespace mcc
