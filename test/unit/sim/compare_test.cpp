// set, setp, selp and slct (PTX ISA 9.7.6, 9.7.7): all comparisons and types, against exact order.
#include <gtest/gtest.h>

#include "test/unit/sim/exact.h"
#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

// The comparison by name for an order of -1, 0, 1, or 2 for unordered.
bool holds(const std::string& name, int order) {
  if (name == "num") return order != 2;
  if (name == "nan") return order == 2;
  const bool unordered = name.size() == 3;  // equ, neu, ltu...
  if (order == 2) return unordered;
  const std::string base = name.substr(0, 2);
  if (base == "eq") return order == 0;
  if (base == "ne") return order != 0;
  if (base == "lt" || base == "lo") return order < 0;
  if (base == "le" || base == "ls") return order <= 0;
  if (base == "gt" || base == "hi") return order > 0;
  return order >= 0;  // ge, hs
}

int order_of(const Format& f, uint64_t a, uint64_t b, bool ftz = false) {
  if (f.is_nan(a) || f.is_nan(b)) return 2;
  return ftz ? compare(decode(f, f.flushed(a)), decode(f, f.flushed(b)))
             : compare(decode(f, a), decode(f, b));
}

const std::vector<std::string> kOrdered = {"eq", "ne", "lt", "le", "gt", "ge"};
const std::vector<std::string> kFloating = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                            "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
const std::string kStore = " selp.u32 %d, 1, 0, %p0;";
// Both results of setp: bits 0 and 1.
const std::string kStoreTwo =
    " selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 2, 0, %p1; or.b32 %d, %r0, %r1;";

TEST(SimCompare, Integers) {
  for (int width : {16, 32, 64}) {
    Table table = cross("b" + std::to_string(width), {integers(width), integers(width)});
    add_random(table, 300);
    for (const char* kind : {"u", "s", "b"}) {
      const auto order = [&](Row x) {
        const uint64_t flip = kind[0] == 's' ? uint64_t{1} << (width - 1) : 0, a = x[0] ^ flip,
                       b = x[1] ^ flip;
        return a < b ? -1 : a > b ? 1 : 0;
      };
      std::vector<std::string> names = kOrdered;
      if (kind[0] == 'u') names.insert(names.end(), {"lo", "ls", "hi", "hs"});
      if (kind[0] == 'b') names = {"eq", "ne"};
      for (const std::string& name : names) {
        const std::string type = std::string(".") + kind + std::to_string(width);
        check("setp." + name + type + " %p0, %a, %b;" + kStore, table, "b32",
              [&](Row x) { return holds(name, order(x)) ? 1u : 0u; });
        check("set." + name + ".u32" + type + " %d, %a, %b;", table, "b32",
              [&](Row x) { return holds(name, order(x)) ? 0xffffffffu : 0u; });
        check("set." + name + ".f32" + type + " %d, %a, %b;", table, "b32",
              [&](Row x) { return holds(name, order(x)) ? 0x3f800000u : 0u; });
      }
    }
  }
}

TEST(SimCompare, Floats) {
  struct Float {
    const char* name;
    Format format;
    const char* bits;
  };
  for (const Float& p : {Float{"f32", kF32, "b32"},
                         {"f64", kF64, "b64"},
                         {"f16", kF16, "b16"},
                         {"bf16", kBf16, "b16"}}) {
    Table table = cross(p.bits, {special_values(p.format, 8), special_values(p.format, 8)});
    add_random(table, 300);
    for (const std::string& name : kFloating) {
      for (bool ftz : {false, true}) {
        if (ftz && p.format.exponent_bits + p.format.mantissa_bits != 31 &&
            p.format.exponent_bits != 5)
          continue;
        const std::string type = std::string(ftz ? ".ftz" : "");
        const auto truth = [&](Row x) { return holds(name, order_of(p.format, x[0], x[1], ftz)); };
        check("setp." + name + type + "." + p.name + " %p0, %a, %b;" + kStore, table, "b32",
              [&](Row x) { return truth(x) ? 1u : 0u; });
        check("set." + name + type + ".s32." + p.name + " %d, %a, %b;", table, "b32",
              [&](Row x) { return truth(x) ? 0xffffffffu : 0u; });
        if (p.format.bits() != 16) {
          check("set." + name + type + ".f32." + p.name + " %d, %a, %b;", table, "b32",
                [&](Row x) { return truth(x) ? 0x3f800000u : 0u; });
          check("set." + name + type + ".f16." + p.name + " %d, %a, %b;", table, "b16",
                [&](Row x) { return truth(x) ? 0x3c00u : 0u; });
        } else {
          check("set." + name + type + "." + p.name + "." + p.name + " %d, %a, %b;", table, "b16",
                [&](Row x) {
                  return truth(x) ? (p.format.exponent_bits == 5 ? 0x3c00u : 0x3f80u) : 0u;
                });
          check("set." + name + type + ".u16." + p.name + " %d, %a, %b;", table, "b16",
                [&](Row x) { return truth(x) ? 0xffffu : 0u; });
        }
      }
    }
  }
}

TEST(SimCompare, HalfPairs) {
  struct Half {
    const char* name;
    Format format;
    uint64_t one;
  };
  for (const Half& h : {Half{"f16x2", kF16, 0x3c00}, {"bf16x2", kBf16, 0x3f80}}) {
    Table table = cross("b32", {special_values(h.format, 8), special_values(h.format, 8)});
    for (Column& column : table) {
      const Bits low = column.bits;
      for (size_t i = 0; i < low.size(); ++i)
        column.bits[i] = low[i] | low[(i * 7 + 13) % low.size()] << 16;
    }
    for (const std::string& name : kFloating) {
      const auto truth = [&](Row x, int half) {
        return holds(name, order_of(h.format, (x[0] >> half) & 0xffff, (x[1] >> half) & 0xffff));
      };
      const std::string type = std::string(".") + h.name;
      check("setp." + name + type + " %p0|%p1, %a, %b;" + kStoreTwo, table, "b32",
            [&](Row x) { return (truth(x, 0) ? 1u : 0u) + (truth(x, 16) ? 2u : 0u); });
      check("set." + name + ".u32" + type + " %d, %a, %b;", table, "b32", [&](Row x) {
        return (truth(x, 0) ? 0xffffu : 0u) + (truth(x, 16) ? 0xffff0000u : 0u);
      });
      check("set." + name + type + type + " %d, %a, %b;", table, "b32",
            [&](Row x) { return (truth(x, 0) ? h.one : 0) + (truth(x, 16) ? h.one << 16 : 0); });
      check("setp.ne.u32 %p2, %a, 0; setp." + name + ".and" + type + " %p0|%p1, %a, %b, %p2;" +
                kStoreTwo,
            table, "b32", [&](Row x) {
              return x[0] == 0 ? 0u : (truth(x, 0) ? 1u : 0u) + (truth(x, 16) ? 2u : 0u);
            });
    }
  }
}

// p = (a cmp b) op c, q = !(a cmp b) op c, with c as it is or negated.
TEST(SimCompare, BooleanCombination) {
  const Table table = cross("b32", {{1, 2, 0x7fc00000u}, {1, 2, 3}, {0, 1}});
  struct Operation {
    const char* name;
    bool (*f)(bool, bool);
  };
  const Operation operations[] = {{"and", [](bool a, bool b) { return a && b; }},
                                  {"or", [](bool a, bool b) { return a || b; }},
                                  {"xor", [](bool a, bool b) { return a != b; }}};
  for (const Operation& o : operations) {
    for (bool negate : {false, true}) {
      const std::string c = negate ? "!%p2" : "%p2", load = "setp.ne.u32 %p2, %c, 0; ";
      const auto other = [&](Row x) { return (x[2] != 0) != negate; };
      check(load + "setp.lt." + o.name + ".s32 %p0|%p1, %a, %b, " + c + ";" + kStoreTwo, table,
            "b32", [&](Row x) {
              const bool t = static_cast<int32_t>(x[0]) < static_cast<int32_t>(x[1]);
              return (o.f(t, other(x)) ? 1u : 0u) + (o.f(!t, other(x)) ? 2u : 0u);
            });
      check(
          load + "setp.geu." + o.name + ".f32 %p0, %a, %b, " + c + ";" + kStore, table, "b32",
          [&](Row x) { return o.f(holds("geu", order_of(kF32, x[0], x[1])), other(x)) ? 1u : 0u; });
      check(load + "set.eq." + o.name + ".u32.u32 %d, %a, %b, " + c + ";", table, "b32",
            [&](Row x) { return o.f(x[0] == x[1], other(x)) ? 0xffffffffu : 0u; });
    }
  }
  // A guard keeps the old predicate; the sink takes the first or second result.
  check(
      "setp.eq.u32 %p0, %c, 0; mov.pred %p1, %p0; @%p0 setp.lt.u32 %p1, %a, %b; selp.u32 %d, 1, 0, "
      "%p1;",
      table, "b32", [](Row x) { return x[2] == 0 && x[0] < x[1] ? 1u : 0u; });
  check("setp.lt.u32 _|%p0, %a, %b;" + kStore, table, "b32",
        [](Row x) { return x[0] < x[1] ? 0u : 1u; });
}

TEST(SimCompare, Selection) {
  for (int width : {16, 32, 64}) {
    const std::string w = std::to_string(width), bits = "b" + w;
    for (const char* kind : {"b", "u", "s", "f"}) {
      if (kind[0] == 'f' && width == 16) continue;
      const std::string type = kind + w;
      const Table table = cross({bits, bits, "b32"}, {integers(width), {3, 0x8000}, {0, 1}});
      check("setp.ne.u32 %p0, %c, 0; selp." + type + " %d, %a, %b, %p0;", table, bits,
            [](Row x) { return x[2] != 0 ? x[0] : x[1]; });
      check("setp.ne.u32 %p0, %c, 0; selp." + type + " %d, %a, %b, !%p0;", table, bits,
            [](Row x) { return x[2] != 0 ? x[1] : x[0]; });
      const Table signs = cross({bits, bits, "b32"}, {{5, 0x7fff}, {3, 0x8000}, integers(32)});
      check("slct." + type + ".s32 %d, %a, %b, %c;", signs, bits,
            [](Row x) { return static_cast<int32_t>(x[2]) >= 0 ? x[0] : x[1]; });
      const Table floats =
          cross({bits, bits, "b32"}, {{5, 0x7fff}, {3, 0x8000}, special_values(kF32, 4)});
      for (bool ftz : {false, true}) {
        check("slct." + std::string(ftz ? "ftz." : "") + type + ".f32 %d, %a, %b, %c;", floats,
              bits, [&](Row x) {
                const uint64_t c = ftz ? kF32.flushed(x[2]) : x[2];
                return !kF32.is_nan(c) && compare(decode(kF32, c), from_integer(0)) >= 0 ? x[0]
                                                                                         : x[1];
              });
      }
    }
  }
}

TEST(SimCompare, BitTypesHaveNoOrder) {
  refused("setp.lt.b32 %p0, %a, %b;" + kStore, cross("b32", {{0}, {0}}), "b32", "eq and ne");
}

}  // namespace
}  // namespace mcc::sim::test
