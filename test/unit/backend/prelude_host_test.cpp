// The host prelude, compiled by the system compilers as kernels are: every function of the scalar
// table against its reference, with the accuracy that the prelude promises.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "lib/ir/scalar_function.h"
#include "test/unit/backend/host_library.h"

namespace mcc::backend {
namespace {

// Largest error in units in the last place, f32 and f64. Zero: the result must be exact.
struct Accuracy {
  double f32, f64;
};
const std::map<std::string, Accuracy>& accuracies() {
  static const std::map<std::string, Accuracy> table{
      {"add", {0.5, 0.5}},  {"sub", {0.5, 0.5}},   {"mul", {0.5, 0.5}},
      {"div", {0.5, 0.5}},  {"mod", {0.5, 0.5}},   {"fmod", {0, 0}},
      {"floordiv", {0, 0}}, {"min", {0, 0}},       {"max", {0, 0}},
      {"pow", {0.6, 1500}}, {"neg", {0, 0}},       {"abs", {0, 0}},
      {"sign", {0, 0}},     {"fma", {2, 2}},       {"floor", {0, 0}},
      {"ceil", {0, 0}},     {"round", {0, 0}},     {"trunc", {0, 0}},
      {"sqrt", {0.5, 0.5}}, {"rsqrt", {1.5, 1.5}}, {"reciprocal", {0.5, 0.5}},
      {"exp", {1.5, 1.5}},  {"log", {1.5, 1.5}},   {"log1p", {2, 2}},
      {"expm1", {3, 3}},    {"sin", {0.51, 3}},    {"cos", {0.51, 3}},
      {"tan", {0.51, 4}},   {"asin", {0.51, 3}},   {"acos", {0.51, 2}},
      {"atan", {0.51, 2}},  {"sinh", {0.51, 4}},   {"cosh", {0.51, 4}},
      {"tanh", {4, 4}},     {"asinh", {0.51, 4}},  {"acosh", {0.51, 4}},
      {"atanh", {0.51, 4}}, {"erf", {2, 2}},       {"sigmoid", {3, 3}},
      {"silu", {4, 4}},     {"mish", {6, 6}},      {"softplus", {3, 3}},
      {"relu", {0, 0}}};
  return table;
}
// gelu's sum cancels for negative arguments: errors are absolute, relative to |x|.
bool is_absolute(const std::string& name) { return name == "gelu" || name == "gelu_tanh"; }

// Element-wise functions over arrays, for one element type and lane count.
std::string array_function(const ScalarFunction& row, const std::string& type, int lanes,
                           bool integer) {
  std::string spelling(integer && !row.integer.empty() ? row.integer : row.host);
  for (const char* operand : {"0", "1", "2"}) {
    spelling = replaced(spelling, std::string("$") + operand, std::string("x") + operand);
  }
  spelling = replaced(spelling, "$T", "V");
  std::string text = "extern \"C\" void " + std::string(row.name) + "_" + type + "_" +
                     std::to_string(lanes) + "(const void* a, const void* b, const void* c, " +
                     "void* out, long n) {\n  typedef mcc_vector<" + type + ", " +
                     std::to_string(lanes) + "> V;\n  typedef V U __attribute__((aligned(sizeof(" +
                     type + "))));\n  const V one = mcc_splat<V>(1);\n" +
                     "  for (long i = 0; i < n / " + std::to_string(lanes) + "; ++i) {\n" +
                     "    const V x0 = ((const U*)a)[i], x1 = ((const U*)b)[i], x2 = " +
                     "((const U*)c)[i];\n    (void)x1, (void)x2, (void)one;\n";
  if (row.name == "select") spelling = replaced(spelling, "x0", "(x0 < x1)");
  if (row.result == ResultRule::boolean) spelling = "mcc_select(" + spelling + ", one, V{})";
  return text + "    ((U*)out)[i] = " + spelling + ";\n  }\n}\n";
}

bool is_tested(const ScalarFunction& row) {
  return row.name != "cast" && row.name != "bitcast" && row.name.substr(0, 4) != "dot4";
}

const std::vector<std::string> kIntegers{"mcc_i8",  "mcc_u8",  "mcc_i16", "mcc_u16",
                                         "mcc_i32", "mcc_u32", "mcc_i64", "mcc_u64"};

class HostPrelude : public HostLibrary {
 protected:
  using Arrays = void(const void*, const void*, const void*, void*, long);

  // The widths that kernels use on this instruction set.
  static int float_lanes() {
    const std::string isa = GetParam().isa;
    return isa == "x86-64-v4" ? 16 : isa == "x86-64-v3" ? 8 : 4;
  }

  std::string test_source() const override {
    std::string text;
    for (const ScalarFunction& row : all_scalar_functions()) {
      if (!is_tested(row)) continue;
      if (row.accepts_float) {
        for (int lanes : {1, float_lanes()}) text += array_function(row, "float", lanes, false);
        for (int lanes : {1, 4}) text += array_function(row, "double", lanes, false);
      }
      if (!row.accepts_integer) continue;
      for (const std::string& type : kIntegers) text += array_function(row, type, 1, true);
      text += array_function(row, "mcc_i32", 8, true) + array_function(row, "mcc_i64", 4, true);
    }
    return text;
  }
};

// Arguments of every magnitude and sign, specials included; a multiple of 16 of them.
template <typename T>
std::vector<T> arguments(uint32_t seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> values{T(0),
                        -T(0),
                        T(1),
                        T(-1),
                        T(0.5),
                        T(-0.5),
                        T(2.5),
                        T(-2.5),
                        std::numeric_limits<T>::infinity(),
                        -std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::quiet_NaN(),
                        std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::min(),
                        std::numeric_limits<T>::denorm_min(),
                        T(1e5),
                        T(-1e5)};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> moderate(-12, 12), large(-1e5, 1e5);
  for (int i = 0; i < 6000; ++i) {
    values.push_back(static_cast<T>(moderate(random)));
    values.push_back(static_cast<T>(large(random)));
    const Bits bits = static_cast<Bits>(random());
    T any;
    std::memcpy(&any, &bits, sizeof any);
    values.push_back(any);
    values.push_back(
        static_cast<T>(std::ldexp(moderate(random), static_cast<int>(random() % 40) - 20)));
  }
  std::shuffle(values.begin() + 16, values.end(), random);
  return values;
}

// The magnitude whose last place an error is counted in, normally the result's own.
long double scale_of(const std::string& name, const double* x, long double exact, double least) {
  // x e^x: where e^x is subnormal, its lost bits count against the normal range.
  if (name == "silu" || name == "mish") {
    return std::fmax(std::fabs(exact), static_cast<long double>(1024 * least));
  }
  // Without a fused instruction the product is rounded before it cancels.
  if (name == "fma") {
    return std::fmax(std::fabs(exact), std::fabs(static_cast<long double>(x[0] * x[1])));
  }
  return exact;
}

template <typename T>
double ulp(long double exact) {
  const T rounded = std::fabs(static_cast<T>(exact));
  if (rounded >= std::numeric_limits<T>::max())
    return static_cast<double>(
        std::ldexp(1.0L, std::numeric_limits<T>::max_exponent - std::numeric_limits<T>::digits));
  return static_cast<double>(std::nextafter(rounded, std::numeric_limits<T>::infinity())) -
         static_cast<double>(rounded);
}

// Extended-precision references for f64, where the table's evaluator is no better than the result.
long double extended(const std::string& name, const double* x, double fallback) {
  const long double a = x[0];
  static const std::map<std::string, long double (*)(long double)> table{
      {"exp", [](long double v) { return std::exp(v); }},
      {"log", [](long double v) { return std::log(v); }},
      {"log1p", [](long double v) { return std::log1p(v); }},
      {"expm1", [](long double v) { return std::expm1(v); }},
      {"sin", [](long double v) { return std::sin(v); }},
      {"cos", [](long double v) { return std::cos(v); }},
      {"tan", [](long double v) { return std::tan(v); }},
      {"asin", [](long double v) { return std::asin(v); }},
      {"acos", [](long double v) { return std::acos(v); }},
      {"atan", [](long double v) { return std::atan(v); }},
      {"sinh", [](long double v) { return std::sinh(v); }},
      {"cosh", [](long double v) { return std::cosh(v); }},
      {"tanh", [](long double v) { return std::tanh(v); }},
      {"asinh", [](long double v) { return std::asinh(v); }},
      {"acosh", [](long double v) { return std::acosh(v); }},
      {"atanh", [](long double v) { return std::atanh(v); }},
      {"erf", [](long double v) { return std::erf(v); }},
      {"rsqrt", [](long double v) { return 1 / std::sqrt(v); }},
      {"sigmoid", [](long double v) { return 1 / (1 + std::exp(-v)); }}};
  if (name == "pow") return std::pow(a, static_cast<long double>(x[1]));
  const auto found = table.find(name);
  return found == table.end() ? static_cast<long double>(fallback) : found->second(a);
}

// Subtracts what the reference itself cannot hold: subnormal results may lose their last bit.
template <typename T>
void check_reals(const ScalarFunction& row, const std::vector<T>& a, const std::vector<T>& b,
                 const std::vector<T>& c, const std::vector<T>& got, const std::string& what) {
  const std::string name(row.name);
  const auto found = accuracies().find(name);
  const bool single = sizeof(T) == 4;
  double limit = found == accuracies().end() ? 0 : single ? found->second.f32 : found->second.f64;
  double worst = 0;
  int reported = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double operands[3] = {static_cast<double>(a[i]), static_cast<double>(b[i]),
                          static_cast<double>(c[i])};
    if (name == "select") operands[0] = operands[0] < operands[1] ? 1 : 0;
    double plain = row.evaluate(operands);
    if (name == "floordiv") plain = std::floor(static_cast<double>(a[i] / b[i]));
    const long double exact =
        single ? static_cast<long double>(plain) : extended(name, operands, plain);
    const T expected = static_cast<T>(exact);
    if (std::isnan(expected) || std::isnan(got[i])) {
      if (name == "fma" && std::isinf(a[i] * b[i])) continue;
      if (std::isnan(expected) != std::isnan(got[i]) && ++reported <= 3) {
        ADD_FAILURE() << what << "(" << a[i] << ", " << b[i] << ") = " << got[i] << ", not "
                      << expected;
      }
      continue;
    }
    if (expected == got[i]) continue;
    double error = 0;
    if (is_absolute(name)) {
      error = std::fabs(static_cast<double>(exact - static_cast<long double>(got[i]))) /
              std::fmax(std::fabs(static_cast<double>(a[i])), 1e-30) /
              static_cast<double>(std::numeric_limits<T>::epsilon());
      limit = 2.5;
    } else {
      error = std::isinf(got[i])
                  ? INFINITY
                  : static_cast<double>(
                        std::fabs(exact - static_cast<long double>(got[i])) /
                        ulp<T>(scale_of(name, operands, exact,
                                        static_cast<double>(std::numeric_limits<T>::min()))));
      // Rounding at the very end of the range decides between the largest number and infinity.
      if (std::isinf(got[i]) &&
          std::fabs(exact) > static_cast<long double>(std::numeric_limits<T>::max()) * 0.9999L)
        error = 0;
    }
    worst = std::fmax(worst, error);
    if (error > limit && ++reported <= 3) {
      ADD_FAILURE() << what << "(" << a[i] << ", " << b[i] << ", " << c[i] << ") = " << got[i]
                    << ", not " << expected << ": " << error << " units in the last place";
    }
  }
  testing::Test::RecordProperty(what, std::to_string(worst));
  if (std::getenv("MCC_PRINT_ERRORS") != nullptr) printf("%-24s %8.3f\n", what.c_str(), worst);
}

TEST_P(HostPrelude, RealFunctionsKeepTheirPromisedAccuracy) {
  const auto run = [this](auto zero, const char* type, std::initializer_list<int> widths) {
    using T = decltype(zero);
    const std::vector<T> a = arguments<T>(1), b = arguments<T>(2), c = arguments<T>(3);
    for (const ScalarFunction& row : all_scalar_functions()) {
      if (!is_tested(row) || !row.accepts_float) continue;
      std::vector<T> first;
      for (int lanes : widths) {
        const std::string what = std::string(row.name) + "_" + type + "_" + std::to_string(lanes);
        std::vector<T> out(a.size());
        function<Arrays>(what)(a.data(), b.data(), c.data(), out.data(),
                               static_cast<long>(a.size()));
        check_reals(row, a, b, c, out, what);
      }
    }
  };
  run(float{}, "float", {1, float_lanes()});
  run(double{}, "double", {1, 4});
}

TEST_P(HostPrelude, IntegerFunctionsAgreeWithTheReference) {
  const auto run = [this](auto zero, const char* type, int lanes) {
    using T = decltype(zero);
    std::vector<T> a, b;
    std::mt19937_64 random(7);
    for (int i = 0; i < 4096; ++i) {
      a.push_back(static_cast<T>(random()));
      b.push_back(static_cast<T>(i % 3 == 0 ? random() : random() % 11 - 3));
    }
    a[0] = std::numeric_limits<T>::min(), b[0] = static_cast<T>(-1);
    a[1] = 5, b[1] = 0;
    for (const ScalarFunction& row : all_scalar_functions()) {
      if (!is_tested(row) || !row.accepts_integer) continue;
      const std::string what = std::string(row.name) + "_" + type + "_" + std::to_string(lanes);
      std::vector<T> out(a.size());
      function<Arrays>(what)(a.data(), b.data(), a.data(), out.data(), static_cast<long>(a.size()));
      int reported = 0;
      for (size_t i = 0; i < a.size() && reported < 3; ++i) {
        int64_t operands[3] = {static_cast<int64_t>(a[i]), static_cast<int64_t>(b[i]),
                               static_cast<int64_t>(a[i])};
        if (row.name == "select") operands[0] = a[i] < b[i] ? 1 : 0;
        const bool shift = row.name == "shl" || row.name == "shr";
        if (shift && static_cast<uint64_t>(operands[1]) >= sizeof(T) * 8) continue;
        const bool is_unsigned = std::is_same_v<T, uint64_t> && row.evaluate_unsigned != nullptr;
        const auto expected = static_cast<T>(
            is_unsigned ? row.evaluate_unsigned(reinterpret_cast<const uint64_t*>(operands))
                        : row.evaluate_integer(operands));
        if (expected == out[i]) continue;
        ++reported;
        ADD_FAILURE() << what << "(" << +a[i] << ", " << +b[i] << ") = " << +out[i] << ", not "
                      << +expected;
      }
    }
  };
  run(int8_t{}, "mcc_i8", 1), run(uint8_t{}, "mcc_u8", 1), run(int16_t{}, "mcc_i16", 1),
      run(uint16_t{}, "mcc_u16", 1);
  run(int32_t{}, "mcc_i32", 1), run(uint32_t{}, "mcc_u32", 1), run(int64_t{}, "mcc_i64", 1),
      run(uint64_t{}, "mcc_u64", 1);
  run(int32_t{}, "mcc_i32", 8), run(int64_t{}, "mcc_i64", 4);
}

INSTANTIATE_TEST_SUITE_P(Compilers, HostPrelude, MCC_HOST_COMPILERS, compiler_name);

}  // namespace
}  // namespace mcc::backend
