// Construction, evaluation and text of plan expressions; see expression.h.
#include "runtime/plan/expression.h"

#include <algorithm>
#include <array>

#include "runtime/support/checked.h"

namespace mcc::runtime {

namespace {

struct OpRow {
  ExpressionOp op;
  std::string_view name;
  bool infix;
};
constexpr std::array<OpRow, 7> kOps{{
    {ExpressionOp::add, "+", true},
    {ExpressionOp::subtract, "-", true},
    {ExpressionOp::multiply, "*", true},
    {ExpressionOp::floordiv, "floordiv", false},
    {ExpressionOp::mod, "mod", false},
    {ExpressionOp::min, "min", false},
    {ExpressionOp::max, "max", false},
}};

bool is_leaf(ExpressionOp op) {
  return op == ExpressionOp::constant || op == ExpressionOp::symbol;
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b < 1) fail_usage("a dimension is divided by " + std::to_string(b));
  const int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

int64_t apply(ExpressionOp op, int64_t a, int64_t b) {
  switch (op) {
    case ExpressionOp::add: return checked_add(a, b);
    case ExpressionOp::subtract: return checked_subtract(a, b);
    case ExpressionOp::multiply: return checked_multiply(a, b);
    case ExpressionOp::floordiv: return floor_divide(a, b);
    // |floor_divide(a, b) * b| <= |a| + b - 1 can only overflow at the very end of the range.
    case ExpressionOp::mod: return checked_subtract(a, checked_multiply(floor_divide(a, b), b));
    case ExpressionOp::min: return std::min(a, b);
    case ExpressionOp::max: return std::max(a, b);
    case ExpressionOp::constant:
    case ExpressionOp::symbol: break;
  }
  fail_internal("a leaf was applied as an operator");
}

}  // namespace

std::string_view expression_op_name(ExpressionOp op) {
  for (const OpRow& row : kOps) {
    if (row.op == op) return row.name;
  }
  return {};
}

ExpressionOp expression_op_from_name(std::string_view name) {
  for (const OpRow& row : kOps) {
    if (row.name == name) return row.op;
  }
  return ExpressionOp::symbol;
}

Expression::Expression(std::vector<ExpressionToken> tokens) : tokens_(std::move(tokens)) {
  if (tokens_.size() > kMaximumTokens) fail_model("an expression of the plan is too long");
  size_t depth = 0;
  for (const ExpressionToken& token : tokens_) {
    if (is_leaf(token.op)) {
      if (token.op == ExpressionOp::symbol && token.value < 0) {
        fail_model("an expression of the plan names an unknown symbol");
      }
      ++depth;
    } else {
      if (depth < 2) fail_model("an expression of the plan lacks operands");
      --depth;
    }
  }
  if (depth != 1) fail_model("an expression of the plan does not have exactly one result");
}

Expression Expression::symbol(int64_t index) {
  return Expression(std::vector<ExpressionToken>{{ExpressionOp::symbol, index}});
}

int64_t Expression::evaluate(std::span<const int64_t> values) const {
  if (tokens_.size() == 1 && tokens_[0].op == ExpressionOp::constant) return tokens_[0].value;
  std::vector<int64_t> stack;
  stack.reserve(8);
  for (const ExpressionToken& token : tokens_) {
    if (token.op == ExpressionOp::constant) {
      stack.push_back(token.value);
    } else if (token.op == ExpressionOp::symbol) {
      if (static_cast<size_t>(token.value) >= values.size()) {
        fail_internal("an expression was evaluated before its symbols were known");
      }
      stack.push_back(values[static_cast<size_t>(token.value)]);
    } else {
      const int64_t right = stack.back();
      stack.pop_back();
      stack.back() = apply(token.op, stack.back(), right);
    }
  }
  return stack.back();
}

bool Expression::is_constant() const { return largest_symbol() < 0; }

int64_t Expression::largest_symbol() const {
  int64_t largest = -1;
  for (const ExpressionToken& token : tokens_) {
    if (token.op == ExpressionOp::symbol) largest = std::max(largest, token.value);
  }
  return largest;
}

std::string Expression::text(std::span<const std::string> names) const {
  struct Part {
    std::string text;
    bool leaf;
  };
  const auto wrapped = [](const Part& part) { return part.leaf ? part.text : "(" + part.text + ")"; };
  std::vector<Part> stack;
  for (const ExpressionToken& token : tokens_) {
    if (token.op == ExpressionOp::constant) {
      stack.push_back({std::to_string(token.value), true});
    } else if (token.op == ExpressionOp::symbol) {
      const auto index = static_cast<size_t>(token.value);
      stack.push_back({index < names.size() ? names[index] : "?" + std::to_string(index), true});
    } else {
      const Part right = std::move(stack.back());
      stack.pop_back();
      const Part left = std::move(stack.back());
      stack.pop_back();
      const auto row = std::find_if(kOps.begin(), kOps.end(),
                                    [&](const OpRow& candidate) { return candidate.op == token.op; });
      if (row->infix) {
        std::string joined = wrapped(left);
        joined.append(" ").append(row->name).append(" ").append(wrapped(right));
        stack.push_back({std::move(joined), false});
      } else {
        std::string call(row->name);
        call.append("(").append(left.text).append(", ").append(right.text).append(")");
        stack.push_back({std::move(call), true});
      }
    }
  }
  return stack.back().text;
}

}  // namespace mcc::runtime
