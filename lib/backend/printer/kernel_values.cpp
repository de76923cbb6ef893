// Values of kernels: temporaries, vectors, lanes, index text.
#include <cmath>
#include <cstdio>

#include "lib/backend/printer/kernel_printer.h"
#include "lib/backend/printer/source_types.h"
#include "lib/ir/scalar_function.h"
#include "lib/support/error.h"

namespace mcc::backend {

std::string KernelPrinter::temporary() { return "t_" + std::to_string(next_++); }

const KernelPrinter::Value* KernelPrinter::find_value(const Scalar* scalar) const {
  for (size_t i = scopes_.size(); i-- > 0;) {
    auto found = scopes_[i].values.find(scalar);
    if (found != scopes_[i].values.end()) return &found->second;
  }
  return nullptr;
}

// The innermost scope that an expression depends on.
size_t KernelPrinter::home_scope(const Expr& expr) {
  size_t home = 0;
  for (const std::string& symbol : expr.symbols()) {
    size_t scope = scopes_.size();
    while (scope-- > 0) {
      if (scopes_[scope].defined.count(symbol) != 0) break;
    }
    if (scope == static_cast<size_t>(-1)) {
      auto indirect = kernel_.indirect.find(symbol);
      if (indirect == kernel_.indirect.end()) fail("an index over an unknown variable");
      scope = home_scope(*indirect->second);
    }
    home = std::max(home, scope);
  }
  return home;
}

size_t KernelPrinter::home_scope(const Scalar& scalar) {
  std::map<const Scalar*, size_t> known;
  return home_scope(scalar, known);
}

size_t KernelPrinter::home_scope(const Scalar& scalar, std::map<const Scalar*, size_t>& known) {
  if (auto found = known.find(&scalar); found != known.end()) return found->second;
  size_t home = 0;
  switch (scalar.kind) {
    case ScalarKind::literal: return 0;
    case ScalarKind::index: home = home_scope(scalar.index); break;
    case ScalarKind::variable: return scopes_.size() - 1;  // its value changes
    case ScalarKind::load:
      // Memory that the kernel writes may change between two reads.
      home = written_.count(memory_text(scalar.buffer, scalar.memory)) != 0 ? scopes_.size() - 1
                                                                            : home_scope(scalar.index);
      break;
    case ScalarKind::guarded:
      for (const Expr& condition : scalar.guard) home = std::max(home, home_scope(condition));
      [[fallthrough]];
    case ScalarKind::apply:
      for (const ScalarPtr& operand : scalar.operands) home = std::max(home, home_scope(*operand, known));
      break;
  }
  known[&scalar] = home;
  return home;
}

KernelPrinter::Value KernelPrinter::value(const ScalarPtr& scalar) {
  if (scalar->kind == ScalarKind::literal) return {literal_text(*scalar), false};
  if (scalar->kind == ScalarKind::variable) {
    auto found = registers_.find(scalar->memory);
    if (found == registers_.end()) fail("a read of an unknown register");
    if (found->second.lanes == 1) return {scalar->memory, false};
    if (mode_ == Lanes::vector) return {scalar->memory, true};
    return {scalar->memory + "[" + (mode_ == Lanes::single ? lane_ : "0") + "]", false};
  }
  if (const Value* known = find_value(scalar.get())) {
    if (!known->vector || mode_ == Lanes::vector) return *known;
    if (mode_ == Lanes::single) {
      const std::string lane = known->text + "[" + lane_ + "]";
      return {scalar->dtype == DType::boolean ? "(" + lane + " != 0)" : lane, false};
    }
  }
  // The outermost scope where everything is known, but below the last barrier.
  size_t scope = home_scope(*scalar);
  for (size_t i = scopes_.size(); i-- > scope;) {
    if (scopes_[i].barrier) {
      scope = i;
      break;
    }
  }
  Value result = compute(scalar, scope);
  scopes_[scope].values[scalar.get()] = result;
  return result;
}

KernelPrinter::Value KernelPrinter::compute(const ScalarPtr& scalar, size_t scope) {
  if (mode_ == Lanes::vector && varies(*scalar)) {
    return is_vectorizable(*scalar) ? compute_vector(*scalar, scope) : compute_lanes(scalar, scope);
  }
  return compute_uniform(*scalar, scope);
}

KernelPrinter::Value KernelPrinter::compute_uniform(const Scalar& scalar, size_t scope) {
  std::string text;
  switch (scalar.kind) {
    case ScalarKind::index:
      ensure_indirect(scalar.index);
      text = source_cast(index_text(scalar.index), DType::i64, scalar.dtype);
      break;
    case ScalarKind::load: text = load_text(scalar); break;
    case ScalarKind::guarded: return compute_guarded(scalar, scope);
    case ScalarKind::apply: {
      std::vector<Value> operands;
      for (const ScalarPtr& operand : scalar.operands) operands.push_back(value(operand));
      text = apply_text(scalar, operands, false);
      break;
    }
    default: fail("a value of unknown kind");
  }
  const std::string name = temporary();
  const std::string type = scalar.dtype == DType::boolean ? "bool" : source_type(scalar.dtype);
  line_in(scope, "const " + type + " " + name + " = " + text + ";");
  return {name, false};
}

KernelPrinter::Value KernelPrinter::compute_guarded(const Scalar& scalar, size_t scope) {
  const bool vector = mode_ == Lanes::vector && varies(scalar);
  for (const Expr& condition : scalar.guard) ensure_indirect(condition);
  const std::string name = temporary();
  const std::string type = vector ? vector_type(scalar.dtype)
                           : scalar.dtype == DType::boolean ? "bool" : source_type(scalar.dtype);
  std::string text[2];
  for (size_t side = 0; side < 2; ++side) {
    open(true);
    const Value item = value(scalar.operands[side]);
    line(name + " = " + (vector ? splat(item, scalar.dtype) : item.text) + ";");
    text[side] = scopes_.back().text;
    close();
  }
  line_in(scope, type + " " + name + ";");
  line_in(scope, "if (" + guard_text(scalar.guard) + ") {");
  scopes_[scope].text += text[0];
  line_in(scope, "} else {");
  scopes_[scope].text += text[1];
  line_in(scope, "}");
  return {name, vector};
}

std::string KernelPrinter::apply_text(const Scalar& scalar, const std::vector<Value>& operands, bool vector) const {
  if (scalar.function == "cast") {
    if (vector) {
      return source_vector_cast(operands[0].text, scalar.operands[0]->dtype, static_cast<DType>(scalar.integer), lanes_);
    }
    return source_cast(operands[0].text, scalar.operands[0]->dtype, static_cast<DType>(scalar.integer));
  }
  const ScalarFunction* function = find_scalar_function(scalar.function);
  if (function == nullptr) fail("an unknown scalar function");
  const DType operand_type = scalar.operands.back()->dtype;
  const bool integer = is_integer(operand_type) && !function->integer.empty();
  const std::string_view spelling = integer ? function->integer : function->host;
  if (spelling.empty()) fail("a scalar function without a spelling for its type");
  std::string text;
  for (size_t i = 0; i < spelling.size(); ++i) {
    if (spelling[i] != '$' || i + 1 == spelling.size()) {
      text += spelling[i];
      continue;
    }
    const char what = spelling[++i];
    if (what >= '0' && what <= '9') {
      text += operands.at(static_cast<size_t>(what - '0')).text;
    } else {
      const DType type = what == 'R' ? scalar.dtype : operand_type;
      text += vector ? vector_type(type) : type == DType::boolean ? "bool" : source_type(type);
    }
  }
  // Comparisons of vectors give masks as wide as their operands; ours have 32 bits.
  const bool compares = vector && function->result == ResultRule::boolean && operand_type != DType::boolean;
  if (compares && dtype_info(operand_type).bits != 32) return "mcc_convert<" + vector_type(DType::boolean) + ">(" + text + ")";
  return text;
}

std::string KernelPrinter::literal_text(const Scalar& scalar) const {
  if (scalar.dtype == DType::boolean) return scalar.integer != 0 || scalar.real != 0 ? "true" : "false";
  if (!is_floating(scalar.dtype)) {
    const std::string digits = dtype_info(scalar.dtype).kind == DTypeKind::unsigned_integer
                                   ? std::to_string(static_cast<uint64_t>(scalar.integer)) + "ULL"
                                   : scalar.integer == INT64_MIN ? std::string("(-9223372036854775807LL - 1)")
                                                                 : std::to_string(scalar.integer) + "LL";
    return "(" + std::string(source_type(scalar.dtype)) + ")(" + digits + ")";
  }
  const bool single = scalar.dtype == DType::f32;
  if (std::isnan(scalar.real)) return single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  const double value = single ? static_cast<double>(static_cast<float>(scalar.real)) : scalar.real;
  if (std::isinf(value)) {
    return std::string(value < 0 ? "(-" : "(") + (single ? "__builtin_inff())" : "__builtin_inf())");
  }
  char text[48];
  std::snprintf(text, sizeof text, "%a", value);  // hexadecimal: exact
  return "(" + std::string(text) + (single ? "f)" : ")");
}

std::string KernelPrinter::load_text(const Scalar& scalar) {
  ensure_indirect(scalar.index);
  const std::string element =
      memory_text(scalar.buffer, scalar.memory) + "[" + index_text(scalar.index) + "]";
  return source_from_storage(element, memory_dtype(scalar.buffer, scalar.memory, scalar.dtype));
}

std::string KernelPrinter::memory_text(int buffer, const std::string& memory) const {
  return memory.empty() ? "b" + std::to_string(buffer) : memory;
}

DType KernelPrinter::memory_dtype(int buffer, const std::string& memory, DType fallback) const {
  if (memory.empty()) return kernel_.buffers[static_cast<size_t>(buffer)].dtype;
  auto found = memories_.find(memory);
  return found == memories_.end() ? fallback : found->second;
}

// Emits the data-dependent indices that `expr` mentions.
void KernelPrinter::ensure_indirect(const Expr& expr) {
  for (const std::string& symbol : expr.symbols()) {
    auto indirect = kernel_.indirect.find(symbol);
    if (indirect == kernel_.indirect.end()) continue;
    // The value itself is remembered per scope like any other; the index refers to it by name.
    renamed_[symbol] = value(indirect->second).text;
  }
}

std::string KernelPrinter::atom_text(const Atom& atom) {
  if (atom.kind == AtomKind::symbol) {
    auto renamed = renamed_.find(atom.name);
    return renamed == renamed_.end() ? atom.name : renamed->second;
  }
  const std::string left = index_text(atom.left);
  const std::string right = index_text(atom.right);
  const bool plain = bounds(atom.left, kernel_.ranges).low >= 0;
  switch (atom.kind) {
    case AtomKind::floordiv:
      return plain ? "(" + left + " / " + right + ")" : "mcc_floordiv<" + index_type_ + ">(" + left + ", " + right + ")";
    case AtomKind::mod:
      return plain ? "(" + left + " % " + right + ")"
                   : "(" + left + " - " + right + " * mcc_floordiv<" + index_type_ + ">(" + left + ", " + right + "))";
    case AtomKind::min: return "mcc_min<" + index_type_ + ">(" + left + ", " + right + ")";
    case AtomKind::max: return "mcc_max<" + index_type_ + ">(" + left + ", " + right + ")";
    case AtomKind::symbol: break;
  }
  fail("an index of unknown kind");
}

std::string KernelPrinter::index_text(const Expr& expr) {
  const ExprNode& node = expr.node();
  std::string text;
  for (const Term& term : node.terms) {
    std::string product = term.coefficient == 1 ? "" : std::to_string(term.coefficient) + index_suffix_;
    for (const auto& factor : term.factors) product += (product.empty() ? "" : " * ") + atom_text(*factor);
    text += (text.empty() ? "" : " + ") + product;
  }
  if (node.constant != 0 || text.empty()) {
    text += (text.empty() ? "" : " + ") + std::to_string(node.constant) + index_suffix_;
  }
  return "(" + text + ")";
}

std::string KernelPrinter::guard_text(const Guard& guard) {
  std::string text;
  for (const Expr& condition : guard) text += (text.empty() ? "" : " && ") + index_text(condition) + " >= 0";
  return text.empty() ? "true" : text;
}

}  // namespace mcc::backend
