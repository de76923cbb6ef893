// Values inside of vector loops: which of them differ between lanes, and their text as vectors.
//
// Every element type has its vector, mcc_vector<T, lanes>; bool is a mask of 32-bit lanes, 0 or -1.
#include "lib/backend/printer/kernel_printer.h"
#include "lib/backend/printer/source_types.h"

namespace mcc::backend {

std::string KernelPrinter::vector_type(DType dtype) const { return source_vector_type(dtype, lanes_); }

std::string KernelPrinter::splat(const Value& value, DType dtype) const {
  return value.vector ? value.text : source_splat(value.text, dtype, lanes_);
}

std::string KernelPrinter::vector_value(const ScalarPtr& scalar) { return splat(value(scalar), scalar->dtype); }

// Whether an index differs between the lanes of the current vector loop.
bool KernelPrinter::varies(const Expr& expr) {
  if (vector_variable_.empty()) return false;
  for (const std::string& symbol : expr.symbols()) {
    if (symbol == vector_variable_) return true;
    auto indirect = kernel_.indirect.find(symbol);
    if (indirect != kernel_.indirect.end() && varies(*indirect->second)) return true;
  }
  return false;
}

bool KernelPrinter::varies(const Scalar& scalar) {
  if (vector_variable_.empty()) return false;
  auto known = varies_.find(&scalar);
  if (known != varies_.end()) return known->second;
  bool result = false;
  switch (scalar.kind) {
    case ScalarKind::literal: break;
    case ScalarKind::index:
    case ScalarKind::load: result = varies(scalar.index); break;
    case ScalarKind::variable: {
      auto found = registers_.find(scalar.memory);
      if (found == registers_.end()) fail("a read of an unknown register");
      result = found->second.lanes > 1;
      break;
    }
    case ScalarKind::guarded:
      for (const Expr& condition : scalar.guard) result = result || varies(condition);
      [[fallthrough]];
    case ScalarKind::apply:
      for (const ScalarPtr& operand : scalar.operands) result = result || varies(*operand);
      break;
  }
  varies_[&scalar] = result;
  return result;
}

// The slope of an index over the lanes, when that is a constant.
std::optional<int64_t> KernelPrinter::lane_stride(const Expr& index) {
  const std::optional<Linear> linear = linear_in(index, vector_variable_);
  if (!linear || !linear->coefficient.is_constant() || varies(linear->rest)) return std::nullopt;
  return linear->coefficient.constant();
}

// Whether a value that varies can be computed as a vector from vector operands.
bool KernelPrinter::is_vectorizable(const Scalar& scalar) {
  switch (scalar.kind) {
    case ScalarKind::variable: return true;
    case ScalarKind::index: return is_integer(scalar.dtype) && lane_stride(scalar.index).has_value();
    case ScalarKind::load: return lane_stride(scalar.index) == 1;
    case ScalarKind::apply: return scalar.function != "dot4" && scalar.function != "dot4_us";
    case ScalarKind::guarded:
      for (const Expr& condition : scalar.guard) {
        if (varies(condition)) return false;
      }
      return true;
    default: return false;
  }
}

KernelPrinter::Value KernelPrinter::compute_vector(const Scalar& scalar, size_t scope) {
  std::string text;
  if (scalar.kind == ScalarKind::load) {
    ensure_indirect(scalar.index);
    const DType storage = memory_dtype(scalar.buffer, scalar.memory, scalar.dtype);
    text = source_vector_from_storage("mcc_load<" + source_storage_vector_type(storage, lanes_) + ">(" +
                                          memory_text(scalar.buffer, scalar.memory) + " + " + index_text(scalar.index) + ")",
                                      storage, lanes_);
  } else if (scalar.kind == ScalarKind::index) {
    ensure_indirect(scalar.index);
    const std::string stride = std::to_string(*lane_stride(scalar.index));
    text = source_splat("(" + std::string(source_type(scalar.dtype)) + ")" + index_text(scalar.index), scalar.dtype, lanes_) +
           " + mcc_lane_numbers<" + vector_type(scalar.dtype) + ">(" + stride + ")";
  } else if (scalar.kind == ScalarKind::guarded) {
    return compute_guarded(scalar, scope);
  } else {
    std::vector<Value> operands;
    for (const ScalarPtr& operand : scalar.operands) {
      // A scalar condition chooses whole vectors; every other operand is spread over the lanes.
      Value item = value(operand);
      const bool condition = scalar.function == "select" && operands.empty();
      operands.push_back(condition ? item : Value{splat(item, operand->dtype), true});
    }
    text = apply_text(scalar, operands, true);
  }
  const std::string name = temporary();
  line_in(scope, "const " + vector_type(scalar.dtype) + " " + name + " = " + text + ";");
  return {name, true};
}

// Gathers, and guards that differ between lanes: one lane after the other.
KernelPrinter::Value KernelPrinter::compute_lanes(const ScalarPtr& scalar, size_t scope) {
  const bool mask = scalar->dtype == DType::boolean;
  const std::string name = temporary();
  const std::string lane = "l_" + std::to_string(next_++);
  const std::string saved = renamed_.at(vector_variable_);
  open(true);
  mode_ = Lanes::single;
  lane_ = lane;
  renamed_[vector_variable_] = "(" + saved + " + " + lane + ")";
  const std::string single = value(scalar).text;
  line(name + "[" + lane + "] = " + (mask ? "-(mcc_i32)(" + single + ")" : single) + ";");
  renamed_[vector_variable_] = saved;
  mode_ = Lanes::vector;
  const std::string body = scopes_.back().text;
  close();
  line_in(scope, vector_type(scalar->dtype) + " " + name + ";");
  line_in(scope, "for (" + index_type_ + " " + lane + " = 0; " + lane + " < " + std::to_string(lanes_) + "; ++" + lane + ") {");
  scopes_[scope].text += body;
  line_in(scope, "}");
  return {name, true};
}

}  // namespace mcc::backend
