// Approximate functions: the error bounds and special values that the PTX ISA states (9.7.3),
// against long double arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "test/unit/sim/exact.h"
#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

constexpr uint64_t kNan = 0x7fffffffu, kInfinity = 0x7f800000u, kMinus = 0x80000000u;

Table operands() {
  Table table = cross("b32", {special_values(kF32, 200)});
  for (uint64_t exponent = 0; exponent < 256; ++exponent) {
    for (uint64_t mantissa = 0; mantissa < 0x800000; mantissa += 0x30a31) {
      for (uint64_t sign : Bits{0, kMinus})
        table[0].bits.push_back(sign | exponent << 23 | mantissa);
    }
  }
  // Around 1 and over [-20, 20], densely.
  for (int i = -20000; i <= 20000; ++i)
    table[0].bits.push_back(bits_of(static_cast<float>(i) * 1e-3f));
  for (uint64_t i = 0; i < 4000; ++i) table[0].bits.push_back(0x3f7ff000u + i * 3);
  return table;
}

// The distance of `exact`'s neighbours in single precision.
long double ulp(long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::ldexp(1.0L, std::max(exponent - 24, -149));
}
long double value(uint64_t bits) { return static_cast<long double>(f32(bits)); }

// `special`: exact bits for some operands, else not set; `close`: for the others.
template <class Special, class Close>
void check_function(const std::string& name, bool ftz, Special special, Close close) {
  constexpr uint64_t kUnset = ~uint64_t{0} >> 1;
  check(
      name + (ftz ? ".ftz" : "") + ".f32 %d, %a;", operands(), "b32",
      [&](Row x) {
        const uint64_t a = ftz ? kF32.flushed(x[0]) : x[0];
        return kF32.is_nan(a) ? kNan : special(a, kUnset) & 0xffffffffu;
      },
      [&](Row x, uint64_t expected, uint64_t got) {
        const uint64_t a = ftz ? kF32.flushed(x[0]) : x[0];
        if (kF32.is_nan(a) || special(a, kUnset) != kUnset) return got == expected;
        return !kF32.is_nan(got) && close(a, got);
      });
}
template <class Function>
bool within_ulps(long double x, uint64_t got, bool ftz, long double ulps, Function f) {
  const long double exact = f(x), largest = value(0x7f7fffff);
  if (std::abs(exact) > largest)
    return (got & ~kMinus) == kInfinity || std::abs(value(got) - exact) <= ulps * ulp(largest);
  if (ftz && std::abs(exact) < 0x1p-126L * (1 + 1e-6L) && (got & ~kMinus) == 0) return true;
  return std::abs(value(got) - exact) <= ulps * ulp(exact);
}

TEST(SimApproximate, ReciprocalAndRoots) {
  for (bool ftz : {false, true}) {
    check_function(
        "rcp.approx", ftz,
        [](uint64_t a, uint64_t unset) {
          return (a & ~kMinus) == 0           ? a | kInfinity
                 : (a & ~kMinus) == kInfinity ? a & kMinus
                                              : unset;
        },
        [&](uint64_t a, uint64_t got) {
          return within_ulps(value(a), got, ftz, 1, [](long double x) { return 1 / x; });
        });
    const auto root_special = [](uint64_t zero, uint64_t infinity) {
      return [=](uint64_t a, uint64_t unset) {
        return (a & ~kMinus) == 0  ? a | zero
               : a == kInfinity    ? infinity
               : (a & kMinus) != 0 ? kNan
                                   : unset;
      };
    };
    check_function("sqrt.approx", ftz, root_special(0, kInfinity), [&](uint64_t a, uint64_t got) {
      const long double exact = std::sqrt(value(a));
      return std::abs(value(got) - exact) <= 0x1p-23L * exact;
    });
    check_function("rsqrt.approx", ftz, root_special(kInfinity, 0), [&](uint64_t a, uint64_t got) {
      const long double exact = 1 / std::sqrt(value(a));
      return std::abs(value(got) - exact) <= std::exp2(-22.9L) * exact;
    });
  }
}

TEST(SimApproximate, ExponentialAndLogarithm) {
  for (bool ftz : {false, true}) {
    check_function(
        "ex2.approx", ftz,
        [](uint64_t a, uint64_t unset) {
          return (a & ~kMinus) == 0          ? 0x3f800000u
                 : a == kInfinity            ? kInfinity
                 : a == (kMinus | kInfinity) ? 0
                                             : unset;
        },
        [&](uint64_t a, uint64_t got) {
          return within_ulps(value(a), got, ftz, 2, [](long double x) { return std::exp2(x); });
        });
    check_function(
        "lg2.approx", ftz,
        [](uint64_t a, uint64_t unset) {
          return (a & ~kMinus) == 0  ? kMinus | kInfinity
                 : a == kInfinity    ? kInfinity
                 : (a & kMinus) != 0 ? kNan
                                     : unset;
        },
        [&](uint64_t a, uint64_t got) {
          const long double x = value(a), exact = std::log2(x),
                            error = std::abs(value(got) - exact);
          return error <= 0x1p-22L * (x > 0.5L && x < 2 ? 1 : std::abs(exact));
        });
  }
}

TEST(SimApproximate, Trigonometry) {
  for (bool ftz : {false, true}) {
    for (bool cosine : {false, true}) {
      check_function(
          cosine ? "cos.approx" : "sin.approx", ftz,
          [&](uint64_t a, uint64_t unset) {
            return (a & ~kMinus) == kInfinity ? kNan
                   : (a & ~kMinus) == 0       ? (cosine ? 0x3f800000u : a)
                                              : unset;
          },
          [&](uint64_t a, uint64_t got) {
            const long double x = value(a), exact = cosine ? std::cos(x) : std::sin(x),
                              pi = std::acos(-1.0L);
            // Beyond 100 pi nothing but the range is promised.
            const long double bound = std::abs(x) <= 2 * pi     ? std::exp2(-20.5L)
                                      : std::abs(x) <= 100 * pi ? std::exp2(-14.7L)
                                                                : 2;
            return std::abs(value(got)) <= 1 && std::abs(value(got) - exact) <= bound;
          });
    }
  }
}

TEST(SimApproximate, HyperbolicTangent) {
  check_function(
      "tanh.approx", false,
      [](uint64_t a, uint64_t unset) {
        return (a & ~kMinus) == 0           ? a
               : (a & ~kMinus) == kInfinity ? (a & kMinus) | 0x3f800000u
                                            : unset;
      },
      [](uint64_t a, uint64_t got) {
        const long double exact = std::tanh(value(a));
        return std::abs(value(got) - exact) <= 0x1p-11L * std::abs(exact);
      });
}

TEST(SimApproximate, Division) {
  Table table = cross("b32", {special_values(kF32, 40), special_values(kF32, 40)});
  for (uint64_t b : Bits{0x7e800000u, 0x7e800001u, 0x7f000000u, 0x7e7fffffu}) {  // around 2^126
    for (uint64_t a : special_values(kF32, 4)) {
      table[0].bits.push_back(a);
      table[1].bits.push_back(b);
    }
  }
  add_random(table, 3000);
  for (const char* name : {"div.approx", "div.full"}) {
    for (bool ftz : {false, true}) {
      check(
          std::string(name) + (ftz ? ".ftz" : "") + ".f32 %d, %a, %b;", table, "b32",
          [&](Row x) {
            const uint64_t a = ftz ? kF32.flushed(x[0]) : x[0], b = ftz ? kF32.flushed(x[1]) : x[1];
            const Number exact = quotient(decode(kF32, a), decode(kF32, b));
            const uint64_t r =
                ftz ? encode_flushed(kF32, exact, Mode::rn) : encode(kF32, exact, Mode::rn);
            const uint64_t size = b & ~kMinus;
            if (name[4] == 'a' && size > 0x7e800000u && size < kInfinity) {
              if (kF32.is_nan(a)) return kNan;
              return (a & ~kMinus) == kInfinity ? kNan : (a ^ b) & kMinus;
            }
            return r;
          },
          [&](Row, uint64_t expected, uint64_t got) {
            if (kF32.is_nan(expected) || (expected & ~kMinus) == kInfinity ||
                (expected & ~kMinus) == 0)
              return got == expected;
            const auto distance = static_cast<int64_t>(got) - static_cast<int64_t>(expected);
            return distance >= -2 && distance <= 2;
          });
    }
  }
}

TEST(SimApproximate, DoublePrecision) {
  Table table = cross("b64", {special_values(kF64, 500)});
  add_random(table, 2000);
  for (bool root : {false, true}) {
    for (bool upper : {false, true}) {
      if (!root && !upper) continue;  // rcp has no other approximation in double precision
      check(
          std::string(root ? "rsqrt" : "rcp") + ".approx" + (upper ? ".ftz" : "") + ".f64 %d, %a;",
          table, "b64",
          [&](Row x) {
            const uint64_t a = upper ? kF64.flushed(x[0] & ~uint64_t{0xffffffffu}) : x[0];
            if (kF64.is_nan(x[0])) return upper ? uint64_t{0x7fffffff00000000u} : kF64.nan();
            Number v = decode(kF64, a);
            if (root && v.is_zero()) return (a & kF64.sign()) | kF64.infinity();
            if (root) v = square_root(v);
            const uint64_t r = encode(kF64, quotient(from_integer(1), v), Mode::rn);
            if (kF64.is_nan(r)) return upper ? uint64_t{0x7fffffff00000000u} : kF64.nan();
            return upper ? kF64.flushed(r) & ~uint64_t{0xffffffffu} : r;
          },
          [&](Row, uint64_t expected, uint64_t got) {
            if (!upper && kF64.is_nan(expected)) return kF64.is_nan(got);
            if (upper && (got & 0xffffffffu) != 0) return false;
            // The full-precision function is allowed 2 ulp; the other keeps the upper 20 bits.
            const uint64_t distance = got > expected ? got - expected : expected - got;
            return distance <= (upper ? uint64_t{0} : uint64_t{2});
          });
    }
  }
}

}  // namespace
}  // namespace mcc::sim::test
