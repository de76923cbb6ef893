// Exchanges between the lanes of a warp (PTX ISA 9.7.9.6, 9.7.13): shfl, vote, match, redux, elect,
// activemask, against references over whole warps; and the findings about their member masks.
#include <gtest/gtest.h>

#include <algorithm>

#include "test/unit/sim/exact.h"
#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

// The 32 lanes of one warp: operands a, b, c of every lane, and which lanes exist.
struct Lanes {
  const uint64_t *a, *b, *c;
  uint32_t live;
  bool is_live(int lane) const { return ((live >> lane) & 1u) != 0; }
};
using LaneReference = std::function<uint64_t(const Lanes&, int lane)>;

// Consecutive rows are the lanes of a warp; the last warp may be partial.
void check_warps(const std::string& body, const Table& table, const std::string& out,
                 const LaneReference& reference) {
  Bits rows = every(table[0].bits.size());
  Table numbered = table;
  numbered.resize(3, {"b32", Bits(rows.size(), 0)});
  numbered.push_back({"b32", rows});
  check(body, numbered, out, [&](Row x) {
    const size_t row = x[3], first = row / 32 * 32,
                 count = std::min<size_t>(32, rows.size() - first);
    const Lanes lanes{&numbered[0].bits[first], &numbered[1].bits[first], &numbered[2].bits[first],
                      count == 32 ? ~0u : (1u << count) - 1};
    return reference(lanes, static_cast<int>(row - first));
  });
}

Table random_table(size_t rows, uint64_t limit_a, uint64_t limit_b, uint64_t seed = 3) {
  Table table = cross("b32", {{0}, {0}});
  for (Column& column : table) column.bits.clear();
  add_random(table, rows, seed);
  for (uint64_t& x : table[0].bits) x %= limit_a;
  for (uint64_t& x : table[1].bits) x %= limit_b;
  return table;
}
constexpr uint64_t kAll = uint64_t{1} << 32;

// The pseudo-code of the PTX ISA for shfl.sync.
TEST(SimWarp, Shuffle) {
  Table table = random_table(224 * 4, kAll, 64);
  table.push_back(table[0]);
  for (const char* mode : {"up", "down", "bfly", "idx"}) {
    for (uint64_t c :
         Bits{0x1f, 0, 0x1c1f, 0x1c00, 0x181f, 0x1800, 0x101f, 0x1000, 0x1e01, 0x0c0a, 0x1f1f, 7}) {
      const std::string name = mode;
      check_warps(
          "shfl.sync." + name + ".b32 %r0|%p0, %a, %b, " + std::to_string(c) +
              ", 0xffffffff; selp.u32 %r1, 1, 0, %p0; mov.b64 %d, {%r0, %r1};",
          table, "b64", [&](const Lanes& l, int lane) {
            const int segment = static_cast<int>(c >> 8) & 31,
                      bval = static_cast<int>(l.b[lane]) & 31, cval = static_cast<int>(c) & 31;
            const int most = (lane & segment) | (cval & ~segment & 31), least = lane & segment;
            int from = 0;
            bool ok = false;
            if (name == "up") from = lane - bval, ok = from >= most;
            if (name == "down") from = lane + bval, ok = from <= most;
            if (name == "bfly") from = lane ^ bval, ok = from <= most;
            if (name == "idx") from = least | (bval & ~segment), ok = from <= most;
            if (!ok) from = lane;
            return l.a[from] | static_cast<uint64_t>(ok) << 32;
          });
    }
  }
  // Only odd lanes take part; the even ones keep what they have. Source and result are one
  // register.
  check_warps(
      "and.b32 %r1, %e, 1; setp.ne.u32 %p0, %r1, 0; mov.b32 %r0, %a; @%p0 shfl.sync.bfly.b32 %r0, "
      "%r0, 2, 0x1f, 0xaaaaaaaa; mov.b32 %d, %r0;",
      table, "b32",
      [](const Lanes& l, int lane) { return l.a[(lane & 1) != 0 ? lane ^ 2 : lane]; });
}

TEST(SimWarp, Vote) {
  // The limit makes whole warps of ones and zeros likely.
  for (uint64_t limit : Bits{1, 2, 40}) {
    Table table = random_table(32 * 60 + 11, limit, 2);
    for (size_t i = 0; i < table[0].bits.size(); ++i)
      table[0].bits[i] = i / 32 % 3 == 0 ? 1 : table[0].bits[i];
    for (bool negate : {false, true}) {
      const std::string load = "setp.ne.u32 %p1, %a, 0; ", p = negate ? "!%p1" : "%p1",
                        store = " selp.u32 %d, 1, 0, %p0;";
      const auto votes = [=](const Lanes& l) {
        uint32_t mask = 0;
        for (int i = 0; i < 32; ++i) mask |= l.is_live(i) && (l.a[i] != 0) != negate ? 1u << i : 0u;
        return mask;
      };
      check_warps(load + "vote.sync.all.pred %p0, " + p + ", 0xffffffff;" + store, table, "b32",
                  [&](const Lanes& l, int) { return votes(l) == l.live ? 1u : 0u; });
      check_warps(load + "vote.sync.any.pred %p0, " + p + ", 0xffffffff;" + store, table, "b32",
                  [&](const Lanes& l, int) { return votes(l) != 0 ? 1u : 0u; });
      check_warps(
          load + "vote.sync.uni.pred %p0, " + p + ", 0xffffffff;" + store, table, "b32",
          [&](const Lanes& l, int) { return votes(l) == 0 || votes(l) == l.live ? 1u : 0u; });
      check_warps(load + "vote.sync.ballot.b32 %d, " + p + ", 0xffffffff;", table, "b32",
                  [&](const Lanes& l, int) { return votes(l); });
    }
  }
  // Two disjoint groups vote on their own.
  const Table table = random_table(32 * 20, 2, 2);
  check_warps(
      "setp.ne.u32 %p1, %a, 0; and.b32 %r1, %e, 4; setp.eq.u32 %p0, %r1, 0; @!%p0 bra high;\n"
      "vote.sync.ballot.b32 %d, %p1, 0x0f0f0f0f; bra done;\n"
      "high: vote.sync.ballot.b32 %d, %p1, 0xf0f0f0f0;\ndone:",
      table, "b32", [](const Lanes& l, int lane) {
        uint32_t mask = 0;
        for (int i = 0; i < 32; ++i) mask |= (i & 4) == (lane & 4) && l.a[i] != 0 ? 1u << i : 0u;
        return mask;
      });
}

TEST(SimWarp, Match) {
  for (uint64_t limit : Bits{1, 2, 5, kAll}) {
    Table table = random_table(32 * 20 + 9, limit, 2), wide = table;
    wide[0].type = "b64";
    for (size_t i = 0; i < wide[0].bits.size(); ++i)
      wide[0].bits[i] |= (i % 7 == 0 ? uint64_t{1} : 0) << 40;
    for (const Table* t : {&table, &wide}) {
      const std::string type = t == &table ? ".b32" : ".b64";
      check_warps("match.any.sync" + type + " %d, %a, 0xffffffff;", *t, "b32",
                  [](const Lanes& l, int lane) {
                    uint32_t mask = 0;
                    for (int i = 0; i < 32; ++i)
                      mask |= l.is_live(i) && l.a[i] == l.a[lane] ? 1u << i : 0u;
                    return mask;
                  });
      check_warps("match.all.sync" + type +
                      " %r0|%p0, %a, 0xffffffff; selp.u32 %r1, 1, 0, %p0; mov.b64 %d, {%r0, %r1};",
                  *t, "b64", [](const Lanes& l, int) {
                    bool same = true;
                    for (int i = 0; i < 32; ++i) same = same && (!l.is_live(i) || l.a[i] == l.a[0]);
                    return same ? l.live | uint64_t{1} << 32 : uint64_t{0};
                  });
    }
  }
}

TEST(SimWarp, Reduction) {
  const Table table = random_table(32 * 30 + 21, kAll, 2);
  struct Operation {
    const char* name;
    uint32_t (*f)(uint32_t, uint32_t);
  };
  const Operation operations[] = {
      {"add.u32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"add.s32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
      {"max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }},
      {"min.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
       }},
      {"max.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<int32_t>(a) > static_cast<int32_t>(b) ? a : b;
       }},
      {"and.b32", [](uint32_t a, uint32_t b) { return a & b; }},
      {"or.b32", [](uint32_t a, uint32_t b) { return a | b; }},
      {"xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; }}};
  for (const Operation& o : operations) {
    const auto fold = [&](const Lanes& l, uint32_t mask) {
      bool first = true;
      uint32_t total = 0;
      for (int i = 0; i < 32; ++i) {
        if (((mask >> i) & 1u) == 0) continue;
        total = first ? static_cast<uint32_t>(l.a[i]) : o.f(total, static_cast<uint32_t>(l.a[i]));
        first = false;
      }
      return total;
    };
    check_warps(std::string("redux.sync.") + o.name + " %d, %a, 0xffffffff;", table, "b32",
                [&](const Lanes& l, int) { return fold(l, l.live); });
    check_warps("and.b32 %r1, %e, 1; setp.ne.u32 %p0, %r1, 0; mov.b32 %d, 7; @%p0 redux.sync." +
                    std::string(o.name) + " %d, %a, 0xaaaaaaaa;",
                table, "b32", [&](const Lanes& l, int lane) {
                  return (lane & 1) != 0 ? fold(l, l.live & 0xaaaaaaaau) : 7;
                });
  }
  Table floats = cross("b32", {special_values(kF32, 300)});
  for (size_t i = 0; i < floats[0].bits.size(); ++i) {
    if (i / 32 % 3 != 0 && kF32.is_nan(floats[0].bits[i])) floats[0].bits[i] = 0x3f800000u + i;
  }
  for (size_t i = 0; i < 32; ++i)
    floats[0].bits.insert(floats[0].bits.begin(), 0xffc00001u);  // a warp of NaN only
  for (int variant = 0; variant < 8; ++variant) {
    const bool max = (variant & 1) != 0, nan = (variant & 2) != 0, absolute = (variant & 4) != 0;
    check_warps(std::string("redux.sync.") + (max ? "max" : "min") + (absolute ? ".abs" : "") +
                    (nan ? ".NaN" : "") + ".f32 %d, %a, 0xffffffff;",
                floats, "b32", [=](const Lanes& l, int) {
                  uint64_t best = kF32.nan();
                  for (int i = 0; i < 32; ++i) {
                    if (!l.is_live(i)) continue;
                    const uint64_t x = absolute ? l.a[i] & ~kF32.sign() : l.a[i];
                    if (kF32.is_nan(x)) {
                      if (nan) return kF32.nan();
                      continue;
                    }
                    if (kF32.is_nan(best)) best = x;
                    const int order = compare(decode(kF32, x), decode(kF32, best));
                    const bool equal_wins = max == ((x & kF32.sign()) == 0);
                    if (max ? order > 0 : order < 0) best = x;
                    if (order == 0 && equal_wins) best = x;
                  }
                  return best;
                });
  }
}

TEST(SimWarp, ElectAndActivemask) {
  const Table table = random_table(32 * 3 + 5, kAll, 2);
  check_warps("elect.sync %r0|%p0, 0xffffffff; selp.u32 %r1, 1, 0, %p0; mov.b64 %d, {%r0, %r1};",
              table, "b64",
              [](const Lanes&, int lane) { return lane == 0 ? uint64_t{1} << 32 : 0; });
  check_warps(
      "and.b32 %r1, %e, 31; setp.ge.u32 %p1, %r1, 3; mov.b32 %d, 5; @%p1 elect.sync _|%p0, "
      "0xfffffff8; @%p1 selp.u32 %d, 1, 0, %p0;",
      table, "b32", [](const Lanes&, int lane) { return lane < 3    ? 5
                                                        : lane == 3 ? 1
                                                                    : 0; });
  check_warps("activemask.b32 %d;", table, "b32", [](const Lanes& l, int) { return l.live; });
  check_warps(
      "and.b32 %r1, %e, 1; setp.ne.u32 %p0, %r1, 0; mov.b32 %d, 0; @%p0 bra odd; bra done; odd: "
      "activemask.b32 %d; done:",
      table, "b32",
      [](const Lanes& l, int lane) { return (lane & 1) != 0 ? l.live & 0xaaaaaaaau : 0; });
}

// What a wrong member mask does on hardware is a hang or garbage: here it is a finding.
TEST(SimWarp, MemberMasksAreChecked) {
  const std::string head =
      ".visible .entry k(.param .u64 p) {\n.reg .pred %p<4>; .reg .b32 %r<8>;\nmov.u32 %r0, "
      "%tid.x; setp.lt.u32 %p0, %r0, 8;\n";
  struct Case {
    const char* body;
    FindingKind kind;
    const char* message;
  };
  const Case cases[] = {{"@%p0 shfl.sync.idx.b32 %r1, %r0, 0, 31, 0x7f;",
                         FindingKind::divergent_barrier, "not in the member mask"},
                        {"@%p0 vote.sync.ballot.b32 %r1, %p0, 0x1ff;",
                         FindingKind::divergent_barrier, "named in the member mask"},
                        {"@%p0 shfl.sync.idx.b32 %r1, %r0, 9, 31, 0xff;",
                         FindingKind::uninitialised_read, "does not take part"}};
  for (const Case& c : cases) {
    std::vector<uint8_t> buffer(4);
    const LaunchReport report =
        run_kernel(head + c.body + "\nret;\n}", buffer, {1, 1, 1}, {32, 1, 1}, nullptr);
    ASSERT_EQ(report.findings.size(), 1u) << c.body;
    EXPECT_EQ(report.findings[0].kind, c.kind);
    EXPECT_EQ(report.findings[0].ptx_line, 7);
    EXPECT_NE(report.findings[0].message.find(c.message), std::string::npos) << report.text();
  }
}

}  // namespace
}  // namespace mcc::sim::test
