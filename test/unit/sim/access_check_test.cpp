// The checks of memory accesses: bounds, alignment, initialisation, read-only memory, launch
// limits; and what each finding says about the place.
#include <gtest/gtest.h>

#include <algorithm>

#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

// q0: the buffer, q1: the second buffer, r0: the thread; 64 threads in two blocks of 32.
const std::string kHead =
    ".version 9.0\n.target sm_100a\n.address_size 64\n.const .align 16 .b8 table[64] = {1, 2, "
    "3};\n.global .align 16 .b8 words[64];\n.visible .entry k(.param .u64 p, .param .u64 s) {\n"
    ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %q<16>; .reg .b16 %h<4>; .shared .align 16 .b8 "
    "tile[256]; .local .align 16 .b8 stack[64];\n"
    "ld.param.u64 %q0, [p]; ld.param.u64 %q1, [s]; mov.u32 %r0, %tid.x; mov.u64 %q2, tile; mov.u64 "
    "%q3, stack; mov.u64 %q4, table;\n";
constexpr int kLine = 9;

struct Outcome {
  LaunchReport report;
  std::vector<uint8_t> first = std::vector<uint8_t>(256, 0);
};
// `first` has 256 bytes; `second` 64 bytes of a read-only window over the caller's memory.
Outcome run(const std::string& body, uint32_t dynamic_shared = 0, bool uninitialised = false) {
  Outcome result;
  const Module module = Module::parse(kHead + body + "\nret;\n}\n");
  Memory memory;
  std::vector<std::byte> arena(128);
  const int storage = memory.add_storage(arena.data(), arena.size(), true);
  const Address first = uninitialised ? memory.allocate("first", 256)
                                      : memory.upload("first", result.first.data(), 256);
  const Address second = memory.map("second", storage, 32, 64, false);
  Arguments arguments;
  arguments.add(first).add(second);
  LaunchOptions options;
  options.threads = 1;  // counts of findings are then exact
  result.report =
      launch(module, "k", memory, {2, 1, 1}, {32, 1, 1}, dynamic_shared, arguments, options);
  memory.read(first, result.first.data(), 256);
  return result;
}

struct Expected {
  FindingKind kind;
  int64_t address;
  const char* buffer;
  uint32_t thread = 0;
  uint32_t block = 0;
  uint64_t count = 2;  // once in each block
};
void expect_one(const std::string& body, const Expected& e, bool uninitialised = false) {
  SCOPED_TRACE(body);
  const LaunchReport report = run(body, 0, uninitialised).report;
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  const Finding& f = report.findings[0];
  EXPECT_EQ(f.kind, e.kind) << report.text();
  EXPECT_EQ(f.kernel, "k");
  EXPECT_EQ(f.ptx_line, kLine + static_cast<int>(std::count(body.begin(), body.end(), '\n')))
      << report.text();
  EXPECT_EQ(static_cast<int64_t>(f.address), e.address) << report.text();
  EXPECT_EQ(f.buffer, e.buffer);
  EXPECT_EQ(f.thread.x, e.thread);
  EXPECT_EQ(f.block.x, e.block);
  EXPECT_EQ(f.count, e.count);
  const std::string last = body.substr(body.rfind('\n') + 1),
                    opcode = last.substr(last[0] == '@' ? last.find(' ') + 1 : 0);
  EXPECT_EQ(f.instruction, opcode.substr(0, opcode.find(' ')));
  for (const std::string& part : {std::string(finding_name(e.kind)), std::string("kernel k"),
                                  "PTX line " + std::to_string(f.ptx_line), std::string(e.buffer),
                                  "thread (" + std::to_string(e.thread) + ",0,0)"}) {
    EXPECT_NE(f.text().find(part), std::string::npos) << f.text();
  }
}

const std::string kLaneThree = "setp.eq.u32 %p0, %r0, 3;\n@%p0 ";

TEST(SimAccessCheck, BoundsOfGlobalMemory) {
  for (const char* load : {"ld.global.b32 %r1, ", "ld.b32 %r1, ", "ld.global.nc.b32 %r1, ",
                           "ld.volatile.global.b32 %r1, "}) {
    expect_one(kLaneThree + load + "[%q0+256];", {FindingKind::out_of_bounds, 256, "first", 3});
    expect_one(kLaneThree + load + "[%q0+-4];", {FindingKind::out_of_bounds, -4, "first", 3});
  }
  expect_one(kLaneThree + "ld.global.b64 %q5, [%q0+252];",
             {FindingKind::out_of_bounds, 252, "first", 3});
  expect_one(kLaneThree + "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%q0+256];",
             {FindingKind::out_of_bounds, 256, "first", 3});
  expect_one(kLaneThree + "st.global.b8 [%q0+256], %h0;",
             {FindingKind::out_of_bounds, 256, "first", 3});
  expect_one(kLaneThree + "st.global.b16 [%q0+-2], %h0;",
             {FindingKind::out_of_bounds, -2, "first", 3});
  expect_one(kLaneThree + "atom.global.add.u32 %r1, [%q0+256], 1;",
             {FindingKind::out_of_bounds, 256, "first", 3});
  expect_one(kLaneThree + "ld.global.b32 %r1, [%q1+64];",
             {FindingKind::out_of_bounds, 64, "second", 3});
  expect_one(kLaneThree + "ld.global.b32 %r1, [%q1+-4];",
             {FindingKind::out_of_bounds, -4, "second", 3});
  expect_one(kLaneThree + "ld.global.b32 %r1, [words+64];",
             {FindingKind::out_of_bounds, 64, "words", 3});
  expect_one(kLaneThree + "ld.const.b32 %r1, [%q4+64];",
             {FindingKind::out_of_bounds, 64, "table", 3});
  // All lanes in a row, the last ones outside: the first of them is named.
  expect_one("mad.wide.u32 %q5, %r0, 8, %q0;\nld.global.b64 %q6, [%q5+16];",
             {FindingKind::out_of_bounds, 256, "first", 30, 0, 4});
  const LaunchReport null = run("mov.u64 %q5, 0;\nld.global.b32 %r1, [%q5];").report;
  ASSERT_EQ(null.findings.size(), 1u);
  EXPECT_NE(null.findings[0].message.find("null pointer"), std::string::npos) << null.text();
}

TEST(SimAccessCheck, BoundsOfSharedAndLocalMemory) {
  for (const char* access : {"ld.shared.b32 %r1, [%q2+256];", "st.shared.b32 [%q2+256], %r0;",
                             "atom.shared.add.u32 %r1, [%q2+256], 1;"})
    expect_one(kLaneThree + access, {FindingKind::out_of_bounds, 256, "shared memory", 3});
  expect_one(kLaneThree + "st.shared.b32 [%q2+-4], %r0;",
             {FindingKind::out_of_bounds, -4, "shared memory", 3});
  expect_one(kLaneThree + "st.shared.v2.b32 [%q2+256], {%r0, %r0};",
             {FindingKind::out_of_bounds, 256, "shared memory", 3});
  expect_one("cvta.shared.u64 %q5, %q2; " + kLaneThree + "st.b32 [%q5+256], %r0;",
             {FindingKind::out_of_bounds, 256, "shared memory", 3});
  expect_one(kLaneThree + "st.local.b32 [%q3+64], %r0;",
             {FindingKind::out_of_bounds, 64, "local memory", 3});
  expect_one(kLaneThree + "ld.local.b32 %r1, [%q3+64];",
             {FindingKind::out_of_bounds, 64, "local memory", 3});
  expect_one(kLaneThree + "st.local.b32 [%q3+-4], %r0;",
             {FindingKind::out_of_bounds, -4, "local memory", 3});
  expect_one("cvta.local.u64 %q5, %q3; " + kLaneThree + "st.b32 [%q5+64], %r0;",
             {FindingKind::out_of_bounds, 64, "local memory", 3});
  // Dynamic shared memory makes the block's memory larger.
  EXPECT_TRUE(run("st.shared.b32 [%q2+256], 5;", 16).report.clean());
  EXPECT_EQ(run("st.shared.b32 [%q2+272], 5;", 16).report.findings.size(), 1u);
}

TEST(SimAccessCheck, Alignment) {
  expect_one(kLaneThree + "ld.global.b32 %r1, [%q0+2];", {FindingKind::misaligned, 2, "first", 3});
  expect_one(kLaneThree + "ld.global.b64 %q5, [%q0+12];",
             {FindingKind::misaligned, 12, "first", 3});
  expect_one(kLaneThree + "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%q0+8];",
             {FindingKind::misaligned, 8, "first", 3});
  expect_one(kLaneThree + "st.global.b16 [%q0+7], %h0;", {FindingKind::misaligned, 7, "first", 3});
  expect_one(kLaneThree + "st.shared.b64 [%q2+4], %q0;",
             {FindingKind::misaligned, 4, "shared memory", 3});
  expect_one(kLaneThree + "st.local.v2.b32 [%q3+4], {%r0, %r0};",
             {FindingKind::misaligned, 4, "local memory", 3});
  expect_one(kLaneThree + "atom.global.add.u32 %r1, [%q0+6], 1;",
             {FindingKind::misaligned, 6, "first", 3});
  expect_one(kLaneThree + "atom.shared.cas.b64 %q5, [%q2+4], 0, 1;",
             {FindingKind::misaligned, 4, "shared memory", 3});
}

TEST(SimAccessCheck, ReadOnlyMemory) {
  expect_one(kLaneThree + "st.global.b32 [%q1], %r0;",
             {FindingKind::read_only_write, 0, "second", 3});
  expect_one("mad.wide.u32 %q5, %r0, 2, %q1;\nst.global.b16 [%q5], %h0;",
             {FindingKind::read_only_write, 0, "second", 0, 0, 64});
  expect_one(kLaneThree + "atom.global.add.u32 %r1, [%q1+4], 1;",
             {FindingKind::read_only_write, 4, "second", 3});
  expect_one(kLaneThree + "st.b32 [%q4+8], %r0;", {FindingKind::read_only_write, 8, "table", 3});
  const Outcome result =
      run("ld.global.b32 %r1, [%q1+60]; ld.const.b8 %r2, [table+2]; mad.wide.u32 %q5, %r0, 4, %q0; "
          "st.global.b32 [%q5], %r2;");
  EXPECT_TRUE(result.report.findings.size() <= 1) << result.report.text();
}

TEST(SimAccessCheck, Initialisation) {
  expect_one(kLaneThree + "ld.global.b32 %r1, [%q0+12];",
             {FindingKind::uninitialised_read, 12, "first", 3}, true);
  expect_one("mad.wide.u32 %q5, %r0, 8, %q0;\nld.global.b64 %q6, [%q5];",
             {FindingKind::uninitialised_read, 0, "first", 0, 0, 64}, true);
  expect_one(kLaneThree + "atom.global.add.u32 %r1, [%q0+12], 1;",
             {FindingKind::uninitialised_read, 12, "first", 3, 0, 1}, true);
  // Bytes count one by one: three of four are written.
  expect_one(
      "setp.eq.u32 %p0, %r0, 3; mov.u32 %r5, %ctaid.x; mul.wide.u32 %q6, %r5, 4; add.u64 %q5, %q0, "
      "%q6; mov.b16 %h0, 1; @%p0 st.global.b8 [%q5], %h0; @%p0 st.global.b16 [%q5+2], %h0;\n@%p0 "
      "ld.global.b32 %r1, [%q5];",
      {FindingKind::uninitialised_read, 0, "first", 3}, true);
  expect_one(kLaneThree + "ld.shared.b32 %r1, [%q2+16];",
             {FindingKind::uninitialised_read, 16, "shared memory", 3});
  expect_one(kLaneThree + "atom.shared.add.u32 %r1, [%q2+16], 1;",
             {FindingKind::uninitialised_read, 16, "shared memory", 3});
  expect_one(
      "st.shared.b8 [%q2+16], 1; bar.sync 0; setp.eq.u32 %p0, %r0, 3;\n@%p0 ld.shared.b16 %h1, "
      "[%q2+16];",
      {FindingKind::uninitialised_read, 16, "shared memory", 3});
  expect_one(kLaneThree + "ld.local.b32 %r1, [%q3+16];",
             {FindingKind::uninitialised_read, 16, "local memory", 3});
  // Each lane has local memory of its own.
  expect_one("setp.ne.u32 %p0, %r0, 3; @%p0 st.local.b32 [%q3], 1;\nld.local.b32 %r1, [%q3];",
             {FindingKind::uninitialised_read, 0, "local memory", 3});
  const Outcome fine = run(
      "setp.eq.u32 %p0, %r0, 0; mov.u32 %r5, %ctaid.x; mad.wide.u32 %q5, %r5, 4, %q0; mov.b16 %h0, "
      "1; @%p0 st.global.b8 [%q5], %h0; @%p0 st.global.b8 [%q5+1], %h0; @%p0 ld.global.b16 %h1, "
      "[%q5]; st.local.v4.b32 [%q3], {1, 2, 3, 4}; ld.local.b64 %q6, [%q3+8];",
      0, true);
  EXPECT_TRUE(fine.report.clean()) << fine.report.text();
}

TEST(SimAccessCheck, FailedAccessesChangeNothing) {
  const Outcome result =
      run("mov.u32 %r1, 77; setp.eq.u32 %p0, %r0, 3; mov.u32 %r5, %ctaid.x; mad.wide.u32 %q5, %r5, "
          "4, %q0; st.global.b32 [%q0+-4], %r1; ld.global.b32 %r1, [%q0+256]; @%p0 st.global.b32 "
          "[%q5], %r1;");
  EXPECT_EQ(result.report.findings.size(), 2u) << result.report.text();
  EXPECT_TRUE(result.report.complete);
  EXPECT_EQ(result.first, std::vector<uint8_t>(256, 0));  // reads outside give zero
}

TEST(SimAccessCheck, NothingIsCheckedOnRequest) {
  const Module module =
      Module::parse(kHead + "ld.global.b32 %r1, [%q0]; ld.shared.b32 %r2, [%q2];\nret;\n}\n");
  Memory memory;
  Arguments arguments;
  arguments.add(memory.allocate("first", 256)).add(memory.allocate("second", 64));
  LaunchOptions options;
  options.checks = false;
  EXPECT_TRUE(launch(module, "k", memory, {2, 1, 1}, {32, 1, 1}, 0, arguments, options).clean());
  EXPECT_EQ(launch(module, "k", memory, {2, 1, 1}, {32, 1, 1}, 0, arguments).findings.size(), 2u);
}

TEST(SimAccessCheck, LaunchLimits) {
  const std::string header = ".version 9.0\n.target sm_80\n.address_size 64\n";
  struct Case {
    const char* text;
    Dim3 grid, block;
    uint32_t dynamic;
    int registers;
    const char* message;
  };
  const Case cases[] = {
      {".visible .entry k() { ret; }", {1, 1, 1}, {33, 32, 1}, 0, 0, "1056 threads"},
      {".visible .entry k() { ret; }", {1, 1, 1}, {1, 1, 65}, 0, 0, "shape exceeds (1024,1024,64)"},
      {".visible .entry k() { ret; }", {1, 65536, 1}, {1, 1, 1}, 0, 0, "grid's shape"},
      {".visible .entry k() { ret; }", {1, 1, 65536}, {1, 1, 1}, 0, 0, "grid's shape"},
      {".visible .entry k() { ret; }", {0, 1, 1}, {1, 1, 1}, 0, 0, "empty"},
      {".visible .entry k() { .shared .b8 t[49153]; ret; }",
       {1, 1, 1},
       {1, 1, 1},
       0,
       0,
       "static shared memory"},
      {".visible .entry k() { .shared .b8 t[4096]; ret; }",
       {1, 1, 1},
       {1, 1, 1},
       166912 - 4095,
       0,
       "shared memory"},
      {".visible .entry k() .maxntid 64 { ret; }", {1, 1, 1}, {65, 1, 1}, 0, 0, ".maxntid"},
      {".visible .entry k() .reqntid 8, 8 { ret; }", {1, 1, 1}, {64, 1, 1}, 0, 0, ".reqntid"},
      {".visible .entry k() { ret; }", {1, 1, 1}, {1024, 1, 1}, 0, 65, "registers"}};
  for (const Case& c : cases) {
    const Module module = Module::parse(header + c.text);
    Memory memory;
    LaunchOptions options;
    options.registers = c.registers;
    const LaunchReport report =
        launch(module, "k", memory, c.grid, c.block, c.dynamic, {}, options);
    ASSERT_EQ(report.findings.size(), 1u) << c.text << report.text();
    EXPECT_EQ(report.findings[0].kind, FindingKind::launch_limit);
    EXPECT_NE(report.findings[0].message.find(c.message), std::string::npos) << report.text();
    EXPECT_FALSE(report.complete);
  }
  // At the limits themselves nothing is wrong.
  const Module module =
      Module::parse(header + ".visible .entry k() .maxntid 1024 { .shared .b8 t[4096]; ret; }");
  Memory memory;
  LaunchOptions options;
  options.registers = 64;
  EXPECT_TRUE(
      launch(module, "k", memory, {1, 1, 1}, {16, 1, 64}, 166912 - 4096, {}, options).clean());
}

}  // namespace
}  // namespace mcc::sim::test
