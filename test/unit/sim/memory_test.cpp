// Loads and stores in every state space and width, vectors, generic addresses, moves and special
// registers (PTX ISA 9.7.9, 10).
#include <gtest/gtest.h>

#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i * 151 + i / 256 * 7 + 90);
  return data;
}
// q0: the buffer, r0: the thread of 64 in two warps (the second one is partial: 19 lanes).
const std::string kHead =
    ".const .align 16 .b8 table[1024];\n.global .align 16 .b8 words[1024];\n.visible .entry "
    "k(.param .u64 p) {\n.reg .pred %p<4>; .reg .b32 %r<24>; .reg .b64 %q<24>; .reg .b16 %h<8>; "
    ".shared .align 16 .b8 tile[1024]; .local .align 16 .b8 stack[1024];\n"
    "ld.param.u64 %q0, [p]; mov.u32 %r0, %tid.x;\n";
constexpr uint32_t kThreads = 51;

std::vector<uint8_t> run(const std::string& body, std::vector<uint8_t> buffer, const char* isa,
                         uint32_t threads = kThreads) {
  const LaunchReport report =
      run_kernel(kHead + body + "\nret;\n}\n", buffer, {1, 1, 1}, {threads, 1, 1}, isa);
  EXPECT_TRUE(report.clean()) << body << "\n" << report.text();
  return buffer;
}

// Copies the thread's element from the buffer's first KB into its own place of the space, and from
// there to the second KB; vectors of every width and type.
TEST(SimMemory, EverySpaceTypeAndVector) {
  struct Space {
    const char* suffix;
    const char* address;
  };
  const Space spaces[] = {{".global", "mov.u64 %q5, words;"},
                          {".shared", "mov.u64 %q5, tile;"},
                          {".local", "mov.u64 %q5, stack;"},
                          {"", "mov.u64 %q5, words; cvta.global.u64 %q5, %q5;"},
                          {"", "mov.u64 %q5, tile; cvta.shared.u64 %q5, %q5;"},
                          {"", "mov.u64 %q5, stack; cvta.local.u64 %q5, %q5;"},
                          {".shared::cta", "mov.u64 %q5, tile;"}};
  for (const char* isa : instruction_sets()) {
    for (const Space& space : spaces) {
      for (int width : {8, 16, 32, 64}) {
        for (int count : {1, 2, 4}) {
          const int bytes = width / 8 * count;
          if (bytes > 16) continue;
          for (const char* kind : {"b", "u", "s", "f"}) {
            if (kind[0] == 'f' && width < 32) continue;
            const std::string prefix = width == 64 ? "%q1" : width == 32 ? "%r1" : "%h";
            std::string list;
            for (int i = 0; i < count; ++i)
              list += (i == 0 ? "" : ", ") + prefix + std::to_string(i);
            if (count > 1) list = "{" + list + "}";
            const std::string type = std::string(count == 1   ? ""
                                                 : count == 2 ? ".v2"
                                                              : ".v4") +
                                     "." + kind + std::to_string(width),
                              n = std::to_string(bytes);
            const std::string body = std::string(space.address) + " mad.wide.u32 %q5, %r0, " + n +
                                     ", %q5; mad.wide.u32 %q4, %r0, " + n + ", %q0;\nld.global" +
                                     type + " " + list + ", [%q4]; st" + space.suffix + type +
                                     " [%q5], " + list + ";\n" + "ld" + space.suffix + type + " " +
                                     list + ", [%q5+0]; st.global" + type + " [%q4+1024], " + list +
                                     ";";
            const std::vector<uint8_t> before = pattern(2048), after = run(body, before, isa);
            const size_t moved = static_cast<size_t>(bytes) * kThreads;
            EXPECT_EQ(std::memcmp(&after[1024], &before[0], moved), 0) << type << space.suffix;
            EXPECT_EQ(std::memcmp(&after[1024 + moved], &before[1024 + moved], 1024 - moved), 0)
                << type << space.suffix;
          }
        }
      }
    }
  }
}

// Registers wider than the loaded type hold the extended value; stores take the low bits.
TEST(SimMemory, ExtensionToWiderRegisters) {
  for (const char* space : {".global", ".shared", ".local", ".param"}) {
    for (int width : {8, 16, 32}) {
      for (bool sign : {false, true}) {
        for (int to : {32, 64}) {
          if (to < width || (std::string(space) == ".param" && to == 32)) continue;
          const std::string type = std::string(sign ? ".s" : ".u") + std::to_string(width),
                            result = to == 64 ? "%q10" : "%r10", n = std::to_string(width / 8);
          std::string body = "mad.wide.u32 %q4, %r0, " + n +
                             ", %q0; mad.wide.u32 %q6, %r0, 8, %q0; mov.u64 %q10, 0; mov.u32 %r10, "
                             "0; mov.u64 %q5, " +
                             std::string(space == std::string(".shared") ? "tile" : "stack") +
                             "; mad.wide.u32 %q5, %r0, " + n + ", %q5;\n";
          if (std::string(space) == ".param") {
            // The low bytes of the buffer's address.
            body += "ld.param" + type +
                    " %q10, [p]; sub.u64 %q10, %q10, %q0; st.global.b64 [%q6+1024], %q10;";
            const std::vector<uint8_t> after = run(body, pattern(2048), nullptr);
            uint64_t got;
            std::memcpy(&got, &after[1024], 8);
            // Addresses of buffers begin at multiples of a large power of two: their low bytes are
            // zero.
            EXPECT_EQ(got & ((uint64_t{1} << width) - 1), 0u);
            continue;
          }
          if (std::string(space) != ".global")
            body += "ld.global.b" + std::to_string(width) + " " + (width == 32 ? "%r9" : "%h1") +
                    ", [%q4]; st" + space + ".b" + std::to_string(width) + " [%q5], " +
                    (width == 32 ? "%r9" : "%h1") + ";\n";
          body += std::string("ld") + space + type + " " + result + ", [" +
                  (std::string(space) == ".global" ? "%q4" : "%q5") + "];\n";
          body += to == 64 ? "st.global.b64 [%q6+1024], %q10;"
                           : "st.global.b32 [%q6+1024], %r10; st.global.b32 [%q6+1028], 0;";
          const std::vector<uint8_t> before = pattern(2048), after = run(body, before, nullptr);
          for (size_t t = 0; t < kThreads; ++t) {
            uint64_t bits = 0, got;
            std::memcpy(&bits, &before[t * static_cast<size_t>(width) / 8],
                        static_cast<size_t>(width) / 8);
            if (sign)
              bits = static_cast<uint64_t>(static_cast<int64_t>(bits << (64 - width)) >>
                                           (64 - width)) &
                     (to == 64 ? ~uint64_t{0} : 0xffffffffu);
            std::memcpy(&got, &after[1024 + 8 * t], 8);
            EXPECT_EQ(got, bits) << space << type << " to " << to;
          }
        }
      }
    }
  }
}

TEST(SimMemory, GenericAddressesOfDifferentSpacesInOneWarp) {
  // Thread t goes to global, shared or local memory, or to nothing, by t % 4.
  const std::string body =
      "rem.u32 %r1, %r0, 4; mad.wide.u32 %q4, %r0, 4, %q0; mov.u64 %q5, stack; cvta.local.u64 %q5, "
      "%q5; setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1; setp.ne.u32 %p2, %r1, 3;\n"
      "@%p0 mov.u64 %q5, words; @%p0 cvta.global.u64 %q5, %q5; @%p1 mov.u64 %q5, tile; @%p1 "
      "cvta.shared.u64 %q5, %q5; mad.wide.u32 %q5, %r0, 4, %q5;\n"
      "ld.global.b32 %r2, [%q4]; mov.u32 %r3, 7; @%p2 st.b32 [%q5+64], %r2; @%p2 ld.b32 %r3, "
      "[%q5+64]; st.global.b32 [%q4+1024], %r3;\n"
      "isspacep.global %p0, %q5; selp.u32 %r4, 1, 0, %p0; isspacep.shared %p0, %q5; selp.u32 %r5, "
      "2, 0, %p0; isspacep.local %p0, %q5; selp.u32 %r6, 4, 0, %p0; or.b32 %r4, %r4, %r5; or.b32 "
      "%r4, %r4, %r6; st.global.b32 [%q4+1536], %r4;";
  for (const char* isa : instruction_sets()) {
    const std::vector<uint8_t> before = pattern(2048), after = run(body, before, isa);
    for (size_t t = 0; t < kThreads; ++t) {
      uint32_t got, expected, space;
      std::memcpy(&got, &after[1024 + 4 * t], 4);
      std::memcpy(&expected, &before[4 * t], 4);
      std::memcpy(&space, &after[1536 + 4 * t], 4);
      EXPECT_EQ(got, t % 4 == 3 ? 7 : expected) << t;
      EXPECT_EQ(space, t % 4 == 0 ? 1u : t % 4 == 1 ? 2u : 4u) << t;
    }
  }
}

TEST(SimMemory, ModuleVariablesAndParameters) {
  const std::string text =
      ".const .align 4 .b32 numbers[4] = {1, -2, 0x30, 4};\n.global .align 4 .f32 target[3] = "
      "{1.5, -2.25, 0f40400000};\n.global .align 8 .u64 pointer[2] = {generic(target)+4, "
      "5};\n.global .align 8 .f64 doubles[2] = {-0.5, 0d4000000000000000};\n.global .b32 "
      "count;\n"
      ".visible .entry k(.param .u64 p, .param .u8 small, .param .align 8 .b8 pair[16], .param "
      ".f32 single) {\n.reg .b32 %r<16>; .reg .b64 %q<8>; .reg .f32 %f<4>; .reg .f64 %g<4>; .reg "
      ".b16 %h<4>;\n"
      "ld.param.u64 %q0, [p]; ld.const.s32 %r1, [numbers+4]; st.global.b32 [%q0], %r1; "
      "ld.global.u64 %q1, [pointer]; ld.f32 %f1, [%q1]; st.global.f32 [%q0+4], %f1; ld.global.f64 "
      "%g1, [doubles]; st.global.f64 [%q0+8], %g1;\n"
      "ld.param.u8 %r2, [small]; st.global.b32 [%q0+16], %r2; ld.param.v2.b32 {%r3, %r4}, "
      "[pair+8]; st.global.v2.b32 [%q0+24], {%r3, %r4}; ld.param.f32 %f2, [single]; st.global.f32 "
      "[%q0+32], %f2;\n"
      "mov.u64 %q2, pair; cvta.param.u64 %q3, %q2; ld.b32 %r5, [%q3+4]; st.global.b32 [%q0+36], "
      "%r5; ld.global.f32 %f3, [target+8]; st.global.f32 [%q0+40], %f3; ld.global.b32 %r6, "
      "[count]; add.u32 %r6, %r6, 1; st.global.b32 [count], %r6; st.global.b32 [%q0+44], "
      "%r6;\nret;\n}\n";
  for (const char* isa : instruction_sets()) {
    const Module module =
        Module::parse(".version 9.0\n.target sm_100a\n.address_size 64\n" + text, isa);
    Memory memory;
    const std::vector<uint8_t> zeros(48, 0);
    const Address buffer = memory.upload("buffer", zeros.data(), 48);
    Arguments arguments;
    const uint32_t pair[4] = {10, 20, 30, 40};
    arguments.add(buffer).add(uint8_t{200}).add_bytes(pair, 16).add(7.5f);
    // Variables of the module keep their values between launches.
    for (uint32_t launches = 1; launches <= 2; ++launches) {
      const LaunchReport report = launch(module, "k", memory, {1, 1, 1}, {1, 1, 1}, 0, arguments);
      EXPECT_TRUE(report.clean()) << report.text();
      uint32_t words[12];
      memory.read(buffer, words, 48);
      EXPECT_EQ(static_cast<int32_t>(words[0]), -2);
      EXPECT_EQ(words[1], bits_of(-2.25f));
      EXPECT_EQ(words[2] | static_cast<uint64_t>(words[3]) << 32, bits_of(-0.5));
      EXPECT_EQ(words[4], 200u);
      EXPECT_EQ(words[6], 30u);
      EXPECT_EQ(words[7], 40u);
      EXPECT_EQ(words[8], bits_of(7.5f));
      EXPECT_EQ(words[9], 20u);
      EXPECT_EQ(words[10], bits_of(3.0f));
      EXPECT_EQ(words[11], launches);
    }
  }
}

TEST(SimMemory, PackingAndUnpacking) {
  Table table = cross("b64", {integers(64), integers(64)});
  check("mov.b64 {%r0, %r1}, %a; mov.b64 %d, {%r1, %r0};", table, "b64",
        [](Row x) { return x[0] << 32 | x[0] >> 32; });
  check("mov.b64 {%h0, %h1, %h2, %h3}, %a; mov.b64 %d, {%h3, %h2, %h1, %h0};", table, "b64",
        [](Row x) {
          return x[0] >> 48 | (x[0] >> 16 & 0xffff0000u) | (x[0] & 0xffff0000u) << 16 | x[0] << 48;
        });
  check("mov.b64 {_, %r1}, %a; mov.b32 {%h0, _}, %r1; mov.b32 %d, {%h0, %h0};", table, "b32",
        [](Row x) { return (x[0] >> 32 & 0xffff) * 0x10001u; });
  check(
      ".reg .b128 %x; mov.b128 %x, {%a, %b}; mov.b128 {%q0, %q1}, %x; xor.b64 %q0, %q0, %b; "
      "xor.b64 %q1, %q1, %a; add.u64 %d, %q0, %q1;",
      table, "b64", [](Row x) { return 2 * (x[0] ^ x[1]); });
  const Table words = cross("b32", {integers(32)});
  check("mov.b32 {%h0, %h1}, %a; mov.b32 %d, {%h1, %h0};", words, "b32",
        [](Row x) { return x[0] << 16 | x[0] >> 16; });
}

TEST(SimMemory, SpecialRegisters) {
  // Threads of a 5 by 3 by 2 block in a 2 by 3 by 2 grid check what they are.
  struct Register {
    const char* name;
    std::function<uint32_t(Dim3 block, Dim3 thread, uint32_t linear)> value;
  };
  const Register registers[] = {
      {"%tid.x", [](Dim3, Dim3 t, uint32_t) { return t.x; }},
      {"%tid.y", [](Dim3, Dim3 t, uint32_t) { return t.y; }},
      {"%tid.z", [](Dim3, Dim3 t, uint32_t) { return t.z; }},
      {"%ctaid.x", [](Dim3 b, Dim3, uint32_t) { return b.x; }},
      {"%ctaid.y", [](Dim3 b, Dim3, uint32_t) { return b.y; }},
      {"%ctaid.z", [](Dim3 b, Dim3, uint32_t) { return b.z; }},
      {"%ntid.x", [](Dim3, Dim3, uint32_t) { return 5u; }},
      {"%ntid.y", [](Dim3, Dim3, uint32_t) { return 3u; }},
      {"%ntid.z", [](Dim3, Dim3, uint32_t) { return 4u; }},
      {"%nctaid.x", [](Dim3, Dim3, uint32_t) { return 2u; }},
      {"%nctaid.y", [](Dim3, Dim3, uint32_t) { return 3u; }},
      {"%nctaid.z", [](Dim3, Dim3, uint32_t) { return 2u; }},
      {"%laneid", [](Dim3, Dim3, uint32_t l) { return l % 32; }},
      {"%warpid", [](Dim3, Dim3, uint32_t l) { return l / 32; }},
      {"%nwarpid", [](Dim3, Dim3, uint32_t) { return 2u; }},
      {"%lanemask_eq", [](Dim3, Dim3, uint32_t l) { return 1u << l % 32; }},
      {"%lanemask_lt", [](Dim3, Dim3, uint32_t l) { return (1u << l % 32) - 1; }},
      {"%lanemask_le",
       [](Dim3, Dim3, uint32_t l) { return static_cast<uint32_t>((uint64_t{2} << l % 32) - 1); }},
      {"%lanemask_ge", [](Dim3, Dim3, uint32_t l) { return ~((1u << l % 32) - 1); }},
      {"%lanemask_gt",
       [](Dim3, Dim3, uint32_t l) { return ~static_cast<uint32_t>((uint64_t{2} << l % 32) - 1); }},
      {"%dynamic_smem_size", [](Dim3, Dim3, uint32_t) { return 48u; }},
      {"%cluster_nctarank", [](Dim3, Dim3, uint32_t) { return 1u; }}};
  for (const Register& r : registers) {
    const std::string text =
        ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<12>; .reg .b64 %q<4>;\nld.param.u64 %q0, "
        "[p]; mov.u32 %r0, %ctaid.z; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.x; mov.u32 %r3, "
        "%tid.z; mov.u32 %r4, %tid.y; mov.u32 %r5, %tid.x; mad.lo.u32 %r0, %r0, 3, %r1; mad.lo.u32 "
        "%r0, %r0, 2, %r2; mad.lo.u32 %r0, %r0, 4, %r3; mad.lo.u32 %r0, %r0, 3, %r4; mad.lo.u32 "
        "%r0, %r0, 5, %r5;\n"
        "mad.wide.u32 %q1, %r0, 4, %q0; mov.u32 %r1, " +
        std::string(r.name) + "; st.global.b32 [%q1], %r1; ret;\n}\n";
    std::vector<uint8_t> buffer(12 * 60 * 4, 0xee);
    const LaunchReport report = run_kernel(text, buffer, {2, 3, 2}, {5, 3, 4}, nullptr, 48);
    EXPECT_TRUE(report.clean()) << report.text();
    for (uint32_t i = 0; i < 12 * 60; ++i) {
      const uint32_t b = i / 60, l = i % 60;
      uint32_t got;
      std::memcpy(&got, &buffer[4 * i], 4);
      ASSERT_EQ(got, r.value({b % 2, b / 2 % 3, b / 6}, {l % 5, l / 5 % 3, l / 15}, l))
          << r.name << " of thread " << l;
    }
  }
}

TEST(SimMemory, DynamicSharedMemoryFollowsTheStaticPart) {
  const std::string text =
      ".extern .shared .align 16 .b8 dynamic[];\n.visible .entry k(.param .u64 p) {\n.reg .b32 "
      "%r<8>; .reg .b64 %q<8>; .shared .align 4 .b8 tile[20];\nld.param.u64 %q0, [p]; mov.u64 %q1, "
      "dynamic; mov.u64 %q2, tile; sub.u64 %q3, %q1, %q2; st.shared.b32 [%q1+28], 5; ld.shared.b32 "
      "%r1, [dynamic+28];\n"
      "st.global.b64 [%q0], %q3; st.global.b32 [%q0+8], %r1; mov.u32 %r2, dynamic; cvt.u64.u32 "
      "%q4, %r2; sub.u64 %q4, %q4, %q1; st.global.b64 [%q0+16], %q4; ret;\n}\n";
  std::vector<uint8_t> buffer(24, 0);
  const LaunchReport report = run_kernel(text, buffer, {1, 1, 1}, {1, 1, 1}, nullptr, 32);
  EXPECT_TRUE(report.clean()) << report.text();
  uint64_t words[3];
  std::memcpy(words, buffer.data(), 24);
  EXPECT_EQ(words[0] % 16, 0u);
  EXPECT_GE(words[0], 20u);
  EXPECT_EQ(words[1], 5u);
  EXPECT_EQ(words[2], 0u);
}

}  // namespace
}  // namespace mcc::sim::test
