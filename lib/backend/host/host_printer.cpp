// Statements of host kernels.
#include "lib/backend/host/host_printer.h"

#include "lib/backend/host/host_types.h"
#include "lib/backend/lowering.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

void collect_written(const Block& block, std::set<std::string>& written) {
  for (const StmtPtr& stmt : block) {
    if (stmt->kind == StmtKind::store) {
      written.insert(stmt->memory.empty() ? "b" + std::to_string(stmt->buffer) : stmt->memory);
    }
    collect_written(stmt->body, written);
    collect_written(stmt->otherwise, written);
  }
}

// Replaces a loop variable by a constant throughout a statement tree.
class Substitution {
 public:
  Substitution(const std::string& variable, int64_t value) : replacements_{{variable, Expr(value)}} {}

  Block run(const Block& block) {
    Block result;
    for (const StmtPtr& stmt : block) {
      auto copy = std::make_shared<Stmt>(*stmt);
      copy->index = replace(stmt->index);
      copy->extent = replace(stmt->extent);
      for (Expr& condition : copy->guard) condition = replace(condition);
      if (stmt->value) copy->value = scalar(stmt->value);
      copy->body = run(stmt->body);
      copy->otherwise = run(stmt->otherwise);
      result.push_back(std::move(copy));
    }
    return result;
  }

 private:
  Expr replace(const Expr& expr) const { return expr.substitute(replacements_); }

  ScalarPtr scalar(const ScalarPtr& original) {
    auto [found, fresh] = done_.emplace(original.get(), original);
    if (!fresh) return found->second;
    auto copy = std::make_shared<Scalar>(*original);
    copy->index = replace(original->index);
    for (Expr& condition : copy->guard) condition = replace(condition);
    for (ScalarPtr& operand : copy->operands) operand = scalar(operand);
    done_[original.get()] = copy;
    return copy;
  }

  std::map<std::string, Expr, std::less<>> replacements_;
  std::map<const Scalar*, ScalarPtr> done_;
};

}  // namespace

HostPrinter::HostPrinter(const LoopKernel& kernel, const Target& target)
    : kernel_(kernel), target_(target) {
  collect_written(kernel.body, written_);
}

std::string HostPrinter::run() {
  scopes_.emplace_back();
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const KernelBuffer& buffer = kernel_.buffers[i];
    const std::string type = host_type(buffer.dtype);
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

void HostPrinter::fail(const char* what) const {
  throw InternalError(std::string("host printer: ") + what + " in kernel " + kernel_.name);
}

void HostPrinter::line_in(size_t scope, const std::string& text) {
  scopes_[scope].text.append(2 * (scope + 1), ' ').append(text).append("\n");
}

void HostPrinter::open(bool barrier) {
  scopes_.emplace_back();
  scopes_.back().barrier = barrier;
}

std::string HostPrinter::close() {
  std::string text = std::move(scopes_.back().text);
  scopes_.pop_back();
  for (auto it = registers_.begin(); it != registers_.end();) {
    it = it->second.scope >= scopes_.size() ? registers_.erase(it) : std::next(it);
  }
  return text;
}

void HostPrinter::block(const Block& statements) {
  for (const StmtPtr& stmt : statements) statement(*stmt);
}

void HostPrinter::statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::loop: return loop(stmt);
    case StmtKind::let:
      line("const long " + stmt.variable + " = " + scalar_value(stmt.value) + ";");
      scopes_.back().defined.insert(stmt.variable);
      return;
    case StmtKind::define: return define(stmt);
    case StmtKind::assign: return assign(stmt);
    case StmtKind::store: return store(stmt);
    case StmtKind::condition: return conditional(stmt);
    case StmtKind::allocate: {
      memories_[stmt.name] = stmt.dtype;
      const std::string type = host_type(stmt.dtype);
      if (stmt.space == MemorySpace::scratch) {
        // `index` is the allocation's byte offset into the scratch memory.
        line(type + "* const " + stmt.name + " = (" + type + "*)((char*)mcc_scratch + " +
             index_text(stmt.index) + ");");
      } else {
        line("alignas(64) " + type + " " + stmt.name + "[" + std::to_string(stmt.elements) + "];");
      }
      return;
    }
    case StmtKind::lanes_reduce: return fold_lanes(stmt);
    case StmtKind::barrier: return;
    case StmtKind::comment: return line("// " + stmt.name);
    case StmtKind::warp_reduce:
    case StmtKind::block_reduce: fail("a CUDA collective");
  }
}

void HostPrinter::loop(const Stmt& stmt) {
  if (stmt.tag == LoopTag::unroll) {
    check_internal(stmt.extent.is_constant(), "an unrolled loop with a symbolic extent");
    for (int64_t i = 0; i < stmt.extent.constant(); ++i) braced(Substitution(stmt.variable, i).run(stmt.body));
    return;
  }
  if (stmt.tag == LoopTag::vector) return vector_loop(stmt);
  if (stmt.extent.is_constant(1) && stmt.tag == LoopTag::serial) {
    return braced(Substitution(stmt.variable, 0).run(stmt.body));
  }
  const bool parallel = stmt.tag == LoopTag::parallel;
  if (!parallel && stmt.tag != LoopTag::serial) fail("a CUDA loop tag");
  const std::string extent = parallel ? "mcc_end" : index_text(stmt.extent);
  // What does not change may be computed before the loop only if the loop surely runs: it may read
  // memory that exists only then. The runtime never calls a kernel with an empty range.
  const bool surely_runs = parallel || bounds(stmt.extent, kernel_.ranges).low >= 1;
  open(!surely_runs);
  scopes_.back().defined.insert(stmt.variable);
  block(stmt.body);
  const std::string body = close();
  line("for (long " + stmt.variable + " = " + (parallel ? "mcc_begin" : "0") + "; " + stmt.variable + " < " +
       extent + "; ++" + stmt.variable + ") {");
  scopes_.back().text += body;
  line("}");
}

void HostPrinter::braced(const Block& statements) {
  open(false);
  block(statements);
  const std::string body = close();
  line("{");
  scopes_.back().text += body;
  line("}");
}

void HostPrinter::vector_body(const Stmt& stmt, const std::string& start) {
  renamed_[stmt.variable] = start;
  vector_variable_ = stmt.variable;
  lanes_ = stmt.lanes;
  mode_ = Lanes::vector;
  varies_.clear();
  scopes_.back().defined.insert(stmt.variable);
  block(stmt.body);
  mode_ = Lanes::none;
  vector_variable_.clear();
  lanes_ = 1;
  varies_.clear();
  renamed_.erase(stmt.variable);
}

// Interior in steps of `lanes`, then a scalar tail; a loop of exactly one step is straight code.
void HostPrinter::vector_loop(const Stmt& stmt) {
  if (mode_ != Lanes::none) fail("a vector loop inside a vector loop");
  if (stmt.extent.is_constant() && stmt.extent.constant() == stmt.lanes) {
    open(false);
    vector_body(stmt, "0L");
    const std::string body = close();
    line("{");
    scopes_.back().text += body;
    line("}");
    return;
  }
  const std::string extent = index_text(stmt.extent);
  const Range range = bounds(stmt.extent, kernel_.ranges);
  const bool exact = exact_division(stmt.extent, Expr(static_cast<int64_t>(stmt.lanes))).has_value();
  const std::string at = "v_" + std::to_string(next_++);
  line("long " + at + " = 0;");
  if (range.high >= stmt.lanes) {
    open(range.low < stmt.lanes);
    vector_body(stmt, at);
    const std::string body = close();
    const std::string step = std::to_string(stmt.lanes);
    line("for (; " + at + " + " + step + " <= " + extent + "; " + at + " += " + step + ") {");
    scopes_.back().text += body;
    line("}");
  }
  if (exact) return;
  open(true);
  renamed_[stmt.variable] = at;
  scopes_.back().defined.insert(stmt.variable);
  block(stmt.body);
  renamed_.erase(stmt.variable);
  const std::string body = close();
  line("for (; " + at + " < " + extent + "; ++" + at + ") {");
  scopes_.back().text += body;
  line("}");
}

void HostPrinter::conditional(const Stmt& stmt) {
  for (const Expr& condition : stmt.guard) {
    if (mode_ == Lanes::vector && varies(condition)) fail("a statement guard that differs between lanes");
    ensure_indirect(condition);
  }
  line("if (" + guard_text(stmt.guard) + ") {");
  open(true);
  block(stmt.body);
  scopes_[scopes_.size() - 2].text += scopes_.back().text;
  close();
  if (!stmt.otherwise.empty()) {
    line("} else {");
    open(true);
    block(stmt.otherwise);
    scopes_[scopes_.size() - 2].text += scopes_.back().text;
    close();
  }
  line("}");
}

void HostPrinter::define(const Stmt& stmt) {
  if (stmt.lanes > 1) {
    const Value initial = value(stmt.value);
    line(host_vector_type(stmt.dtype, stmt.lanes) + " " + stmt.name + " = " +
         (initial.vector ? initial.text : host_splat(initial.text, stmt.dtype, stmt.lanes)) + ";");
  } else {
    line(std::string(host_type(stmt.dtype)) + " " + stmt.name + " = " + scalar_value(stmt.value) + ";");
  }
  registers_[stmt.name] = {stmt.dtype, stmt.lanes, scopes_.size() - 1};
}

void HostPrinter::assign(const Stmt& stmt) {
  auto found = registers_.find(stmt.name);
  if (found == registers_.end()) fail("an assignment to an unknown register");
  ScalarPtr value = stmt.value;
  if (!stmt.accumulate.empty()) {
    value = apply(stmt.accumulate, {register_value(stmt.name, stmt.dtype), value});
  }
  const bool vector_register = found->second.lanes > 1;
  if (vector_register && mode_ == Lanes::vector) {
    line(stmt.name + " = " + vector_value(value) + ";");
  } else if (vector_register) {
    // The scalar tail of a vector loop accumulates into the first lane.
    line(stmt.name + "[0] = " + scalar_value(value) + ";");
  } else {
    line(stmt.name + " = " + scalar_value(value) + ";");
  }
  // What was computed from the register's old value is stale.
  for (Scope& scope : scopes_) {
    std::erase_if(scope.values, [&](const auto& entry) {
      const Scalar* scalar = entry.first;
      return scalar->kind == ScalarKind::variable && scalar->memory == stmt.name;
    });
  }
}

void HostPrinter::fold_lanes(const Stmt& stmt) {
  auto found = registers_.find(stmt.name);
  if (found == registers_.end()) fail("a fold of an unknown register");
  const Register source = found->second;
  if (source.lanes == 1) {
    line(std::string(host_type(source.dtype)) + " " + stmt.target + " = " + stmt.name + ";");
  } else {
    // Halves are folded together: a tree, which is both quicker and more accurate than a chain.
    const std::string array = temporary();
    const std::string type = host_type(source.dtype);
    line("alignas(64) " + type + " " + array + "[" + std::to_string(source.lanes) + "];");
    line("*(" + host_vector_type(source.dtype, source.lanes) + "*)" + array + " = " + stmt.name + ";");
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
    const std::optional<Linear> linear = linear_in(stmt.index, vector_variable_);
    const bool contiguous = linear && linear->coefficient.is_constant(1) && !varies(linear->rest);
    if (contiguous && stmt.dtype == DType::f32 && !accumulates) {
      const std::string text = vector_value(stmt.value);
      line("*(" + vector_type() + "_u*)(" + memory + " + " + index_text(stmt.index) + ") = " + text + ";");
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
  ScalarPtr value = stmt.value;
  const std::string target = memory + "[" + index_text(stmt.index) + "]";
  if (accumulates) {
    value = apply(stmt.accumulate,
                  {stmt.memory.empty() ? load(stmt.buffer, stmt.dtype, stmt.index)
                                       : load_memory(stmt.memory, stmt.dtype, stmt.index),
                   value});
  }
  line(target + " = " + host_to_storage(scalar_value(value), value->dtype, stmt.dtype) + ";");
}

std::string print_host(const LoopKernel& kernel, const Target& target) {
  return HostPrinter(kernel, target).run();
}

}  // namespace mcc::backend
