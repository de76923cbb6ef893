// A decoded module: code for all functions in one array, constants, and what findings need to name
// places in the source.
//
// Invariants: code[0] and code[1] (without and with checks) have the same length and differ only in
// handlers; every branch target and function entry is an index into them.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/sim/core/machine.h"
#include "runtime/sim/text/syntax.h"

namespace mcc::sim {

// Indices of special registers in Warp::special.
enum Special : int {
  kTidX, kTidY, kTidZ, kLaneId, kWarpId, kNumWarps, kNtidX, kNtidY, kNtidZ, kCtaidX, kCtaidY, kCtaidZ, kNctaidX,
  kNctaidY, kNctaidZ, kMaskEq, kMaskLe, kMaskLt, kMaskGe, kMaskGt, kSmId, kNumSm, kGridId, kDynamicBytes, kTotalBytes,
  kDynamicBase, kZero, kOne, kSpecialCount,
};

struct ParamSlot {
  std::string name;
  int64_t offset = 0;  // kernels: bytes in the parameter block; functions: bytes in the frame
  int64_t bytes = 0;
  int64_t align = 1;
};

struct FunctionInfo {
  std::string name;
  bool entry = false;
  bool defined = false;
  int32_t first = 0;  // code index
  int32_t end = 0;
  uint32_t register_bytes = 0;
  uint32_t predicates = 0;
  uint32_t param_words = 0;  // .param words of a frame: own parameters, returns, call arguments
  uint32_t local_bytes = 0;
  uint32_t shared_bytes = 0;      // static, entries only
  uint32_t param_bytes = 0;       // entries only
  uint32_t virtual_registers = 0; // 32-bit units live at once: a rough register estimate
  std::vector<ParamSlot> params;
  std::vector<ParamSlot> returns;
  int max_threads[3] = {0, 0, 0};
  int required_threads[3] = {0, 0, 0};
  bool sub_word_shared = false;
  int granule_shift_global = 2;
  int granule_shift_shared = 2;
  bool uses_dynamic_shared = false;
};

// A .global or .const variable: window kFirstWindow + index.
struct ModuleVariable {
  std::string name;
  std::vector<uint8_t> memory;  // storage; 64-byte aligned copies are made when the module is loaded
  bool constant = false;
};

// Copies of one call: caller frame words from `from` to callee frame words `to`.
struct CallSite {
  int32_t function = -1;  // -1: indirect
  struct Copy { uint32_t from, to, words; };
  std::vector<Copy> arguments;  // caller -> callee
  std::vector<Copy> returns;    // callee -> caller
  std::string builtin;          // "vprintf", "__assertfail"
  std::vector<uint32_t> argument_words;  // where the arguments start in the caller's frame
  std::vector<uint32_t> return_words;
};

struct Isa;

struct Program {
  const Isa* isa = nullptr;  // whose handlers the code holds
  std::string target;
  int architecture = 0;  // 80 for sm_80
  std::vector<Inst> code[2];
  std::vector<uint8_t> constants;  // padded so that 64-byte alignment can be restored by the owner
  std::deque<std::vector<int32_t>> lists;
  std::vector<int> lines;
  std::vector<SourceLocation> locations;
  std::vector<std::string> texts;  // opcode with suffixes
  std::vector<int32_t> function_of;
  std::vector<FunctionInfo> functions;
  std::vector<CallSite> calls;
  std::vector<ModuleVariable> variables;
  std::map<int, std::string> files;
  uint32_t module_shared_bytes = 0;
};

// Throws SimError naming the line.
std::unique_ptr<Program> decode(const ParsedModule& module, const Isa& isa);

}  // namespace mcc::sim
