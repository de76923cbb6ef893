// cvt between floating-point formats (PTX ISA 9.7.9.21), against exact arithmetic; 8- and 16-bit
// sources over all their encodings.
#include <gtest/gtest.h>

#include "test/unit/sim/exact.h"
#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

struct Float {
  const char* name;
  Format format;
  std::string bits() const { return "b" + std::to_string(format.bits()); }
};
constexpr Float kHalf{"f16", kF16}, kBrain{"bf16", kBf16}, kSingle{"f32", kF32},
    kDouble{"f64", kF64};

// Values of `from` around every value and midpoint of the format `to`, and special ones.
Table around(const Float& from, const Format& to) {
  if (from.format.bits() == 16) return cross("b16", {every(65536)});
  Bits list = special_values(from.format, 300);
  const uint64_t count = to.bits() <= 8 ? 256 : 65536;
  for (uint64_t i = 0; i < count; i += count == 256 ? 1 : 23) {
    const uint64_t h = to.bits() <= 16 ? i : i << (to.bits() - 16);
    if (to.is_nan(h)) continue;
    const uint64_t exact = encode(from.format, decode(to, h), Mode::rn);
    const uint64_t step = from.format.mantissa_bits > to.mantissa_bits
                              ? uint64_t{1} << (from.format.mantissa_bits - to.mantissa_bits - 1)
                              : 1;
    for (uint64_t x : Bits{exact, exact + 1, exact + step - 1, exact + step, exact + step + 1,
                           exact + 2 * step - 1})
      list.push_back(x);
  }
  // Just below the least normal single, where flushing decides.
  for (uint64_t i = 0; i < 64 && from.format.bits() == 64; ++i)
    list.push_back(0x3810000000000000u - (i << 26) + (i & 1));
  if (from.format.bits() == 32) {
    for (uint64_t& x : list) x &= 0xffffffffu;
  }
  return cross(from.bits(), {list});
}

uint64_t saturated(const Format& f, uint64_t bits) {
  const uint64_t one = static_cast<uint64_t>(f.bias()) << f.mantissa_bits;
  return f.is_nan(bits) || (bits & f.sign()) != 0 ? 0 : bits > one ? one : bits;
}
// A NaN result may be any NaN where PTX does not say which; clamping keeps or drops the sign of
// zero.
Accept loose(const Format& f) {
  return [f](Row, uint64_t expected, uint64_t got) {
    return f.is_nan(expected) ? f.is_nan(got) : got == expected;
  };
}

TEST(SimConvertFloat, WideningIsExact) {
  struct Pair {
    Float from, to;
  };
  for (const Pair& p : {Pair{kHalf, kSingle},
                        {kBrain, kSingle},
                        {kHalf, kDouble},
                        {kBrain, kDouble},
                        {kSingle, kDouble}}) {
    const Table table = around(p.from, kF32);
    for (bool sat : {false, true}) {
      if (sat && p.from.format.bits() == 16 && p.from.format.exponent_bits == 8) continue;
      check(
          std::string("cvt") + (sat ? ".sat." : ".") + p.to.name + "." + p.from.name + " %d, %a;",
          table, p.to.bits(),
          [&](Row x) {
            const uint64_t r = encode(p.to.format, decode(p.from.format, x[0]), Mode::rn);
            return sat ? saturated(p.to.format, r) : r;
          },
          loose(p.to.format));
    }
  }
  const Table brains = cross("b16", {every(65536)}), singles = around(kSingle, kF32);
  check(
      "cvt.ftz.f32.bf16 %d, %a;", brains, "b32",
      [](Row x) { return kF32.flushed(encode(kF32, decode(kBf16, x[0]), Mode::rn)); }, loose(kF32));
  check(
      "cvt.ftz.f64.f32 %d, %a;", singles, "b64",
      [](Row x) { return encode(kF64, decode(kF32, kF32.flushed(x[0])), Mode::rn); }, loose(kF64));
}

TEST(SimConvertFloat, NarrowingRoundsOnce) {
  struct Pair {
    Float from, to;
  };
  for (const Pair& p : {Pair{kDouble, kSingle},
                        {kSingle, kHalf},
                        {kDouble, kHalf},
                        {kSingle, kBrain},
                        {kDouble, kBrain},
                        {kHalf, kBrain},
                        {kBrain, kHalf}}) {
    const Table table = around(p.from, p.to.format);
    for (Mode mode : kModes) {
      const bool has_single = p.from.format.bits() == 32 || p.to.format.bits() == 32;
      for (int variant = 0; variant < 4; ++variant) {
        const bool sat = (variant & 1) != 0, ftz = (variant & 2) != 0;
        const auto brain = [](const Float& f) {
          return f.format.bits() == 16 && f.format.exponent_bits == 8;
        };
        if ((sat && (brain(p.to) || brain(p.from))) || (ftz && !has_single)) continue;
        check(std::string("cvt.") + mode_name(mode) + (ftz ? ".ftz" : "") + (sat ? ".sat." : ".") +
                  p.to.name + "." + p.from.name + " %d, %a;",
              table, p.to.bits(), [&](Row x) {
                const bool from_single = p.from.format.bits() == 32,
                           to_single = p.to.format.bits() == 32;
                const Number v =
                    decode(p.from.format, ftz && from_single ? kF32.flushed(x[0]) : x[0]);
                const uint64_t r = ftz && to_single ? encode_flushed(p.to.format, v, mode)
                                                    : encode(p.to.format, v, mode);
                return sat ? saturated(p.to.format, r) : r;
              });
      }
    }
  }
}

TEST(SimConvertFloat, SameTypeRoundsToIntegers) {
  constexpr const char* kNames[] = {"rni", "rzi", "rmi", "rpi"};
  for (const Float& f : {kHalf, kBrain, kSingle, kDouble}) {
    const Table table = around(f, kF16);
    for (int m = 0; m < 4; ++m) {
      for (int variant = 0; variant < 4; ++variant) {
        const bool sat = (variant & 1) != 0, ftz = (variant & 2) != 0;
        if ((ftz && f.format.bits() != 32) ||
            (sat && f.format.bits() == 16 && f.format.exponent_bits == 8))
          continue;
        check(
            std::string("cvt.") + kNames[m] + (ftz ? ".ftz" : "") + (sat ? ".sat." : ".") + f.name +
                "." + f.name + " %d, %a;",
            table, f.bits(),
            [&](Row x) {
              const uint64_t bits = ftz ? f.format.flushed(x[0]) : x[0];
              const Number v = decode(f.format, bits);
              uint64_t r = bits;
              if (v.kind == Number::nan) {
                r = f.format.nan();
              } else if (v.kind == Number::finite && v.e < 0) {
                Number whole =
                    from_integer(to_integer(v, kModes[m], -(Integer{1} << 100), Integer{1} << 100));
                whole.minus = v.minus;
                r = encode(f.format, whole, Mode::rn);
              }
              return sat ? saturated(f.format, r) : r;
            },
            loose(f.format));
      }
    }
    check(
        std::string("cvt") + "." + f.name + "." + f.name + " %d, %a;", table, f.bits(),
        [&](Row x) { return x[0]; }, loose(f.format));
  }
  const Table singles = around(kSingle, kF32);
  check("cvt.ftz.sat.f32.f32 %d, %a;", singles, "b32",
        [](Row x) { return saturated(kF32, kF32.flushed(x[0])); });
}

// .relu and .satfinite, one result or two; both give canonical NaN.
uint64_t narrow(const Format& f, uint64_t single, Mode mode, bool relu, bool satfinite) {
  Number x = decode(kF32, single);
  if (relu && x.minus && x.kind != Number::nan) x = from_integer(0);
  return encode(f, x, mode, satfinite);
}

TEST(SimConvertFloat, TensorFloat) {
  const Table table = around(kSingle, kTf32);
  struct Variant {
    const char* text;
    Mode mode;
    bool relu, satfinite;
  };
  for (const Variant& v : {Variant{"rna", Mode::rna, false, false},
                           {"rna.satfinite", Mode::rna, false, true},
                           {"rn", Mode::rn, false, false},
                           {"rz", Mode::rz, false, false},
                           {"rn.relu", Mode::rn, true, false},
                           {"rz.relu", Mode::rz, true, false},
                           {"rn.satfinite", Mode::rn, false, true},
                           {"rz.satfinite.relu", Mode::rz, true, true}}) {
    // The format sits in the upper 19 bits; the bits below are not specified, and zero here.
    check(
        std::string("cvt.") + v.text + ".tf32.f32 %d, %a;", table, "b32",
        [&](Row x) { return narrow(kTf32, x[0], v.mode, v.relu, v.satfinite) << 13; },
        [](Row, uint64_t expected, uint64_t got) {
          return kF32.is_nan(expected)
                     ? got == kF32.nan()
                     : got == expected || (expected << 1) % (uint64_t{1} << 32) +
                                                  (got << 1) % (uint64_t{1} << 32) ==
                                              0;
        });
  }
}

TEST(SimConvertFloat, PairsOfHalves) {
  for (const Float& to : {kHalf, kBrain}) {
    Table table = around(kSingle, to.format);
    table.push_back({"b32", Bits(table[0].bits.rbegin(), table[0].bits.rend())});
    for (Mode mode : {Mode::rn, Mode::rz}) {
      for (int variant = 0; variant < 4; ++variant) {
        const bool relu = (variant & 1) != 0, satfinite = (variant & 2) != 0;
        const std::string suffix = std::string(mode_name(mode)) + (relu ? ".relu" : "") +
                                   (satfinite ? ".satfinite." : ".") + to.name;
        const auto zero = [&](uint64_t bits) {
          return relu && bits == to.format.sign() ? 0 : bits;
        };
        check(
            "cvt." + suffix + "x2.f32 %d, %a, %b;", table, "b32",
            [&](Row x) {
              return narrow(to.format, x[0], mode, relu, satfinite) << 16 |
                     narrow(to.format, x[1], mode, relu, satfinite);
            },
            [&](Row, uint64_t expected, uint64_t got) {
              return zero(got & 0xffff) == (expected & 0xffff) && zero(got >> 16) == expected >> 16;
            });
        check(
            "cvt." + suffix + ".f32 %d, %a;", table, "b16",
            [&](Row x) { return narrow(to.format, x[0], mode, relu, satfinite); },
            [&](Row, uint64_t expected, uint64_t got) { return zero(got) == expected; });
      }
    }
  }
}

TEST(SimConvertFloat, EightBitPairs) {
  struct Eight {
    const char* name;
    Format format;
  };
  for (const Eight& e : {Eight{"e4m3x2", kE4m3}, {"e5m2x2", kE5m2}}) {
    Table table = around(kSingle, e.format);
    table.push_back({"b32", Bits(table[0].bits.rbegin(), table[0].bits.rend())});
    const Table halves = cross("b32", {every(65536)}), bytes = cross("b16", {every(65536)});
    Table pairs = halves;
    for (uint64_t& x : pairs[0].bits) x |= (x * 40503u & 0xffff) << 16;
    for (bool relu : {false, true}) {
      const std::string type = std::string(".") + e.name, suffix = relu ? ".relu" : "";
      const auto zero = [&](uint64_t bits) { return relu && bits == e.format.sign() ? 0 : bits; };
      const Accept accept = [&](Row, uint64_t expected, uint64_t got) {
        return zero(got & 0xff) == (expected & 0xff) && zero(got >> 8) == expected >> 8;
      };
      check(
          "cvt.rn.satfinite" + suffix + type + ".f32 %d, %a, %b;", table, "b16",
          [&](Row x) {
            return narrow(e.format, x[0], Mode::rn, relu, true) << 8 |
                   narrow(e.format, x[1], Mode::rn, relu, true);
          },
          accept);
      const auto from_half = [&](uint64_t h) {
        return narrow(e.format, encode(kF32, decode(kF16, h & 0xffff), Mode::rn), Mode::rn, relu,
                      true);
      };
      check(
          "cvt.rn.satfinite" + suffix + type + ".f16x2 %d, %a;", pairs, "b16",
          [&](Row x) { return from_half(x[0] >> 16) << 8 | from_half(x[0]); }, accept);
      check(
          "cvt.rn" + suffix + ".f16x2" + type + " %d, %a;", bytes, "b32",
          [&](Row x) {
            uint64_t r = 0;
            for (int i = 0; i < 2; ++i) {
              Number v = decode(e.format, (x[0] >> (8 * i)) & 0xff);
              if (relu && v.minus && v.kind != Number::nan) v = from_integer(0);
              r |= encode(kF16, v, Mode::rn) << (16 * i);
            }
            return r;
          },
          [&](Row, uint64_t expected, uint64_t got) {
            const auto positive = [&](uint64_t h) { return relu && h == 0x8000 ? 0 : h; };
            return positive(got & 0xffff) == (expected & 0xffff) &&
                   positive(got >> 16) == expected >> 16;
          });
    }
  }
}

}  // namespace
}  // namespace mcc::sim::test
