// Single and double precision arithmetic in all rounding modes (PTX ISA 9.7.3), against exact
// arithmetic.
#include <gtest/gtest.h>

#include "test/unit/sim/exact.h"
#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

struct Precision {
  const char* name;
  Format format;
  std::string bits;
};
const Precision kSingle{"f32", kF32, "b32"}, kDouble{"f64", kF64, "b64"};

struct Suffix {
  bool ftz, sat;
  std::string text() const { return std::string(ftz ? ".ftz" : "") + (sat ? ".sat" : ""); }
};
std::vector<Suffix> suffixes(const Precision& p, bool sat) {
  if (p.format.bits() == 64) return {{false, false}};
  if (!sat) return {{false, false}, {true, false}};
  return {{false, false}, {true, false}, {false, true}, {true, true}};
}

// Single precision makes canonical NaN; double precision any quiet NaN.
Accept accept(const Precision& p) {
  if (p.format.bits() == 32) return nullptr;
  return [](Row, uint64_t expected, uint64_t got) {
    return kF64.is_nan(expected) ? kF64.is_nan(got) : got == expected;
  };
}

uint64_t finished(const Precision& p, const Number& x, Mode mode, Suffix s) {
  uint64_t bits = s.ftz ? encode_flushed(p.format, x, mode) : encode(p.format, x, mode);
  const uint64_t one = static_cast<uint64_t>(p.format.bias()) << p.format.mantissa_bits;
  if (s.sat)
    bits = p.format.is_nan(bits) || (bits & p.format.sign()) != 0 ? 0 : bits > one ? one : bits;
  return bits;
}

template <class Operation>
void check_all(const Precision& p, const std::string& name, const Table& table, bool sat,
               Operation operation) {
  constexpr const char* kOperands[] = {"", " %d, %a;", " %d, %a, %b;", " %d, %a, %b, %c;"};
  for (Mode mode : kModes) {
    for (Suffix s : suffixes(p, sat)) {
      check(
          name + "." + mode_name(mode) + s.text() + "." + p.name + kOperands[table.size()], table,
          p.bits,
          [&](Row x) {
            Number operands[3];
            for (size_t i = 0; i < table.size(); ++i)
              operands[i] = decode(p.format, s.ftz ? p.format.flushed(x[i]) : x[i]);
            return finished(p, operation(operands, mode), mode, s);
          },
          accept(p));
    }
  }
}

Table pairs(const Precision& p) {
  Table table = cross(p.bits, {special_values(p.format, 6), special_values(p.format, 6)});
  // Products and quotients around the least normal number, where flushing decides.
  const uint64_t least = uint64_t{1} << p.format.mantissa_bits;
  const uint64_t one = static_cast<uint64_t>(p.format.bias()) << p.format.mantissa_bits;
  for (uint64_t i = 0; i < 24; ++i) {
    for (uint64_t k = 0; k < 24; ++k) {
      table[0].bits.push_back(((i % 2 == 0 ? least : 2 * least - 24) + i) |
                              (k % 3 == 0 ? p.format.sign() : 0));
      table[1].bits.push_back((i % 2 == 0 ? one : one + (k % 2 == 0 ? least : 0 - least)) - 12 + k);
    }
  }
  add_random(table, 1000);
  return table;
}
Table triples(const Precision& p) {
  Bits few = special_values(p.format, 0);
  const Bits all = special_values(p.format, 4);
  few.resize(22);
  Table table = cross(p.bits, {few,
                               all,
                               {0, p.format.sign() | 1, few[7], few[8] | p.format.sign(), few[5],
                                few[16], few[18] | p.format.sign(), few[19]}});
  // Sums that cancel, and addends at every distance from the product.
  uint64_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const uint64_t mantissa = (uint64_t{1} << p.format.mantissa_bits) - 1,
                   one = static_cast<uint64_t>(p.format.bias()) << p.format.mantissa_bits;
    const uint64_t a = one | ((state >> 7) & mantissa), b = one | ((state * 31 >> 9) & mantissa);
    const auto distance = static_cast<uint64_t>(i % (4 * p.format.mantissa_bits))
                          << p.format.mantissa_bits;
    const uint64_t c =
        encode(p.format, product(decode(p.format, a), decode(p.format, b)), Mode::rn);
    const uint64_t moved =
        (i & 1) != 0 ? c : c - 2 * p.format.mantissa_bits * (mantissa + 1) + distance;
    const uint64_t row[] = {a, b,
                            (moved & (p.format.sign() - 1)) | ((i & 2) != 0 ? p.format.sign() : 0)};
    for (size_t k = 0; k < 3; ++k) table[k].bits.push_back(row[k]);
  }
  return table;
}

class SimFloat : public testing::TestWithParam<const Precision*> {};

TEST_P(SimFloat, AddSubtractMultiply) {
  const Precision& p = *GetParam();
  const Table table = pairs(p);
  check_all(p, "add", table, true,
            [](const Number* x, Mode mode) { return sum(x[0], x[1], mode); });
  check_all(p, "sub", table, true,
            [](const Number* x, Mode mode) { return sum(x[0], negated(x[1]), mode); });
  check_all(p, "mul", table, true, [](const Number* x, Mode) { return product(x[0], x[1]); });
}

TEST_P(SimFloat, FusedMultiplyAdd) {
  const Precision& p = *GetParam();
  const Table table = triples(p);
  for (const char* name : {"fma", "mad"})
    check_all(p, name, table, true,
              [](const Number* x, Mode mode) { return sum(product(x[0], x[1]), x[2], mode); });
}

TEST_P(SimFloat, DivisionAndRoots) {
  const Precision& p = *GetParam();
  check_all(p, "div", pairs(p), false, [](const Number* x, Mode) { return quotient(x[0], x[1]); });
  Table table = cross(p.bits, {special_values(p.format, 500)});
  add_random(table, 3000);
  check_all(p, "rcp", table, false,
            [](const Number* x, Mode) { return quotient(from_integer(1), x[0]); });
  check_all(p, "sqrt", table, false, [](const Number* x, Mode) { return square_root(x[0]); });
}

std::string precision_name(const testing::TestParamInfo<const Precision*>& parameter) {
  return parameter.param->name;
}
INSTANTIATE_TEST_SUITE_P(Precisions, SimFloat, testing::Values(&kSingle, &kDouble), precision_name);

TEST(SimFloatSigns, AbsoluteNegateCopysignTestp) {
  for (const Precision* p : {&kSingle, &kDouble}) {
    const Format& f = p->format;
    const Table one = cross(p->bits, {special_values(f, 50)}), two = pairs(*p);
    const Accept any_nan = [&](Row, uint64_t expected, uint64_t got) {
      return f.is_nan(expected) ? f.is_nan(got) : got == expected;
    };
    for (Suffix s : suffixes(*p, false)) {
      const std::string type = s.text() + "." + p->name;
      check(
          "abs" + type + " %d, %a;", one, p->bits,
          [&](Row x) { return (s.ftz ? f.flushed(x[0]) : x[0]) & ~f.sign(); }, any_nan);
      check(
          "neg" + type + " %d, %a;", one, p->bits,
          [&](Row x) { return (s.ftz ? f.flushed(x[0]) : x[0]) ^ f.sign(); }, any_nan);
    }
    check(std::string("copysign.") + p->name + " %d, %a, %b;", two, p->bits,
          [&](Row x) { return (x[0] & f.sign()) | (x[1] & ~f.sign()); });
    const auto property = [&](const char* name, auto holds) {
      check(std::string("testp.") + name + "." + p->name + " %p0, %a; selp.u32 %d, 1, 0, %p0;", one,
            "b32", [&](Row x) { return holds(x[0], decode(f, x[0])) ? 1u : 0u; });
    };
    property("finite", [](uint64_t, const Number& x) { return x.kind == Number::finite; });
    property("infinite", [](uint64_t, const Number& x) { return x.kind == Number::infinite; });
    property("number", [](uint64_t, const Number& x) { return x.kind != Number::nan; });
    property("notanumber", [](uint64_t, const Number& x) { return x.kind == Number::nan; });
    property("normal", [&](uint64_t bits, const Number& x) {
      return x.kind == Number::finite && !x.is_zero() && !f.is_subnormal(bits);
    });
    property("subnormal", [&](uint64_t bits, const Number&) { return f.is_subnormal(bits); });
  }
}

TEST(SimFloatExtremes, MinimumAndMaximum) {
  for (const Precision* p : {&kSingle, &kDouble}) {
    const Format& f = p->format;
    const Table table = pairs(*p);
    for (bool max : {false, true}) {
      for (int variant = 0; variant < (p == &kSingle ? 8 : 1); ++variant) {
        const bool ftz = (variant & 1) != 0, nan = (variant & 2) != 0, xorsign = (variant & 4) != 0;
        check(
            std::string(max ? "max" : "min") + (ftz ? ".ftz" : "") + (nan ? ".NaN" : "") +
                (xorsign ? ".xorsign.abs" : "") + "." + p->name + " %d, %a, %b;",
            table, p->bits,
            [&](Row x) {
              uint64_t a = ftz ? f.flushed(x[0]) : x[0], b = ftz ? f.flushed(x[1]) : x[1];
              const uint64_t sign = (a ^ b) & f.sign();
              if (xorsign) a &= ~f.sign(), b &= ~f.sign();
              const bool na = f.is_nan(a), nb = f.is_nan(b);
              if ((na && nb) || (nan && (na || nb))) return f.nan();
              uint64_t r;
              if (na) {
                r = b;
              } else if (nb) {
                r = a;
              } else {
                const int order = compare(decode(f, a), decode(f, b));
                // Equal: zeros of different signs count -0 < +0.
                const bool first = order == 0 ? ((a & f.sign()) != 0) != max : (order < 0) != max;
                r = first ? a : b;
              }
              return xorsign ? (r & ~f.sign()) | sign : r;
            },
            accept(*p));
      }
    }
  }
}

TEST(SimFloatExtremes, ThreeOperands) {
  const Table table = triples(kSingle);
  for (bool nan : {false, true}) {
    check(std::string("max") + (nan ? ".NaN" : "") + ".f32 %d, %a, %b, %c;", table, "b32",
          [&](Row x) {
            uint64_t best = kF32.nan();
            for (int i = 0; i < 3; ++i) {
              if (kF32.is_nan(x[i])) {
                if (nan) return kF32.nan();
                continue;
              }
              const int order =
                  kF32.is_nan(best) ? 1 : compare(decode(kF32, x[i]), decode(kF32, best));
              if (order > 0 || (order == 0 && (x[i] & kF32.sign()) == 0)) best = x[i];
            }
            return best;
          });
  }
}

TEST(SimFloatPairs, TwoSinglesInOneRegister) {
  const Precision& p = kSingle;
  const Table singles = triples(p);
  Table table = singles;
  for (Column& column : table) {
    column.type = "b64";
    const Bits low = column.bits;
    for (size_t i = 0; i < low.size(); ++i)
      column.bits[i] = low[i] | low[(i + 777) % low.size()] << 32;
  }
  const auto both = [&](const std::string& name, size_t count, auto operation) {
    const Table part(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(count));
    for (Mode mode : kModes) {
      for (Suffix s : suffixes(p, false)) {
        check(name + "." + mode_name(mode) + s.text() +
                  (count == 2 ? ".f32x2 %d, %a, %b;" : ".f32x2 %d, %a, %b, %c;"),
              part, "b64", [&](Row x) {
                uint64_t r = 0;
                for (int half = 0; half < 2; ++half) {
                  Number operands[3];
                  for (size_t i = 0; i < count; ++i) {
                    const uint64_t bits = (x[i] >> (32 * half)) & 0xffffffffu;
                    operands[i] = decode(kF32, s.ftz ? kF32.flushed(bits) : bits);
                  }
                  r |= finished(p, operation(operands, mode), mode, s) << (32 * half);
                }
                return r;
              });
      }
    }
  };
  both("add", 2, [](const Number* x, Mode mode) { return sum(x[0], x[1], mode); });
  both("sub", 2, [](const Number* x, Mode mode) { return sum(x[0], negated(x[1]), mode); });
  both("mul", 2, [](const Number* x, Mode) { return product(x[0], x[1]); });
  both("fma", 3, [](const Number* x, Mode mode) { return sum(product(x[0], x[1]), x[2], mode); });
}

}  // namespace
}  // namespace mcc::sim::test
