// Integer expressions of the plan: sizes, dims and launch extents over the plan's symbols.
//
// In JSON an expression is an integer, or an array in reverse Polish notation of integers, symbol
// names and the operators + - * floordiv mod min max: ["s0", 2, "*", 1, "+"] is 2*s0 + 1.
// Invariant: a constructed Expression is well formed (operands never run out, exactly one result,
// bounded length), so evaluation fails only on overflow or a divisor that is not positive.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mcc::runtime {

enum class ExpressionOp : uint8_t { constant, symbol, add, subtract, multiply, floordiv, mod, min, max };

struct ExpressionToken {
  ExpressionOp op = ExpressionOp::constant;
  int64_t value = 0;  // the constant, or the index of the symbol in the manifest
  friend bool operator==(const ExpressionToken&, const ExpressionToken&) = default;
};

class Expression {
 public:
  Expression() : tokens_{{ExpressionOp::constant, 0}} {}
  Expression(int64_t constant) : tokens_{{ExpressionOp::constant, constant}} {}  // NOLINT
  // `tokens` in reverse Polish order. Error(model) when malformed or longer than kMaximumTokens.
  explicit Expression(std::vector<ExpressionToken> tokens);
  static Expression symbol(int64_t index);

  // values[i] = value of symbol i. Error(usage) on overflow or division by a value below 1.
  int64_t evaluate(std::span<const int64_t> values) const;

  bool is_constant() const;
  // The value of a constant expression; evaluates with no symbols.
  int64_t constant() const { return evaluate({}); }
  // The largest symbol index used, or -1.
  int64_t largest_symbol() const;
  const std::vector<ExpressionToken>& tokens() const { return tokens_; }
  // Infix form for people, with the given symbol names: "(s0 * 2) + 1".
  std::string text(std::span<const std::string> names) const;

  friend bool operator==(const Expression&, const Expression&) = default;

  static constexpr size_t kMaximumTokens = 4096;

 private:
  std::vector<ExpressionToken> tokens_;
};

// The operator's spelling in the plan ("+", "floordiv"); empty for constant and symbol.
std::string_view expression_op_name(ExpressionOp op);
// The operator with that spelling, or ExpressionOp::symbol when it is none.
ExpressionOp expression_op_from_name(std::string_view name);

}  // namespace mcc::runtime
