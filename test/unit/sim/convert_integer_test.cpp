// cvt between integers, and between integers and floating point (PTX ISA 9.7.9.21), against exact
// arithmetic; half formats over all their encodings.
#include <gtest/gtest.h>

#include "test/unit/sim/exact.h"
#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

struct Int {
  const char* name;
  int width;
  bool is_signed;
  Integer of(uint64_t bits) const {
    if (is_signed) return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
    return static_cast<Integer>(width == 64 ? bits : bits & ((uint64_t{1} << width) - 1));
  }
  Integer low() const { return is_signed ? -(Integer{1} << (width - 1)) : 0; }
  Integer high() const { return (Integer{1} << (is_signed ? width - 1 : width)) - 1; }
  std::string bits() const { return "b" + std::to_string(width); }
};
constexpr Int kInts[] = {{"u8", 8, false},   {"s8", 8, true},    {"u16", 16, false},
                         {"s16", 16, true},  {"u32", 32, false}, {"s32", 32, true},
                         {"u64", 64, false}, {"s64", 64, true}};

struct Float {
  const char* name;
  Format format;
  std::string bits() const { return "b" + std::to_string(format.bits()); }
};
constexpr Float kFloats[] = {{"f16", kF16}, {"bf16", kBf16}, {"f32", kF32}, {"f64", kF64}};

TEST(SimConvert, IntegerToInteger) {
  for (const Int& from : kInts) {
    Table table = cross(from.bits(), {integers(from.width, 40)});
    add_random(table, 500);
    for (const Int& to : kInts) {
      const std::string types = std::string(".") + to.name + "." + from.name;
      check("cvt" + types + " %d, %a;", table, to.bits(),
            [&](Row x) { return static_cast<uint64_t>(from.of(x[0])); });
      // Saturation exists where it can happen.
      if (from.low() >= to.low() && from.high() <= to.high()) continue;
      check("cvt.sat" + types + " %d, %a;", table, to.bits(), [&](Row x) {
        const Integer v = from.of(x[0]);
        return static_cast<uint64_t>(v < to.low() ? to.low() : v > to.high() ? to.high() : v);
      });
    }
  }
}

// Registers wider than the type: sources use the low bits, results are extended by their sign.
TEST(SimConvert, WideRegisters) {
  Table table = cross("b64", {integers(64, 60)});
  add_random(table, 500);
  for (const Int& from : kInts) {
    for (const Int& to : kInts) {
      const auto value = [&](Row x) {
        return static_cast<uint64_t>(to.of(static_cast<uint64_t>(from.of(x[0]))));
      };
      const std::string types = std::string("cvt.") + to.name + "." + from.name;
      check(types + " %d, %a;", table, "b64", value);
      check("cvt.u32.u64 %r0, %a; " +
                (from.width <= 32 && to.width <= 32 ? types + " %d, %r0;" : "mov.b32 %d, %r0;"),
            table, "b32",
            [&](Row x) { return from.width <= 32 && to.width <= 32 ? value(x) : x[0]; });
    }
  }
}

Table float_operands(const Float& from) {
  if (from.format.bits() == 16) return cross("b16", {every(65536)});
  Bits list = special_values(from.format, 200);
  // Around every power of two up to 2^65: neighbours, halves and ties.
  for (int k = -2; k <= 65; ++k) {
    for (int sign = 0; sign < 2; ++sign) {
      for (int offset = -3; offset <= 3; ++offset) {
        for (int scale : {0, 1}) {
          Number x = from_integer((Integer{4} << (k + 2)) + (scale != 0 ? 4 * offset : offset));
          x.e -= 4;
          if (sign != 0) x = negated(x);
          const uint64_t bits = encode(from.format, x, Mode::rn);
          for (uint64_t b : Bits{bits - 1, bits, bits + 1}) list.push_back(b);
        }
      }
    }
  }
  if (from.format.bits() == 32) {
    for (uint64_t& x : list) x &= 0xffffffffu;
  }
  return cross(from.bits(), {list});
}

TEST(SimConvert, FloatToInteger) {
  constexpr const char* kNames[] = {"rni", "rzi", "rmi", "rpi"};
  for (const Float& from : kFloats) {
    const Table table = float_operands(from);
    for (const Int& to : kInts) {
      if (to.width == 8 && from.format.mantissa_bits == 7) continue;  // bf16 has no 8-bit integers
      // NaN: zero, but only the top bit when double precision or 64-bit integers take part.
      const bool wide = from.format.bits() == 64 || to.width == 64;
      for (int m = 0; m < 4; ++m) {
        for (bool ftz : {false, true}) {
          if (ftz && from.format.mantissa_bits != 23) continue;
          check(std::string("cvt.") + kNames[m] + (ftz ? ".ftz." : ".") + to.name + "." +
                    from.name + " %d, %a;",
                table, to.bits(), [&](Row x) {
                  const uint64_t bits = ftz ? from.format.flushed(x[0]) : x[0];
                  if (from.format.is_nan(bits)) return wide ? uint64_t{1} << (to.width - 1) : 0;
                  return static_cast<uint64_t>(
                      to_integer(decode(from.format, bits), kModes[m], to.low(), to.high()));
                });
        }
      }
    }
  }
}

TEST(SimConvert, IntegerToFloat) {
  for (const Int& from : kInts) {
    Bits list = integers(from.width, 40);
    for (int k = 8; k < from.width; ++k) {
      // Ties and their neighbours for every destination's precision.
      for (int p : {8, 11, 24, 53}) {
        if (k < p) continue;
        const uint64_t top = uint64_t{1} << k, half = uint64_t{1} << (k - p);
        for (uint64_t x : Bits{top + half, top + half + 1, top + half - 1, top + 3 * half,
                               top - half / 2, top - 1}) {
          for (uint64_t v : Bits{x, 0 - x})
            list.push_back(from.width == 64 ? v : v & ((uint64_t{1} << from.width) - 1));
        }
      }
    }
    Table table = cross(from.bits(), {list});
    add_random(table, 300);
    for (const Float& to : kFloats) {
      if (from.width == 8 && to.format.mantissa_bits == 7) continue;
      for (Mode mode : kModes) {
        check(std::string("cvt.") + mode_name(mode) + "." + to.name + "." + from.name + " %d, %a;",
              table, to.bits(),
              [&](Row x) { return encode(to.format, from_integer(from.of(x[0])), mode); });
      }
    }
  }
}

TEST(SimConvert, PackedIntegers) {
  Table table = cross("b32", {integers(32), integers(32), {0, 0xdeadbeefu}});
  for (int width : {8, 16}) {
    for (bool is_signed : {false, true}) {
      const Int to{"", width, is_signed};
      const std::string type = (is_signed ? "s" : "u") + std::to_string(width);
      const auto clamp = [&](uint64_t bits) {
        const Integer v = kInts[5].of(bits);
        return static_cast<uint64_t>(v < to.low()    ? to.low()
                                     : v > to.high() ? to.high()
                                                     : v) &
               ((uint64_t{1} << width) - 1);
      };
      check(
          "cvt.pack.sat." + type + (width == 16 ? ".s32 %d, %a, %b;" : ".s32.b32 %d, %a, %b, %c;"),
          table, "b32", [&](Row x) {
            return (width == 16 ? 0 : x[2] << 16) | clamp(x[0]) << width | clamp(x[1]);
          });
    }
  }
}

}  // namespace
}  // namespace mcc::sim::test
