// cp.async and its groups (PTX ISA 9.7.9.25.3), and mbarriers (9.7.13.15).
#include <gtest/gtest.h>

#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

// q0: the buffer, r0: the thread, q1: 16 * thread, q2 = q0 + q1, q4: shared tile + q1, q6: an
// mbarrier.
const std::string kHead =
    ".visible .entry k(.param .u64 p) {\n.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %q<16>; "
    ".shared .align 16 .b8 tile[4096]; .shared .align 8 .b64 bar;\n"
    "ld.param.u64 %q0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %q1, %r0, 16; add.u64 %q2, %q0, %q1; "
    "mov.u64 %q3, tile; add.u64 %q4, %q3, %q1; mov.u64 %q6, bar;\n";
constexpr int kFirstLine = 7;  // of what follows the head
const std::string kTail = "\nret;\n}\n";

std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i * 7 + i / 256 + 1);
  return data;
}
LaunchReport run(const std::string& body, std::vector<uint8_t>& buffer, uint32_t threads,
                 const char* isa = nullptr, uint64_t seed = 0) {
  LaunchOptions options;
  options.seed = seed;
  options.max_warp_instructions = 100000;
  return run_kernel(kHead + body + kTail, buffer, {1, 1, 1}, {threads, 1, 1}, isa, 0, options);
}
// A finding of this kind and line (counted from the body's first). A mistake may show in several
// places: the read of a race, and the write that comes too early for it.
void expect_finding(const LaunchReport& report, FindingKind kind, int line) {
  bool found = false;
  for (const Finding& finding : report.findings)
    found = found || (finding.kind == kind && (line < 0 || finding.ptx_line == kFirstLine + line));
  EXPECT_TRUE(found) << finding_name(kind) << " in line " << kFirstLine + line
                     << " is missing in: " << report.text();
}

TEST(SimAsync, GroupsCompleteInOrder) {
  for (const char* isa : instruction_sets()) {
    for (int size : {4, 8, 16}) {
      for (const char* last : {"cp.async.wait_group 0;", "cp.async.wait_all;"}) {
        const std::string n = std::to_string(size), copy = std::string("cp.async.") +
                                                           (size == 16 ? "cg" : "ca") +
                                                           ".shared.global ";
        std::vector<uint8_t> buffer = pattern(64 * 16 * 4);
        const std::vector<uint8_t> before = buffer;
        const LaunchReport report =
            run(copy + "[%q4], [%q2], " + n + "; cp.async.commit_group;\n" + copy +
                    "[%q4+1024], [%q2+1024], " + n +
                    "; cp.async.commit_group;\ncp.async.wait_group 1;\n"
                    "ld.shared.b32 %r1, [%q4]; st.global.b32 [%q2+2048], %r1;\n" +
                    last + " ld.shared.b32 %r2, [%q4+1024]; st.global.b32 [%q2+3072], %r2;",
                buffer, 64, isa);
        EXPECT_TRUE(report.clean()) << report.text();
        for (size_t t = 0; t < 64; ++t) {
          EXPECT_EQ(std::memcmp(&buffer[2048 + 16 * t], &before[16 * t], 4), 0);
          EXPECT_EQ(std::memcmp(&buffer[3072 + 16 * t], &before[1024 + 16 * t], 4), 0);
        }
      }
    }
  }
}

TEST(SimAsync, MissingWaitsAreFound) {
  struct Case {
    const char* text;
    FindingKind kind;
    int line;
  };
  const Case cases[] = {
      {"cp.async.ca.shared.global [%q4], [%q2], 16; cp.async.commit_group;\nld.shared.b32 %r1, "
       "[%q4]; st.global.b32 [%q2], %r1;",
       FindingKind::pending_copy, 1},
      // One group too many may stay pending.
      {"cp.async.ca.shared.global [%q4], [%q2], 16; cp.async.commit_group; cp.async.wait_group "
       "1;\nld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%q4];",
       FindingKind::pending_copy, 1},
      // Not committed: no group to wait for.
      {"cp.async.ca.shared.global [%q4], [%q2], 16; cp.async.wait_group 0;\nld.shared.b8 %r1, "
       "[%q4+15];",
       FindingKind::pending_copy, 1},
      // Waited for by its own thread only: others need a barrier.
      {"cp.async.ca.shared.global [%q4], [%q2], 16; cp.async.commit_group; cp.async.wait_group "
       "0;\nxor.b32 %r1, %r0, 33; mul.wide.u32 %q5, %r1, 16; add.u64 %q5, %q3, %q5; bar.warp.sync "
       "0xffffffff; ld.shared.b32 %r1, [%q5];",
       FindingKind::race, 1},
      {"cp.async.ca.shared.global [%q4], [%q2], 16;\ncp.async.ca.shared.global [%q4+4096], [%q2], "
       "16;",
       FindingKind::out_of_bounds, 1},
      {"add.u64 %q2, %q2, 4;\ncp.async.ca.shared.global [%q4], [%q2], 8;", FindingKind::misaligned,
       1},
      {"add.u64 %q2, %q2, 4080;\ncp.async.cg.shared.global [%q4], [%q2], 16;",
       FindingKind::out_of_bounds, 1}};
  for (const Case& c : cases) {
    std::vector<uint8_t> buffer = pattern(4096);
    const LaunchReport report = run(c.text, buffer, 64);
    SCOPED_TRACE(c.text);
    expect_finding(report, c.kind, c.line);
  }
  std::vector<uint8_t> buffer = pattern(4096);
  const LaunchReport report =
      run("cp.async.ca.shared.global [%q4], [%q2], 16; cp.async.wait_all; bar.sync 0;\nxor.b32 "
          "%r1, %r0, 33; mul.wide.u32 %q5, %r1, 16; add.u64 %q5, %q3, %q5; ld.shared.b32 %r1, "
          "[%q5]; st.global.b32 [%q2], %r1;",
          buffer, 64);
  EXPECT_TRUE(report.clean()) << report.text();
}

TEST(SimAsync, ShortSourcesAreFilledWithZeros) {
  for (bool predicate : {false, true}) {
    std::vector<uint8_t> buffer = pattern(32 * 32);
    const std::vector<uint8_t> before = buffer;
    const LaunchReport report =
        run("rem.u32 %r5, %r0, 17; setp.gt.u32 %p0, %r5, 5;\n" +
                std::string(predicate ? "cp.async.ca.shared.global [%q4], [%q2], 16, %p0;"
                                      : "cp.async.ca.shared.global [%q4], [%q2], 16, %r5;") +
                " cp.async.wait_all; ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%q4]; "
                "st.global.v4.b32 [%q2+512], {%r1, %r2, %r3, %r4};",
            buffer, 32);
    EXPECT_TRUE(report.clean()) << report.text();
    for (size_t t = 0; t < 32; ++t) {
      const size_t wanted = predicate ? (t % 17 > 5 ? 0 : 16) : t % 17;
      for (size_t i = 0; i < 16; ++i)
        EXPECT_EQ(buffer[512 + 16 * t + i], i < wanted ? before[16 * t + i] : 0) << t << " " << i;
    }
  }
}

// Odd lanes have one group more than even ones; each lane counts its own.
TEST(SimAsync, DivergedLanesCountTheirOwnGroups) {
  std::vector<uint8_t> buffer = pattern(32 * 16 * 3);
  const std::vector<uint8_t> before = buffer;
  const LaunchReport report =
      run("and.b32 %r5, %r0, 1; setp.ne.u32 %p0, %r5, 0;\n"
          "cp.async.ca.shared.global [%q4], [%q2], 16; cp.async.commit_group;\n@%p0 "
          "cp.async.ca.shared.global [%q4+512], [%q2+512], 16;\n@%p0 "
          "cp.async.commit_group;\ncp.async.wait_group 1;\n"
          "@%p0 ld.shared.b32 %r1, [%q4];\n@%p0 st.global.b32 [%q2+1024], %r1;\n"
          "@!%p0 cp.async.wait_group 0;\n@!%p0 ld.shared.b32 %r1, [%q4];\n@!%p0 st.global.b32 "
          "[%q2+1024], %r1;\ncp.async.wait_all; @%p0 ld.shared.b32 %r2, [%q4+512];\n@%p0 "
          "st.global.b32 [%q2+1028], %r2;",
          buffer, 32);
  EXPECT_TRUE(report.clean()) << report.text();
  for (size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(std::memcmp(&buffer[1024 + 16 * t], &before[16 * t], 4), 0) << t;
    EXPECT_EQ(std::memcmp(&buffer[1028 + 16 * t],
                          t % 2 == 1 ? &before[512 + 16 * t] : &before[1028 + 16 * t], 4),
              0)
        << t;
  }
}

// Threads write a word, arrive, wait, and read the word of a thread in another warp; twice.
const std::string kInit =
    "setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared.b64 [%q6], 64;\nbar.sync 0;\n";
const std::string kExchange =
    "xor.b32 %r1, %r0, 37; mul.wide.u32 %q5, %r1, 16; add.u64 %q5, %q3, %q5; mov.u32 %r9, 0;\n"
    "again: mad.lo.u32 %r2, %r9, 1000, %r0; st.shared.b32 [%q4], %r2;\n";
const std::string kRead =
    "ld.shared.b32 %r3, [%q5]; mad.wide.u32 %q8, %r9, 4, %q2; st.global.b32 [%q8], %r3;\n";
const std::string kAgain = "add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 2; @%p2 bra again;";

TEST(SimMbarrier, ArriveAndWait) {
  const std::string waits[] = {
      "mbarrier.arrive.shared.b64 %q7, [%q6];\nwait: mbarrier.test_wait.shared.b64 %p1, [%q6], "
      "%q7; @!%p1 bra wait;\n",
      "mbarrier.arrive.shared::cta.b64 %q7, [%q6];\nwait: mbarrier.try_wait.shared::cta.b64 %p1, "
      "[%q6], %q7; @!%p1 bra wait;\n",
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [%q6];\nwait: "
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%q6], %r9; @!%p1 bra wait;\n",
      // One lane arrives for the pair; the count is given.
      "bar.warp.sync 0xffffffff; and.b32 %r4, %r0, 1; setp.eq.u32 %p3, %r4, 0; @%p3 "
      "mbarrier.arrive.shared.b64 _, [%q6], 2;\nwait: mbarrier.test_wait.parity.shared.b64 %p1, "
      "[%q6], %r9; @!%p1 bra wait;\n"};
  for (const char* isa : instruction_sets()) {
    for (const std::string& wait : waits) {
      for (uint64_t seed : {0, 1, 2, 3}) {
        std::vector<uint8_t> buffer(64 * 16, 0);
        // A second barrier keeps the next round's stores behind this round's loads.
        const LaunchReport report =
            run(kInit + kExchange + wait + kRead + "bar.sync 0;\n" + kAgain, buffer, 64, isa, seed);
        EXPECT_TRUE(report.clean()) << wait << report.text();
        for (uint32_t t = 0; t < 64; ++t) {
          for (uint32_t round = 0; round < 2; ++round) {
            uint32_t got;
            std::memcpy(&got, &buffer[16 * t + 4 * round], 4);
            EXPECT_EQ(got, 1000 * round + (t ^ 37)) << wait;
          }
        }
      }
    }
  }
}

TEST(SimMbarrier, WithoutTheWaitThereIsARace) {
  std::vector<uint8_t> buffer(64 * 16, 0);
  const LaunchReport report = run(
      kInit +
          "mbarrier.arrive.shared.b64 %q7, [%q6];\nst.shared.b32 [%q4], %r0; xor.b32 %r1, %r0, 32; "
          "mul.wide.u32 %q5, %r1, 16; add.u64 %q5, %q3, %q5;\nmbarrier.test_wait.shared.b64 %p1, "
          "[%q6], %q7; ld.shared.b32 %r3, [%q5]; st.global.b32 [%q2], %r3;",
      buffer, 64);
  ASSERT_FALSE(report.findings.empty());
  bool race = false;
  for (const Finding& finding : report.findings)
    race = race || (finding.kind == FindingKind::race && finding.ptx_line == kFirstLine + 4);
  EXPECT_TRUE(race) << report.text();
}

// Transactions: the phase ends when arrivals and bytes are both complete.
TEST(SimMbarrier, TransactionsDropsAndCounts) {
  const std::string body =
      "setp.eq.u32 %p0, %r0, 0; @!%p0 bra end;\nmbarrier.init.shared.b64 [%q6], 3;\n"
      "mbarrier.arrive.shared.b64 %q7, [%q6]; mbarrier.pending_count.b64 %r1, %q7;\n"  // pending
                                                                                       // before:
                                                                                       // 3
      "mbarrier.arrive.expect_tx.shared.b64 %q8, [%q6], 48; mbarrier.pending_count.b64 %r2, "
      "%q8;\n"                                                                              // 2
      "mbarrier.arrive_drop.shared.b64 %q9, [%q6]; mbarrier.pending_count.b64 %r3, %q9;\n"  // 1
      "mbarrier.test_wait.shared.b64 %p1, [%q6], %q7; selp.u32 %r4, 1, 0, %p1;\n"  // bytes are
                                                                                   // missing
      "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%q6], 16; "
      "mbarrier.test_wait.shared.b64 %p1, [%q6], %q7; selp.u32 %r5, 1, 0, %p1;\n"
      "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%q6], 32; "
      "mbarrier.test_wait.shared.b64 %p1, [%q6], %q7; selp.u32 %r6, 1, 0, %p1;\n"
      // The next phase needs two arrivals: one thread has left. expect_tx alone arrives for
      // nobody.
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%q6], 8; mbarrier.arrive.shared.b64 "
      "%q7, [%q6]; mbarrier.pending_count.b64 %r7, %q7;\n"
      "mbarrier.arrive.shared.b64 %q8, [%q6]; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 "
      "[%q6], 8; mbarrier.test_wait.parity.shared.b64 %p1, [%q6], 1; selp.u32 %r8, 1, 0, %p1;\n"
      "mbarrier.test_wait.parity.shared.b64 %p1, [%q6], 0; selp.u32 %r9, 1, 0, %p1; "
      "mbarrier.inval.shared.b64 [%q6];\n"
      "st.global.v4.b32 [%q0], {%r1, %r2, %r3, %r4}; st.global.v4.b32 [%q0+16], {%r5, %r6, "
      "%r7, %r8}; st.global.b32 [%q0+32], %r9;\nend:";
  for (const char* isa : instruction_sets()) {
    std::vector<uint8_t> buffer(48, 0);
    const LaunchReport report = run(body, buffer, 32, isa);
    EXPECT_TRUE(report.clean()) << report.text();
    uint32_t got[9];
    std::memcpy(got, buffer.data(), sizeof got);
    const uint32_t expected[9] = {3, 2, 1, 0, 0, 1, 2, 1, 0};
    for (int i = 0; i < 9; ++i) EXPECT_EQ(got[i], expected[i]) << "value " << i;
  }
}

// Copies that arrive on an mbarrier: whoever waits for it sees the data.
TEST(SimMbarrier, CopiesArrive) {
  std::vector<uint8_t> buffer = pattern(64 * 32);
  const std::vector<uint8_t> before = buffer;
  const LaunchReport report =
      run(kInit +
              "cp.async.ca.shared.global [%q4], [%q2], 16; "
              "cp.async.mbarrier.arrive.noinc.shared.b64 [%q6]; mov.u32 %r9, 0;\n"
              "wait: mbarrier.try_wait.parity.shared.b64 %p1, [%q6], %r9; @!%p1 bra wait;\n"
              "xor.b32 %r1, %r0, 37; mul.wide.u32 %q5, %r1, 16; add.u64 %q5, %q3, %q5; "
              "ld.shared.b32 %r3, [%q5]; st.global.b32 [%q2+1024], %r3;",
          buffer, 64);
  EXPECT_TRUE(report.clean()) << report.text();
  for (size_t t = 0; t < 64; ++t)
    EXPECT_EQ(std::memcmp(&buffer[1024 + 16 * t], &before[16 * (t ^ 37)], 4), 0) << t;
}

TEST(SimMbarrier, MistakesAreFound) {
  struct Case {
    std::string text;
    FindingKind kind;
    int line;
  };
  const Case cases[] = {
      {"mbarrier.arrive.shared.b64 %q7, [%q6];", FindingKind::uninitialised_read, 0},
      {"setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, 0; @%p0 mbarrier.init.shared.b64 [%q6], %r1;",
       FindingKind::invalid_argument, 0},
      {"setp.eq.u32 %p0, %r0, 0; sub.u64 %q6, %q6, 4; @%p0 mbarrier.init.shared.b64 [%q6], 64;",
       FindingKind::misaligned, 0},
      {"setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared.b64 [%q6], 1; bar.sync 0;\n@%p0 "
       "mbarrier.arrive.shared.b64 %q7, [%q6], 2;",
       FindingKind::invalid_argument, 1},
      // Initialised by one warp, used by another without a barrier between.
      {"setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared.b64 [%q6], "
       "64;\nmbarrier.arrive.shared.b64 %q7, [%q6];",
       FindingKind::race, 1},
      // 64 threads arrive at a barrier for 65.
      {"setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared.b64 [%q6], 65; bar.sync 0; "
       "mbarrier.arrive.shared.b64 %q7, [%q6];\nwait: mbarrier.try_wait.shared.b64 %p1, [%q6], "
       "%q7; @!%p1 bra wait;",
       FindingKind::deadlock, 1}};
  for (const Case& c : cases) {
    std::vector<uint8_t> buffer(64, 0);
    SCOPED_TRACE(c.text);
    expect_finding(run(c.text, buffer, 64), c.kind, c.line);
  }
}

}  // namespace
}  // namespace mcc::sim::test
