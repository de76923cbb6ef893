// Helpers of the simulator's tests: small kernels as PTX text, run over arrays.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "runtime/sim/sim.h"

namespace mcc::sim::test {

inline constexpr const char* kHeader = ".version 9.0\n.target sm_100a\n.address_size 64\n";

// A kernel k(in0, in1, in2, out) whose thread i sees its elements in the body's registers. `load` and
// `store` are PTX types such as "b32"; the body reads %a, %b, %c of that type and writes %d.
inline std::string elementwise(const std::string& load, const std::string& store, const std::string& body) {
  auto bytes = [](const std::string& type) { return std::stoi(type.substr(type.find_first_of("0123456789"))) / 8; };
  std::string text = kHeader;
  text += ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3) {\n";
  text += ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .b16 %h<16>; .reg .f32 %f<16>; .reg .f64 %fd<16>;\n";
  text += ".reg ." + load + " %a; .reg ." + load + " %b; .reg ." + load + " %c; .reg ." + store + " %d;\n";
  text += "mov.u32 %r28, %ctaid.x; mov.u32 %r29, %ntid.x; mov.u32 %r30, %tid.x; mad.lo.u32 %r31, %r28, %r29, %r30;\n";
  const char* names[] = {"%a", "%b", "%c"};
  for (int i = 0; i < 3; ++i) {
    text += "ld.param.u64 %rd30, [p" + std::to_string(i) + "]; mad.wide.u32 %rd31, %r31, " + std::to_string(bytes(load)) + ", %rd30; ld.global." + load + " " + names[i] + ", [%rd31];\n";
  }
  text += body + "\n";
  text += "ld.param.u64 %rd30, [p3]; mad.wide.u32 %rd31, %r31, " + std::to_string(bytes(store)) + ", %rd30; st.global." + store + " [%rd31], %d;\nret;\n}\n";
  return text;
}

// Runs such a kernel over vectors of equal length (a multiple of nothing: the last warp is partial).
template <class Out, class In>
std::vector<Out> run_elementwise(const std::string& ptx, const std::vector<In>& a, const std::vector<In>& b, const std::vector<In>& c, const char* isa = nullptr) {
  const Module module = Module::parse(ptx, isa);
  Memory memory;
  const size_t n = a.size();
  std::vector<Out> out(n);
  Arguments arguments;
  arguments.add(memory.upload("a", a.data(), n * sizeof(In))).add(memory.upload("b", b.data(), n * sizeof(In))).add(memory.upload("c", c.data(), n * sizeof(In)));
  const Address result = memory.allocate("out", n * sizeof(Out));
  arguments.add(result);
  // One block of every size, so that full and partial warps are both run.
  const auto threads = static_cast<uint32_t>(n);
  const LaunchReport report = launch(module, "k", memory, {1, 1, 1}, {threads, 1, 1}, 0, arguments);
  if (!report.clean()) throw SimError(report.text());
  memory.read(result, out.data(), n * sizeof(Out));
  return out;
}

}  // namespace mcc::sim::test
