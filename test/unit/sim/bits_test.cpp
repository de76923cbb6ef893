// Logic, shifts, bit fields, byte permutation and dot products (PTX ISA 9.7.1, 9.7.8), bit by bit.
#include <gtest/gtest.h>

#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

bool bit(uint64_t x, int at) { return ((x >> at) & 1u) != 0; }
int64_t sign_extend(uint64_t x, int width) {
  return static_cast<int64_t>(x << (64 - width)) >> (64 - width);
}
std::string bits(int width) { return "b" + std::to_string(width); }
Table with_random(Table table, size_t rows = 500) {
  add_random(table, rows);
  return table;
}
const Bits kCounts = {0,   1,   2,   5,   8,          15,         16,        17, 24,
                      31,  32,  33,  47,  48,         63,         64,        65, 127,
                      128, 255, 256, 257, 0x7fffffff, 0x80000000, 0xffffffff};

TEST(SimBits, Logic) {
  for (int width : {16, 32, 64}) {
    const Table table = with_random(cross(bits(width), {integers(width), integers(width)}));
    const std::string type = "." + bits(width);
    check("and" + type + " %d, %a, %b;", table, bits(width), [](Row x) { return x[0] & x[1]; });
    check("or" + type + " %d, %a, %b;", table, bits(width), [](Row x) { return x[0] | x[1]; });
    check("xor" + type + " %d, %a, %b;", table, bits(width), [](Row x) { return x[0] ^ x[1]; });
    check("not" + type + " %d, %a;", table, bits(width), [](Row x) { return ~x[0]; });
    check("cnot" + type + " %d, %a;", table, bits(width),
          [](Row x) { return x[0] == 0 ? uint64_t{1} : 0; });
  }
  const Table two = cross("b32", {{0, 1}, {0, 1}});
  const std::string load = "setp.ne.u32 %p0, %a, 0; setp.ne.u32 %p1, %b, 0; ",
                    store = " selp.u32 %d, 1, 0, %p2;";
  check(load + "and.pred %p2, %p0, %p1;" + store, two, "b32", [](Row x) { return x[0] & x[1]; });
  check(load + "or.pred %p2, %p0, !%p1;" + store, two, "b32",
        [](Row x) { return x[0] | (x[1] ^ 1u); });
  check(load + "xor.pred %p2, %p0, %p1;" + store, two, "b32", [](Row x) { return x[0] ^ x[1]; });
  check(load + "not.pred %p2, %p0;" + store, two, "b32", [](Row x) { return x[0] ^ 1u; });
  check(load + "mov.pred %p2, %p1;" + store, two, "b32", [](Row x) { return x[1]; });
}

TEST(SimBits, Lop3TakesEveryTable) {
  const Table table = with_random(
      cross("b32", {{0, ~0u, 0xf0f0f0f0u}, {0, ~0u, 0xccccccccu}, {0, ~0u, 0xaaaaaaaau}}), 64);
  for (int code = 0; code < 256; ++code) {
    check("lop3.b32 %d, %a, %b, %c, " + std::to_string(code) + ";", table, "b32", [&](Row x) {
      uint64_t r = 0;
      for (int i = 0; i < 32; ++i) {
        const int index = (bit(x[0], i) ? 4 : 0) + (bit(x[1], i) ? 2 : 0) + (bit(x[2], i) ? 1 : 0);
        r |= static_cast<uint64_t>((code >> index) & 1) << i;
      }
      return r;
    });
  }
}

TEST(SimBits, Shifts) {
  for (int width : {16, 32, 64}) {
    const Table table = with_random(cross({bits(width), "b32"}, {integers(width), kCounts}));
    const std::string w = std::to_string(width);
    const auto n = [](uint64_t count) { return static_cast<uint32_t>(count); };
    check("shl.b" + w + " %d, %a, %b;", table, bits(width),
          [&](Row x) { return n(x[1]) >= static_cast<uint32_t>(width) ? 0 : x[0] << n(x[1]); });
    for (const char* type : {"u", "b"}) {
      check(std::string("shr.") + type + w + " %d, %a, %b;", table, bits(width),
            [&](Row x) { return n(x[1]) >= static_cast<uint32_t>(width) ? 0 : x[0] >> n(x[1]); });
    }
    check("shr.s" + w + " %d, %a, %b;", table, bits(width), [&](Row x) {
      const int64_t a = sign_extend(x[0], width);
      return static_cast<uint64_t>(
          a >> (n(x[1]) >= static_cast<uint32_t>(width) ? width - 1 : static_cast<int>(n(x[1]))));
    });
  }
}

TEST(SimBits, FunnelShifts) {
  const Table table = with_random(cross(
      "b32", {{0, 1, 0x80000001u, 0xdeadbeefu}, {0, ~0u, 0x12345678u, 0x80000000u}, kCounts}));
  const auto funnel = [](Row x, bool left, bool wrap) {
    const uint64_t n = wrap ? x[2] & 31 : x[2] > 32 ? 32 : x[2];
    uint64_t r = 0;
    for (int i = 0; i < 32; ++i) {
      // Bit i of the result is bit i + n of b:a, or i + 32 - n for left shifts.
      const int from = left ? i + 32 - static_cast<int>(n) : i + static_cast<int>(n);
      const uint64_t source = from >= 32 ? (from >= 64 ? 0 : x[1] >> (from - 32)) : x[0] >> from;
      r |= (source & 1) << i;
    }
    return r;
  };
  check("shf.l.clamp.b32 %d, %a, %b, %c;", table, "b32",
        [&](Row x) { return funnel(x, true, false); });
  check("shf.l.wrap.b32 %d, %a, %b, %c;", table, "b32",
        [&](Row x) { return funnel(x, true, true); });
  check("shf.r.clamp.b32 %d, %a, %b, %c;", table, "b32",
        [&](Row x) { return funnel(x, false, false); });
  check("shf.r.wrap.b32 %d, %a, %b, %c;", table, "b32",
        [&](Row x) { return funnel(x, false, true); });
}

TEST(SimBits, CountingAndReversal) {
  for (int width : {32, 64}) {
    const Table table = with_random(cross(bits(width), {integers(width)}), 2000);
    const std::string w = std::to_string(width);
    const auto top = [=](uint64_t x) {  // position of the highest bit, -1 for none
      int at = width - 1;
      while (at >= 0 && !bit(x, at)) --at;
      return at;
    };
    const auto flipped = [=](uint64_t x) {
      return bit(x, width - 1) ? ~x & (~uint64_t{0} >> (64 - width)) : x;
    };
    check("popc.b" + w + " %d, %a;", table, "b32", [=](Row x) {
      uint64_t n = 0;
      for (int i = 0; i < width; ++i) n += bit(x[0], i) ? 1 : 0;
      return n;
    });
    check("clz.b" + w + " %d, %a;", table, "b32",
          [=](Row x) { return static_cast<uint64_t>(width - 1 - top(x[0])); });
    check("brev.b" + w + " %d, %a;", table, bits(width), [=](Row x) {
      uint64_t r = 0;
      for (int i = 0; i < width; ++i) r |= static_cast<uint64_t>(bit(x[0], i)) << (width - 1 - i);
      return r;
    });
    check("bfind.u" + w + " %d, %a;", table, "b32",
          [=](Row x) { return static_cast<uint64_t>(top(x[0])); });
    check("bfind.s" + w + " %d, %a;", table, "b32",
          [=](Row x) { return static_cast<uint64_t>(top(flipped(x[0]))); });
    check("bfind.shiftamt.u" + w + " %d, %a;", table, "b32",
          [=](Row x) { return static_cast<uint64_t>(top(x[0]) < 0 ? -1 : width - 1 - top(x[0])); });
    check("bfind.shiftamt.s" + w + " %d, %a;", table, "b32", [=](Row x) {
      return static_cast<uint64_t>(top(flipped(x[0])) < 0 ? -1 : width - 1 - top(flipped(x[0])));
    });
  }
}

// The pseudo-code of the PTX ISA, bit by bit.
TEST(SimBits, FieldExtraction) {
  for (int width : {32, 64}) {
    const Bits values = width == 32 ? Bits{0, 1, 0x80000000u, 0xffffffffu, 0xa5a5a5a5u, 0x7fffffffu}
                                    : Bits{0, 0x8000000000000000ull, ~uint64_t{0},
                                           0xa5a5a5a55a5a5a5aull, 0x123456789abcdef0ull};
    const Table table = with_random(cross({bits(width), "b32", "b32"}, {values, kCounts, kCounts}));
    for (bool is_signed : {false, true}) {
      check(std::string("bfe.") + (is_signed ? "s" : "u") + std::to_string(width) +
                " %d, %a, %b, %c;",
            table, bits(width), [=](Row x) {
              const int at = static_cast<int>(x[1] & 0xff), length = static_cast<int>(x[2] & 0xff),
                        msb = width - 1;
              const bool sign =
                  is_signed && length != 0 && bit(x[0], std::min(at + length - 1, msb));
              uint64_t r = 0;
              for (int i = 0; i <= msb; ++i)
                r |= static_cast<uint64_t>(i < length && at + i <= msb ? bit(x[0], at + i) : sign)
                     << i;
              return r;
            });
    }
  }
}

TEST(SimBits, FieldInsertion) {
  for (int width : {32, 64}) {
    const Table table =
        cross({bits(width), bits(width), "b32", "b32"}, {{0, ~uint64_t{0}, 0xa5a5a5a55a5a1234ull},
                                                         {0, ~uint64_t{0}, 0x0123456789abcdefull},
                                                         kCounts,
                                                         kCounts});
    check("bfi.b" + std::to_string(width) + " %d, %a, %b, %c, %e;", table, bits(width), [=](Row x) {
      const int at = static_cast<int>(x[2] & 0xff), length = static_cast<int>(x[3] & 0xff);
      uint64_t r = x[1];
      for (int i = 0; i < length && at + i < width; ++i)
        r = (r & ~(uint64_t{1} << (at + i))) | (static_cast<uint64_t>(bit(x[0], i)) << (at + i));
      return r;
    });
  }
}

TEST(SimBits, MasksAndSignExtension) {
  const Table table = cross("b32", {kCounts, kCounts});
  for (bool wrap : {false, true}) {
    check(std::string("bmsk.") + (wrap ? "wrap" : "clamp") + ".b32 %d, %a, %b;", table, "b32",
          [=](Row x) {
            const uint64_t at = wrap ? x[0] & 31 : x[0], length = wrap ? x[1] & 31 : x[1];
            uint64_t r = 0;
            for (uint64_t i = 0; i < 32; ++i)
              r |= static_cast<uint64_t>(i >= at && i - at < length) << i;
            return r;
          });
    const Table values = cross("b32", {integers(32), kCounts});
    for (bool is_signed : {false, true}) {
      check(std::string("szext.") + (wrap ? "wrap" : "clamp") + (is_signed ? ".s32" : ".u32") +
                " %d, %a, %b;",
            values, "b32", [=](Row x) {
              const uint64_t n = wrap ? x[1] & 31 : x[1];
              if (n >= 32) return x[0];
              if (n == 0) return uint64_t{0};
              uint64_t r = x[0] & ((uint64_t{1} << n) - 1);
              if (is_signed && bit(x[0], static_cast<int>(n) - 1)) r |= ~uint64_t{0} << n;
              return r;
            });
    }
  }
}

TEST(SimBits, FindNth) {
  // Positions are those the PTX ISA allows: a base below 32.
  Bits offsets;
  for (int i = -6; i <= 6; ++i) offsets.push_back(static_cast<uint32_t>(i));
  const Table table = cross("b32", {{0, 1, 0x80000000u, ~0u, 0xf0f0f0f0u, 0x00010100u, 0x88888888u},
                                    {0, 1, 4, 8, 15, 16, 30, 31},
                                    offsets});
  check("fns.b32 %d, %a, %b, %c;", table, "b32", [](Row x) {
    const int base = static_cast<int>(x[1]), offset = static_cast<int32_t>(x[2]);
    if (offset == 0) return bit(x[0], base) ? x[1] : uint64_t{0xffffffffu};
    int found = 0;
    for (int at = base; at >= 0 && at<32; at += offset> 0 ? 1 : -1) {
      if (bit(x[0], at) && ++found == std::abs(offset)) return static_cast<uint64_t>(at);
    }
    return uint64_t{0xffffffffu};
  });
}

TEST(SimBits, BytePermutation) {
  Table table = cross("b32", {{0x03020100u, 0x83828180u}, {0x07060504u, 0xf7e6d5c4u}, {0}});
  for (Column& column : table) column.bits.clear();
  for (uint64_t selector = 0; selector < 65536; selector += 3) {
    table[0].bits.push_back(0x80017fffu ^ (selector * 2654435761u & 0xffffffffu));
    table[1].bits.push_back(selector * 40503u & 0xffffffffu);
    table[2].bits.push_back(selector | (selector & 7) << 20);
  }
  const auto byte = [](Row x, int at) { return ((at < 4 ? x[0] : x[1]) >> (8 * (at & 3))) & 0xff; };
  check("prmt.b32 %d, %a, %b, %c;", table, "b32", [&](Row x) {
    uint64_t r = 0;
    for (int i = 0; i < 4; ++i) {
      const int s = static_cast<int>(x[2] >> (4 * i)) & 15;
      uint64_t b = byte(x, s & 7);
      if ((s & 8) != 0) b = (b & 0x80) != 0 ? 0xff : 0;
      r |= b << (8 * i);
    }
    return r;
  });
  // The modes as the table of the PTX ISA gives them: for c & 3, the bytes d.b3 d.b2 d.b1 d.b0.
  struct Mode {
    const char* name;
    int bytes[4][4];
  };
  const Mode modes[] = {{"f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
                        {"b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
                        {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
                        {"ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
                        {"ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
                        {"rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}}};
  for (const Mode& mode : modes) {
    check(std::string("prmt.b32.") + mode.name + " %d, %a, %b, %c;", table, "b32", [&](Row x) {
      const int* from = mode.bytes[x[2] & 3];
      return byte(x, from[0]) << 24 | byte(x, from[1]) << 16 | byte(x, from[2]) << 8 |
             byte(x, from[3]);
    });
  }
}

TEST(SimBits, DotProducts) {
  const Bits values = {0, 0xffffffffu, 0x80808080u, 0x7f7f7f7fu, 0x01ff807fu, 0x80007fffu};
  const Table table =
      with_random(cross("b32", {values, values, {0, 1, 0x7fffffffu, 0x80000000u, 0xfffffff0u}}));
  const auto part = [](uint64_t x, int at, int width, bool is_signed) {
    const uint64_t field = (x >> (at * width)) & ((uint64_t{1} << width) - 1);
    return is_signed ? sign_extend(field, width) : static_cast<int64_t>(field);
  };
  for (bool sa : {false, true}) {
    for (bool sb : {false, true}) {
      const std::string types =
          std::string(sa ? ".s32" : ".u32") + (sb ? ".s32" : ".u32") + " %d, %a, %b, %c;";
      check("dp4a" + types, table, "b32", [&](Row x) {
        int64_t sum = static_cast<int64_t>(x[2]);
        for (int i = 0; i < 4; ++i) sum += part(x[0], i, 8, sa) * part(x[1], i, 8, sb);
        return static_cast<uint64_t>(sum);
      });
      for (int high : {0, 1}) {
        check(std::string("dp2a.") + (high != 0 ? "hi" : "lo") + types, table, "b32", [&](Row x) {
          int64_t sum = static_cast<int64_t>(x[2]);
          for (int i = 0; i < 2; ++i)
            sum += part(x[0], i, 16, sa) * part(x[1], i + 2 * high, 8, sb);
          return static_cast<uint64_t>(sum);
        });
      }
    }
  }
}

}  // namespace
}  // namespace mcc::sim::test
