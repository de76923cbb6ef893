// Launches: arguments, limits, findings about memory, and what reports say.
#include <gtest/gtest.h>

#include "test/unit/sim/ptx.h"

namespace mcc::sim {
namespace {

const std::string kCopy = std::string(test::kHeader) + R"(
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 shift) {
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  ld.param.u32 %r5, [shift];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  add.u32 %r6, %r4, %r5;
  mul.wide.s32 %rd3, %r6, 4;
  mul.wide.u32 %rd4, %r4, 4;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd4;
  ld.global.f32 %f1, [%rd1];
  st.global.f32 [%rd2], %f1;
  ret;
})";

struct Copy {
  Module module = Module::parse(kCopy);
  Memory memory;
  std::vector<float> data = std::vector<float>(64, 1.5f);
  Address from = memory.upload("from", data.data(), 256);
  Address to = memory.allocate("to", 256);
  LaunchReport run(uint32_t shift, Dim3 grid = {2, 1, 1}, Dim3 block = {32, 1, 1}) {
    Arguments arguments;
    arguments.add(from).add(to).add(shift);
    return launch(module, "copy", memory, grid, block, 0, arguments);
  }
};

TEST(SimLaunch, CopiesAndCounts) {
  Copy copy;
  const LaunchReport report = copy.run(0);
  EXPECT_TRUE(report.clean()) << report.text();
  std::vector<float> out(64);
  copy.memory.read(copy.to, out.data(), 256);
  EXPECT_EQ(out, copy.data);
  EXPECT_EQ(report.counters.global_load_sectors, 8u);
  EXPECT_EQ(report.counters.global_store_sectors, 8u);
  EXPECT_EQ(report.counters.unique_read_bytes, 256u);
  EXPECT_DOUBLE_EQ(report.counters.coalescing(), 1.0);
}

TEST(SimLaunch, ReadsOneBeyondAndOneBeforeAreNamed) {
  Copy copy;
  LaunchReport report = copy.run(1);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::out_of_bounds);
  EXPECT_EQ(report.findings[0].buffer, "from");
  EXPECT_EQ(report.findings[0].thread.x, 31u);
  EXPECT_EQ(report.findings[0].block.x, 1u);
  EXPECT_EQ(report.findings[0].address, 256u);
  report = copy.run(0xffffffffu);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].buffer, "from");
  EXPECT_EQ(static_cast<int64_t>(report.findings[0].address), -4);
}

TEST(SimLaunch, UninitialisedGlobalMemoryIsFound) {
  Copy copy;
  copy.memory.set_initialised(copy.from + 12, 4, false);
  const LaunchReport report = copy.run(0);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::uninitialised_read);
  EXPECT_EQ(report.findings[0].thread.x, 3u);
}

TEST(SimLaunch, LimitsAreFindings) {
  Copy copy;
  EXPECT_EQ(copy.run(0, {1, 1, 1}, {2048, 1, 1}).findings.at(0).kind, FindingKind::launch_limit);
  EXPECT_EQ(copy.run(0, {1, 70000, 1}, {32, 1, 1}).findings.at(0).kind, FindingKind::launch_limit);
}

TEST(SimLaunch, WrongArgumentsAreErrors) {
  Copy copy;
  Arguments few;
  few.add(copy.from);
  EXPECT_THROW(launch(copy.module, "copy", copy.memory, {}, {}, 0, few), SimError);
  EXPECT_THROW(launch(copy.module, "paste", copy.memory, {}, {}, 0, few), SimError);
}

TEST(SimLaunch, UnknownInstructionNamesItsLine) {
  try {
    Module::parse(std::string(test::kHeader) + ".visible .entry k() {\n.reg .b32 %r<2>;\nfrobnicate.b32 %r1, %r1;\nret;\n}");
    FAIL();
  } catch (const SimError& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 7), "line 6:");
    EXPECT_NE(std::string(error.what()).find("frobnicate.b32"), std::string::npos);
  }
}

TEST(SimLaunch, UnknownSuffixIsRefused) {
  EXPECT_THROW(Module::parse(std::string(test::kHeader) + ".visible .entry k() {\n.reg .b32 %r<2>;\nadd.s32.strange %r1, %r1, 1;\nret;\n}"), SimError);
}

}  // namespace
}  // namespace mcc::sim
