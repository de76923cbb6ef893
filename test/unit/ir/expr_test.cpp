// Symbolic expressions: canonical form, simplification, and agreement with plain arithmetic.
#include <gtest/gtest.h>

#include <random>

#include "lib/ir/expr.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

Expr symbol(const char* name) { return Expr::symbol(name); }

TEST(Expr, CanonicalFormMakesEqualExpressionsEqual) {
  const Expr a = symbol("a");
  const Expr b = symbol("b");
  EXPECT_TRUE((a + b) * (a + b) == a * a + Expr(2) * a * b + b * b);
  EXPECT_TRUE((a - a).is_constant(0));
  EXPECT_EQ((Expr(2) * a + 1).str(), "2*a + 1");
  EXPECT_TRUE(min(a, a + 1) == a);
}

TEST(Expr, DivisionPullsOutMultiples) {
  const Expr s = symbol("s");
  const Expr c = symbol("c");
  EXPECT_TRUE(floordiv(Expr(6) * s + 8, 2) == Expr(3) * s + 4);
  EXPECT_TRUE(floordiv(s * c, c) == s);
  EXPECT_TRUE(floordiv(floordiv(s, 3), 4) == floordiv(s, 12));
  EXPECT_TRUE(mod(Expr(8) * s + c, 4) == mod(c, 4));
  EXPECT_TRUE(exact_division((s + c) * (s + 2), s + 2).value() == s + c);
  EXPECT_FALSE(exact_division(s + 1, Expr(2)).has_value());
}

TEST(Expr, QuotientAndRemainderRecombine) {
  const Expr x = symbol("x");
  const Expr d = symbol("d");
  EXPECT_TRUE(Expr(5) * floordiv(x, 5) + mod(x, 5) == x);
  EXPECT_TRUE(d * floordiv(x, d) + mod(x, d) == x);
  EXPECT_TRUE(Expr(21) * floordiv(x, 7) + Expr(3) * mod(x, 7) == Expr(3) * x);
  const Expr rows = floordiv(x, 35);
  const Expr columns = mod(floordiv(x, 7), 5);
  EXPECT_TRUE(rows * 35 + columns * 7 + mod(x, 7) == x);
}

TEST(Expr, RangesDecideDivisions) {
  const Ranges ranges{{"i", {0, 9}}, {"j", {0, 15}}};
  const Expr i = symbol("i");
  const Expr j = symbol("j");
  EXPECT_TRUE(simplify(floordiv(Expr(16) * i + j, 16), ranges) == i);
  EXPECT_TRUE(simplify(mod(Expr(16) * i + j, 16), ranges) == j);
  EXPECT_TRUE(simplify(floordiv(Expr(16) * i + j, 32), ranges) == floordiv(i, 2));
  EXPECT_TRUE(simplify(mod(Expr(16) * i + j, 32), ranges) == Expr(16) * mod(i, 2) + j);
  EXPECT_TRUE(simplify(max(i, Expr(0)), ranges) == i);
}

TEST(Expr, SymbolicExtentsDecideDivisions) {
  const Ranges ranges{{"S", {1, Range::kUnbounded}}, {"i", {0, Range::kUnbounded}}, {"j", {0, Range::kUnbounded}}};
  const Expr s = symbol("S");
  const SymbolicBounds upper{{"j", s}};
  const Expr linear = symbol("i") * s + symbol("j");
  EXPECT_TRUE(simplify(floordiv(linear, s), ranges, upper) == symbol("i"));
  EXPECT_TRUE(simplify(mod(linear, s), ranges, upper) == symbol("j"));
}

TEST(Expr, LinearViewSeparatesOneSymbol) {
  const Expr e = symbol("i") * symbol("n") + Expr(3) * symbol("i") + symbol("k");
  const std::optional<Linear> linear = linear_in(e, "i");
  ASSERT_TRUE(linear.has_value());
  EXPECT_TRUE(linear->coefficient == symbol("n") + 3);
  EXPECT_TRUE(linear->rest == symbol("k"));
  EXPECT_FALSE(linear_in(mod(symbol("i"), 4), "i").has_value());
}

TEST(Expr, TextRejectsNonsense) {
  for (const char* text : {"", "1 +", "(a", "a b", "foo(a, b)", "99999999999999999999", "floordiv(a)"}) {
    EXPECT_THROW(Expr::parse(text), UsageError) << text;
  }
}

// Random expressions keep their value through construction, text and simplification.
class ExprProperty : public testing::TestWithParam<uint32_t> {};

struct Sample {
  Expr expr;
  std::function<int64_t(const Bindings&)> plain;
};

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

Sample random_expr(std::mt19937& random, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  if (depth == 0 || pick(5) == 0) {
    if (pick(2) == 0) {
      const int64_t value = pick(21) - 6;
      return {Expr(value), [value](const Bindings&) { return value; }};
    }
    const std::string name(1, static_cast<char>('a' + pick(4)));
    return {Expr::symbol(name), [name](const Bindings& b) { return b.at(name); }};
  }
  Sample x = random_expr(random, depth - 1);
  Sample y = random_expr(random, depth - 1);
  const int64_t d = 1 + pick(12);
  switch (pick(7)) {
    case 0: return {x.expr + y.expr, [=](const Bindings& b) { return x.plain(b) + y.plain(b); }};
    case 1: return {x.expr - y.expr, [=](const Bindings& b) { return x.plain(b) - y.plain(b); }};
    case 2: return {x.expr * Expr(d), [=](const Bindings& b) { return x.plain(b) * d; }};
    case 3: return {floordiv(x.expr, d), [=](const Bindings& b) { return floor_quotient(x.plain(b), d); }};
    case 4: return {mod(x.expr, d), [=](const Bindings& b) { return x.plain(b) - d * floor_quotient(x.plain(b), d); }};
    case 5: return {min(x.expr, y.expr), [=](const Bindings& b) { return std::min(x.plain(b), y.plain(b)); }};
    default: return {max(x.expr, y.expr), [=](const Bindings& b) { return std::max(x.plain(b), y.plain(b)); }};
  }
}

TEST_P(ExprProperty, ValueIsPreserved) {
  std::mt19937 random(GetParam());
  const Ranges ranges{{"a", {0, 7}}, {"b", {0, 15}}, {"c", {1, 3}}, {"d", {-4, 40}}};
  for (int round = 0; round < 200; ++round) {
    const Sample sample = random_expr(random, 5);
    const Expr simple = simplify(sample.expr, ranges);
    const Range range = bounds(sample.expr, ranges);
    const Expr reread = Expr::parse(sample.expr.str());
    EXPECT_TRUE(reread == sample.expr) << sample.expr.str();
    for (int point = 0; point < 20; ++point) {
      Bindings values;
      for (const auto& [name, r] : ranges) {
        values[name] = r.low + static_cast<int64_t>(random() % static_cast<uint64_t>(r.high - r.low + 1));
      }
      const int64_t expected = sample.plain(values);
      ASSERT_EQ(sample.expr.evaluate(values), expected) << "seed " << GetParam() << ": " << sample.expr.str();
      ASSERT_EQ(simple.evaluate(values), expected)
          << "seed " << GetParam() << ": " << sample.expr.str() << " became " << simple.str();
      ASSERT_LE(range.low, expected);
      ASSERT_GE(range.high, expected);
    }
  }
}

// Loop variables with symbolic extents: index arithmetic of reshapes, simplified and evaluated.
TEST_P(ExprProperty, SymbolicBoundsPreserveValues) {
  std::mt19937 random(GetParam());
  const Ranges ranges{{"S", {1, 9}}, {"T", {1, 7}}, {"i", {0, Range::kUnbounded}}, {"j", {0, Range::kUnbounded}},
                      {"k", {0, 4}}};
  const Expr s = symbol("S"), t = symbol("T");
  const SymbolicBounds upper{{"i", s}, {"j", t}};
  const Expr sizes[] = {t, s, t * 5, s * t, Expr(5), Expr(10), t * 2};
  for (int round = 0; round < 100; ++round) {
    const auto pick = [&]() { return sizes[random() % std::size(sizes)]; };
    Expr expr = symbol("i") * t + symbol("j");
    if (random() % 2 == 0) expr = expr * 5 + symbol("k");
    for (uint32_t depth = 0; depth < 1 + random() % 3; ++depth) {
      const Expr divisor = pick();
      const uint32_t choice = random() % 3;
      expr = choice == 0 ? floordiv(expr, divisor)
             : choice == 1 ? mod(expr, divisor)
                           : floordiv(expr, divisor) * pick() + mod(expr, divisor);
    }
    const Expr simple = simplify(expr, ranges, upper);
    for (int point = 0; point < 20; ++point) {
      Bindings values{{"S", 1 + static_cast<int64_t>(random() % 9)}, {"T", 1 + static_cast<int64_t>(random() % 7)}};
      values["i"] = static_cast<int64_t>(random()) % values["S"];
      values["j"] = static_cast<int64_t>(random()) % values["T"];
      values["k"] = static_cast<int64_t>(random() % 5);
      ASSERT_EQ(simple.evaluate(values), expr.evaluate(values)) << expr.str() << " became " << simple.str();
    }
  }
}

// What the reshape of [S, T] to [S*T] and back does to an index must vanish.
TEST(Expr, ReshapeRoundTripsVanish) {
  const Ranges ranges{{"S", {1, Range::kUnbounded}}, {"T", {1, Range::kUnbounded}},
                      {"i", {0, Range::kUnbounded}}, {"j", {0, Range::kUnbounded}}, {"k", {0, 63}}};
  const Expr s = symbol("S"), t = symbol("T"), i = symbol("i"), j = symbol("j"), k = symbol("k");
  const SymbolicBounds upper{{"i", s}, {"j", t}};
  const Expr flat = i * t + j;
  EXPECT_TRUE(simplify(floordiv(flat, t), ranges, upper) == i);
  EXPECT_TRUE(simplify(mod(flat, t), ranges, upper) == j);
  EXPECT_TRUE(simplify(floordiv(flat, t) * t + mod(flat, t), ranges, upper) == flat);
  const Expr deep = (i * t + j) * 64 + k;
  EXPECT_TRUE(simplify(floordiv(deep, 64), ranges, upper) == flat);
  EXPECT_TRUE(simplify(mod(deep, 64), ranges, upper) == k);
  EXPECT_TRUE(simplify(floordiv(deep, t * 64), ranges, upper) == i);
  EXPECT_TRUE(simplify(mod(floordiv(deep, 64), t), ranges, upper) == j);
  EXPECT_TRUE(floordiv(s * 64 + 5, Expr(64)) == s);
  EXPECT_TRUE(max(i, i) == i);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExprProperty, testing::Range(1u, 21u));

}  // namespace
}  // namespace mcc
