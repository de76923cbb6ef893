// Statements of host kernels.
#include "lib/backend/host/host_printer.h"

#include "lib/backend/lowering.h"
#include "lib/backend/printer/source_types.h"
#include "lib/support/error.h"

namespace mcc::backend {

std::string HostPrinter::run() {
  scopes_.emplace_back();
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const KernelBuffer& buffer = kernel_.buffers[i];
    const std::string type = source_type(buffer.dtype);
    const std::string qualifier = buffer.output ? "" : "const ";
    line(qualifier + type + "* const b" + std::to_string(i) + " = (" + qualifier + type +
         "*)mcc_buffers[" + std::to_string(i) + "];");
  }
  for (size_t i = 0; i < kernel_.dims.size(); ++i) {
    line("const long " + kernel_.dims[i] + " = mcc_dims[" + std::to_string(i) + "];");
    scopes_.back().defined.insert(kernel_.dims[i]);
  }
  block(kernel_.body);
  std::string text = "extern \"C\" void " + kernel_.name +
                     "(void* const* mcc_buffers, const long* mcc_dims, long mcc_begin, long mcc_end, "
                     "void* mcc_scratch) {\n";
  text += "  (void)mcc_buffers; (void)mcc_dims; (void)mcc_scratch; (void)mcc_begin; (void)mcc_end;\n";
  text += scopes_.back().text;
  return text + "}\n";
}

void HostPrinter::allocate(const Stmt& stmt) {
  const std::string type = source_type(stmt.dtype);
  if (stmt.space == MemorySpace::scratch) {
    // `index` is the allocation's byte offset into the scratch memory.
    line(type + "* const " + stmt.name + " = (" + type + "*)((char*)mcc_scratch + " + index_text(stmt.index) + ");");
  } else {
    line("alignas(64) " + type + " " + stmt.name + "[" + std::to_string(stmt.elements) + "];");
  }
}

void HostPrinter::collective(const Stmt& stmt) {
  if (stmt.kind == StmtKind::lanes_reduce) return fold_lanes(stmt);
  if (stmt.kind != StmtKind::barrier) fail("a CUDA collective");
}

void HostPrinter::loop(const Stmt& stmt) {
  switch (stmt.tag) {
    case LoopTag::unroll: return unrolled_loop(stmt);
    case LoopTag::vector: return vector_loop(stmt);
    case LoopTag::serial:
      if (stmt.extent.is_constant(1)) return braced(keep(substitute_variable(stmt.body, stmt.variable, 0)));
      return serial_loop(stmt, "0", index_text(stmt.extent), bounds(stmt.extent, kernel_.ranges).low >= 1);
    // The runtime never calls a kernel with an empty range.
    case LoopTag::parallel: return serial_loop(stmt, "mcc_begin", "mcc_end", true);
    default: fail("a CUDA loop tag");
  }
}

void HostPrinter::vector_body(const Stmt& stmt, const std::string& start, int lanes) {
  renamed_[stmt.variable] = start;
  vector_variable_ = stmt.variable;
  lanes_ = lanes;
  mode_ = Lanes::vector;
  in_vector_loop_ = true;
  varies_.clear();
  scopes_.back().defined.insert(stmt.variable);
  block(stmt.body);
  mode_ = Lanes::none;
  in_vector_loop_ = false;
  vector_variable_.clear();
  lanes_ = 1;
  varies_.clear();
  renamed_.erase(stmt.variable);
}

void HostPrinter::scalar_tail(const Stmt& stmt, const std::string& at) {
  open(true);
  renamed_[stmt.variable] = at;
  scopes_.back().defined.insert(stmt.variable);
  in_vector_loop_ = true;
  block(stmt.body);
  in_vector_loop_ = false;
  renamed_.erase(stmt.variable);
  const std::string body = close();
  line("for (; " + at + " < " + index_text(stmt.extent) + "; ++" + at + ") {");
  scopes_.back().text += body;
  line("}");
}

// Interior in steps of `lanes`; what is left of a constant extent in halves, quarters, ... of a
// vector; then a scalar tail. A single step is straight code.
void HostPrinter::vector_loop(const Stmt& stmt) {
  if (mode_ != Lanes::none) fail("a vector loop inside a vector loop");
  auto straight = [&](const std::string& start, int lanes) {
    open(false);
    vector_body(stmt, start, lanes);
    const std::string body = close();
    line("{");
    scopes_.back().text += body;
    line("}");
  };
  const bool constant = stmt.extent.is_constant();
  const int64_t steps = constant ? stmt.extent.constant() / stmt.lanes : 0;
  int64_t left = constant ? stmt.extent.constant() % stmt.lanes : 0;
  // Registers from outside the loop have its full width.
  const bool narrows = constant && stmt.lanes > 1 && !uses_outer_vectors(stmt.body);
  if (constant && steps <= 1 && (left == 0 || narrows)) {
    int64_t at = 0;
    for (int lanes = stmt.lanes; lanes >= 4; lanes /= 2) {
      if (at + lanes > stmt.extent.constant()) continue;
      straight(std::to_string(at) + "L", lanes);
      at += lanes;
    }
    if (at == stmt.extent.constant()) return;
    const std::string name = "v_" + std::to_string(next_++);
    line("long " + name + " = " + std::to_string(at) + ";");
    return scalar_tail(stmt, name);
  }
  const std::string extent = index_text(stmt.extent);
  const Range range = bounds(stmt.extent, kernel_.ranges);
  const bool exact = exact_division(stmt.extent, Expr(static_cast<int64_t>(stmt.lanes))).has_value();
  const std::string at = "v_" + std::to_string(next_++);
  line("long " + at + " = 0;");
  if (range.high >= stmt.lanes) {
    open(range.low < stmt.lanes);
    vector_body(stmt, at, stmt.lanes);
    const std::string body = close();
    const std::string step = std::to_string(stmt.lanes);
    line("for (; " + at + " + " + step + " <= " + extent + "; " + at + " += " + step + ") {");
    scopes_.back().text += body;
    line("}");
  }
  if (exact) return;
  if (narrows) {
    for (int lanes = stmt.lanes / 2; lanes >= 4; lanes /= 2) {
      if (left < lanes) continue;
      straight(at, lanes);
      line(at + " += " + std::to_string(lanes) + ";");
      left -= lanes;
    }
    if (left == 0) return;
  }
  scalar_tail(stmt, at);
}

namespace {

void collect_registers(const Scalar& scalar, std::set<std::string>& names, std::set<const Scalar*>& seen) {
  if (!seen.insert(&scalar).second) return;
  if (scalar.kind == ScalarKind::variable) names.insert(scalar.memory);
  for (const ScalarPtr& operand : scalar.operands) collect_registers(*operand, names, seen);
}

void collect_registers(const Block& block, std::set<std::string>& names, std::set<std::string>& own) {
  for (const StmtPtr& stmt : block) {
    if (stmt->kind == StmtKind::define) own.insert(stmt->name);
    if (stmt->kind == StmtKind::assign) names.insert(stmt->name);
    std::set<const Scalar*> seen;
    if (stmt->value) collect_registers(*stmt->value, names, seen);
    collect_registers(stmt->body, names, own);
    collect_registers(stmt->otherwise, names, own);
  }
}

}  // namespace

bool HostPrinter::uses_outer_vectors(const Block& body) const {
  std::set<std::string> names;
  std::set<std::string> own;
  collect_registers(body, names, own);
  for (const std::string& name : names) {
    auto found = registers_.find(name);
    if (own.count(name) == 0 && found != registers_.end() && found->second.lanes > 1) return true;
  }
  return false;
}

void HostPrinter::fold_lanes(const Stmt& stmt) {
  auto found = registers_.find(stmt.name);
  if (found == registers_.end()) fail("a fold of an unknown register");
  const Register source = found->second;
  if (source.lanes == 1) {
    line(std::string(source_type(source.dtype)) + " " + stmt.target + " = " + stmt.name + ";");
  } else {
    // Halves are folded together: a tree, which is both quicker and more accurate than a chain.
    const std::string array = temporary();
    const std::string type = source_type(source.dtype);
    line("alignas(64) " + type + " " + array + "[" + std::to_string(source.lanes) + "];");
    line("*(" + source_vector_type(source.dtype, source.lanes) + "*)" + array + " = " + stmt.name + ";");
    for (int half = source.lanes / 2; half >= 1; half /= 2) {
      Scalar sample;
      sample.kind = ScalarKind::apply;
      sample.dtype = source.dtype;
      sample.function = stmt.function;
      auto operand = std::make_shared<Scalar>();
      operand->dtype = source.dtype;
      sample.operands = {operand, operand};
      const std::string text = apply_text(sample, {{array + "[l]", false}, {array + "[l + " + std::to_string(half) + "]", false}}, false);
      line("for (long l = 0; l < " + std::to_string(half) + "; ++l) " + array + "[l] = " + text + ";");
    }
    line(type + " " + stmt.target + " = " + array + "[0];");
  }
  registers_[stmt.target] = {source.dtype, 1, scopes_.size() - 1};
}

void HostPrinter::store(const Stmt& stmt) {
  const std::string memory = memory_text(stmt.buffer, stmt.memory);
  ensure_indirect(stmt.index);
  const bool accumulates = !stmt.accumulate.empty();
  if (mode_ == Lanes::vector && (varies(stmt.index) || varies(*stmt.value))) {
    if (!accumulates && lane_stride(stmt.index) == 1) {
      const std::string text = source_vector_to_storage(vector_value(stmt.value), stmt.value->dtype, stmt.dtype, lanes_);
      line("mcc_store(" + memory + " + " + index_text(stmt.index) + ", " + text + ");");
      return;
    }
    // Lane by lane; a value that is a vector already is taken apart.
    std::string prepared;
    if (is_vectorizable(*stmt.value) && varies(*stmt.value)) prepared = vector_value(stmt.value);
    const std::string lane = "l_" + std::to_string(next_++);
    const std::string saved = renamed_.at(vector_variable_);
    line("for (long " + lane + " = 0; " + lane + " < " + std::to_string(lanes_) + "; ++" + lane + ") {");
    open(true);
    mode_ = Lanes::single;
    lane_ = lane;
    renamed_[vector_variable_] = "(" + saved + " + " + lane + ")";
    Stmt single = stmt;
    store(single);
    renamed_[vector_variable_] = saved;
    mode_ = Lanes::vector;
    scopes_[scopes_.size() - 2].text += scopes_.back().text;
    close();
    line("}");
    return;
  }
  KernelPrinter::store(stmt);
}

std::string print_host(const LoopKernel& kernel, const Target&) {
  return HostPrinter(kernel).run();
}


}  // namespace mcc::backend
