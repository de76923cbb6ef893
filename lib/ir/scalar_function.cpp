// The table of scalar functions and their evaluators.
//
// Floating evaluators take and return doubles: for f32 and narrower types the exact double result
// is rounded once, so add, sub, mul, div and sqrt equal IEEE arithmetic of that type (double has
// more than twice the digits plus two).
#include "lib/ir/scalar_function.h"

#include <cmath>
#include <limits>

namespace mcc {
namespace {

using F = const double*;
using I = const int64_t*;
using U = const uint64_t*;
using FloatEvaluator = double (*)(F);
using IntegerEvaluator = int64_t (*)(I);

double truth(bool value) { return value ? 1 : 0; }
// Wrapping arithmetic: unsigned in, signed out.
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }
int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t truncating_division(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? wrap(0 - bits(a)) : a / b;  // INT64_MIN / -1 traps
}
int64_t truncating_remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
int64_t floor_remainder(int64_t a, int64_t b) {
  const int64_t rest = truncating_remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t floor_division(int64_t a, int64_t b) {
  const int64_t quotient = truncating_division(a, b);
  return truncating_remainder(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
double floor_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t unsigned_power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return wrap(result);
}
int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  return unsigned_power(bits(base), bits(exponent));
}
double minimum(double a, double b) { return a < b || std::isnan(a) ? a : b; }
double maximum(double a, double b) { return a > b || std::isnan(a) ? a : b; }
double logistic(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);  // avoids overflow of exp(-x)
  return e / (1 + e);
}
double softplus(double x) {
  return std::isnan(x) ? x : std::log1p(std::exp(-std::fabs(x))) + (x > 0 ? x : 0);
}
// Where x -> -inf the products below would be inf * 0: the limit is -0.
bool is_negative_infinity(double x) { return std::isinf(x) && x < 0; }
double gelu_tanh(double x) {
  if (is_negative_infinity(x)) return -0.0;
  constexpr double kRootTwoOverPi = 0.7978845608028653559;
  return 0.5 * x * (1 + std::tanh(kRootTwoOverPi * (x + 0.044715 * x * x * x)));
}
double silu(double x) {
  return is_negative_infinity(x) ? -0.0 : x * logistic(x);
}
double gelu(double x) {
  constexpr double kRootHalf = 0.7071067811865475244;
  return is_negative_infinity(x) ? -0.0 : 0.5 * x * std::erfc(-x * kRootHalf);
}
double mish(double x) { return is_negative_infinity(x) ? -0.0 : x * std::tanh(softplus(x)); }
int64_t dot4(I x, bool lhs_unsigned) {
  int64_t sum = x[2];
  for (int lane = 0; lane < 4; ++lane) {
    const auto a = static_cast<uint8_t>(bits(x[0]) >> (8 * lane));
    const auto b = static_cast<int8_t>(static_cast<uint8_t>(bits(x[1]) >> (8 * lane)));
    sum += (lhs_unsigned ? int64_t{a} : int64_t{static_cast<int8_t>(a)}) * b;
  }
  return sum;
}
int64_t shift_left(int64_t a, int64_t n) { return n < 0 || n > 63 ? 0 : wrap(bits(a) << n); }

constexpr ResultRule kSame = ResultRule::same;
constexpr ResultRule kBool = ResultRule::boolean;

// A function of floats only, called alike in both preludes.
constexpr ScalarFunction real1(std::string_view name, std::string_view spelling,
                               FloatEvaluator evaluate, int cost) {
  return {name, 1, kSame, true, false, false, spelling, spelling, "", evaluate, nullptr, cost};
}

constexpr ScalarFunction kTable[] = {
    // Arithmetic. Integer spellings convert back to $T, because C computes narrow types as int.
    {"add", 2, kSame, true, true, false, "$0 + $1", "$0 + $1", "($T)($0 + $1)",
     [](F x) { return x[0] + x[1]; }, [](I x) { return wrap(bits(x[0]) + bits(x[1])); }, 1},
    {"sub", 2, kSame, true, true, false, "$0 - $1", "$0 - $1", "($T)($0 - $1)",
     [](F x) { return x[0] - x[1]; }, [](I x) { return wrap(bits(x[0]) - bits(x[1])); }, 1},
    {"mul", 2, kSame, true, true, false, "$0 * $1", "$0 * $1", "($T)($0 * $1)",
     [](F x) { return x[0] * x[1]; }, [](I x) { return wrap(bits(x[0]) * bits(x[1])); }, 1},
    {"div", 2, kSame, true, true, false, "$0 / $1", "$0 / $1", "mcc_div($0, $1)",
     [](F x) { return x[0] / x[1]; }, [](I x) { return truncating_division(x[0], x[1]); }, 4,
     [](U x) { return x[1] == 0 ? 0 : wrap(x[0] / x[1]); }},
    {"mod", 2, kSame, true, true, false, "mcc_mod($0, $1)", "mcc_mod($0, $1)", "mcc_mod($0, $1)",
     [](F x) { return floor_remainder(x[0], x[1]); },
     [](I x) { return floor_remainder(x[0], x[1]); }, 10,
     [](U x) { return x[1] == 0 ? 0 : wrap(x[0] % x[1]); }},
    {"fmod", 2, kSame, true, true, false, "mcc_fmod($0, $1)", "mcc_fmod($0, $1)",
     "mcc_fmod($0, $1)", [](F x) { return std::fmod(x[0], x[1]); },
     [](I x) { return truncating_remainder(x[0], x[1]); }, 10,
     [](U x) { return x[1] == 0 ? 0 : wrap(x[0] % x[1]); }},
    {"floordiv", 2, kSame, true, true, false, "mcc_floor($0 / $1)", "mcc_floor($0 / $1)",
     "mcc_floordiv($0, $1)", [](F x) { return std::floor(x[0] / x[1]); },
     [](I x) { return floor_division(x[0], x[1]); }, 6,
     [](U x) { return x[1] == 0 ? 0 : wrap(x[0] / x[1]); }},
    {"min", 2, kSame, true, true, false, "mcc_min($0, $1)", "mcc_min($0, $1)", "mcc_min($0, $1)",
     [](F x) { return minimum(x[0], x[1]); }, [](I x) { return x[0] < x[1] ? x[0] : x[1]; }, 1,
     [](U x) { return wrap(x[0] < x[1] ? x[0] : x[1]); }},
    {"max", 2, kSame, true, true, false, "mcc_max($0, $1)", "mcc_max($0, $1)", "mcc_max($0, $1)",
     [](F x) { return maximum(x[0], x[1]); }, [](I x) { return x[0] > x[1] ? x[0] : x[1]; }, 1,
     [](U x) { return wrap(x[0] > x[1] ? x[0] : x[1]); }},
    {"pow", 2, kSame, true, true, false, "mcc_pow($0, $1)", "mcc_pow($0, $1)", "mcc_pow($0, $1)",
     [](F x) { return std::pow(x[0], x[1]); }, [](I x) { return integer_power(x[0], x[1]); }, 50,
     [](U x) { return unsigned_power(x[0], x[1]); }},
    {"neg", 1, kSame, true, true, false, "-$0", "-$0", "($T)(-$0)", [](F x) { return -x[0]; },
     [](I x) { return wrap(0 - bits(x[0])); }, 1},
    {"abs", 1, kSame, true, true, false, "mcc_abs($0)", "mcc_abs($0)", "mcc_abs($0)",
     [](F x) { return std::fabs(x[0]); },
     [](I x) { return x[0] < 0 ? wrap(0 - bits(x[0])) : x[0]; },
     1, [](U x) { return wrap(x[0]); }},
    {"sign", 1, kSame, true, true, false, "mcc_sign($0)", "mcc_sign($0)", "mcc_sign($0)",
     [](F x) { return x[0] > 0 ? 1.0 : x[0] < 0 ? -1.0 : x[0]; },
     [](I x) { return int64_t{x[0] > 0} - int64_t{x[0] < 0}; }, 2,
     [](U x) { return int64_t{x[0] != 0}; }},
    {"fma", 3, kSame, true, true, false, "mcc_fma($0, $1, $2)", "mcc_fma($0, $1, $2)",
     "($T)($0 * $1 + $2)", [](F x) { return std::fma(x[0], x[1], x[2]); },
     [](I x) { return wrap(bits(x[0]) * bits(x[1]) + bits(x[2])); }, 2},
    {"dot4", 3, kSame, false, true, false, "", "", "mcc_dot4($0, $1, $2)", nullptr,
     [](I x) { return dot4(x, false); }, 8},
    {"dot4_us", 3, kSame, false, true, false, "", "", "mcc_dot4_us($0, $1, $2)", nullptr,
     [](I x) { return dot4(x, true); }, 8},
    // Rounding and roots
    real1("floor", "mcc_floor($0)", [](F x) { return std::floor(x[0]); }, 1),
    real1("ceil", "mcc_ceil($0)", [](F x) { return std::ceil(x[0]); }, 1),
    real1("round", "mcc_round($0)", [](F x) { return std::nearbyint(x[0]); }, 1),
    real1("trunc", "mcc_trunc($0)", [](F x) { return std::trunc(x[0]); }, 1),
    real1("sqrt", "mcc_sqrt($0)", [](F x) { return std::sqrt(x[0]); }, 6),
    real1("rsqrt", "mcc_rsqrt($0)", [](F x) { return 1 / std::sqrt(x[0]); }, 8),
    real1("reciprocal", "mcc_reciprocal($0)", [](F x) { return 1 / x[0]; }, 4),
    // Transcendental functions
    real1("exp", "mcc_exp($0)", [](F x) { return std::exp(x[0]); }, 20),
    real1("log", "mcc_log($0)", [](F x) { return std::log(x[0]); }, 20),
    real1("log1p", "mcc_log1p($0)", [](F x) { return std::log1p(x[0]); }, 24),
    real1("expm1", "mcc_expm1($0)", [](F x) { return std::expm1(x[0]); }, 24),
    real1("sin", "mcc_sin($0)", [](F x) { return std::sin(x[0]); }, 24),
    real1("cos", "mcc_cos($0)", [](F x) { return std::cos(x[0]); }, 24),
    real1("tan", "mcc_tan($0)", [](F x) { return std::tan(x[0]); }, 30),
    real1("asin", "mcc_asin($0)", [](F x) { return std::asin(x[0]); }, 24),
    real1("acos", "mcc_acos($0)", [](F x) { return std::acos(x[0]); }, 24),
    real1("atan", "mcc_atan($0)", [](F x) { return std::atan(x[0]); }, 24),
    real1("sinh", "mcc_sinh($0)", [](F x) { return std::sinh(x[0]); }, 30),
    real1("cosh", "mcc_cosh($0)", [](F x) { return std::cosh(x[0]); }, 30),
    real1("tanh", "mcc_tanh($0)", [](F x) { return std::tanh(x[0]); }, 24),
    real1("asinh", "mcc_asinh($0)", [](F x) { return std::asinh(x[0]); }, 40),
    real1("acosh", "mcc_acosh($0)", [](F x) { return std::acosh(x[0]); }, 40),
    real1("atanh", "mcc_atanh($0)", [](F x) { return std::atanh(x[0]); }, 40),
    real1("erf", "mcc_erf($0)", [](F x) { return std::erf(x[0]); }, 24),
    // Activations
    real1("sigmoid", "mcc_sigmoid($0)", [](F x) { return logistic(x[0]); }, 24),
    real1("gelu", "mcc_gelu($0)", [](F x) { return gelu(x[0]); }, 28),
    real1("gelu_tanh", "mcc_gelu_tanh($0)", [](F x) { return gelu_tanh(x[0]); }, 30),
    real1("silu", "mcc_silu($0)", [](F x) { return silu(x[0]); }, 25),
    real1("mish", "mcc_mish($0)", [](F x) { return mish(x[0]); }, 60),
    real1("softplus", "mcc_softplus($0)", [](F x) { return softplus(x[0]); }, 40),
    {"relu", 1, kSame, true, true, false, "mcc_relu($0)", "mcc_relu($0)", "mcc_relu($0)",
     [](F x) { return maximum(x[0], 0.0); }, [](I x) { return x[0] > 0 ? x[0] : 0; }, 1,
     [](U x) { return wrap(x[0]); }},
    // Comparisons
    {"lt", 2, kBool, true, true, false, "$0 < $1", "$0 < $1", "",
     [](F x) { return truth(x[0] < x[1]); }, [](I x) { return int64_t{x[0] < x[1]}; }, 1,
     [](U x) { return int64_t{x[0] < x[1]}; }},
    {"le", 2, kBool, true, true, false, "$0 <= $1", "$0 <= $1", "",
     [](F x) { return truth(x[0] <= x[1]); }, [](I x) { return int64_t{x[0] <= x[1]}; }, 1,
     [](U x) { return int64_t{x[0] <= x[1]}; }},
    {"gt", 2, kBool, true, true, false, "$0 > $1", "$0 > $1", "",
     [](F x) { return truth(x[0] > x[1]); }, [](I x) { return int64_t{x[0] > x[1]}; }, 1,
     [](U x) { return int64_t{x[0] > x[1]}; }},
    {"ge", 2, kBool, true, true, false, "$0 >= $1", "$0 >= $1", "",
     [](F x) { return truth(x[0] >= x[1]); }, [](I x) { return int64_t{x[0] >= x[1]}; }, 1,
     [](U x) { return int64_t{x[0] >= x[1]}; }},
    {"eq", 2, kBool, true, true, true, "$0 == $1", "$0 == $1", "",
     [](F x) { return truth(x[0] == x[1]); }, [](I x) { return int64_t{x[0] == x[1]}; }, 1},
    {"ne", 2, kBool, true, true, true, "$0 != $1", "$0 != $1", "",
     [](F x) { return truth(x[0] != x[1]); }, [](I x) { return int64_t{x[0] != x[1]}; }, 1},
    {"isnan", 1, kBool, true, false, false, "mcc_isnan($0)", "mcc_isnan($0)", "",
     [](F x) { return truth(std::isnan(x[0])); }, nullptr, 1},
    {"isinf_pos", 1, kBool, true, false, false, "mcc_isinf_pos($0)", "mcc_isinf_pos($0)", "",
     [](F x) { return truth(x[0] == std::numeric_limits<double>::infinity()); }, nullptr, 1},
    {"isinf_neg", 1, kBool, true, false, false, "mcc_isinf_neg($0)", "mcc_isinf_neg($0)", "",
     [](F x) { return truth(x[0] == -std::numeric_limits<double>::infinity()); }, nullptr, 1},
    // Logic: bool operands are 0 or 1 (or lane masks on the host), integers are bitwise.
    {"and", 2, kSame, false, true, true, "$0 & $1", "$0 & $1", "($T)($0 & $1)", nullptr,
     [](I x) { return x[0] & x[1]; }, 1},
    {"or", 2, kSame, false, true, true, "$0 | $1", "$0 | $1", "($T)($0 | $1)", nullptr,
     [](I x) { return x[0] | x[1]; }, 1},
    {"xor", 2, kSame, false, true, true, "$0 ^ $1", "$0 ^ $1", "($T)($0 ^ $1)", nullptr,
     [](I x) { return x[0] ^ x[1]; }, 1},
    // Bool takes the plain spelling, integers the bitwise one.
    {"not", 1, kSame, false, true, true, "!$0", "!$0", "($T)(~$0)", nullptr,
     [](I x) { return ~x[0]; }, 1},
    {"shl", 2, kSame, false, true, false, "", "", "mcc_shl($0, $1)", nullptr,
     [](I x) { return shift_left(x[0], x[1]); }, 1},
    {"shr", 2, kSame, false, true, false, "", "", "mcc_shr($0, $1)", nullptr,
     [](I x) { return x[1] < 0 ? 0 : x[1] > 63 ? (x[0] < 0 ? -1 : 0) : x[0] >> x[1]; }, 1,
     [](U x) { return x[1] > 63 ? 0 : wrap(x[0] >> x[1]); }},
    {"select", 3, kSame, true, true, true, "$0 ? $1 : $2", "mcc_select($0, $1, $2)", "",
     [](F x) { return x[0] != 0 ? x[1] : x[2]; }, [](I x) { return x[0] != 0 ? x[1] : x[2]; }, 1},
    // Conversions: the evaluator of map and the printers write them by type.
    {"cast", 1, ResultRule::cast, true, true, true, "($R)$0", "($R)$0", "",
     [](F x) { return x[0]; }, [](I x) { return x[0]; }, 1},
    {"bitcast", 1, ResultRule::cast, true, true, true, "mcc_bitcast<$R>($0)",
     "mcc_bitcast<$R>($0)", "", [](F x) { return x[0]; }, [](I x) { return x[0]; }, 0},
};

}  // namespace

const ScalarFunction* find_scalar_function(std::string_view name) {
  for (const ScalarFunction& row : kTable) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::span<const ScalarFunction> all_scalar_functions() { return kTable; }

}  // namespace mcc
