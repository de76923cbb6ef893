// Integer arithmetic (PTX ISA 9.7.1, 9.7.2) against 128-bit arithmetic.
#include <gtest/gtest.h>

#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

struct Type {
  const char* name;
  int width;
  bool is_signed;
  Wide of(uint64_t bits) const {
    if (!is_signed)
      return static_cast<Wide>(width == 64 ? bits : bits & ((uint64_t{1} << width) - 1));
    return static_cast<Wide>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
  }
  std::string bits() const { return "b" + std::to_string(width); }
  bool smallest(uint64_t a) const { return is_signed && of(a) == -(Wide{1} << (width - 1)); }
};
constexpr Type kTypes[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                           {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};
// Modulo 2^128: the product of two unsigned 64-bit values exceeds Wide.
Wide product(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
}
uint64_t low(Wide x) { return static_cast<uint64_t>(x); }

Table operands(const Type& t, size_t count) {
  std::vector<Bits> lists(count, count == 3
                                     ? Bits{0, 1, 5, 31, 0x7fff, 0x8000, 0x7fffffff, 0x80000000,
                                            ~uint64_t{0}, ~uint64_t{4}, 0x123456789abcdefull,
                                            0x8000000000000000ull, 0x7fffffffffffffffull}
                                     : integers(t.width));
  for (Bits& list : lists) {
    for (uint64_t& x : list) x = t.width == 64 ? x : x & ((uint64_t{1} << t.width) - 1);
  }
  Table table = cross(t.bits(), lists);
  add_random(table, 500);
  return table;
}

std::string op(const std::string& name, const Type& t, const std::string& list) {
  return name + "." + t.name + " " + list + ";";
}

TEST(SimInteger, AddSubtractMultiply) {
  for (const Type& t : kTypes) {
    const Table table = operands(t, 2);
    check(op("add", t, "%d, %a, %b"), table, t.bits(),
          [&](Row x) { return low(t.of(x[0]) + t.of(x[1])); });
    check(op("sub", t, "%d, %a, %b"), table, t.bits(),
          [&](Row x) { return low(t.of(x[0]) - t.of(x[1])); });
    check(op("mul.lo", t, "%d, %a, %b"), table, t.bits(),
          [&](Row x) { return low(product(t.of(x[0]), t.of(x[1]))); });
    check(op("mul.hi", t, "%d, %a, %b"), table, t.bits(), [&](Row x) {
      if (!t.is_signed && t.width == 64) {
        return static_cast<uint64_t>((static_cast<UnsignedWide>(x[0]) * x[1]) >> 64);
      }
      return low((t.of(x[0]) * t.of(x[1])) >> t.width);
    });
    if (t.width < 64) {
      check(op("mul.wide", t, "%d, %a, %b"), table, "b" + std::to_string(2 * t.width),
            [&](Row x) { return low(product(t.of(x[0]), t.of(x[1]))); });
    }
  }
}

TEST(SimInteger, MultiplyAdd) {
  for (const Type& t : kTypes) {
    const Table table = operands(t, 3);
    check(op("mad.lo", t, "%d, %a, %b, %c"), table, t.bits(),
          [&](Row x) { return low(product(t.of(x[0]), t.of(x[1]))) + low(t.of(x[2])); });
    if (t.width < 64) {
      check(op("mad.hi", t, "%d, %a, %b, %c"), table, t.bits(),
            [&](Row x) { return low(((t.of(x[0]) * t.of(x[1])) >> t.width) + t.of(x[2])); });
      Table wide = table;
      wide[2].type = "b" + std::to_string(2 * t.width);
      check(op("mad.wide", t, "%d, %a, %b, %c"), wide, wide[2].type,
            [&](Row x) { return low(t.of(x[0]) * t.of(x[1]) + static_cast<Wide>(x[2])); });
    }
    check(op("sad", t, "%d, %a, %b, %c"), table, t.bits(), [&](Row x) {
      const Wide a = t.of(x[0]), b = t.of(x[1]);
      return low(t.of(x[2]) + (a < b ? b - a : a - b));
    });
  }
}

TEST(SimInteger, DivideAndRemainder) {
  for (const Type& t : kTypes) {
    const Table table = operands(t, 2);
    // Division by zero is unspecified but the same on every device: all ones.
    check(op("div", t, "%d, %a, %b"), table, t.bits(), [&](Row x) {
      const Wide b = t.of(x[1]);
      return b == 0 ? ~uint64_t{0} : low(t.of(x[0]) / b);
    });
    check(op("rem", t, "%d, %a, %b"), table, t.bits(), [&](Row x) {
      const Wide b = t.of(x[1]);
      return b == 0 ? ~uint64_t{0} : low(t.of(x[0]) % b);
    });
  }
}

TEST(SimInteger, Extremes) {
  for (const Type& t : kTypes) {
    const Table table = operands(t, 2);
    check(op("min", t, "%d, %a, %b"), table, t.bits(),
          [&](Row x) { return low(t.of(x[0]) < t.of(x[1]) ? t.of(x[0]) : t.of(x[1])); });
    check(op("max", t, "%d, %a, %b"), table, t.bits(),
          [&](Row x) { return low(t.of(x[0]) > t.of(x[1]) ? t.of(x[0]) : t.of(x[1])); });
    if (!t.is_signed) continue;
    check(op("abs", t, "%d, %a"), table, t.bits(),
          [&](Row x) { return low(t.of(x[0]) < 0 ? -t.of(x[0]) : t.of(x[0])); });
    check(op("neg", t, "%d, %a"), table, t.bits(), [&](Row x) { return low(-t.of(x[0])); });
  }
}

TEST(SimInteger, Saturation) {
  const Type t = kTypes[3];
  const auto clamp = [](Wide x) {
    return low(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
  };
  const Table two = operands(t, 2), three = operands(t, 3);
  check("add.sat.s32 %d, %a, %b;", two, "b32",
        [&](Row x) { return clamp(t.of(x[0]) + t.of(x[1])); });
  check("sub.sat.s32 %d, %a, %b;", two, "b32",
        [&](Row x) { return clamp(t.of(x[0]) - t.of(x[1])); });
  check("mad.hi.sat.s32 %d, %a, %b, %c;", three, "b32",
        [&](Row x) { return clamp(((t.of(x[0]) * t.of(x[1])) >> 32) + t.of(x[2])); });
}

TEST(SimInteger, TwentyFourBits) {
  for (const Type& t : {kTypes[2], kTypes[3]}) {
    const auto low24 = [&](uint64_t bits) {
      const auto x = static_cast<uint32_t>(bits) << 8;
      return t.is_signed ? static_cast<Wide>(static_cast<int32_t>(x) >> 8)
                         : static_cast<Wide>(x >> 8);
    };
    const Table two = operands(t, 2), three = operands(t, 3);
    check(op("mul24.lo", t, "%d, %a, %b"), two, "b32",
          [&](Row x) { return low(low24(x[0]) * low24(x[1])); });
    check(op("mul24.hi", t, "%d, %a, %b"), two, "b32",
          [&](Row x) { return low((low24(x[0]) * low24(x[1])) >> 16); });
    check(op("mad24.lo", t, "%d, %a, %b, %c"), three, "b32",
          [&](Row x) { return low(low24(x[0]) * low24(x[1]) + t.of(x[2])); });
    if (t.is_signed) {
      check("mad24.hi.sat.s32 %d, %a, %b, %c;", three, "b32", [&](Row x) {
        const Wide sum = static_cast<int32_t>(low((low24(x[0]) * low24(x[1])) >> 16)) + t.of(x[2]);
        return low(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
      });
    }
    check(op("mad24.hi", t, "%d, %a, %b, %c"), three, "b32",
          [&](Row x) { return low(((low24(x[0]) * low24(x[1])) >> 16) + t.of(x[2])); });
  }
}

TEST(SimInteger, Pairs) {
  Table table = cross("b32", {integers(32), integers(32)});
  add_random(table, 1000);
  for (const Type& t : {kTypes[0], kTypes[1]}) {
    const auto both = [&](Row x, auto f) {
      uint64_t r = 0;
      for (int half = 0; half < 2; ++half)
        r |= (low(f(t.of(x[0] >> (16 * half)), t.of(x[1] >> (16 * half)))) & 0xffff) << (16 * half);
      return r;
    };
    const std::string name = std::string(t.name) + "x2 %d, %a, %b;";
    check("add." + name, table, "b32",
          [&](Row x) { return both(x, [](Wide a, Wide b) { return a + b; }); });
    check("min." + name, table, "b32",
          [&](Row x) { return both(x, [](Wide a, Wide b) { return a < b ? a : b; }); });
    check("max." + name, table, "b32",
          [&](Row x) { return both(x, [](Wide a, Wide b) { return a > b ? a : b; }); });
  }
}

TEST(SimInteger, Relu) {
  const Type t = kTypes[3];
  const Table two = operands(t, 2);
  check("min.relu.s32 %d, %a, %b;", two, "b32", [&](Row x) {
    const Wide m = t.of(x[0]) < t.of(x[1]) ? t.of(x[0]) : t.of(x[1]);
    return low(m < 0 ? 0 : m);
  });
  check("max.relu.s32 %d, %a, %b;", two, "b32", [&](Row x) {
    const Wide m = t.of(x[0]) > t.of(x[1]) ? t.of(x[0]) : t.of(x[1]);
    return low(m < 0 ? 0 : m);
  });
  check("max.relu.s16x2 %d, %a, %b;", two, "b32", [](Row x) {
    uint64_t r = 0;
    for (int half = 0; half < 2; ++half) {
      const auto a = kTypes[1].of(x[0] >> (16 * half)), b = kTypes[1].of(x[1] >> (16 * half)),
                 m = a > b ? a : b;
      r |= (m < 0 ? 0 : low(m) & 0xffff) << (16 * half);
    }
    return r;
  });
}

TEST(SimInteger, ExtendedPrecisionChains) {
  // 64-bit sums from 32-bit halves, and the last carry in the result's place.
  Table table = cross("b64", {integers(64), integers(64)});
  add_random(table, 1000);
  const std::string split = "mov.b64 {%r0, %r1}, %a; mov.b64 {%r2, %r3}, %b;\n";
  check(split + "add.cc.u32 %r4, %r0, %r2; addc.u32 %r5, %r1, %r3; mov.b64 %d, {%r4, %r5};", table,
        "b64", [](Row x) { return x[0] + x[1]; });
  check(split + "sub.cc.u32 %r4, %r0, %r2; subc.u32 %r5, %r1, %r3; mov.b64 %d, {%r4, %r5};", table,
        "b64", [](Row x) { return x[0] - x[1]; });
  check(split + "add.cc.s32 %r4, %r0, %r2; addc.cc.s32 %r5, %r1, %r3; addc.u32 %d, 0, 0;", table,
        "b32", [](Row x) {
          return static_cast<uint64_t>((static_cast<UnsignedWide>(x[0]) + x[1]) >> 64);
        });
  check(split + "sub.cc.u32 %r4, %r0, %r2; subc.cc.u32 %r5, %r1, %r3; subc.u32 %d, 0, 0;", table,
        "b32", [](Row x) { return x[0] < x[1] ? ~uint64_t{0} : 0; });
  check("add.cc.u64 %q0, %a, %b; addc.u64 %d, 5, 0;", table, "b64",
        [](Row x) { return 5 + (x[0] + x[1] < x[0] ? 1u : 0u); });
  check("sub.cc.u64 %q0, %a, %b; subc.u64 %d, 5, 0;", table, "b64",
        [](Row x) { return 5 - (x[0] < x[1] ? 1u : 0u); });
  // The upper half of a 64 by 64 bit product, by the schoolbook method that compilers emit.
  check(split +
            "mul.lo.u32 %r8, %r0, %r2; mul.hi.u32 %r9, %r0, %r2;\n"
            "mad.lo.cc.u32 %r9, %r0, %r3, %r9; madc.hi.u32 %r10, %r0, %r3, 0;\n"
            "mad.lo.cc.u32 %r9, %r1, %r2, %r9; madc.hi.cc.u32 %r10, %r1, %r2, %r10; addc.u32 %r11, "
            "0, 0;\n"
            "mad.lo.cc.u32 %r10, %r1, %r3, %r10; madc.hi.u32 %r11, %r1, %r3, %r11; mov.b64 %d, "
            "{%r10, %r11};",
        table, "b64", [](Row x) {
          return static_cast<uint64_t>((static_cast<UnsignedWide>(x[0]) * x[1]) >> 64);
        });
  check("mul.lo.u64 %q1, %a, %b; mad.lo.cc.u64 %q0, %a, %b, %a; madc.hi.u64 %d, %a, %b, %b;", table,
        "b64", [](Row x) {
          const UnsignedWide product = static_cast<UnsignedWide>(x[0]) * x[1];
          const uint64_t carry = static_cast<uint64_t>(product) + x[0] < x[0] ? 1 : 0;
          return static_cast<uint64_t>(product >> 64) + x[1] + carry;
        });
}

}  // namespace
}  // namespace mcc::sim::test
