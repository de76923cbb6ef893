// What the simulator does not model is refused by name and line when the module is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sim/sim.h"

namespace mcc::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string module(const std::string& directives, const std::string& body,
                   const std::string& head = ".address_size 64") {
  return ".version 8.8\n.target sm_100a\n" + head + "\n.visible .entry k(.param .u64 p)\n" +
         directives +
         "{\n.reg .b32 %r<9>;\n.reg .b64 %q<9>;\n.reg .pred %p<2>;\n.shared .b64 bar;\n" + body +
         "ret;\n}\n";
}

std::string error_of(const std::string& ptx) {
  try {
    Module::parse(ptx);
    return "accepted";
  } catch (const SimError& error) {
    return error.what();
  }
}

TEST(SimRefusal, NamesTheInstructionAndItsLine) {
  ASSERT_EQ(error_of(module("", "")), "accepted");
  const std::pair<const char*, const char*> cases[] = {
      {"wgmma.fence.sync.aligned;\n", "wgmma"},
      {"tcgen05.wait::ld.sync.aligned;\n", "tcgen05"},
      {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, "
       "%r7}, [%q0];\n",
       "wmma"},
      {"cp.async.bulk.commit_group;\n", "cp.async.bulk"},
      {"tex.1d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [%q0, {%r4}];\n", "tex"},
      {"frobnicate.b32 %r0, %r1;\n", "frobnicate"},
  };
  for (const auto& [instruction, name] : cases) {
    const std::string error = error_of(module("", instruction));
    EXPECT_THAT(error, AllOf(HasSubstr(name), HasSubstr("line 10"))) << instruction;
  }
}

TEST(SimRefusal, RefusesClustersAndOtherAddressSizes) {
  EXPECT_EQ(error_of(module(".reqnctapercluster 1, 1, 1\n", "")), "accepted");
  EXPECT_THAT(error_of(module(".reqnctapercluster 1, 2, 1\n", "")),
              AllOf(HasSubstr("clusters"), HasSubstr("line 5")));
  EXPECT_THAT(error_of(module("", "", ".address_size 32")),
              AllOf(HasSubstr("64-bit"), HasSubstr("line 3")));
}

// Nothing in a file is trusted: every prefix of a module is refused or accepted, without a crash.
TEST(SimRefusal, SurvivesCutOffText) {
  const std::string whole =
      module("", "mov.u32 %r0, %tid.x;\n@%p0 bra end;\nadd.s32 %r1, %r0, 1;\nend:\n");
  ASSERT_EQ(error_of(whole), "accepted");
  for (size_t length = 0; length < whole.size(); ++length) (void)error_of(whole.substr(0, length));
}

}  // namespace
}  // namespace mcc::sim
