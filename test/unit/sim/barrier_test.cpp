// bar and barrier (PTX ISA 9.7.13.1, 9.7.13.2): exchange, named and counted barriers, reductions,
// and the findings about divergence and deadlock.
#include <gtest/gtest.h>

#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

// q0: the buffer, r0: the thread, r1: its warp, q1: 4 * thread, q2 = q0 + q1, q4: shared tile + q1.
const std::string kHead =
    ".visible .entry k(.param .u64 p) {\n.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %q<16>; "
    ".shared .align 16 .b8 tile[4096];\n"
    "ld.param.u64 %q0, [p]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mul.wide.u32 %q1, %r0, 4; "
    "add.u64 %q2, %q0, %q1; mov.u64 %q3, tile; add.u64 %q4, %q3, %q1;\n";
constexpr int kFirstLine = 7;
// Loads the word of thread r2 into r3 and stores it.
const std::string kFetch =
    "mul.wide.u32 %q5, %r2, 4; add.u64 %q5, %q3, %q5; ld.shared.b32 %r3, [%q5]; st.global.b32 "
    "[%q2], %r3;\n";

LaunchReport run(const std::string& body, std::vector<uint32_t>& words, uint32_t threads,
                 const char* isa = nullptr, uint64_t seed = 0, uint64_t limit = 100000) {
  std::vector<uint8_t> buffer(words.size() * 4);
  std::memcpy(buffer.data(), words.data(), buffer.size());
  LaunchOptions options;
  options.seed = seed;
  options.max_warp_instructions = limit;
  LaunchReport report =
      run_kernel(kHead + body + "\nret;\n}\n", buffer, {1, 1, 1}, {threads, 1, 1}, isa, 0, options);
  std::memcpy(words.data(), buffer.data(), buffer.size());
  return report;
}
// A finding of this kind and line (counted from the body's first, or anywhere for -1).
void expect_finding(const LaunchReport& report, FindingKind kind, int line) {
  bool found = false;
  for (const Finding& finding : report.findings)
    found = found || (finding.kind == kind && (line < 0 || finding.ptx_line == kFirstLine + line));
  EXPECT_TRUE(found) << finding_name(kind) << " in line " << kFirstLine + line
                     << " is missing in: " << report.text();
}

TEST(SimBarrier, ExchangesThroughSharedMemory) {
  for (const char* isa : instruction_sets()) {
    for (uint64_t seed : {0, 1, 2}) {
      for (const char* barrier :
           {"bar.sync 0;", "barrier.sync.aligned 3;", "barrier.sync 15;", "bar.cta.sync 0;",
            "bar.sync 1, 96;", "barrier.cta.sync.aligned 2, 96;"}) {
        std::vector<uint32_t> words(96, 0);
        const LaunchReport report =
            run("st.shared.b32 [%q4], %r0; mov.u32 %r2, 95; sub.u32 %r2, %r2, %r0;\n" +
                    std::string(barrier) + "\n" + kFetch,
                words, 96, isa, seed);
        EXPECT_TRUE(report.clean()) << barrier << report.text();
        EXPECT_EQ(report.counters.barriers, 1u);
        for (uint32_t t = 0; t < 96; ++t) EXPECT_EQ(words[t], 95 - t) << barrier;
      }
    }
  }
  std::vector<uint32_t> words(96, 0);
  expect_finding(run("st.shared.b32 [%q4], %r0; mov.u32 %r2, 95; sub.u32 %r2, %r2, "
                     "%r0;\nbar.warp.sync 0xffffffff; " +
                         kFetch,
                     words, 96, nullptr, 7),
                 FindingKind::uninitialised_read, 1);
}

TEST(SimBarrier, RacesWithoutIt) {
  std::vector<uint32_t> words(96, 0);
  // Initialised for everybody first; then the same exchange without a barrier is a race.
  expect_finding(run("st.shared.b32 [%q4], %r0; xor.b32 %r2, %r0, 32; bar.sync 0;\nst.shared.b32 "
                     "[%q4], %r1;\n" +
                         kFetch,
                     words, 64),
                 FindingKind::race, 2);
  // Lanes of one warp need bar.warp.sync.
  expect_finding(run("st.shared.b32 [%q4], %r0; xor.b32 %r2, %r0, 1;\n" + kFetch, words, 32),
                 FindingKind::race, 1);
  const LaunchReport report =
      run("st.shared.b32 [%q4], %r0; xor.b32 %r2, %r0, 1; bar.warp.sync 0xffffffff;\n" + kFetch,
          words, 32);
  EXPECT_TRUE(report.clean()) << report.text();
}

TEST(SimBarrier, NamedBarriersAreIndependent) {
  for (uint64_t seed : {0, 1, 2}) {
    std::vector<uint32_t> words(128, 0);
    // Warps 0 and 1 meet at one barrier, 2 and 3 at another.
    const LaunchReport report =
        run("shr.u32 %r4, %r0, 6; add.u32 %r4, %r4, 1; st.shared.b32 [%q4], %r0; xor.b32 %r2, %r0, "
            "32;\nbar.sync %r4, 64;\n" +
                kFetch,
            words, 128, nullptr, seed);
    EXPECT_TRUE(report.clean()) << report.text();
    for (uint32_t t = 0; t < 128; ++t) EXPECT_EQ(words[t], t ^ 32);
  }
  // A barrier among others orders nothing: warp 0 reads what warp 2 wrote.
  std::vector<uint32_t> words(128, 0);
  expect_finding(run("st.shared.b32 [%q4], %r0; bar.sync 0; shr.u32 %r4, %r0, 6; add.u32 %r4, %r4, "
                     "1;\nst.shared.b32 [%q4], %r1; xor.b32 %r2, %r0, 64;\nbar.sync %r4, 64; " +
                         kFetch,
                     words, 128),
                 FindingKind::race, 2);
}

TEST(SimBarrier, ProducersArriveConsumersWait) {
  for (uint64_t seed : {0, 1, 2}) {
    std::vector<uint32_t> words(64, 0);
    const std::string body =
        "setp.eq.u32 %p0, %r1, 0; @!%p0 bra consume;\nst.shared.b32 [%q4], %r0; bar.arrive 1, 64; "
        "bra done;\nconsume: bar.sync 1, 64; sub.u32 %r2, %r0, 32;\n" +
        kFetch + "done:";
    const LaunchReport report = run(body, words, 64, nullptr, seed);
    EXPECT_TRUE(report.clean()) << report.text();
    for (uint32_t t = 32; t < 64; ++t) EXPECT_EQ(words[t], t - 32);
  }
  // Who only arrives has not waited.
  std::vector<uint32_t> words(64, 0);
  expect_finding(run("st.shared.b32 [%q4], %r0; bar.sync 0; xor.b32 %r2, %r0, 32; setp.eq.u32 %p0, "
                     "%r1, 0;\n@!%p0 st.shared.b32 [%q4], %r1;\n@!%p0 bar.sync 1, 64;\n@%p0 "
                     "bar.arrive 1, 64;\n@!%p0 bra done; " +
                         kFetch + "done:",
                     words, 64),
                 FindingKind::race, -1);
}

TEST(SimBarrier, Reductions) {
  for (const char* isa : instruction_sets()) {
    for (uint32_t threads : {32u, 96u, 107u}) {
      for (uint32_t limit : {0u, 1u, 40u, 2000u}) {
        for (bool negate : {false, true}) {
          std::vector<uint32_t> words(3 * 128, 7);
          const std::string p = negate ? "!%p0" : "%p0";
          const LaunchReport report = run(
              "setp.lt.u32 %p0, %r0, " + std::to_string(limit) + ";\nbar.red.popc.u32 %r4, 0, " +
                  p + "; st.global.b32 [%q2], %r4;\nbar.red.and.pred %p1, 0, " + p +
                  "; selp.u32 %r4, 1, 0, %p1; st.global.b32 [%q2+512], %r4;\n"
                  "barrier.red.or.pred %p1, 1, " +
                  p + "; selp.u32 %r4, 1, 0, %p1; st.global.b32 [%q2+1024], %r4;",
              words, threads, isa);
          EXPECT_TRUE(report.clean()) << report.text();
          const uint32_t below = std::min(limit, threads), count = negate ? threads - below : below;
          for (uint32_t t = 0; t < threads; ++t) {
            EXPECT_EQ(words[t], count);
            EXPECT_EQ(words[128 + t], count == threads ? 1u : 0u);
            EXPECT_EQ(words[256 + t], count != 0 ? 1u : 0u);
          }
        }
      }
    }
  }
}

TEST(SimBarrier, ThreadsThatHaveLeftAreNotWaitedFor) {
  std::vector<uint32_t> words(96, 0);
  // Warp 1 leaves at once, half of warp 2 too.
  const LaunchReport report =
      run("setp.eq.u32 %p0, %r1, 1; @%p0 exit; setp.ge.u32 %p0, %r0, 80; @%p0 exit;\nst.shared.b32 "
          "[%q4], %r0; bar.sync 0; mov.u32 %r2, 64; " +
              kFetch,
          words, 96);
  EXPECT_TRUE(report.clean()) << report.text();
  for (uint32_t t = 0; t < 96; ++t) EXPECT_EQ(words[t], t < 32 || (t >= 64 && t < 80) ? 64u : 0u);
}

TEST(SimBarrier, DivergedWarps) {
  const std::string both =
      "and.b32 %r4, %r0, 1; setp.ne.u32 %p0, %r4, 0; st.shared.b32 [%q4], %r0; xor.b32 %r2, %r0, "
      "33; @%p0 bra odd;\n";
  std::vector<uint32_t> words(64, 0);
  // barrier.sync without .aligned: the paths of a warp may come one after the other.
  const LaunchReport report =
      run(both + "barrier.sync 0; bra done;\nodd: barrier.sync 0;\ndone: " + kFetch, words, 64);
  EXPECT_TRUE(report.clean()) << report.text();
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(words[t], t ^ 33);
  // bar.sync is aligned: this is undefined.
  expect_finding(run(both + "bar.sync 0; bra done;\nodd: bar.sync 0;\ndone: " + kFetch, words, 64),
                 FindingKind::divergent_barrier, 2);
  expect_finding(run("and.b32 %r4, %r0, 1; setp.ne.u32 %p0, %r4, 0;\n@%p0 bar.sync 0;", words, 64),
                 FindingKind::divergent_barrier, 1);
  expect_finding(
      run("and.b32 %r4, %r0, 1; setp.ne.u32 %p0, %r4, 0;\n@%p0 bar.warp.sync 0xffffffff;", words,
          32),
      FindingKind::divergent_barrier, 1);
}

TEST(SimBarrier, Mistakes) {
  std::vector<uint32_t> words(96, 0);
  // Warp 0 waits for 96 threads; the others never come.
  expect_finding(run("setp.ne.u32 %p0, %r1, 0; @%p0 exit;\nbar.sync 1, 96;", words, 96),
                 FindingKind::deadlock, 1);
  expect_finding(run("setp.ne.u32 %p0, %r1, 0; @%p0 bra other;\nbar.sync 1, 64; bra done;\nother: "
                     "bar.sync 1, 96;\ndone:",
                     words, 96),
                 FindingKind::divergent_barrier, 2);
  expect_finding(run("bar.sync 0, 33;", words, 96), FindingKind::invalid_instruction, 0);
  expect_finding(run("mov.u32 %r4, 16; bar.sync %r4;", words, 96), FindingKind::invalid_instruction,
                 0);
  expect_finding(run("again: add.u32 %r4, %r4, 1; bra again;", words, 32, nullptr, 0, 1000),
                 FindingKind::no_progress, 0);
}

}  // namespace
}  // namespace mcc::sim::test
