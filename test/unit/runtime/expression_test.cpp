// Plan expressions: evaluation, rounding, malformed input, overflow.
#include "runtime/plan/expression.h"

#include <gtest/gtest.h>

#include "runtime/plan/expression_range.h"
#include "runtime/support/error.h"

namespace mcc::runtime {
namespace {

using Op = ExpressionOp;

Expression binary(Op op, int64_t a, int64_t b) {
  return Expression({{Op::constant, a}, {Op::constant, b}, {op, 0}});
}

TEST(Expression, EvaluatesEveryOperator) {
  EXPECT_EQ(binary(Op::add, 7, -2).constant(), 5);
  EXPECT_EQ(binary(Op::subtract, 7, 9).constant(), -2);
  EXPECT_EQ(binary(Op::multiply, 7, 9).constant(), 63);
  EXPECT_EQ(binary(Op::min, 7, 9).constant(), 7);
  EXPECT_EQ(binary(Op::max, 7, 9).constant(), 9);
}

TEST(Expression, DivisionRoundsDown) {
  EXPECT_EQ(binary(Op::floordiv, 7, 2).constant(), 3);
  EXPECT_EQ(binary(Op::floordiv, -7, 2).constant(), -4);
  EXPECT_EQ(binary(Op::floordiv, -8, 2).constant(), -4);
  EXPECT_EQ(binary(Op::mod, -7, 2).constant(), 1);
  EXPECT_EQ(binary(Op::mod, 7, 2).constant(), 1);
}

TEST(Expression, UsesSymbols) {
  // 2*s0 + s1
  const Expression e({{Op::symbol, 0}, {Op::constant, 2}, {Op::multiply, 0}, {Op::symbol, 1}, {Op::add, 0}});
  const std::vector<int64_t> values{5, 3};
  EXPECT_EQ(e.evaluate(values), 13);
  EXPECT_EQ(e.largest_symbol(), 1);
  EXPECT_FALSE(e.is_constant());
  const std::vector<std::string> names{"batch", "time"};
  EXPECT_EQ(e.text(names), "(batch * 2) + time");
  EXPECT_THROW((void)e.evaluate(std::vector<int64_t>{5}), Error);
}

TEST(Expression, RefusesMalformedInput) {
  EXPECT_THROW(Expression(std::vector<ExpressionToken>{}), Error);
  EXPECT_THROW(Expression({{Op::add, 0}}), Error);
  EXPECT_THROW(Expression({{Op::constant, 1}, {Op::add, 0}}), Error);
  EXPECT_THROW(Expression({{Op::constant, 1}, {Op::constant, 1}}), Error);
  EXPECT_THROW(Expression({{Op::symbol, -1}}), Error);
  EXPECT_THROW(Expression(std::vector<ExpressionToken>(5000, {Op::constant, 1})), Error);
}

TEST(Expression, ReportsOverflowAndBadDivisors) {
  EXPECT_THROW((void)binary(Op::multiply, INT64_MAX, 2).constant(), Error);
  EXPECT_THROW((void)binary(Op::add, INT64_MAX, 1).constant(), Error);
  EXPECT_THROW((void)binary(Op::subtract, INT64_MIN, 1).constant(), Error);
  EXPECT_THROW((void)binary(Op::floordiv, 1, 0).constant(), Error);
  EXPECT_THROW((void)binary(Op::mod, 1, 0).constant(), Error);
  EXPECT_THROW((void)binary(Op::floordiv, INT64_MIN, -1).constant(), Error);
}

// Every value of small symbols lies in the computed bounds.
TEST(ExpressionRange, IsSound) {
  const std::vector<ValueRange> symbols{{-3, 4}, {1, 5}};
  for (Op op : {Op::add, Op::subtract, Op::multiply, Op::floordiv, Op::mod, Op::min, Op::max}) {
    const Expression e({{Op::symbol, 0}, {Op::symbol, 1}, {op, 0}});
    const ValueRange range = range_of(e, symbols);
    for (int64_t a = -3; a <= 4; ++a) {
      for (int64_t b = 1; b <= 5; ++b) {
        const int64_t value = e.evaluate(std::vector<int64_t>{a, b});
        EXPECT_GE(value, range.low);
        EXPECT_LE(value, range.high);
      }
    }
  }
  const std::vector<ValueRange> unbounded{{1, INT64_MAX}};
  const Expression doubled({{Op::symbol, 0}, {Op::constant, 2}, {Op::multiply, 0}});
  EXPECT_EQ(range_of(doubled, unbounded).low, 2);
  EXPECT_EQ(range_of(doubled, unbounded).high, INT64_MAX);
}

}  // namespace
}  // namespace mcc::runtime
