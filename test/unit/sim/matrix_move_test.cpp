// ldmatrix, stmatrix and movmatrix (PTX ISA 9.7.14.5.15 to 17): where each 16-bit element goes.
#include <gtest/gtest.h>

#include "test/unit/sim/harness.h"

namespace mcc::sim::test {
namespace {

// The element that lane `lane` holds in half `j` of its register: thread group g = lane / 4 has row
// g, two columns per lane; .trans swaps rows and columns.
struct Position {
  int row, column;
};
Position position(int lane, int j, bool transposed) {
  const Position p{lane / 4, lane % 4 * 2 + j};
  return transposed ? Position{p.column, p.row} : p;
}

uint16_t element(int matrix, int row, int column) {
  return static_cast<uint16_t>(0x8000 | matrix << 8 | row << 4 | column);
}
// Row `row` of a matrix lies at this byte: scattered, 16-byte aligned.
int row_offset(int matrix, int row) { return ((matrix * 8 + row) * 7 % 32) * 16; }

const std::string kHead =
    ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<16>; .reg .b64 %q<8>;\n.shared .align 16 .b8 "
    "tile[512];\n"
    "ld.param.u64 %q0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %q1, %r0, 16; add.u64 %q1, %q0, "
    "%q1;\n"  // q1: buffer + 16 * lane
    "mov.u64 %q2, tile; mul.wide.u32 %q3, %r0, 16; add.u64 %q3, %q2, %q3;\n"  // q3: tile + 16 *
                                                                              // lane
    "ld.global.b32 %r1, [%q1+512]; cvt.u64.u32 %q4, %r1; add.u64 %q5, %q2, %q4; cvt.u32.u64 %r2, "
    "%q5;\n";  // row's address

// Buffer: 512 bytes of tile or registers, then per lane (stride 16) its row's offset, then results.
std::vector<uint8_t> buffer_with(const std::vector<uint8_t>& first) {
  std::vector<uint8_t> buffer(3 * 512, 0);
  std::copy(first.begin(), first.end(), buffer.begin());
  for (int lane = 0; lane < 32; ++lane) {
    const auto offset = static_cast<uint32_t>(row_offset(lane / 8, lane % 8));
    std::memcpy(buffer.data() + 512 + 16 * lane, &offset, 4);
  }
  return buffer;
}

struct Variant {
  int count;
  bool transposed;
  std::string address;  // register and space
  std::string text() const {
    return "sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") +
           (address[1] == 'g' ? "" : ".shared") + ".b16 ";
  }
  std::string registers() const {
    return count == 1 ? "{%r4}" : count == 2 ? "{%r4, %r5}" : "{%r4, %r5, %r6, %r7}";
  }
  std::string prepare() const { return address == "%g" ? "cvta.shared.u64 %q6, %q5;\n" : ""; }
  std::string name() const { return address == "%g" ? "%q6" : address; }
};
std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (int count : {1, 2, 4}) {
    for (bool transposed : {false, true}) {
      for (const char* address : {"%q5", "%r2", "%g"}) all.push_back({count, transposed, address});
    }
  }
  return all;
}

TEST(SimMatrixMove, Load) {
  std::vector<uint8_t> tile(512);
  for (int m = 0; m < 4; ++m) {
    for (int row = 0; row < 8; ++row) {
      for (int column = 0; column < 8; ++column) {
        const uint16_t x = element(m, row, column);
        std::memcpy(tile.data() + row_offset(m, row) + 2 * column, &x, 2);
      }
    }
  }
  for (const Variant& v : variants()) {
    std::string text = kHead +
                       "ld.global.v4.b32 {%r8, %r9, %r10, %r11}, [%q1]; st.shared.v4.b32 [%q3], "
                       "{%r8, %r9, %r10, %r11}; bar.sync 0;\n" +
                       v.prepare();
    text += "mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0;\nldmatrix." +
            v.text() + v.registers() + ", [" + v.name() +
            "];\nst.global.v4.b32 [%q1+1024], {%r4, %r5, %r6, %r7};\nret;\n}\n";
    for (const char* isa : instruction_sets()) {
      std::vector<uint8_t> buffer = buffer_with(tile);
      const LaunchReport report = run_kernel(text, buffer, {1, 1, 1}, {32, 1, 1}, isa);
      EXPECT_TRUE(report.clean()) << report.text();
      for (int lane = 0; lane < 32; ++lane) {
        for (int m = 0; m < 4; ++m) {
          for (int j = 0; j < 2; ++j) {
            uint16_t got;
            std::memcpy(&got, buffer.data() + 1024 + 16 * lane + 4 * m + 2 * j, 2);
            const Position p = position(lane, j, v.transposed);
            EXPECT_EQ(got, m < v.count ? element(m, p.row, p.column) : 0)
                << v.text() << " lane " << lane << " register " << m;
          }
        }
      }
    }
  }
}

TEST(SimMatrixMove, Store) {
  for (const Variant& v : variants()) {
    std::vector<uint8_t> registers(512);
    for (int lane = 0; lane < 32; ++lane) {
      for (int m = 0; m < 4; ++m) {
        for (int j = 0; j < 2; ++j) {
          const Position p = position(lane, j, v.transposed);
          const uint16_t x = element(m, p.row, p.column);
          std::memcpy(registers.data() + 16 * lane + 4 * m + 2 * j, &x, 2);
        }
      }
    }
    std::string text = kHead +
                       "mov.b32 %r8, 0; st.shared.v4.b32 [%q3], {%r8, %r8, %r8, %r8}; bar.sync 0; "
                       "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%q1];\n" +
                       v.prepare();
    text += "stmatrix." + v.text() + "[" + v.name() + "], " + v.registers() +
            ";\nbar.sync 0; ld.shared.v4.b32 {%r8, %r9, %r10, %r11}, [%q3]; st.global.v4.b32 "
            "[%q1+1024], {%r8, %r9, %r10, %r11};\nret;\n}\n";
    for (const char* isa : instruction_sets()) {
      std::vector<uint8_t> buffer = buffer_with(registers);
      const LaunchReport report = run_kernel(text, buffer, {1, 1, 1}, {32, 1, 1}, isa);
      EXPECT_TRUE(report.clean()) << report.text();
      for (int m = 0; m < 4; ++m) {
        for (int row = 0; row < 8; ++row) {
          for (int column = 0; column < 8; ++column) {
            uint16_t got;
            std::memcpy(&got, buffer.data() + 1024 + row_offset(m, row) + 2 * column, 2);
            EXPECT_EQ(got, m < v.count ? element(m, row, column) : 0)
                << v.text() << " matrix " << m << " row " << row;
          }
        }
      }
    }
  }
}

TEST(SimMatrixMove, Transpose) {
  Table table = cross("b32", {Bits(32, 0)});
  for (int lane = 0; lane < 32; ++lane) {
    const Position low = position(lane, 0, false), high = position(lane, 1, false);
    table[0].bits[static_cast<size_t>(lane)] =
        element(1, low.row, low.column) | static_cast<uint64_t>(element(1, high.row, high.column))
                                              << 16;
  }
  table.push_back({"b32", every(32)});
  check("movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;", table, "b32", [](Row x) {
    const Position low = position(static_cast<int>(x[1]), 0, true),
                   high = position(static_cast<int>(x[1]), 1, true);
    return element(1, low.row, low.column) |
           static_cast<uint64_t>(element(1, high.row, high.column)) << 16;
  });
}

TEST(SimMatrixMove, Findings) {
  struct Case {
    const char* body;
    FindingKind kind;
    uint64_t address;
  };
  const Case cases[] = {
      {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];", FindingKind::uninitialised_read,
       0},
      {"add.u32 %r2, %r2, 2; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];",
       FindingKind::misaligned, 2},
      {"add.u32 %r2, %r2, 512; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r2], {%r0, %r0, %r0, "
       "%r0};",
       FindingKind::out_of_bounds, 512}};
  for (const Case& c : cases) {
    std::vector<uint8_t> buffer = buffer_with(std::vector<uint8_t>(512, 0));
    const LaunchReport report =
        run_kernel(kHead + c.body + "\nret;\n}\n", buffer, {1, 1, 1}, {32, 1, 1}, nullptr);
    ASSERT_EQ(report.findings.size(), 1u) << c.body << report.text();
    EXPECT_EQ(report.findings[0].kind, c.kind);
    EXPECT_EQ(report.findings[0].address, c.address);
    EXPECT_EQ(report.findings[0].buffer, "shared memory");
    EXPECT_EQ(report.findings[0].ptx_line, 10);
  }
}

}  // namespace
}  // namespace mcc::sim::test
