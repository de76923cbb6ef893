// Half-precision arithmetic, scalar and packed (PTX ISA 9.7.4), against exact arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "test/unit/sim/exact.h"
#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

struct Half {
  const char* name;
  Format format;
  bool ftz;  // whether .ftz (and .sat) exist
};
constexpr Half kHalves[] = {{"f16", kF16, true}, {"bf16", kBf16, false}};

struct Variant {
  bool ftz = false, sat = false, relu = false;
  std::string text() const {
    return std::string(ftz ? ".ftz" : "") + (sat ? ".sat" : "") + (relu ? ".relu" : "");
  }
};

uint64_t finished(const Half& h, const Number& x, Variant v) {
  const Format& f = h.format;
  uint64_t bits = encode(f, x, Mode::rn);
  const uint64_t one = static_cast<uint64_t>(f.bias()) << f.mantissa_bits;
  if (v.sat) bits = f.is_nan(bits) || (bits & f.sign()) != 0 ? 0 : bits > one ? one : bits;
  if (v.relu && !f.is_nan(bits) && (bits & f.sign()) != 0) bits = 0;
  return v.ftz ? f.flushed(bits) : bits;
}

// The scalar instruction over the table, and the packed one over pairs of its rows.
template <class Reference1>
void check_both(const std::string& opcode, const Half& h, const Table& table, Reference1 reference,
                bool any_nan = false, bool any_zero = false) {
  constexpr const char* kOperands[] = {"", " %d, %a;", " %d, %a, %b;", " %d, %a, %b, %c;"};
  const Format& f = h.format;
  const auto same = [=](uint64_t expected, uint64_t got) {
    if (any_nan && f.is_nan(expected)) return f.is_nan(got);
    return got == expected || (any_zero && expected == 0 && got == f.sign());
  };
  check(opcode + "." + h.name + kOperands[table.size()], table, "b16", reference,
        [=](Row, uint64_t expected, uint64_t got) { return same(expected, got); });
  Table pairs = table;
  for (Column& column : pairs) {
    column.type = "b32";
    const Bits low = column.bits;
    for (size_t i = 0; i < low.size(); ++i)
      column.bits[i] = low[i] | low[(i * 5 + 91) % low.size()] << 16;
  }
  check(
      opcode + "." + h.name + "x2" + kOperands[table.size()], pairs, "b32",
      [&](Row x) {
        uint64_t low[3] = {}, high[3] = {};
        for (size_t i = 0; i < table.size(); ++i) low[i] = x[i] & 0xffff, high[i] = x[i] >> 16;
        return reference(low) | reference(high) << 16;
      },
      [=](Row, uint64_t expected, uint64_t got) {
        return same(expected & 0xffff, got & 0xffff) && same(expected >> 16, got >> 16);
      });
}

Table pairs(const Half& h) {
  Table table = cross("b16", {special_values(h.format, 20), special_values(h.format, 20)});
  add_random(table, 3000);
  return table;
}

TEST(SimHalf, AddSubtractMultiply) {
  for (const Half& h : kHalves) {
    const Table table = pairs(h);
    std::vector<Variant> variants = {{}};
    if (h.ftz) variants = {{}, {true}, {false, true}, {true, true}};
    for (const Variant& v : variants) {
      const auto operand = [&](uint64_t bits) {
        return decode(h.format, v.ftz ? h.format.flushed(bits) : bits);
      };
      for (const char* rounding : {"", ".rn"}) {
        const std::string suffix = rounding + v.text();
        check_both("add" + suffix, h, table, [&](Row x) {
          return finished(h, sum(operand(x[0]), operand(x[1]), Mode::rn), v);
        });
        check_both("sub" + suffix, h, table, [&](Row x) {
          return finished(h, sum(operand(x[0]), negated(operand(x[1])), Mode::rn), v);
        });
        check_both("mul" + suffix, h, table,
                   [&](Row x) { return finished(h, product(operand(x[0]), operand(x[1])), v); });
      }
    }
  }
}

TEST(SimHalf, FusedMultiplyAdd) {
  for (const Half& h : kHalves) {
    Bits few = special_values(h.format, 0);
    Table table = cross("b16", {few, special_values(h.format, 2), few});
    add_random(table, 6000);
    // Addends close to the product and to its negative, where one rounding and two differ.
    const size_t rows = table[0].bits.size();
    for (size_t i = rows - 6000; i < rows; i += 2) {
      const uint64_t p = encode(
          h.format, product(decode(h.format, table[0].bits[i]), decode(h.format, table[1].bits[i])),
          Mode::rn);
      table[2].bits[i] = (p ^ (i % 4 == 0 ? h.format.sign() : 0)) +
                         (i % 3 == 0 ? h.format.mantissa_bits << h.format.mantissa_bits : 0);
      table[2].bits[i] &= 0xffff;
    }
    std::vector<Variant> variants = {{}, {false, false, true}};
    if (h.ftz)
      variants = {
          {}, {true}, {false, true}, {true, true}, {false, false, true}, {true, false, true}};
    for (const Variant& v : variants) {
      const auto operand = [&](uint64_t bits) {
        return decode(h.format, v.ftz ? h.format.flushed(bits) : bits);
      };
      check_both(
          "fma.rn" + v.text(), h, table,
          [&](Row x) {
            return finished(h, sum(product(operand(x[0]), operand(x[1])), operand(x[2]), Mode::rn),
                            v);
          },
          false, v.relu);
    }
  }
}

TEST(SimHalf, SignsAndExtremes) {
  for (const Half& h : kHalves) {
    const Format& f = h.format;
    const Table all = cross("b16", {every(65536)}), two = pairs(h);
    for (bool ftz : {false, true}) {
      if (ftz && !h.ftz) continue;
      const auto operand = [&](uint64_t bits) { return ftz ? f.flushed(bits) : bits; };
      const std::string suffix = ftz ? ".ftz" : "";
      check_both(
          "abs" + suffix, h, all, [&](Row x) { return operand(x[0]) & ~f.sign(); }, true);
      check_both(
          "neg" + suffix, h, all, [&](Row x) { return operand(x[0]) ^ f.sign(); }, true);
      for (bool max : {false, true}) {
        for (int variant = 0; variant < 4; ++variant) {
          const bool nan = (variant & 1) != 0, xorsign = (variant & 2) != 0;
          check_both((max ? "max" : "min") + suffix + (nan ? ".NaN" : "") +
                         (xorsign ? ".xorsign.abs" : ""),
                     h, two, [&](Row x) {
                       uint64_t a = operand(x[0]), b = operand(x[1]);
                       const uint64_t sign = (a ^ b) & f.sign();
                       if (xorsign) a &= ~f.sign(), b &= ~f.sign();
                       const bool na = f.is_nan(a), nb = f.is_nan(b);
                       if ((na && nb) || (nan && (na || nb))) return f.nan();
                       uint64_t r = na ? b : a;
                       if (!na && !nb) {
                         const int order = compare(decode(f, a), decode(f, b));
                         r = (order == 0 ? ((a & f.sign()) != 0) != max : (order < 0) != max) ? a
                                                                                              : b;
                       }
                       return xorsign ? (r & ~f.sign()) | sign : r;
                     });
        }
      }
    }
  }
}

TEST(SimHalf, SuffixesOfOtherOperationsAreRefused) {
  const Table two = cross("b16", {{0}, {0}});
  for (const char* body :
       {"add.relu.f16 %d, %a, %b;", "min.relu.f16 %d, %a, %b;", "max.sat.f16 %d, %a, %b;",
        "add.rz.f16 %d, %a, %b;", "mul.rp.bf16 %d, %a, %b;"})
    refused(body, two, "b16");
}

double to_double(const Format& f, uint64_t bits) {
  return f64(encode(kF64, decode(f, bits), Mode::rn));
}

TEST(SimHalf, Approximations) {
  for (const Half& h : kHalves) {
    const Format& f = h.format;
    const Table all = cross("b16", {every(65536)});
    const bool brain = !h.ftz;
    const double relative = brain ? 0x1p-7 : std::exp2(-9.9),
                 absolute = brain ? 0x1p-8 : std::exp2(-10.987);
    const std::string type = std::string(".") + h.name + " %d, %a;";
    const auto special = [&](uint64_t bits) {
      return decode(f, bits).kind != Number::finite || (bits & ~f.sign()) == 0;
    };
    const uint64_t one = static_cast<uint64_t>(f.bias()) << f.mantissa_bits;
    check(
        std::string("ex2.approx") + (brain ? ".ftz" : "") + type, all, "b16",
        [&](Row x) {
          if (f.is_nan(x[0])) return f.nan();
          if ((x[0] & ~f.sign()) == f.infinity()) return (x[0] & f.sign()) != 0 ? 0 : f.infinity();
          if ((x[0] & ~f.sign()) == 0 || (brain && f.is_subnormal(x[0]))) return one;
          const uint64_t r =
              encode(f, decode(kF64, bits_of(std::exp2(to_double(f, x[0])))), Mode::rn);
          return brain ? f.flushed(r) : r;
        },
        [&](Row x, uint64_t expected, uint64_t got) {
          if (special(x[0])) return f.is_nan(expected) ? f.is_nan(got) : got == expected;
          const double exact = std::exp2(to_double(f, x[0])),
                       least = std::ldexp(1.0, 1 - f.bias() - (brain ? 0 : f.mantissa_bits));
          if (expected == f.infinity() || got == f.infinity())
            return exact >= to_double(f, f.largest()) * (1 - relative);
          return std::abs(to_double(f, got) - exact) <=
                 exact * relative + (exact < least * 2048 ? least : 0);
        });
    check(
        "tanh.approx" + type, all, "b16",
        [&](Row x) {
          if (f.is_nan(x[0])) return f.nan();
          if ((x[0] & ~f.sign()) == f.infinity()) return (x[0] & f.sign()) | one;
          return (x[0] & ~f.sign()) == 0
                     ? x[0]
                     : encode(f, decode(kF64, bits_of(std::tanh(to_double(f, x[0])))), Mode::rn);
        },
        [&](Row x, uint64_t expected, uint64_t got) {
          if (special(x[0])) return f.is_nan(expected) ? f.is_nan(got) : got == expected;
          return std::abs(to_double(f, got) - std::tanh(to_double(f, x[0]))) <= absolute;
        });
  }
  // Packed forms agree with the scalar ones.
  Table pairs = cross("b32", {every(65536)});
  for (uint64_t& x : pairs[0].bits) x |= (x * 40503u & 0xffff) << 16;
  for (const char* name :
       {"ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"}) {
    const std::string scalar = name;
    check(scalar + "x2 %r0, %a; mov.b32 {%h0, %h1}, %a; " + scalar + " %h2, %h0; " + scalar +
              " %h3, %h1; mov.b32 %r1, {%h2, %h3}; xor.b32 %d, %r0, %r1;",
          pairs, "b32", [](Row) { return uint64_t{0}; });
  }
}

}  // namespace
}  // namespace mcc::sim::test
