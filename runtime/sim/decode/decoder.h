// Turns the statements of a module into instructions. One row per PTX opcode (table.cpp) names a
// member that reads the suffixes and operands of its family.
//
// Invariants: every suffix is taken by somebody or the statement is refused; every emitted
// instruction has a handler for both variants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/sim/core/form.h"
#include "runtime/sim/core/program.h"
#include "runtime/sim/decode/flow.h"
#include "runtime/sim/exec/isa.h"

namespace mcc::sim {

class Decoder;

struct OpcodeRow {
  std::string_view name;
  Op op;
  InstClass klass;
  void (Decoder::*decode)(const OpcodeRow& row);
};
const OpcodeRow* find_opcode(std::string_view name);

class Decoder {
 public:
  Decoder(const ParsedModule& module, const Isa& isa);
  std::unique_ptr<Program> run();

  // Families, named by rows of the table.
  void arithmetic(const OpcodeRow& row);   // d, a[, b[, c]] of one type
  void multiply(const OpcodeRow& row);
  void shift(const OpcodeRow& row);
  void bit_field(const OpcodeRow& row);
  void logic(const OpcodeRow& row);
  void permute(const OpcodeRow& row);
  void dot(const OpcodeRow& row);
  void comparison(const OpcodeRow& row);   // setp, set
  void selection(const OpcodeRow& row);    // selp, slct
  void test(const OpcodeRow& row);
  void move(const OpcodeRow& row);
  void convert(const OpcodeRow& row);
  void address_space(const OpcodeRow& row);  // cvta, isspacep, mapa
  void load_store(const OpcodeRow& row);
  void atomic(const OpcodeRow& row);
  void branch(const OpcodeRow& row);
  void call(const OpcodeRow& row);
  void finish_thread(const OpcodeRow& row);
  void barrier(const OpcodeRow& row);
  void communicate(const OpcodeRow& row);
  void hint(const OpcodeRow& row);         // prefetch, fences, nanosleep: effects on time or order only
  void matrix(const OpcodeRow& row);       // mma, ldmatrix, stmatrix, movmatrix
  void async(const OpcodeRow& row);        // cp.async, mbarrier

 private:
  friend class DecoderTest;
  struct Place {  // a variable's place: kernel parameter, frame word, shared, local or module variable
    Space space = Space::global;
    int64_t at = 0;
    int64_t bytes = 0;
    bool dynamic_shared = false;
  };

  void layout_module();
  void declare_function(const ParsedFunction& function, FunctionInfo& info);
  void function(const ParsedFunction& function, FunctionInfo& info);
  void statement(const Statement& s);
  void patch_branches();

  // Suffixes
  void read_suffixes(Form& form, bool compare = false);
  bool take(std::string_view word);
  bool take_prefix(std::string_view prefix);
  void read_memory_suffixes(Form& form);
  void suffixes_done();
  [[noreturn]] void fail(const std::string& message) const;

  // Operands
  const Operand& operand(size_t index) const;
  size_t operand_count() const { return statement_->operands.size(); }
  Type register_type(const Operand& o) const;
  int register_bytes(const Operand& o) const;
  int32_t destination(const Operand& o);
  int32_t value(const Operand& o, Type type);
  int16_t predicate(const Operand& o);
  int32_t constant(uint64_t bits, int bytes);
  int32_t special(const std::string& name, int bytes);
  int64_t immediate(const Operand& o) const;
  int special_index(const std::string& name) const;
  bool symbol_place(const std::string& name, Place& place) const;
  int64_t symbol_address(const Operand& o, bool generic) const;
  const int32_t* list(std::vector<int32_t> items);
  void set_address(Inst& in, const Operand& o, Form& form);
  int32_t temporary(int bytes);

  Inst start(const OpcodeRow& row) const;
  void emit(Inst in, Form form);
  void emit_with(Inst in, Handler plain, Handler checked);

  const ParsedModule& module_;
  std::unique_ptr<Program> program_;
  const Isa& isa_;
  std::map<std::string, int> function_index_;
  std::map<std::string, Place> module_places_;
  std::map<std::pair<uint64_t, int>, int32_t> constants_;

  // The function being decoded
  const ParsedFunction* parsed_ = nullptr;
  FunctionInfo* info_ = nullptr;
  Flow flow_;
  Allocation slots_;
  std::map<std::string, Place> places_;
  uint32_t temporary_bytes_ = 0;
  std::vector<int32_t> first_of_;  // statement -> code index
  struct Patch { int32_t inst; int target; int reconverge; std::vector<int> table; };
  std::vector<Patch> patches_;

  // The statement being decoded
  const Statement* statement_ = nullptr;
  int statement_index_ = 0;
  std::vector<std::string_view> rest_;  // suffixes nobody has taken yet
};

// Handlers of control.cpp, compiled once.
Handler select_control(Op op, const Form& form);

}  // namespace mcc::sim
