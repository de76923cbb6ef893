// map: every scalar function, conversions, texts.
#include <cmath>
#include <limits>
#include <set>

#include "lib/ir/scalar_function.h"
#include "test/unit/ir/evaluation.h"

namespace mcc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor cast(const Tensor& x, DType to, int64_t saturate = 1) {
  return apply_one(Op::map, {{"fn", std::string("cast")}, {"to", to}, {"saturate", saturate}}, {x});
}

TEST(ScalarFunctions, NamesAreUniqueAndRowsComplete) {
  std::set<std::string_view> names;
  for (const ScalarFunction& row : all_scalar_functions()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_scalar_function(row.name), &row);
    EXPECT_EQ(row.accepts_float, row.evaluate != nullptr) << row.name;
    EXPECT_EQ(row.accepts_integer || row.accepts_boolean, row.evaluate_integer != nullptr)
        << row.name;
    EXPECT_TRUE(!row.accepts_float || (!row.cuda.empty() && !row.host.empty())) << row.name;
    EXPECT_TRUE(!row.accepts_integer || !row.integer.empty() || !row.host.empty()) << row.name;
  }
  EXPECT_EQ(find_scalar_function("no_such_function"), nullptr);
}

struct RealCase {
  const char* fn;
  std::vector<double> operands;
  double expected;
};

class RealFunction : public testing::TestWithParam<RealCase> {};
TEST_P(RealFunction, HasItsValue) {
  std::vector<Tensor> inputs;
  for (double operand : GetParam().operands) inputs.push_back(tensor(DType::f64, {1}, {operand}));
  expect_tensor(map(GetParam().fn, inputs), DType::f64, {1}, {GetParam().expected}, 1e-14);
}
INSTANTIATE_TEST_SUITE_P(
    Values, RealFunction,
    testing::Values(
        RealCase{"add", {1.5, 2}, 3.5}, RealCase{"sub", {1.5, 2}, -0.5},
        RealCase{"mul", {1.5, 2}, 3}, RealCase{"div", {1, -4}, -0.25}, RealCase{"mod", {-7, 3}, 2},
        RealCase{"mod", {7, -3}, -2}, RealCase{"mod", {5.5, 2}, 1.5}, RealCase{"fmod", {-7, 3}, -1},
        RealCase{"fmod", {5.3, -2}, 5.3 - 4}, RealCase{"floordiv", {-7, 2}, -4},
        RealCase{"min", {1, 2}, 1}, RealCase{"min", {kNan, 2}, kNan},
        RealCase{"min", {2, kNan}, kNan}, RealCase{"max", {1, 2}, 2},
        RealCase{"max", {1, kNan}, kNan}, RealCase{"pow", {2, 10}, 1024},
        RealCase{"pow", {2, -0.5}, std::sqrt(0.5)}, RealCase{"neg", {3}, -3},
        RealCase{"abs", {-3}, 3}, RealCase{"sign", {-0.1}, -1}, RealCase{"sign", {kNan}, kNan},
        RealCase{"floor", {-1.5}, -2}, RealCase{"ceil", {-1.5}, -1}, RealCase{"round", {2.5}, 2},
        RealCase{"round", {-3.5}, -4}, RealCase{"trunc", {-1.7}, -1},
        RealCase{"sqrt", {2}, 1.4142135623730951}, RealCase{"rsqrt", {4}, 0.5},
        RealCase{"reciprocal", {8}, 0.125}, RealCase{"exp", {1}, 2.718281828459045},
        RealCase{"log", {10}, 2.302585092994046}, RealCase{"log", {-1}, kNan},
        RealCase{"log1p", {1e-10}, 9.9999999995e-11}, RealCase{"expm1", {1e-10}, 1.00000000005e-10},
        RealCase{"sin", {1}, 0.8414709848078965}, RealCase{"cos", {1}, 0.5403023058681398},
        RealCase{"tan", {1}, 1.5574077246549023}, RealCase{"asin", {0.5}, 0.5235987755982989},
        RealCase{"acos", {0.5}, 1.0471975511965979}, RealCase{"atan", {1}, 0.7853981633974483},
        RealCase{"sinh", {1}, 1.1752011936438014}, RealCase{"cosh", {1}, 1.5430806348152437},
        RealCase{"tanh", {1}, 0.7615941559557649}, RealCase{"asinh", {1}, 0.881373587019543},
        RealCase{"acosh", {2}, 1.3169578969248166}, RealCase{"atanh", {0.5}, 0.5493061443340548},
        RealCase{"erf", {0.5}, 0.5204998778130465}));
INSTANTIATE_TEST_SUITE_P(
    Activations, RealFunction,
    testing::Values(RealCase{"sigmoid", {0.5}, 0.6224593312018546}, RealCase{"sigmoid", {-800}, 0},
                    RealCase{"gelu", {1}, 0.8413447460685429}, RealCase{"gelu", {-kInf}, 0},
                    RealCase{"gelu_tanh", {1}, 0.8411919906082768},
                    RealCase{"silu", {1}, 0.7310585786300049}, RealCase{"silu", {-kInf}, 0},
                    RealCase{"mish", {1}, 0.8650983882673103},
                    RealCase{"softplus", {1}, 1.3132616875182228},
                    RealCase{"softplus", {1000}, 1000}, RealCase{"relu", {-2}, 0},
                    RealCase{"relu", {kNan}, kNan}, RealCase{"fma", {2, 3, 4}, 10}));

TEST(Map, ComparesAndTests) {
  const Tensor a = f32({4}, {1, 2, kNan, kInf}), b = f32({4}, {2, 2, 1, -kInf});
  expect_tensor(map("lt", {a, b}), DType::boolean, {4}, {1, 0, 0, 0});
  expect_tensor(map("le", {a, b}), DType::boolean, {4}, {1, 1, 0, 0});
  expect_tensor(map("gt", {a, b}), DType::boolean, {4}, {0, 0, 0, 1});
  expect_tensor(map("ge", {a, b}), DType::boolean, {4}, {0, 1, 0, 1});
  expect_tensor(map("eq", {a, b}), DType::boolean, {4}, {0, 1, 0, 0});
  expect_tensor(map("ne", {a, b}), DType::boolean, {4}, {1, 0, 1, 1});
  expect_tensor(map("isnan", {a}), DType::boolean, {4}, {0, 0, 1, 0});
  expect_tensor(map("isinf_pos", {a}), DType::boolean, {4}, {0, 0, 0, 1});
  expect_tensor(map("isinf_neg", {b}), DType::boolean, {4}, {0, 0, 0, 1});
}

TEST(Map, LogicIsBitwiseOnIntegersAndTruthOnBool) {
  const Tensor p = boolean({4}, {0, 0, 1, 1}), q = boolean({4}, {0, 1, 0, 1});
  expect_tensor(map("and", {p, q}), DType::boolean, {4}, {0, 0, 0, 1});
  expect_tensor(map("or", {p, q}), DType::boolean, {4}, {0, 1, 1, 1});
  expect_tensor(map("xor", {p, q}), DType::boolean, {4}, {0, 1, 1, 0});
  expect_tensor(map("not", {p}), DType::boolean, {4}, {1, 1, 0, 0});
  const Tensor m = tensor(DType::u8, {2}, {0b1100, 255}), n = tensor(DType::u8, {2}, {0b1010, 1});
  expect_tensor(map("and", {m, n}), DType::u8, {2}, {0b1000, 1});
  expect_tensor(map("not", {m}), DType::u8, {2}, {243, 0});
  expect_tensor(map("shl", {n, n}), DType::u8, {2}, {0, 2});
  expect_tensor(map("shr", {m, tensor(DType::u8, {2}, {2, 9})}), DType::u8, {2}, {3, 0});
}

TEST(Map, IntegerArithmeticWrapsAndTruncates) {
  const Tensor a = tensor(DType::i8, {4}, {127, -128, -7, 7}),
               b = tensor(DType::i8, {4}, {1, -1, 2, -2});
  expect_tensor(map("add", {a, b}), DType::i8, {4}, {-128, 127, -5, 5});
  expect_tensor(map("mul", {a, a}), DType::i8, {4}, {1, 0, 49, 49});
  expect_tensor(map("div", {a, b}), DType::i8, {4}, {127, -128, -3, -3});
  expect_tensor(map("floordiv", {a, b}), DType::i8, {4}, {127, -128, -4, -4});
  expect_tensor(map("mod", {a, b}), DType::i8, {4}, {0, 0, 1, -1});
  expect_tensor(map("fmod", {a, b}), DType::i8, {4}, {0, 0, -1, 1});
  expect_tensor(map("div", {a, tensor(DType::i8, {4}, {0, 0, 0, 0})}), DType::i8, {4},
                {0, 0, 0, 0});
  expect_i64(map("pow", {i64({3}, {3, -2, 2}), i64({3}, {4, 3, -1})}), {3}, {81, -8, 0});
  expect_i64(map("sign", {i64({3}, {-5, 0, 5})}), {3}, {-1, 0, 1});
  expect_i64(map("neg", {i64({1}, {5})}), {1}, {-5});
}

TEST(Map, UnsignedSixtyFourBitsCompareAndDivideAsUnsigned) {
  const Tensor big = tensor(DType::u64, {1}, {0x1p63}), two = tensor(DType::u64, {1}, {2});
  expect_tensor(map("div", {big, two}), DType::u64, {1}, {0x1p62});
  expect_tensor(map("max", {big, two}), DType::u64, {1}, {0x1p63});
  expect_tensor(map("gt", {big, two}), DType::boolean, {1}, {1});
  expect_tensor(map("shr", {big, two}), DType::u64, {1}, {0x1p61});
  expect_f32(cast(big, DType::f32), {1}, {0x1p63});
}

TEST(Map, FourPackedProducts) {
  const auto word = [](int a, int b, int c, int d) {
    return static_cast<double>(static_cast<int32_t>(
        static_cast<uint32_t>(a & 255) | static_cast<uint32_t>(b & 255) << 8 |
        static_cast<uint32_t>(c & 255) << 16 | static_cast<uint32_t>(d & 255) << 24));
  };
  const Tensor a = tensor(DType::i32, {1}, {word(1, -2, 3, 200)});
  const Tensor b = tensor(DType::i32, {1}, {word(5, 6, -7, 2)});
  const Tensor c = tensor(DType::i32, {1}, {1000});
  expect_tensor(map("dot4", {a, b, c}), DType::i32, {1}, {1000 + 5 - 12 - 21 - 112});
  expect_tensor(map("dot4_us", {a, b, c}), DType::i32, {1}, {1000 + 5 + 254 * 6 - 21 + 400});
}

TEST(Map, SelectWorksOnEveryType) {
  const Tensor p = boolean({2}, {1, 0});
  expect_f32(map("select", {p, f32({2}, {1, 2}), f32({2}, {3, 4})}), {2}, {1, 4});
  expect_tensor(map("select", {p, tensor(DType::i4, {2}, {1, 2}), tensor(DType::i4, {2}, {3, -4})}),
                DType::i4, {2}, {1, -4});
  EXPECT_THAT(*map("select", {p, text({2}, {"a", "b"}), text({2}, {"c", "d"})}).strings,
              testing::ElementsAre("a", "d"));
  expect_tensor(map("eq", {text({2}, {"a", "b"}), text({2}, {"a", "c"})}), DType::boolean, {2},
                {1, 0});
}

TEST(Cast, BetweenNumbers) {
  expect_tensor(cast(f32({5}, {1.9, -1.9, 300, kNan, 0.4}), DType::i32), DType::i32, {5},
                {1, -1, 300, 0, 0});
  expect_tensor(cast(f32({3}, {0, -0.5, kNan}), DType::boolean), DType::boolean, {3}, {0, 1, 1});
  expect_tensor(cast(i64({3}, {255, 256, -1}), DType::u8), DType::u8, {3}, {255, 0, 255});
  expect_tensor(cast(i64({4}, {7, 8, -9, 15}), DType::i4), DType::i4, {4}, {7, -8, 7, -1});
  expect_tensor(cast(i64({4}, {1, 2, -3, 3}), DType::i2), DType::i2, {4}, {1, -2, 1, -1});
  expect_tensor(cast(f32({3}, {65519, 65520, 1e-8}), DType::f16), DType::f16, {3},
                {65504, kInf, 0});
  expect_tensor(cast(f32({2}, {1.00390625, 3.4e38}), DType::bf16), DType::bf16, {2}, {1, kInf});
}

TEST(Cast, ToEightBitFloatsSaturatesOnDemand) {
  const Tensor x = f32({7}, {0, 448, 464, 500, kInf, kNan, -1e9});
  expect_tensor(cast(x, DType::f8e4m3fn), DType::f8e4m3fn, {7},
                {0, 448, 448, 448, 448, kNan, -448});
  expect_tensor(cast(x, DType::f8e4m3fn, 0), DType::f8e4m3fn, {7},
                {0, 448, 448, kNan, kNan, kNan, kNan});
  expect_tensor(cast(x, DType::f8e4m3fnuz, 0), DType::f8e4m3fnuz, {7},
                {0, kNan, kNan, kNan, kNan, kNan, kNan});
  expect_tensor(cast(x, DType::f8e5m2), DType::f8e5m2, {7},
                {0, 448, 448, 512, 57344, kNan, -57344});
  expect_tensor(cast(x, DType::f8e5m2, 0), DType::f8e5m2, {7},
                {0, 448, 448, 512, kInf, kNan, -kInf});
  expect_tensor(cast(x, DType::f8e5m2fnuz, 0), DType::f8e5m2fnuz, {7},
                {0, 448, 448, 512, kNan, kNan, kNan});
  expect_tensor(cast(f32({8}, {0.25, 0.26, 0.75, 1.75, 2.5, 5, -7, kNan}), DType::f4e2m1),
                DType::f4e2m1, {8}, {0, 0.5, 1, 2, 2, 4, -6, 6});
  const Tensor zero = cast(f32({1}, {-0.0}), DType::f8e4m3fnuz);
  EXPECT_EQ(zero.as<uint8_t>()[0], 0);
}

TEST(Cast, EveryCodeOfASmallFormatSurvivesTheRoundTrip) {
  for (DType format : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz,
                       DType::f16, DType::bf16}) {
    const int64_t codes = int64_t{1} << dtype_info(format).bits;
    Tensor all(format, {codes});
    for (int64_t i = 0; i < codes; ++i) {
      if (codes == 256)
        all.mutable_as<uint8_t>()[i] = static_cast<uint8_t>(i);
      else
        all.mutable_as<uint16_t>()[i] = static_cast<uint16_t>(i);
    }
    const Tensor back = cast(cast(all, DType::f32), format, 0);
    const std::vector<double> before = all_doubles(all), after = all_doubles(back);
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_TRUE(before[i] == after[i] || (before[i] != before[i] && after[i] != after[i])) << i;
    }
  }
}

TEST(Cast, TextsFollowNumpy) {
  EXPECT_THAT(*cast(f32({5}, {1, 0.1, 1e-5, kInf, 1e20}), DType::string).strings,
              testing::ElementsAre("1.0", "0.1", "1e-05", "inf", "1e+20"));
  EXPECT_THAT(*cast(i64({2}, {-3, 12}), DType::string).strings, testing::ElementsAre("-3", "12"));
  expect_tensor(cast(text({4}, {"1.5", "-INF", "NaN", "1E3"}), DType::f32), DType::f32, {4},
                {1.5, -kInf, kNan, 1000});
  expect_i64(cast(text({2}, {"-42", "7.9"}), DType::i64), {2}, {-42, 7});
  EXPECT_THAT(model_error([] { cast(text({1}, {"x"}), DType::f32); }),
              testing::HasSubstr("not a number"));
}

TEST(Cast, BitcastKeepsBits) {
  const auto bitcast = [](const Tensor& x, DType to) {
    return apply_one(Op::map, {{"fn", std::string("bitcast")}, {"to", to}}, {x});
  };
  expect_tensor(bitcast(f32({1}, {1}), DType::i32), DType::i32, {1}, {0x3f800000});
  EXPECT_THAT(model_error([&] { bitcast(f32({1}, {1}), DType::i64); }),
              testing::HasSubstr("equal width"));
}

TEST(Map, RefusesOperandsWithoutMeaning) {
  EXPECT_THAT(model_error([] {
                map("add", {boolean({1}, {1}), boolean({1}, {1})});
              }),
              testing::HasSubstr("'add' has no meaning for bool"));
  EXPECT_THAT(model_error([] { map("add", {f32({1}, {1})}); }),
              testing::HasSubstr("takes 2 operands"));
  EXPECT_THAT(model_error([] {
                map("add", {f32({1}, {1}), i64({1}, {1})});
              }),
              testing::HasSubstr("same element type"));
  EXPECT_THAT(model_error([] {
                map("add", {f32({1}, {1}), f32({2}, {1, 2})});
              }),
              testing::HasSubstr("same shape"));
  EXPECT_THAT(model_error([] { map("frobnicate", {f32({1}, {1})}); }),
              testing::HasSubstr("no scalar function"));
}

}  // namespace
}  // namespace mcc::test
