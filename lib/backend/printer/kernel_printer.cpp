// Scopes and the statements that look the same on every target.
#include "lib/backend/printer/kernel_printer.h"

#include "lib/backend/printer/source_types.h"
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

Block substitute_variable(const Block& block, const std::string& variable, int64_t value) {
  return Substitution(variable, value).run(block);
}

KernelPrinter::KernelPrinter(const LoopKernel& kernel, std::string index_type, std::string index_suffix)
    : kernel_(kernel), index_type_(std::move(index_type)), index_suffix_(std::move(index_suffix)) {
  collect_written(kernel.body, written_);
}

void KernelPrinter::fail(const char* what) const {
  throw InternalError(std::string("printer: ") + what + " in kernel " + kernel_.name);
}

void KernelPrinter::line_in(size_t scope, const std::string& text) {
  scopes_[scope].text.append(2 * (scope + 1), ' ').append(text).append("\n");
}

void KernelPrinter::open(bool barrier) {
  scopes_.emplace_back();
  scopes_.back().barrier = barrier;
}

std::string KernelPrinter::close() {
  std::string text = std::move(scopes_.back().text);
  scopes_.pop_back();
  for (auto it = registers_.begin(); it != registers_.end();) {
    it = it->second.scope >= scopes_.size() ? registers_.erase(it) : std::next(it);
  }
  return text;
}

void KernelPrinter::block(const Block& statements) {
  for (const StmtPtr& stmt : statements) statement(*stmt);
}

void KernelPrinter::braced(const Block& statements) {
  open(false);
  block(statements);
  const std::string body = close();
  line("{");
  scopes_.back().text += body;
  line("}");
}

void KernelPrinter::conditional(const Stmt& stmt) {
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

void KernelPrinter::define(const Stmt& stmt) {
  // Inside of a vector loop a vector register is as wide as the loop's current step.
  const int lanes = stmt.lanes > 1 && in_vector_loop_ ? lanes_ : stmt.lanes;
  if (lanes > 1) {
    const Value initial = value(stmt.value);
    line(source_vector_type(stmt.dtype, lanes) + " " + stmt.name + " = " +
         (initial.vector ? initial.text : source_splat(initial.text, stmt.dtype, lanes)) + ";");
  } else {
    line(std::string(source_type(stmt.dtype)) + " " + stmt.name + " = " + scalar_value(stmt.value) + ";");
  }
  registers_[stmt.name] = {stmt.dtype, lanes, scopes_.size() - 1};
}

void KernelPrinter::assign(const Stmt& stmt) {
  auto found = registers_.find(stmt.name);
  if (found == registers_.end()) fail("an assignment to an unknown register");
  ScalarPtr value = stmt.value;
  if (!stmt.accumulate.empty()) {
    value = keep(apply(stmt.accumulate, {register_value(stmt.name, stmt.dtype), value}));
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

void KernelPrinter::statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::loop: return loop(stmt);
    case StmtKind::let:
      line("const " + index_type_ + " " + stmt.variable + " = " + scalar_value(stmt.value) + ";");
      scopes_.back().defined.insert(stmt.variable);
      return;
    case StmtKind::define: return define(stmt);
    case StmtKind::assign: return assign(stmt);
    case StmtKind::store: return store(stmt);
    case StmtKind::condition: return conditional(stmt);
    case StmtKind::allocate:
      memories_[stmt.name] = stmt.dtype;
      return allocate(stmt);
    case StmtKind::comment: return line("// " + stmt.name);
    case StmtKind::barrier:
    case StmtKind::warp_reduce:
    case StmtKind::block_reduce:
    case StmtKind::lanes_reduce: return collective(stmt);
  }
}

void KernelPrinter::unrolled_loop(const Stmt& stmt) {
  check_internal(stmt.extent.is_constant(), "an unrolled loop with a symbolic extent");
  for (int64_t i = 0; i < stmt.extent.constant(); ++i) {
    braced(keep(substitute_variable(stmt.body, stmt.variable, i)));
  }
}

void KernelPrinter::serial_loop(const Stmt& stmt, const std::string& first, const std::string& extent,
                                bool surely_runs) {
  // What does not change may be computed before the loop only if the loop surely runs: it may read
  // memory that exists only then.
  open(!surely_runs);
  scopes_.back().defined.insert(stmt.variable);
  block(stmt.body);
  const std::string body = close();
  line("for (" + index_type_ + " " + stmt.variable + " = " + first + "; " + stmt.variable + " < " + extent +
       "; ++" + stmt.variable + ") {");
  scopes_.back().text += body;
  line("}");
}

// A store of one element.
void KernelPrinter::store(const Stmt& stmt) {
  const std::string memory = memory_text(stmt.buffer, stmt.memory);
  ensure_indirect(stmt.index);
  ScalarPtr value = stmt.value;
  const std::string target = memory + "[" + index_text(stmt.index) + "]";
  if (!stmt.accumulate.empty()) {
    value = keep(apply(stmt.accumulate,
                       {stmt.memory.empty() ? load(stmt.buffer, stmt.dtype, stmt.index)
                                            : load_memory(stmt.memory, stmt.dtype, stmt.index),
                        value}));
  }
  line(target + " = " + source_to_storage(scalar_value(value), value->dtype, stmt.dtype) + ";");
}

}  // namespace mcc::backend
