// Control flow: loops and divergence, indexed branches, calls by the .param ABI, recursion,
// indirect calls, local memory of frames; printf, assertions and traps.
#include <gtest/gtest.h>

#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

// Runs the kernel over one word per thread (in and out) and returns the words.
std::vector<uint32_t> run(const std::string& text, std::vector<uint32_t> words, const char* isa,
                          LaunchReport* out = nullptr, uint64_t seed = 0) {
  std::vector<uint8_t> buffer(words.size() * 4);
  std::memcpy(buffer.data(), words.data(), buffer.size());
  LaunchOptions options;
  options.seed = seed;
  const LaunchReport report = run_kernel(
      text, buffer, {1, 1, 1}, {static_cast<uint32_t>(words.size()), 1, 1}, isa, 0, options);
  if (out != nullptr)
    *out = report;
  else
    EXPECT_TRUE(report.clean()) << report.text();
  std::memcpy(words.data(), buffer.data(), buffer.size());
  return words;
}
const std::string kHead =
    ".visible .entry k(.param .u64 p) {\n.reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %q<12>; "
    ".reg .f32 %f<4>;\nld.param.u64 %q0, [p]; mov.u32 %r0, %tid.x; mad.wide.u32 %q1, %r0, 4, %q0; "
    "ld.global.u32 %r1, [%q1];\n";
const std::string kTail = "st.global.u32 [%q1], %r2; ret;\n}\n";
std::vector<uint32_t> inputs(size_t count, uint32_t step = 1) {
  std::vector<uint32_t> words(count);
  for (size_t i = 0; i < count; ++i) words[i] = static_cast<uint32_t>(i) * step;
  return words;
}
void expect_words(const std::string& text, const std::vector<uint32_t>& in,
                  const std::function<uint32_t(uint32_t)>& reference) {
  for (const char* isa : instruction_sets()) {
    for (uint64_t seed : {0, 1}) {
      const std::vector<uint32_t> got = run(text, in, isa, nullptr, seed);
      for (size_t i = 0; i < in.size(); ++i)
        ASSERT_EQ(got[i], reference(in[i])) << "input " << in[i] << " on " << isa;
    }
  }
}

TEST(SimFlow, LoopsWithDifferentTripCounts) {
  // Steps of the Collatz sequence: branches inside a loop that lanes leave one by one.
  const std::string body =
      "mov.u32 %r2, 0;\nloop: setp.le.u32 %p0, %r1, 1; @%p0 bra done; and.b32 %r3, %r1, 1; "
      "setp.eq.u32 %p1, %r3, 0; @%p1 bra even; mad.lo.u32 %r1, %r1, 3, 1; bra next;\neven: shr.u32 "
      "%r1, %r1, 1;\nnext: add.u32 %r2, %r2, 1; bra loop;\ndone: ";
  expect_words(kHead + body + kTail, inputs(107), [](uint32_t x) {
    uint32_t steps = 0;
    for (; x > 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    return steps;
  });
}

TEST(SimFlow, NestedDivergenceReconverges) {
  // After the branches all lanes vote together: they have met again.
  const std::string body =
      "and.b32 %r3, %r1, 1; setp.ne.u32 %p0, %r3, 0; and.b32 %r3, %r1, 2; setp.ne.u32 %p1, %r3, 0; "
      "mov.u32 %r2, 0;\n@%p0 bra a; @%p1 bra b; add.u32 %r2, %r2, 1; bra c;\nb: add.u32 %r2, %r2, "
      "2; bra c;\na: add.u32 %r2, %r2, 4; @%p1 bra d; add.u32 %r2, %r2, 8; bra c;\nd: add.u32 %r2, "
      "%r2, 16;\n"
      "c: vote.sync.ballot.b32 %r4, %p0, 0xffffffff; popc.b32 %r4, %r4; mad.lo.u32 %r2, %r4, 100, "
      "%r2;\n";
  expect_words(kHead + body + kTail, inputs(64), [](uint32_t x) {
    return 1600 + ((x & 1) != 0 ? ((x & 2) != 0 ? 20u : 12u) : (x & 2) != 0 ? 2u : 1u);
  });
}

TEST(SimFlow, IndexedBranch) {
  const std::string body =
      "and.b32 %r3, %r1, 3; setp.lt.u32 %p0, %r1, 60; mov.u32 %r2, 99;\ntargets: .branchtargets "
      "one, two, three, two;\n@%p0 brx.idx %r3, targets; bra done;\none: mov.u32 %r2, 1; bra "
      "done;\ntwo: mov.u32 %r2, 2; bra done;\nthree: mov.u32 %r2, 3;\ndone: ";
  expect_words(kHead + body + kTail, inputs(64), [](uint32_t x) {
    return x >= 60 ? 99u : x % 4 == 0 ? 1u : x % 4 == 2 ? 3u : 2u;
  });
}

TEST(SimFlow, PredicatedExit) {
  LaunchReport report;
  const std::vector<uint32_t> got = run(kHead +
                                            "mov.u32 %r2, 5; setp.lt.u32 %p0, %r1, 10; @%p0 exit; "
                                            "setp.gt.u32 %p1, %r1, 40; @%p1 ret;\n" +
                                            kTail,
                                        inputs(64), nullptr, &report);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i < 10 || i > 40 ? i : 5);
  EXPECT_TRUE(report.clean());
}

const std::string kFunctions =
    // Two values in, a pair out; a second result by an early return.
    ".func (.param .align 8 .b8 result[8]) divide(.param .b32 a, .param .b32 b) {\n.reg .b32 "
    "%r<6>; .reg .pred %p<2>;\nld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; setp.eq.u32 %p0, %r2, "
    "0; @%p0 bra zero; div.u32 %r3, %r1, %r2; rem.u32 %r4, %r1, %r2; st.param.b32 [result], %r3; "
    "st.param.b32 [result+4], %r4; ret;\n"
    "zero: st.param.v2.b32 [result], {7, 8}; ret;\n}\n"
    ".func (.param .b32 result) factorial(.param .b32 n) {\n.reg .b32 %r<6>; .reg .pred "
    "%p<2>;\nld.param.u32 %r1, [n]; setp.gt.u32 %p0, %r1, 1; @%p0 bra more; st.param.b32 [result], "
    "1; ret;\nmore: sub.u32 %r2, %r1, 1;\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; "
    "call.uni (y), factorial, (x); ld.param.b32 %r3, [y]; }\n"
    "mul.lo.u32 %r4, %r1, %r3; st.param.b32 [result], %r4; ret;\n}\n"
    // Sums its own local array, filled in a loop.
    ".func (.param .b32 result) triangle(.param .b32 n) {\n.reg .b32 %r<8>; .reg .b64 %q<6>; .reg "
    ".pred %p<2>; .local .align 4 .b8 array[64];\nld.param.u32 %r1, [n]; mov.u64 %q1, array; "
    "mov.u32 %r2, 0; mov.u32 %r3, 0;\nfill: mad.wide.u32 %q2, %r2, 4, %q1; st.local.u32 [%q2], "
    "%r2; add.u32 %r2, %r2, 1; setp.le.u32 %p0, %r2, %r1; @%p0 bra fill;\n"
    "cvta.local.u64 %q3, %q1; mov.u32 %r2, 0;\nsum: mad.wide.u32 %q2, %r2, 4, %q3; ld.u32 %r4, "
    "[%q2]; add.u32 %r3, %r3, %r4; add.u32 %r2, %r2, 1; setp.le.u32 %p0, %r2, %r1; @%p0 bra "
    "sum;\nst.param.b32 [result], %r3; ret;\n}\n";

TEST(SimCall, ResultsAndEarlyReturns) {
  const std::string body =
      "rem.u32 %r3, %r1, 5;\n{ .param .b32 x; .param .b32 y; .param .align 8 .b8 z[8]; "
      "st.param.b32 [x], %r1; st.param.b32 [y], %r3; call (z), divide, (x, y); ld.param.v2.b32 "
      "{%r4, %r5}, [z]; }\nmad.lo.u32 %r2, %r4, 1000, %r5;\n";
  expect_words(kFunctions + kHead + body + kTail, inputs(75),
               [](uint32_t x) { return x % 5 == 0 ? 7008 : x / (x % 5) * 1000 + x % (x % 5); });
}

TEST(SimCall, OnlySomeLanesCall) {
  const std::string call =
      "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; @%p0 call (y), triangle, (x); "
      "ld.param.b32 %r6, [y]; @%p0 mov.b32 %r2, %r6; }\n";
  expect_words(kFunctions + kHead +
                   "rem.u32 %r3, %r1, 7; mov.u32 %r2, 500; setp.gt.u32 %p0, %r3, 2;\n" + call +
                   kTail,
               inputs(75), [](uint32_t x) { return x % 7 > 2 ? x % 7 * (x % 7 + 1) / 2 : 500; });
  // Calls on diverged paths, and a local array in the caller that the callee does not touch.
  const std::string body =
      ".local .align 4 .b8 mine[16]; mov.u64 %q4, mine; st.local.u32 [%q4+4], %r1; rem.u32 %r3, "
      "%r1, 7; and.b32 %r4, %r1, 1; setp.ne.u32 %p0, %r4, 0; @%p0 bra odd;\n"
      "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; call (y), triangle, (x); "
      "ld.param.b32 %r2, [y]; }\nbra done;\nodd:\n{ .param .b32 x; .param .b32 y; st.param.b32 "
      "[x], %r3; call (y), factorial, (x); ld.param.b32 %r2, [y]; }\n"
      "done: ld.local.u32 %r5, [%q4+4]; add.u32 %r2, %r2, %r5;\n";
  expect_words(kFunctions + kHead + body + kTail, inputs(75), [](uint32_t x) {
    uint32_t f = 1;
    for (uint32_t i = 2; i <= x % 7; ++i) f *= i;
    return x + (x % 2 != 0 ? f : x % 7 * (x % 7 + 1) / 2);
  });
}

TEST(SimCall, Recursion) {
  expect_words(kFunctions + kHead +
                   "rem.u32 %r3, %r1, 13;\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; "
                   "call (y), factorial, (x); ld.param.b32 %r2, [y]; }\n" +
                   kTail,
               inputs(64), [](uint32_t x) {
                 uint32_t f = 1;
                 for (uint32_t i = 2; i <= x % 13; ++i) f *= i;
                 return f;
               });
  LaunchReport report;
  run(".func forever() {\ncall forever;\nret;\n}\n" + kHead + "call forever;\n" + kTail, inputs(32),
      nullptr, &report);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::no_progress);
  EXPECT_FALSE(report.complete);
}

TEST(SimCall, IndirectCallsDiverge) {
  const std::string table = ".global .align 8 .u64 functions[2] = {factorial, triangle};\n";
  const std::string body =
      "rem.u32 %r3, %r1, 7; and.b32 %r4, %r1, 1; mov.u64 %q4, functions; mad.wide.u32 %q4, %r4, 8, "
      "%q4; ld.global.u64 %q5, [%q4];\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], "
      "%r3;\nprototype: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (y), %q5, (x), "
      "prototype; ld.param.b32 %r2, [y]; }\n";
  expect_words(kFunctions + table + kHead + body + kTail, inputs(75), [](uint32_t x) {
    uint32_t f = 1;
    for (uint32_t i = 2; i <= x % 7; ++i) f *= i;
    return x % 2 == 0 ? f : x % 7 * (x % 7 + 1) / 2;
  });
  LaunchReport report;
  run(kFunctions + kHead +
          "mov.u64 %q5, 12345;\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1;\nprototype: "
          ".callprototype (.param .b32 _) _ (.param .b32 _);\ncall (y), %q5, (x), prototype; }\n" +
          kTail,
      inputs(32), nullptr, &report);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::invalid_instruction);
}

TEST(SimCall, SharedVariablesOfFunctionsHaveTheirOwnPlace) {
  const std::string function =
      ".func store() {\n.reg .b64 %q<2>; .shared .align 4 .b8 inner[16];\nmov.u64 %q0, inner; "
      "st.shared.b32 [%q0], 77; ret;\n}\n";
  const std::string body =
      ".shared .align 4 .b8 outer[16]; st.shared.b32 [outer], 5; call store; bar.sync 0; "
      "ld.shared.b32 %r2, [outer];\n";
  expect_words(function + kHead + body + kTail, inputs(32), [](uint32_t) { return 5u; });
}

const std::string kPrintf =
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.extern .func "
    "__assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n";
std::string text_variable(const std::string& name, const std::string& text) {
  std::string list;
  for (char c : text) list += std::to_string(static_cast<int>(c)) + ", ";
  return ".global .align 1 .b8 " + name + "[" + std::to_string(text.size() + 1) + "] = {" + list +
         "0};\n";
}

TEST(SimPrint, FormatsOfEveryKind) {
  const std::string variables = text_variable("fmt", "%d|%5u|%-4x|%lld|%.3f|%e|%c|%s|%%|%p\n") +
                                text_variable("word", "hello");
  const std::string body =
      "setp.ne.u32 %p0, %r0, 0; @%p0 exit; .local .align 8 .b8 arguments[72]; mov.u64 %q2, "
      "arguments;\nst.local.u32 [%q2], -5; st.local.u32 [%q2+4], 42; st.local.u32 [%q2+8], 0xbeef; "
      "st.local.u64 [%q2+16], -123456789012; st.local.f64 [%q2+24], 0d3FF4000000000000; "
      "st.local.f64 [%q2+32], 0dC0F86A0000000000; st.local.u32 [%q2+40], 90;\n"
      "mov.u64 %q3, word; cvta.global.u64 %q3, %q3; st.local.u64 [%q2+48], %q3; mov.u64 %q4, 4096; "
      "st.local.u64 [%q2+56], %q4;\n"
      "cvta.local.u64 %q5, %q2; mov.u64 %q6, fmt; cvta.global.u64 %q6, %q6;\n{ .param .b64 x; "
      ".param .b64 y; .param .b32 z; st.param.b64 [x], %q6; st.param.b64 [y], %q5; call.uni (z), "
      "vprintf, (x, y); ld.param.b32 %r2, [z]; }\n";
  LaunchReport report;
  run(kPrintf + variables + kHead + body + kTail, inputs(32), nullptr, &report);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.output, "-5|   42|beef|-123456789012|1.250|-1.000000e+05|Z|hello|%|0x1000\n");
}

TEST(SimPrint, ThreadsInOrder) {
  const std::string body =
      ".local .align 8 .b8 arguments[8]; mov.u64 %q2, arguments; st.local.u32 [%q2], %r0; "
      "cvta.local.u64 %q5, %q2; mov.u64 %q6, fmt; cvta.global.u64 %q6, %q6; rem.u32 %r3, %r0, 20; "
      "setp.eq.u32 %p0, %r3, 0; @!%p0 bra done;\n{ .param .b64 x; .param .b64 y; .param .b32 z; "
      "st.param.b64 [x], %q6; st.param.b64 [y], %q5; call.uni (z), vprintf, (x, y); }\ndone: "
      "mov.u32 %r2, 0;\n";
  LaunchReport report;
  run(kPrintf + text_variable("fmt", "thread %d\n") + kHead + body + kTail, inputs(64), nullptr,
      &report);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.output, "thread 0\nthread 20\nthread 40\nthread 60\n");
}

TEST(SimPrint, AssertionsAndTrapsStop) {
  const std::string variables =
      text_variable("message", "x < 3") + text_variable("file", "kernel.cu");
  const std::string body =
      "setp.ne.u32 %p0, %r0, 9; @%p0 bra fine; mov.u64 %q2, message; cvta.global.u64 %q2, %q2; "
      "mov.u64 %q3, file; cvta.global.u64 %q3, %q3;\n{ .param .b64 a; .param .b64 b; .param .b32 "
      "c; .param .b64 d; .param .b64 e; st.param.b64 [a], %q2; st.param.b64 [b], %q3; st.param.b32 "
      "[c], 12; st.param.b64 [d], %q3; st.param.b64 [e], 1;\ncall.uni __assertfail, (a, b, c, d, "
      "e); }\nfine: mov.u32 %r2, 1;\n";
  LaunchReport report;
  run(kPrintf + variables + kHead + body + kTail, inputs(32), nullptr, &report);
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  EXPECT_EQ(report.findings[0].kind, FindingKind::trap);
  EXPECT_EQ(report.findings[0].thread.x, 9u);
  EXPECT_EQ(report.output, "kernel.cu:12: assertion 'x < 3' failed\n");
  EXPECT_FALSE(report.complete);
  run(kHead + "setp.eq.u32 %p0, %r0, 5;\n@%p0 trap;\nmov.u32 %r2, 1;\n" + kTail, inputs(32),
      nullptr, &report);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::trap);
  EXPECT_EQ(report.findings[0].ptx_line, 8);
  EXPECT_EQ(report.findings[0].thread.x, 5u);
}

}  // namespace
}  // namespace mcc::sim::test
