// Interval arithmetic over plan expressions.
#include "runtime/plan/expression_range.h"

#include <algorithm>
#include <vector>

namespace mcc::runtime {

namespace {

__extension__ using Wide = __int128;

int64_t saturate(Wide value) {
  return static_cast<int64_t>(
      std::clamp(value, static_cast<Wide>(INT64_MIN), static_cast<Wide>(INT64_MAX)));
}

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

ValueRange combine(ExpressionOp op, ValueRange a, ValueRange b) {
  switch (op) {
    case ExpressionOp::add:
      return {saturate(Wide{a.low} + b.low), saturate(Wide{a.high} + b.high)};
    case ExpressionOp::subtract:
      return {saturate(Wide{a.low} - b.high), saturate(Wide{a.high} - b.low)};
    case ExpressionOp::multiply: {
      const Wide products[] = {Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low,
                               Wide{a.high} * b.high};
      return {saturate(*std::min_element(products, products + 4)),
              saturate(*std::max_element(products, products + 4))};
    }
    case ExpressionOp::floordiv: {
      const int64_t low = std::max<int64_t>(b.low, 1);
      const int64_t high = std::max(b.high, low);
      return {std::min(floor_divide(a.low, low), floor_divide(a.low, high)),
              std::max(floor_divide(a.high, low), floor_divide(a.high, high))};
    }
    case ExpressionOp::mod: return {0, std::max<int64_t>(b.high - 1, 0)};
    case ExpressionOp::min: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case ExpressionOp::max: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case ExpressionOp::constant:
    case ExpressionOp::symbol: break;
  }
  return {INT64_MIN, INT64_MAX};
}

}  // namespace

ValueRange range_of(const Expression& expression, std::span<const ValueRange> symbols) {
  std::vector<ValueRange> stack;
  for (const ExpressionToken& token : expression.tokens()) {
    if (token.op == ExpressionOp::constant) {
      stack.push_back({token.value, token.value});
    } else if (token.op == ExpressionOp::symbol) {
      const auto index = static_cast<size_t>(token.value);
      stack.push_back(index < symbols.size() ? symbols[index] : ValueRange{INT64_MIN, INT64_MAX});
    } else {
      const ValueRange right = stack.back();
      stack.pop_back();
      stack.back() = combine(token.op, stack.back(), right);
    }
  }
  return stack.back();
}

}  // namespace mcc::runtime
