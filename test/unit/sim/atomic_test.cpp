// atom and red (PTX ISA 9.7.13.5, 9.7.13.6) in global, shared and generic memory. With one host
// thread the simulator performs them in the order of the threads, so old values are checked too.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "test/unit/sim/exact.h"
#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

constexpr size_t kThreads = 96, kCells = 8;

enum class Place { global, generic_global, shared, generic_shared };
constexpr Place kPlaces[] = {Place::global, Place::generic_global, Place::shared,
                             Place::generic_shared};

struct Operation {
  std::string name;  // "add.u32"
  int width;         // of the cell
  std::function<uint64_t(uint64_t old, uint64_t x, uint64_t y, bool global)> f;
  bool three = false;  // cas
  bool returns_only = false;
};

// Buffer: cells (8 bytes each), x and y per thread (8 bytes each), old values (8 bytes each).
std::string kernel(const Operation& o, Place place, bool reduction) {
  const std::string w = std::to_string(o.width), reg = "b" + w;
  const bool shared = place == Place::shared || place == Place::generic_shared;
  const char* spaces[] = {".global", "", ".shared", ""};
  std::string text =
      ".visible .entry k(.param .u64 p) {\n.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %q<12>; "
      ".reg ." +
      reg + " %x, %y, %old;\n.shared .align 16 .b8 cells[" + std::to_string(8 * kCells) + "];\n";
  text +=
      "ld.param.u64 %q0, [p]; cvta.to.global.u64 %q0, %q0; mov.u32 %r0, %tid.x; setp.lt.u32 %p0, "
      "%r0, " +
      std::to_string(kCells) + ";\n";
  text += "mul.wide.u32 %q1, %r0, 8; add.u64 %q2, %q0, %q1;\n";  // q2: buffer + 8 * thread
  text += "mov.u64 %q8, cells; add.u64 %q9, %q8, %q1;\n";
  if (shared) text += "@%p0 ld.global.b64 %q3, [%q2]; @%p0 st.shared.b64 [%q9], %q3; bar.sync 0;\n";
  text += "ld.global." + reg + " %x, [%q2+" + std::to_string(8 * kCells) + "]; ld.global." + reg +
          " %y, [%q2+" + std::to_string(8 * (kCells + kThreads)) + "];\n";
  text += "rem.u32 %r1, %r0, " + std::to_string(kCells - 1) + "; mul.wide.u32 %q4, %r1, 8;\n";
  text += std::string(shared ? "add.u64 %q5, %q8, %q4;" : "add.u64 %q5, %q0, %q4;") +
          (place == Place::generic_shared ? " cvta.shared.u64 %q5, %q5;" : "") + "\n";
  const std::string operands = "[%q5], %x" + std::string(o.three ? ", %y;" : ";");
  if (reduction)
    text +=
        "red" + std::string(spaces[static_cast<int>(place)]) + "." + o.name + " " + operands + "\n";
  else
    text += "atom" + std::string(spaces[static_cast<int>(place)]) + "." + o.name + " %old, " +
            operands + " st.global." + reg + " [%q2+" +
            std::to_string(8 * (kCells + 2 * kThreads)) + "], %old;\n";
  if (shared) text += "bar.sync 0; @%p0 ld.shared.b64 %q3, [%q9]; @%p0 st.global.b64 [%q2], %q3;\n";
  return text + "ret;\n}\n";
}

void check_operation(const Operation& o, uint64_t seed,
                     const std::function<uint64_t(std::mt19937_64&)>& value) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> input(kCells + 3 * kThreads, 0);
  for (size_t i = 0; i < kCells + 2 * kThreads; ++i) input[i] = value(random);
  // Comparisons that succeed at times.
  for (size_t t = 0; t < kThreads && o.three; ++t)
    input[kCells + t] = random() % 2 == 0 ? input[t % (kCells - 1)] : random() % 4;
  const uint64_t mask = o.width == 64 ? ~uint64_t{0} : (uint64_t{1} << o.width) - 1;
  for (Place place : kPlaces) {
    const bool global = place == Place::global || place == Place::generic_global;
    for (bool reduction : {false, true}) {
      if (reduction && o.returns_only) continue;
      std::vector<uint64_t> expected = input;
      for (size_t t = 0; t < kThreads; ++t) {
        uint64_t& cell = expected[t % (kCells - 1)];
        if (!reduction) {
          uint64_t& old = expected[kCells + 2 * kThreads + t];
          old = (old & ~mask) | (cell & mask);
        }
        cell = (cell & ~mask) | (o.f(cell & mask, input[kCells + t] & mask,
                                     input[kCells + kThreads + t] & mask, global) &
                                 mask);
      }
      for (const char* isa : instruction_sets()) {
        std::vector<uint8_t> buffer(input.size() * 8);
        std::memcpy(buffer.data(), input.data(), buffer.size());
        LaunchOptions options;
        options.threads = 1;
        LaunchReport report;
        const std::string text = kernel(o, place, reduction);
        try {
          report = run_kernel(text, buffer, {1, 1, 1}, {kThreads, 1, 1}, isa, 0, options);
        } catch (const SimError& error) {
          ADD_FAILURE() << o.name << ": " << error.what();
          return;
        }
        EXPECT_TRUE(report.clean()) << o.name << "\n" << report.text() << text;
        std::vector<uint64_t> got(input.size());
        std::memcpy(got.data(), buffer.data(), buffer.size());
        const size_t at = static_cast<size_t>(
            std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin());
        if (at != got.size())
          ADD_FAILURE() << o.name << (reduction ? " red" : " atom") << " place "
                        << static_cast<int>(place) << " on " << isa << ": word " << at << " is "
                        << got[at] << " instead of " << expected[at];
      }
    }
  }
}

int64_t signed_of(uint64_t x, int width) {
  return static_cast<int64_t>(x << (64 - width)) >> (64 - width);
}

TEST(SimAtomic, Integers) {
  const auto any = [](std::mt19937_64& random) { return random() >> (random() % 60); };
  for (int width : {32, 64}) {
    const std::string w = std::to_string(width);
    const std::vector<Operation> operations = {
        {"add.u" + w, width, [](uint64_t old, uint64_t x, uint64_t, bool) { return old + x; }},
        {"min.u" + w, width,
         [](uint64_t old, uint64_t x, uint64_t, bool) { return std::min(old, x); }},
        {"max.u" + w, width,
         [](uint64_t old, uint64_t x, uint64_t, bool) { return std::max(old, x); }},
        {"min.s" + w, width,
         [=](uint64_t old, uint64_t x, uint64_t, bool) {
           return signed_of(old, width) < signed_of(x, width) ? old : x;
         }},
        {"max.s" + w, width,
         [=](uint64_t old, uint64_t x, uint64_t, bool) {
           return signed_of(old, width) > signed_of(x, width) ? old : x;
         }},
        {"and.b" + w, width, [](uint64_t old, uint64_t x, uint64_t, bool) { return old & x; }},
        {"or.b" + w, width, [](uint64_t old, uint64_t x, uint64_t, bool) { return old | x; }},
        {"xor.b" + w, width, [](uint64_t old, uint64_t x, uint64_t, bool) { return old ^ x; }},
        {"exch.b" + w, width, [](uint64_t, uint64_t x, uint64_t, bool) { return x; }, false, true},
        {"cas.b" + w, width,
         [](uint64_t old, uint64_t x, uint64_t y, bool) { return old == x ? y : old; }, true,
         true}};
    for (const Operation& o : operations) check_operation(o, 5, any);
  }
  check_operation({"add.s32", 32, [](uint64_t old, uint64_t x, uint64_t, bool) { return old + x; }},
                  6, any);
  check_operation(
      {"cas.b16", 16, [](uint64_t old, uint64_t x, uint64_t y, bool) { return old == x ? y : old; },
       true, true},
      7, any);
  const auto few = [](std::mt19937_64& random) { return random() % 6; };
  check_operation({"inc.u32", 32,
                   [](uint64_t old, uint64_t x, uint64_t, bool) { return old >= x ? 0 : old + 1; }},
                  8, few);
  check_operation(
      {"dec.u32", 32,
       [](uint64_t old, uint64_t x, uint64_t, bool) { return old == 0 || old > x ? x : old - 1; }},
      9, few);
}

uint64_t add(const Format& f, uint64_t a, uint64_t b) {
  return encode(f, sum(decode(f, a), decode(f, b), Mode::rn), Mode::rn);
}

TEST(SimAtomic, FloatingPoint) {
  // Encodings of all sizes, subnormals and infinities among them.
  const auto encoding = [](const Format& f) {
    return [f](std::mt19937_64& random) {
      const std::vector<uint64_t> special = special_values(f, 0);
      return random() % 3 == 0
                 ? special[random() % special.size()]
                 : (random() & (f.sign() - 1) & ~f.infinity()) | (random() & f.sign()) |
                       (static_cast<uint64_t>(f.bias() + static_cast<int>(random() % 9) - 4)
                        << f.mantissa_bits);
    };
  };
  for (uint64_t seed : Bits{1, 2, 3}) {
    // Global memory flushes subnormals; shared memory does not.
    check_operation({"add.f32", 32,
                     [](uint64_t old, uint64_t x, uint64_t, bool global) {
                       return global ? kF32.flushed(add(kF32, kF32.flushed(old), kF32.flushed(x)))
                                     : add(kF32, old, x);
                     }},
                    seed, encoding(kF32));
    // Double precision keeps no canonical NaN: operands here are finite.
    check_operation(
        {"add.f64", 64, [](uint64_t old, uint64_t x, uint64_t, bool) { return add(kF64, old, x); }},
        seed, [&](std::mt19937_64& random) {
          uint64_t x = encoding(kF64)(random);
          return (x & kF64.infinity()) >= kF64.infinity() - (uint64_t{8} << 52)
                     ? uint64_t{0x3ff0000000000001u}
                     : x;
        });
    check_operation({"add.noftz.f16", 16,
                     [](uint64_t old, uint64_t x, uint64_t, bool) { return add(kF16, old, x); }},
                    seed, encoding(kF16));
    check_operation({"add.noftz.bf16", 16,
                     [](uint64_t old, uint64_t x, uint64_t, bool) { return add(kBf16, old, x); }},
                    seed, encoding(kBf16));
    for (const Format& f : {kF16, kBf16}) {
      check_operation({f.exponent_bits == 5 ? "add.noftz.f16x2" : "add.noftz.bf16x2", 32,
                       [=](uint64_t old, uint64_t x, uint64_t, bool) {
                         return add(f, old & 0xffff, x & 0xffff) | add(f, old >> 16, x >> 16) << 16;
                       }},
                      seed, [&](std::mt19937_64& random) {
                        const uint64_t low = encoding(f)(random);
                        return low | encoding(f)(random) << 16;
                      });
    }
  }
}

// Sums of many blocks on several host threads, in pseudo-random orders: nothing is lost.
TEST(SimAtomic, NothingIsLostBetweenBlocks) {
  const std::string text =
      ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<4>; .reg .b64 %q<4>;\nld.param.u64 %q0, "
      "[p]; mov.u32 %r0, %tid.x; and.b32 %r0, %r0, 3; mul.wide.u32 %q1, %r0, 4; add.u64 %q1, %q0, "
      "%q1;\n"
      "red.relaxed.gpu.global.add.u32 [%q1], 1; atom.global.add.u32 %r1, [%q0+16], 3; ret;\n}\n";
  for (uint64_t seed : Bits{0, 1, 2}) {
    std::vector<uint8_t> buffer(20, 0);
    LaunchOptions options;
    options.threads = 2;
    options.seed = seed;
    const LaunchReport report =
        run_kernel(text, buffer, {40, 1, 1}, {96, 1, 1}, nullptr, 0, options);
    EXPECT_TRUE(report.clean()) << report.text();
    uint32_t cells[5];
    std::memcpy(cells, buffer.data(), 20);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(cells[i], 960u);
    EXPECT_EQ(cells[4], 40u * 96 * 3);
  }
}

TEST(SimAtomic, WhatDoesNotExistIsRefused) {
  const Table one = cross("b64", {{0}});
  for (const char* body : {"atom.global.mul.u32 %r0, [%a], %r1; mov.u64 %d, 0;",
                           "atom.global.and.f32 %r0, [%a], %r1; mov.u64 %d, 0;",
                           "atom.const.add.u32 %r0, [%a], %r1; mov.u64 %d, 0;",
                           "red.global.cas.b32 [%a], %r1, %r2; mov.u64 %d, 0;",
                           "red.global.exch.b32 [%a], %r1; mov.u64 %d, 0;"})
    refused(body, one, "b64");
}

}  // namespace
}  // namespace mcc::sim::test
