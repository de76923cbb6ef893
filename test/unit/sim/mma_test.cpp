// mma.sync (PTX ISA 9.7.14.5) against matrix products over the fragment layouts of the PTX ISA,
// written down here element by element. Operands are chosen so that sums are exact in double
// precision: results must then be rounded once.
#include <gtest/gtest.h>

#include <random>

#include "test/unit/sim/exact.h"
#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

struct Position {
  int row, column;
};
using Layout = Position (*)(int g, int t, int i);  // group (lane / 4), place in it, element index

struct Shape {
  int m, k, bits;  // bits of an element of A and B
  int a_elements, b_elements;
  Layout a, b;
};
Position accumulator(int g, int t, int i) { return {i < 2 ? g : g + 8, 2 * t + (i & 1)}; }

const Shape kShapes[] = {
    {16, 8, 16, 4, 2,
     [](int g, int t, int i) {
       return Position{i < 2 ? g : g + 8, 2 * t + (i & 1)};
     },
     [](int g, int t, int i) {
       return Position{2 * t + i, g};
     }},
    {16, 16, 16, 8, 4,
     [](int g, int t, int i) {
       return Position{i < 2 || (i >= 4 && i < 6) ? g : g + 8, 2 * t + (i & 1) + (i < 4 ? 0 : 8)};
     },
     [](int g, int t, int i) {
       return Position{2 * t + (i & 1) + (i < 2 ? 0 : 8), g};
     }},
    {16, 4, 32, 2, 1,
     [](int g, int t, int i) {
       return Position{i == 0 ? g : g + 8, t};
     },
     [](int g, int t, int) {
       return Position{t, g};
     }},
    {16, 8, 32, 4, 2,
     [](int g, int t, int i) {
       return Position{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
     },
     [](int g, int t, int i) {
       return Position{i == 0 ? t : t + 4, g};
     }},
    {8, 16, 8, 4, 4,
     [](int g, int t, int i) {
       return Position{g, 4 * t + i};
     },
     [](int g, int t, int i) {
       return Position{4 * t + i, g};
     }},
    {16, 16, 8, 8, 4,
     [](int g, int t, int i) {
       return Position{i < 4 ? g : g + 8, 4 * t + (i & 3)};
     },
     [](int g, int t, int i) {
       return Position{4 * t + i, g};
     }},
    {16, 32, 8, 16, 8,
     [](int g, int t, int i) {
       return Position{i < 4 || (i >= 8 && i < 12) ? g : g + 8, 4 * t + (i & 3) + (i < 8 ? 0 : 16)};
     },
     [](int g, int t, int i) {
       return Position{4 * t + (i & 3) + (i < 4 ? 0 : 16), g};
     }},
    {8, 32, 4, 8, 8,
     [](int g, int t, int i) {
       return Position{g, 8 * t + i};
     },
     [](int g, int t, int i) {
       return Position{8 * t + i, g};
     }},
    {16, 32, 4, 16, 8,
     [](int g, int t, int i) {
       return Position{i < 8 ? g : g + 8, 8 * t + (i & 7)};
     },
     [](int g, int t, int i) {
       return Position{8 * t + i, g};
     }},
    {16, 64, 4, 32, 16,
     [](int g, int t, int i) {
       return Position{i < 8 || (i >= 16 && i < 24) ? g : g + 8,
                       8 * t + (i & 7) + (i < 16 ? 0 : 32)};
     },
     [](int g, int t, int i) {
       return Position{8 * t + (i & 7) + (i < 8 ? 0 : 32), g};
     }},
    {8, 4, 64, 1, 1,
     [](int g, int t, int) {
       return Position{g, t};
     },
     [](int g, int t, int) {
       return Position{t, g};
     }},
    {16, 4, 64, 2, 1,
     [](int g, int t, int i) {
       return Position{i == 0 ? g : g + 8, t};
     },
     [](int g, int t, int) {
       return Position{t, g};
     }},
    {16, 8, 64, 4, 2,
     [](int g, int t, int i) {
       return Position{i % 2 == 0 ? g : g + 8, i < 2 ? t : t + 4};
     },
     [](int g, int t, int i) {
       return Position{i == 0 ? t : t + 4, g};
     }},
    {16, 16, 64, 8, 4,
     [](int g, int t, int i) {
       return Position{i % 2 == 0 ? g : g + 8, t + i / 2 * 4};
     },
     [](int g, int t, int i) {
       return Position{t + 4 * i, g};
     }}};

using Elements = std::vector<uint64_t>;  // row-major bit patterns

// The registers of a fragment, one list per lane.
std::vector<std::vector<uint64_t>> fragments(const Elements& matrix, int columns, int elements,
                                             int bits, Layout layout) {
  const int per_register = bits >= 32 ? 1 : 32 / bits;
  std::vector<std::vector<uint64_t>> lanes(
      32, std::vector<uint64_t>(static_cast<size_t>(elements / per_register), 0));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < elements; ++i) {
      const Position p = layout(lane / 4, lane % 4, i);
      const uint64_t x = matrix[static_cast<size_t>(p.row * columns + p.column)];
      lanes[static_cast<size_t>(lane)][static_cast<size_t>(i / per_register)] |=
          x << (bits * (i % per_register) % 64);
    }
  }
  return lanes;
}

// Runs the instruction over the matrices; `c_bits`: of an element of C and D.
Elements run(const std::string& opcode, const Shape& s, const Elements& a, const Elements& b,
             const Elements& c, int c_bits, const char* isa) {
  const int c_elements = s.m / 8 * 2;
  const auto fa = fragments(a, s.k, s.a_elements, s.bits, s.a),
             fb = fragments(b, 8, s.b_elements, s.bits, s.b),
             fc = fragments(c, 8, c_elements, c_bits, accumulator);
  const size_t na = fa[0].size(), nb = fb[0].size(), nc = fc[0].size(), stride = na + nb + 2 * nc;
  std::vector<uint64_t> words(32 * stride, 0);
  std::string text =
      ".visible .entry k(.param .u64 p) {\n.reg .b32 %r0; .reg .b64 %q<4>; .reg .b32 %n<32>; .reg "
      ".b64 %w<32>;\nld.param.u64 %q0, [p]; mov.u32 %r0, %tid.x; mad.wide.u32 %q1, %r0, " +
      std::to_string(8 * stride) + ", %q0;\n";
  size_t at = 0;
  const auto registers = [&](size_t count, int width) {
    std::string list = "{";
    for (size_t i = 0; i < count; ++i)
      list +=
          (i == 0 ? "%" : ", %") + std::string(width == 64 ? "w" : "n") + std::to_string(at + i);
    return list + "}";
  };
  std::string operands;
  for (const auto* part : {&fa, &fb, &fc}) {
    const size_t count = (*part)[0].size();
    const int width = part == &fc ? c_bits : s.bits;
    operands += ", " + registers(count, width);
    for (size_t i = 0; i < count; ++i) {
      for (size_t lane = 0; lane < 32; ++lane) words[lane * stride + at + i] = (*part)[lane][i];
      text += std::string("ld.global.") + (width == 64 ? "b64 %w" : "b32 %n") +
              std::to_string(at + i) + ", [%q1+" + std::to_string(8 * (at + i)) + "];\n";
    }
    at += count;
  }
  text += "mma.sync.aligned." + opcode + " " + registers(nc, c_bits) + operands + ";\n";
  for (size_t i = 0; i < nc; ++i)
    text += std::string("st.global.") + (c_bits == 64 ? "b64 [%q1+" : "b32 [%q1+") +
            std::to_string(8 * (at + i)) + "], " + (c_bits == 64 ? "%w" : "%n") +
            std::to_string(at + i) + ";\n";
  std::vector<uint8_t> buffer(words.size() * 8);
  std::memcpy(buffer.data(), words.data(), buffer.size());
  const LaunchReport report = run_kernel(text + "ret;\n}\n", buffer, {1, 1, 1}, {32, 1, 1}, isa);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.counters.flops_matrix, opcode.find("f") == std::string::npos
                                              ? report.counters.flops_matrix
                                              : static_cast<uint64_t>(2 * s.m * 8 * s.k));
  std::memcpy(words.data(), buffer.data(), buffer.size());
  Elements d(static_cast<size_t>(s.m) * 8);
  const int per_register = c_bits >= 32 ? 1 : 32 / c_bits;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < c_elements; ++i) {
      const Position p = accumulator(lane / 4, lane % 4, i);
      const uint64_t word =
          words[static_cast<size_t>(lane) * stride + at + static_cast<size_t>(i / per_register)];
      d[static_cast<size_t>(p.row * 8 + p.column)] =
          (word >> (c_bits * (i % per_register) % 64)) &
          (c_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << c_bits) - 1);
    }
  }
  return d;
}

std::string shape_text(const Shape& s) {
  return "m" + std::to_string(s.m) + "n8k" + std::to_string(s.k) + ".row.col";
}

template <class Reference1>
void compare_all(const std::string& opcode, const Shape& s, const Elements& a, const Elements& b,
                 const Elements& c, int c_bits, Reference1 reference) {
  for (const char* isa : instruction_sets()) {
    Elements d;
    try {
      d = run(opcode, s, a, b, c, c_bits, isa);
    } catch (const SimError& error) {
      ADD_FAILURE() << opcode << ": " << error.what();
      return;
    }
    int wrong = 0;
    for (int row = 0; row < s.m; ++row) {
      for (int column = 0; column < 8; ++column) {
        const uint64_t expected = reference(row, column);
        const auto at = static_cast<size_t>(row * 8 + column);
        if (d[at] != expected && ++wrong < 4)
          ADD_FAILURE() << opcode << " on " << isa << " at " << row << ", " << column << ": "
                        << std::hex << d[at] << " instead of " << expected;
      }
    }
  }
}

Elements random_elements(size_t count, std::mt19937_64& random,
                         const std::function<uint64_t(std::mt19937_64&)>& value) {
  Elements x(count);
  for (uint64_t& v : x) v = value(random);
  return x;
}

TEST(SimMma, Integers) {
  std::mt19937_64 random(1);
  for (const Shape& s : kShapes) {
    if (s.bits > 8) continue;
    const uint64_t mask = (uint64_t{1} << s.bits) - 1;
    for (int types = 0; types < 4; ++types) {
      for (bool satfinite : {false, true}) {
        const bool sa = (types & 1) != 0, sb = (types & 2) != 0;
        const std::string w = std::to_string(s.bits);
        const auto value = [&](std::mt19937_64& r) {
          return r() % 4 == 0 ? (r() % 2 == 0 ? mask : (mask >> 1) + 1) : r() & mask;
        };
        const Elements a = random_elements(static_cast<size_t>(s.m * s.k), random, value),
                       b = random_elements(static_cast<size_t>(s.k) * 8, random, value);
        const Elements c =
            random_elements(static_cast<size_t>(s.m) * 8, random, [](std::mt19937_64& r) {
              return r() % 3 == 0   ? 0x7fffffffu - r() % 1000
                     : r() % 2 == 0 ? 0x80000000u + r() % 1000
                                    : r() & 0xffffffffu;
            });
        const auto element = [&](uint64_t x, bool sign) {
          return sign ? static_cast<int64_t>(x << (64 - s.bits)) >> (64 - s.bits)
                      : static_cast<int64_t>(x);
        };
        compare_all(shape_text(s) + (satfinite ? ".satfinite" : "") + ".s32." + (sa ? "s" : "u") +
                        w + "." + (sb ? "s" : "u") + w + ".s32",
                    s, a, b, c, 32, [&](int row, int column) {
                      int64_t sum = static_cast<int32_t>(c[static_cast<size_t>(row * 8 + column)]);
                      for (int q = 0; q < s.k; ++q)
                        sum += element(a[static_cast<size_t>(row * s.k + q)], sa) *
                               element(b[static_cast<size_t>(q * 8 + column)], sb);
                      if (satfinite)
                        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                      return static_cast<uint64_t>(sum) & 0xffffffffu;
                    });
      }
    }
  }
}

// Encodings with exponents within `reach` of 1, so that sums of products are exact in 53 bits.
std::function<uint64_t(std::mt19937_64&)> near_one(const Format& f, int reach, int dropped = 0) {
  return [=](std::mt19937_64& r) {
    const auto exponent = static_cast<uint64_t>(
        f.bias() - reach + static_cast<int>(r() % static_cast<uint64_t>(2 * reach + 1)));
    const uint64_t mantissa =
        r() & ((uint64_t{1} << f.mantissa_bits) - 1) & ~((uint64_t{1} << dropped) - 1);
    return (r() % 2 == 0 ? f.sign() : 0) | exponent << f.mantissa_bits | mantissa;
  };
}

void check_float(const std::string& types, const Shape& s, const Format& fa, const Format& fb,
                 const Format& fc, int shift, int reach, uint64_t seed, bool special) {
  std::mt19937_64 random(seed);
  Elements a = random_elements(static_cast<size_t>(s.m * s.k), random, near_one(fa, reach)),
           b = random_elements(static_cast<size_t>(s.k) * 8, random, near_one(fb, reach));
  Elements c = random_elements(static_cast<size_t>(s.m) * 8, random,
                               near_one(fc, reach, fc.mantissa_bits > 12 ? 8 : 0));
  if (special) {
    // Row 1: NaN in A; row 2: infinity in C; column 3: zeros in B with an infinity against them in
    // row 5.
    a[static_cast<size_t>(s.k + 1)] = fa.nan();
    c[2 * 8 + 1] = fc.infinity() | fc.sign();
    for (int q = 0; q < s.k; ++q) b[static_cast<size_t>(q * 8 + 3)] = 0;
    if (fa.infinities) a[static_cast<size_t>(5 * s.k)] = fa.infinity();
  }
  Elements wide_a = a, wide_b = b;
  // tf32 lies in the upper bits of a register; the lower 13 are ignored.
  for (uint64_t& x : wide_a) x = x << shift | (shift != 0 ? random() & 0x1fff : 0);
  for (uint64_t& x : wide_b) x = x << shift | (shift != 0 ? random() & 0x1fff : 0);
  compare_all(shape_text(s) + types, s, wide_a, wide_b, c, fc.bits(), [&](int row, int column) {
    Number total = decode(fc, c[static_cast<size_t>(row * 8 + column)]);
    for (int q = 0; q < s.k; ++q)
      total = sum(total,
                  product(decode(fa, a[static_cast<size_t>(row * s.k + q)]),
                          decode(fb, b[static_cast<size_t>(q * 8 + column)])),
                  Mode::rn);
    return encode(fc, total, Mode::rn);
  });
}

TEST(SimMma, FloatingPoint) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const bool special = seed % 3 == 0;
    for (int index : {0, 1}) {
      check_float(".f32.f16.f16.f32", kShapes[index], kF16, kF16, kF32, 0, 4, seed, special);
      check_float(".f16.f16.f16.f16", kShapes[index], kF16, kF16, kF16, 0, 4, seed, special);
      check_float(".f32.bf16.bf16.f32", kShapes[index], kBf16, kBf16, kF32, 0, 6, seed, special);
      check_float(".f32.tf32.tf32.f32", kShapes[index + 2], kTf32, kTf32, kF32, 13, 4, seed,
                  special);
    }
    struct Eight {
      const char* name;
      Format format;
    };
    const Eight eights[] = {{"e4m3", kE4m3}, {"e5m2", kE5m2}};
    for (int index : {5, 6}) {
      for (const Eight& ea : eights) {
        for (const Eight& eb : eights) {
          const std::string inputs = std::string(".") + ea.name + "." + eb.name;
          check_float(".f32" + inputs + ".f32", kShapes[index], ea.format, eb.format, kF32, 0, 5,
                      seed, special);
          check_float(".f16" + inputs + ".f16", kShapes[index], ea.format, eb.format, kF16, 0, 4,
                      seed, special);
        }
      }
    }
  }
}

// f64: the same as a chain of fused multiply-adds; here products and sums are exact.
TEST(SimMma, DoublePrecision) {
  for (size_t index = 10; index < 14; ++index) {
    const Shape& s = kShapes[index];
    std::mt19937_64 random(index);
    const auto value = near_one(kF64, 3, 34);
    const Elements a = random_elements(static_cast<size_t>(s.m * s.k), random, value),
                   b = random_elements(static_cast<size_t>(s.k) * 8, random, value),
                   c = random_elements(static_cast<size_t>(s.m) * 8, random, value);
    for (const char* rounding : {"", ".rn"}) {
      compare_all(shape_text(s) + rounding + ".f64.f64.f64.f64", s, a, b, c, 64,
                  [&](int row, int column) {
                    Number total = decode(kF64, c[static_cast<size_t>(row * 8 + column)]);
                    for (int q = 0; q < s.k; ++q)
                      total = sum(total,
                                  product(decode(kF64, a[static_cast<size_t>(row * s.k + q)]),
                                          decode(kF64, b[static_cast<size_t>(q * 8 + column)])),
                                  Mode::rn);
                    return encode(kF64, total, Mode::rn);
                  });
    }
  }
}

TEST(SimMma, OtherFormsAreRefused) {
  const Table one = cross("b64", {{0}});
  const auto body = [](const std::string& opcode, int a, int b, int c) {
    const auto list = [](int n, const char* prefix) {
      std::string text = "{";
      for (int i = 0; i < n; ++i)
        text += (i == 0 ? "" : ", ") + std::string(prefix) + std::to_string(i);
      return text + "}";
    };
    const char* wide = opcode.find("f64") != std::string::npos ? "%q" : "%r";
    return "mma.sync.aligned." + opcode + " " + list(c, wide) + ", " + list(a, wide) + ", " +
           list(b, wide) + ", " + list(c, wide) + "; mov.u64 %d, 0;";
  };
  refused(body("m16n8k16.row.row.f32.f16.f16.f32", 4, 2, 4), one, "b64", "row.col");
  refused(body("m16n8k16.row.col.f32.f16.f16.f32", 2, 1, 4), one, "b64", "number of registers");
  refused(body("m16n8k8.row.col.rz.f64.f64.f64.f64", 4, 2, 4), one, "b64", "nearest");
  refused(body("m16n8k16.row.col.satfinite.f32.f16.f16.f32", 4, 2, 4), one, "b64", "satfinite");
  refused(body("m16n8k16.row.col.f32.f16.bf16.f32", 4, 2, 4), one, "b64");
  // A warp that is not whole cannot execute it.
  std::vector<uint8_t> buffer(4);
  const std::string text =
      ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<16>;\nmov.u32 %r0, 0; mov.u32 %r1, 0; "
      "mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
      "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r0, %r1}, {%r2}, {%r0, "
      "%r1};\nret;\n}\n";
  const LaunchReport report = run_kernel(text, buffer, {1, 1, 1}, {31, 1, 1}, nullptr);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::divergent_barrier);
}

}  // namespace
}  // namespace mcc::sim::test
