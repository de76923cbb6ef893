// The decoder's frame: module layout, functions, statements, branch patching.
#include "runtime/sim/decode/decoder.h"

#include <algorithm>
#include <cstring>

#include "runtime/sim/error.h"

namespace mcc::sim {
namespace {

int64_t align_up(int64_t at, int64_t align) { return (at + align - 1) / align * align; }

std::string opcode_text(const Statement& s) {
  std::string text;
  for (std::string_view word : s.words) text += (text.empty() ? "" : ".") + std::string(word);
  return text;
}

}  // namespace

std::unique_ptr<Program> decode(const ParsedModule& module, const Isa& isa) { return Decoder(module, isa).run(); }

Decoder::Decoder(const ParsedModule& module, const Isa& isa) : module_(module), program_(std::make_unique<Program>()), isa_(isa) {
  program_->isa = &isa;
  // Offset 0 of the pool is never handed out: its operand number means "no register" in lists.
  program_->constants.resize(128);
}

void Decoder::fail(const std::string& message) const {
  fail_at(statement_->line, "'" + opcode_text(*statement_) + "': " + message);
}

std::unique_ptr<Program> Decoder::run() {
  program_->target = module_.target;
  const size_t digits = module_.target.find_first_of("0123456789");
  if (digits != std::string::npos) program_->architecture = std::atoi(module_.target.c_str() + digits);
  program_->files = module_.files;
  layout_module();
  program_->functions.resize(module_.functions.size());
  for (size_t i = 0; i < module_.functions.size(); ++i) {
    function_index_[module_.functions[i].name] = static_cast<int>(i);
    declare_function(module_.functions[i], program_->functions[i]);
  }
  for (size_t i = 0; i < module_.functions.size(); ++i) {
    if (module_.functions[i].defined) function(module_.functions[i], program_->functions[i]);
  }
  // Kernels watch memory as finely as the functions that they may call access it.
  int global = 2, shared = 2;
  for (const FunctionInfo& info : program_->functions) {
    if (info.entry) continue;
    global = std::min(global, info.granule_shift_global);
    shared = std::min(shared, info.granule_shift_shared);
  }
  for (FunctionInfo& info : program_->functions) {
    info.granule_shift_global = std::min(info.granule_shift_global, global);
    info.granule_shift_shared = std::min(info.granule_shift_shared, shared);
  }
  for (std::vector<Inst>& code : program_->code) {
    for (size_t i = 0; i < code.size(); ++i) code[i].index = static_cast<int32_t>(i);
  }
  return std::move(program_);
}

// Addresses of module variables, and their initial memory with addresses filled in.
void Decoder::layout_module() {
  int64_t shared = 0;
  uint64_t window = kFirstWindow;
  std::vector<const Variable*> variables;
  for (const Variable& v : module_.variables) {
    Place place{v.space, 0, v.bytes, false};
    if (v.space == Space::shared) {
      place.dynamic_shared = v.external && v.bytes == 0;
      if (!place.dynamic_shared) {
        shared = align_up(shared, v.align);
        place.at = shared;
        shared += v.bytes;
      }
    } else {
      place.at = static_cast<int64_t>(window++ << kWindowShift);
      ModuleVariable memory;
      memory.name = v.name.substr(0, v.name.find('#'));
      memory.memory = v.data;
      memory.memory.resize(static_cast<size_t>(v.bytes));
      memory.constant = v.space == Space::constant;
      program_->variables.push_back(std::move(memory));
      variables.push_back(&v);
    }
    module_places_[v.name] = place;
  }
  // Variables of device functions have one place too, whichever kernel calls them.
  for (const ParsedFunction& function : module_.functions) {
    if (function.entry) continue;
    for (const Variable& v : function.variables) {
      if (v.space != Space::shared) continue;
      shared = align_up(shared, v.align);
      module_places_[v.name] = {v.space, shared, v.bytes, false};
      shared += v.bytes;
    }
  }
  program_->module_shared_bytes = static_cast<uint32_t>(shared);
  for (size_t i = 0; i < variables.size(); ++i) {
    for (const Variable::Reference& r : variables[i]->references) {
      auto found = module_places_.find(r.symbol);
      int64_t address = r.addend;
      if (found != module_places_.end()) {
        address += found->second.at;
      } else {
        // A function: numbered as in call_indirect.
        bool known = false;
        for (size_t f = 0; f < module_.functions.size(); ++f) {
          if (module_.functions[f].name != r.symbol) continue;
          address += static_cast<int64_t>(f) + 1;
          known = true;
        }
        if (!known) fail_at(variables[i]->line, "the initial value names '" + r.symbol + "', which does not exist");
      }
      std::vector<uint8_t>& memory = program_->variables[i].memory;
      const auto at = static_cast<size_t>(r.at);
      const size_t bytes = static_cast<size_t>(std::max(1, size_of(variables[i]->type)));
      if (at + bytes > memory.size()) fail_at(variables[i]->line, "the initial value is longer than the variable");
      std::memcpy(memory.data() + at, &address, std::min<size_t>(bytes, 8));
    }
  }
}

void Decoder::declare_function(const ParsedFunction& function, FunctionInfo& info) {
  info.name = function.name;
  info.entry = function.entry;
  info.defined = function.defined;
  std::copy(std::begin(function.max_threads), std::end(function.max_threads), info.max_threads);
  std::copy(std::begin(function.required_threads), std::end(function.required_threads), info.required_threads);
  int64_t at = 0;
  for (const Variable& v : function.parameters) {
    at = align_up(at, function.entry ? v.align : std::max<int64_t>(4, v.align));
    info.params.push_back({v.name, at, v.bytes, v.align});
    at += v.bytes;
  }
  if (function.entry) {
    info.param_bytes = static_cast<uint32_t>(at);
    return;
  }
  for (const Variable& v : function.returns) {
    at = align_up(at, std::max<int64_t>(8, v.align));
    info.returns.push_back({v.name, at, v.bytes, v.align});
    at += v.bytes;
  }
  info.param_words = static_cast<uint32_t>(align_up(at, 16) / 4);
}

void Decoder::function(const ParsedFunction& function, FunctionInfo& info) {
  parsed_ = &function;
  info_ = &info;
  places_.clear();
  patches_.clear();
  temporary_bytes_ = 0;
  int64_t params = static_cast<int64_t>(info.param_words) * 4, local = 0, shared = program_->module_shared_bytes;
  for (const ParamSlot& slot : info.params) places_[slot.name] = {Space::param, function.entry ? slot.offset : -1 - slot.offset, slot.bytes, false};
  for (const ParamSlot& slot : info.returns) places_[slot.name] = {Space::param, -1 - slot.offset, slot.bytes, false};
  for (const Variable& v : function.variables) {
    if (v.space == Space::shared && !function.entry) continue;  // placed with the module's
    int64_t* at = v.space == Space::local ? &local : v.space == Space::shared ? &shared : &params;
    *at = align_up(*at, std::max<int64_t>(v.align, v.space == Space::param ? 8 : 1));
    // Frame parameters are marked by negative places: kernel parameters live elsewhere.
    places_[v.name] = {v.space, v.space == Space::param ? -1 - *at : *at, v.bytes, false};
    *at += v.bytes;
  }
  info.param_words = static_cast<uint32_t>(align_up(params, 16) / 4);
  info.local_bytes = static_cast<uint32_t>(align_up(local, 16));
  info.shared_bytes = static_cast<uint32_t>(shared);
  info.first = static_cast<int32_t>(program_->code[0].size());
  if (!function.statements.empty()) {
    flow_ = analyze_flow(function);
    slots_ = allocate_registers(function, flow_);
  } else {
    slots_ = {};
  }
  info.virtual_registers = slots_.peak_words;
  first_of_.clear();
  for (size_t i = 0; i < function.statements.size(); ++i) {
    first_of_.push_back(static_cast<int32_t>(program_->code[0].size()));
    statement_index_ = static_cast<int>(i);
    statement(function.statements[i]);
  }
  // Falling off the end returns.
  static const Statement kReturn = [] {
    Statement s;
    s.words = {"ret"};
    return s;
  }();
  first_of_.push_back(static_cast<int32_t>(program_->code[0].size()));
  if (!function.statements.empty()) {
    Statement last = kReturn;
    last.line = function.statements.back().line;
    last.location = function.statements.back().location;
    statement(last);
  } else {
    Statement last = kReturn;
    last.line = function.line;
    statement(last);
  }
  patch_branches();
  info.end = static_cast<int32_t>(program_->code[0].size());
  info.register_bytes = slots_.bytes + temporary_bytes_;
  info.predicates = slots_.predicates;
}

void Decoder::statement(const Statement& s) {
  statement_ = &s;
  rest_.assign(s.words.begin() + 1, s.words.end());
  const OpcodeRow* row = find_opcode(s.words[0]);
  if (row == nullptr) fail("the simulator does not know this instruction");
  (this->*row->decode)(*row);
}

void Decoder::patch_branches() {
  for (const Patch& patch : patches_) {
    for (std::vector<Inst>& code : program_->code) {
      Inst& in = code[static_cast<size_t>(patch.inst)];
      in.target = patch.target < 0 ? -1 : first_of_[static_cast<size_t>(patch.target)];
      in.reconverge = patch.reconverge < 0 ? -1 : first_of_[static_cast<size_t>(patch.reconverge)];
    }
    if (patch.table.empty()) continue;
    std::vector<int32_t> targets;
    for (int t : patch.table) targets.push_back(first_of_[static_cast<size_t>(t)]);
    const int32_t* table = list(std::move(targets));
    for (std::vector<Inst>& code : program_->code) code[static_cast<size_t>(patch.inst)].list = table;
  }
}

Inst Decoder::start(const OpcodeRow& row) const {
  Inst in;
  in.klass = row.klass;
  if (statement_->guard >= 0) {
    if (parsed_->registers[static_cast<size_t>(statement_->guard)].type != Type::pred) fail("the guard is not a predicate");
    in.guard = static_cast<int16_t>(slots_.slot[static_cast<size_t>(statement_->guard)]);
    in.guard_negated = statement_->guard_negated ? 1 : 0;
  }
  in.width = 1;
  return in;
}

void Decoder::emit(Inst in, Form form) {
  suffixes_done();
  form.checked = false;
  const Handler plain = isa_.select(form);
  form.checked = true;
  const Handler checked = isa_.select(form);
  if (plain == nullptr || checked == nullptr) fail("this combination of suffixes is not supported");
  emit_with(in, plain, checked);
}

void Decoder::emit_with(Inst in, Handler plain, Handler checked) {
  suffixes_done();
  in.run = plain;
  program_->code[0].push_back(in);
  in.run = checked;
  program_->code[1].push_back(in);
  program_->lines.push_back(statement_->line);
  program_->locations.push_back(statement_->location);
  program_->texts.push_back(opcode_text(*statement_));
  program_->function_of.push_back(static_cast<int32_t>(info_ - program_->functions.data()));
}

void Decoder::suffixes_done() {
  if (!rest_.empty()) fail("the suffix '." + std::string(rest_[0]) + "' is not supported here");
}

bool Decoder::take(std::string_view word) {
  auto found = std::find(rest_.begin(), rest_.end(), word);
  if (found == rest_.end()) return false;
  rest_.erase(found);
  return true;
}

bool Decoder::take_prefix(std::string_view prefix) {
  auto found = std::find_if(rest_.begin(), rest_.end(), [&](std::string_view w) { return w.substr(0, prefix.size()) == prefix; });
  if (found == rest_.end()) return false;
  rest_.erase(found);
  return true;
}

// Suffixes with one meaning wherever they appear; the others stay in rest_.
void Decoder::read_suffixes(Form& form, bool compare) {
  std::vector<std::string_view> left;
  for (std::string_view word : rest_) {
    const Type type = type_from_name(word);
    if (type != Type::none) {
      Type* slots[] = {&form.type, &form.type2, &form.type3, &form.type4};
      size_t at = 0;
      while (at < 4 && *slots[at] != Type::none) ++at;
      if (at == 4) fail("there are too many types");
      *slots[at] = type;
      continue;
    }
    if (word == "rn" || word == "rni") form.rounding = Rounding::rn;
    else if (word == "rz" || word == "rzi") form.rounding = Rounding::rz;
    else if (word == "rm" || word == "rmi") form.rounding = Rounding::rm;
    else if (word == "rp" || word == "rpi") form.rounding = Rounding::rp;
    else if (word == "rna") form.rounding = Rounding::rna;
    else if (word == "ftz") form.ftz = true;
    else if (word == "sat") form.saturate = true;
    else if (word == "satfinite") form.satfinite = true;
    else if (word == "relu") form.relu = true;
    else if (word == "approx") form.approx = true;
    else if (word == "full") form.full = true;
    else if (word == "NaN") form.nan = true;
    else if (word == "cc") form.carry_out = true;
    else if (word == "lo" && !compare) form.part = Part::lo;
    else if (word == "hi" && !compare) form.part = Part::hi;
    else if (word == "wide") form.part = Part::wide;
    else left.push_back(word);
    if (word == "rni" || word == "rzi" || word == "rmi" || word == "rpi") form.to_integral = true;
  }
  rest_ = std::move(left);
}

}  // namespace mcc::sim
