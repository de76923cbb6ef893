// The harness of the instruction tests: one instruction per kernel, run over many operands on every
// instruction set that the processor has, compared bit for bit with a reference that the test
// wrote.
//
// Invariant: references share no code with the simulator. Operands and results are bit patterns.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "runtime/sim/sim.h"

namespace mcc::sim::test {

using Bits = std::vector<uint64_t>;
using Row = const uint64_t*;

// One operand: its memory type ("b8" to "b64") and its value in every row.
struct Column {
  std::string type;
  Bits bits;
};
using Table = std::vector<Column>;

// The executor's builds that this processor can run; never empty.
std::vector<const char*> instruction_sets();

// Every combination of the lists' values. `type`: of all columns, or one for each.
Table cross(const std::string& type, const std::vector<Bits>& lists);
Table cross(const std::vector<std::string>& types, const std::vector<Bits>& lists);
// Appends rows of pseudo-random bits, half of them with few bits set or cleared at the ends.
void add_random(Table& table, size_t rows, uint64_t seed = 1);
// Zero, one, extremes and patterns of the width, sign-extended ones included.
Bits integers(int width, int random = 6);
Bits every(uint64_t count);  // 0 .. count - 1
Bits operator+(Bits a, const Bits& b);

// The body reads %a, %b, %c, %e (as many as there are columns) and writes %d of type `out`. It may
// use %r0-15 (b32), %q0-15 (b64), %h0-15 (b16), %f0-15, %g0-15 (f64), %p0-7. Names of more than
// eight bits have a register of their memory type; bytes have one of 16 bits.
std::string kernel_text(const std::string& body, const Table& table, const std::string& out,
                        const std::string& target = "sm_100a");
Bits execute(const std::string& body, const Table& table, const std::string& out, const char* isa,
             const std::string& target = "sm_100a");

using Reference = std::function<uint64_t(Row)>;
// Whether the bits that the simulator gave are right for a row whose reference is `expected`.
using Accept = std::function<bool(Row, uint64_t expected, uint64_t got)>;
void check(const std::string& body, const Table& table, const std::string& out,
           const Reference& reference, const Accept& accept = nullptr);
// The module is refused, and the message holds `part`.
void refused(const std::string& body, const Table& table, const std::string& out,
             const std::string& part = "");

// A whole kernel `k` given as text (without the header) over one in/out buffer of bytes.
LaunchReport run_kernel(const std::string& text, std::vector<uint8_t>& buffer, Dim3 grid,
                        Dim3 block, const char* isa, uint32_t dynamic_shared = 0,
                        const LaunchOptions& options = {});

template <class To, class From>
To bits_as(From from) {
  To to{};
  std::memcpy(&to, &from, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
  return to;
}
inline float f32(uint64_t bits) { return bits_as<float>(static_cast<uint32_t>(bits)); }
inline double f64(uint64_t bits) { return bits_as<double>(bits); }
inline uint64_t bits_of(float x) { return bits_as<uint32_t>(x); }
inline uint64_t bits_of(double x) { return bits_as<uint64_t>(x); }

}  // namespace mcc::sim::test
