// Race detection in shared memory, and in global memory within and between blocks: what is a race,
// what synchronization orders, and what is no race.
#include <gtest/gtest.h>

#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

// q0: the buffer (1024 bytes, zeros), r0: the thread, r1: the block, r2: thread of the grid,
// q2: buffer + 4 * r2, q4: shared tile + 4 * r0. 2 blocks of 64 threads.
const std::string kHead =
    ".visible .entry k(.param .u64 p) {\n.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %q<16>; "
    ".reg .b16 %h<4>; .shared .align 16 .b8 tile[1024];\n"
    "ld.param.u64 %q0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 64, "
    "%r0; mad.wide.u32 %q2, %r2, 4, %q0; mov.u64 %q3, tile; mad.wide.u32 %q4, %r0, 4, %q3;\n";
constexpr int kFirstLine = 7;

LaunchReport run(const std::string& body, uint32_t blocks = 2, uint64_t seed = 0, int threads = 1,
                 std::vector<uint8_t>* data = nullptr) {
  std::vector<uint8_t> buffer(1024, 0);
  LaunchOptions options;
  options.seed = seed;
  options.threads = threads;
  options.max_warp_instructions = 1000000;
  LaunchReport report = run_kernel(kHead + body + "\nret;\n}\n", buffer, {blocks, 1, 1}, {64, 1, 1},
                                   nullptr, 0, options);
  if (data != nullptr) *data = buffer;
  return report;
}
void expect_clean(const std::string& body, uint32_t blocks = 2) {
  for (uint64_t seed : {0, 1, 2}) {
    const LaunchReport report = run(body, blocks, seed);
    EXPECT_TRUE(report.clean()) << body << "\n" << report.text();
  }
}
// Only races, one of them in this line and this buffer.
void expect_race(const std::string& body, int line, const std::string& buffer,
                 uint32_t blocks = 2) {
  for (uint64_t seed : {0, 1}) {
    const LaunchReport report = run(body, blocks, seed);
    bool found = false;
    for (const Finding& f : report.findings) {
      EXPECT_EQ(f.kind, FindingKind::race) << report.text();
      found = found || ((line < 0 || f.ptx_line == kFirstLine + line) && f.buffer == buffer);
    }
    EXPECT_TRUE(found) << body << "\n" << report.text();
  }
}

TEST(SimRace, WithinOneInstruction) {
  expect_race("st.shared.b32 [%q3], %r0;", 0, "shared memory");
  expect_race("st.global.b32 [%q0], %r0;", 0, "buffer", 1);
  // One lane of each pair.
  expect_race("and.b32 %r5, %r0, 62; mad.wide.u32 %q5, %r5, 4, %q3;\nst.shared.b32 [%q5], %r0;", 1,
              "shared memory");
  // All lanes store the same; storing what memory holds already, and reading together, change
  // nothing.
  expect_clean(
      "st.shared.b32 [%q3], 9; st.global.b32 [%q0], 77; bar.sync 0; ld.shared.b32 %r5, [%q3];", 1);
  expect_clean("st.global.b32 [%q0], 0; ld.global.b32 %r5, [%q0+4];", 1);
  // The second half of a wide store overlaps the neighbour's.
  expect_race(
      "mad.wide.u32 %q5, %r0, 4, %q3; and.b64 %q5, %q5, -8; cvt.u64.u32 %q6, %r0;\nst.shared.b64 "
      "[%q5], %q6;",
      1, "shared memory");
}

TEST(SimRace, NeighbouringBytesAreNotTheSamePlace) {
  expect_clean(
      "cvt.u64.u32 %q5, %r0; add.u64 %q5, %q3, %q5; cvt.u16.u32 %h0, %r0; st.shared.b8 [%q5], %h0; "
      "ld.shared.b8 %h1, [%q5];");
  expect_clean(
      "cvt.u64.u32 %q5, %r2; add.u64 %q5, %q0, %q5; cvt.u16.u32 %h0, %r0; st.global.b8 [%q5], "
      "%h0;");
  expect_clean("mad.wide.u32 %q5, %r2, 2, %q0; cvt.u16.u32 %h0, %r0; st.global.b16 [%q5], %h0;");
  // A device function's accesses count for the kernels that call it.
  std::vector<uint8_t> buffer(256, 0);
  const LaunchReport report = run_kernel(
      ".func put(.param .b64 a) {\n.reg .b64 %q<2>; .reg .b16 %h<2>;\nld.param.u64 %q0, [a]; "
      "mov.b16 %h0, 5; st.global.b8 [%q0], %h0; ret;\n}\n"
      ".visible .entry k(.param .u64 p) {\n.reg .b64 %q<4>; .reg .b32 %r<2>;\nld.param.u64 %q0, "
      "[p]; mov.u32 %r0, %tid.x; cvt.u64.u32 %q1, %r0; add.u64 %q1, %q0, %q1;\n"
      "{ .param .b64 x; st.param.b64 [x], %q1; call.uni put, (x); }\nret;\n}\n",
      buffer, {1, 1, 1}, {64, 1, 1}, nullptr);
  EXPECT_TRUE(report.clean()) << report.text();
}

TEST(SimRace, BetweenWarps) {
  expect_race(
      "xor.b32 %r5, %r0, 32; mad.wide.u32 %q5, %r5, 4, %q0;\nst.global.b32 [%q2], "
      "%r0;\nld.global.b32 %r6, [%q5];",
      -1, "buffer", 1);
  expect_clean(
      "xor.b32 %r5, %r0, 32; mad.wide.u32 %q5, %r5, 4, %q0; st.global.b32 [%q2], %r2; bar.sync 0; "
      "ld.global.b32 %r6, [%q5];",
      1);
  // Reading first and writing afterwards needs a barrier as well.
  expect_race(
      "xor.b32 %r5, %r0, 32; mad.wide.u32 %q5, %r5, 4, %q3; st.shared.b32 [%q4], %r0; bar.sync "
      "0;\nld.shared.b32 %r6, [%q5];\nst.shared.b32 [%q4], %r6;",
      -1, "shared memory");
  expect_clean(
      "xor.b32 %r5, %r0, 32; mad.wide.u32 %q5, %r5, 4, %q3; st.shared.b32 [%q4], %r0; bar.sync 0; "
      "ld.shared.b32 %r6, [%q5]; bar.sync 0; st.shared.b32 [%q4], %r6;");
}

TEST(SimRace, BetweenBlocks) {
  expect_race("mad.wide.u32 %q5, %r0, 4, %q0;\nst.global.b32 [%q5], %r2;", 1, "buffer");
  expect_race(
      "xor.b32 %r5, %r2, 64; mad.wide.u32 %q5, %r5, 4, %q0; add.u32 %r6, %r2, 1;\nst.global.b32 "
      "[%q2], %r6; bar.sync 0; fence.acq_rel.gpu;\nld.global.b32 %r6, [%q5];",
      -1, "buffer");
  expect_clean("mad.wide.u32 %q5, %r0, 4, %q0; ld.global.b32 %r6, [%q5];");
  expect_clean(
      "mov.b32 %r6, 5; add.u32 %r5, %r2, 128; mad.wide.u32 %q5, %r5, 4, %q0; st.global.b32 [%q2], "
      "%r2;");
  // Two launches after each other do not race.
  const Module module =
      Module::parse(".version 9.0\n.target sm_100a\n.address_size 64\n" + kHead +
                    "mad.wide.u32 %q5, %r0, 4, %q0; st.global.b32 [%q5], %r0;\nret;\n}\n");
  Memory memory;
  const std::vector<uint8_t> zeros(1024, 0);
  Arguments arguments;
  arguments.add(memory.upload("buffer", zeros.data(), 1024));
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(launch(module, "k", memory, {1, 1, 1}, {64, 1, 1}, 0, arguments).clean());
}

TEST(SimRace, AtomicsDoNotRaceWithEachOther) {
  expect_clean(
      "red.global.add.u32 [%q0], 1; atom.global.max.u32 %r5, [%q0+4], %r0; atom.global.cas.b32 "
      "%r6, [%q0+8], 0, 1;");
  expect_clean(
      "st.shared.b32 [%q4], 0; bar.sync 0; red.shared.add.u32 [%q3], 1; bar.sync 0; ld.shared.b32 "
      "%r5, [%q3];");
  expect_clean("st.volatile.global.b32 [%q0], %r0; ld.volatile.global.b32 %r5, [%q0];");
  // Plain accesses to the same place do.
  expect_race("red.global.add.u32 [%q0], 1;\nld.global.b32 %r5, [%q0];", -1, "buffer", 1);
  expect_race(
      "setp.eq.u32 %p0, %r0, 40; red.global.add.u32 [%q0], 1;\n@%p0 st.global.b32 [%q0], 77;", -1,
      "buffer", 1);
}

// The last block to arrive at a counter reads what all others wrote: the pattern of reductions.
const std::string kLast =
    "add.u32 %r6, %r2, 1; st.global.b32 [%q2], %r6;\nFENCE\nbar.sync 0; setp.eq.u32 %p0, %r0, 0; "
    "@%p0 atom.global.add.u32 %r7, [%q0+1020], 1; @%p0 st.shared.b32 [%q3], %r7;\nbar.sync 0; "
    "ld.shared.b32 %r7, [%q3]; setp.ne.u32 %p1, %r7, 1; @%p1 exit;\nFENCE\n"
    "xor.b32 %r5, %r2, 64; mad.wide.u32 %q5, %r5, 4, %q0; ld.global.b32 %r8, [%q5]; add.u32 %r9, "
    "%r2, 128; and.b32 %r9, %r9, 191; or.b32 %r9, %r9, 128; mad.wide.u32 %q6, %r9, 4, %q0; "
    "st.global.b32 [%q6], %r8;";
std::string with_fence(const std::string& fence) {
  std::string text = kLast;
  for (size_t at = text.find("FENCE"); at != std::string::npos; at = text.find("FENCE"))
    text.replace(at, 5, fence);
  return text;
}

TEST(SimRace, FencesPublishBetweenBlocks) {
  for (const char* fence : {"membar.gl;", "fence.acq_rel.gpu;", "fence.sc.gpu;"}) {
    for (int threads : {1, 2}) {
      for (uint64_t seed : {0, 1, 2, 3}) {
        std::vector<uint8_t> data;
        const LaunchReport report = run(with_fence(fence), 2, seed, threads, &data);
        EXPECT_TRUE(report.clean()) << fence << report.text();
        // One of the blocks was last and read the other's values.
        uint32_t first;
        std::memcpy(&first, data.data() + 512, 4);
        EXPECT_TRUE(first == 1 || first == 65) << first;
      }
    }
  }
  // The thread that has read the counter may fence for its block, before the barrier.
  std::string early = with_fence("fence.acq_rel.gpu;");
  early.replace(early.rfind("fence.acq_rel.gpu;"), 18, "");
  early.replace(early.find("@%p0 st.shared.b32"), 4, "@%p0 fence.acq_rel.gpu; @%p0");
  expect_clean(early);
  const LaunchReport report = run(with_fence(""));
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  EXPECT_EQ(report.findings[0].kind, FindingKind::race);
  EXPECT_EQ(report.findings[0].buffer, "buffer");
}

TEST(SimRace, ReleaseAndAcquireBetweenWarps) {
  const std::string pass =
      "setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, 32; @!%p1 bra consume;\nst.global.b32 "
      "[%q2+512], 7; bar.warp.sync 0xffffffff; @%p0 STORE [%q0], 1; bra done;\n"
      "consume: LOAD %r5, [%q0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra consume; sub.u32 %r6, %r0, 32; "
      "mad.wide.u32 %q5, %r6, 4, %q0;\nld.global.b32 %r7, [%q5+512]; st.global.b32 [%q2], "
      "%r7;\ndone:";
  const auto with = [&](const std::string& store, const std::string& load) {
    std::string text = pass;
    text.replace(text.find("STORE"), 5, store);
    return text.replace(text.find("LOAD"), 4, load);
  };
  expect_clean(with("st.release.gpu.global.b32", "ld.acquire.gpu.global.b32"), 1);
  expect_clean(with("st.release.cta.global.b32", "ld.acquire.cta.global.b32"), 1);
  expect_race(with("st.relaxed.gpu.global.b32", "ld.relaxed.gpu.global.b32"), -1, "buffer", 1);
}

TEST(SimRace, TheOtherAccessIsNamed) {
  const LaunchReport report =
      run("setp.eq.u32 %p0, %r0, 5; setp.eq.u32 %p1, %r0, 40; @%p0 st.shared.b32 [%q3+12], "
          "1;\n@%p1 st.shared.b32 [%q3+12], 2;",
          1);
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  const Finding& f = report.findings[0];
  EXPECT_EQ(f.ptx_line, kFirstLine + 1);
  EXPECT_EQ(f.thread.x, 40u);
  EXPECT_EQ(f.address, 12u);
  EXPECT_NE(f.message.find("write by thread (5,0,0)"), std::string::npos) << f.message;
}

}  // namespace
}  // namespace mcc::sim::test
