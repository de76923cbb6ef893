// What the parser hands to the decoder: functions as statements whose register and variable names
// are resolved, but whose instructions are still suffix lists.
//
// Invariant: register ids are dense per function; statement order is program order, and labels are
// indices of the statement that follows them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sim/core/types.h"

namespace mcc::sim {

struct SourceLocation {
  int file = 0;  // number of the .file directive, 0 when there is none
  int line = 0;
};

enum class OperandKind : uint8_t {
  none,
  reg,        // reg: register id
  special,    // name: %tid.x
  immediate,  // bits: integer value, or the literal's bit pattern when `floating`
  symbol,     // name: a label, function or variable; bits: byte offset
  address,    // [items[0] + bits], or [name + bits]
  vector,     // {items...}
  list,       // (items...), of call
  sink,       // _
};

struct Operand {
  OperandKind kind = OperandKind::none;
  int reg = -1;
  int second_reg = -1;  // "d|p": the predicate, -1 when there is none
  bool negated = false;  // !p
  bool floating = false;  // 0f…, 0d… or a decimal literal; `bits` is then a double's pattern
  bool single = false;    // 0f…: bits is a float's pattern
  int64_t bits = 0;
  std::string name;
  std::vector<Operand> items;
};

struct Statement {
  std::vector<std::string_view> words;  // opcode and suffixes without dots; "shared::cta" is one
  std::vector<Operand> operands;
  int guard = -1;  // register id of @p
  bool guard_negated = false;
  int line = 0;
  SourceLocation location;
};

// A variable in any space, or a parameter.
struct Variable {
  std::string name;
  Space space = Space::global;
  Type type = Type::b8;
  int64_t align = 1;
  int64_t bytes = 0;
  bool external = false;  // .extern: dynamic shared memory when in the shared space
  std::vector<uint8_t> data;                                  // initial value, may be shorter than bytes
  struct Reference { int64_t at; std::string symbol; int64_t addend; };
  std::vector<Reference> references;                          // addresses inside the initial value
  int line = 0;
};

struct ParsedRegister {
  std::string name;
  Type type = Type::b32;
};

struct ParsedFunction {
  std::string name;
  bool entry = false;
  bool defined = false;  // has a body
  std::vector<Variable> returns;
  std::vector<Variable> parameters;
  std::vector<Variable> variables;  // .local, .shared and .param of the body, names made unique
  std::vector<ParsedRegister> registers;
  std::vector<Statement> statements;
  std::map<std::string, int> labels;
  std::map<std::string, std::vector<std::string>> branch_targets;
  int max_threads[3] = {0, 0, 0};       // .maxntid, 0 when absent
  int required_threads[3] = {0, 0, 0};  // .reqntid
  int max_registers = 0;
  int line = 0;
};

struct ParsedModule {
  std::string target;  // "sm_80"
  std::string version;
  int address_bits = 64;
  std::vector<Variable> variables;
  std::vector<ParsedFunction> functions;
  std::map<int, std::string> files;
};

// `text` must outlive the module's statements. SimError naming the line.
ParsedModule parse(std::string_view text);

}  // namespace mcc::sim
