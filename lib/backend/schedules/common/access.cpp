// Questions about the memory accesses of a value.
#include "lib/backend/schedules/common/access.h"

#include <algorithm>
#include <set>

#include "lib/ir/scalar_function.h"

namespace mcc::backend {
namespace {

bool check(const ScalarPtr& value, const std::string& variable, std::set<const Scalar*>& seen) {
  if (!seen.insert(value.get()).second) return true;
  if (value->kind == ScalarKind::load) {
    const std::optional<Linear> linear = linear_in(value->index, variable);
    if (!linear) return false;
    if (!linear->coefficient.is_constant(0) && !linear->coefficient.is_constant(1)) return false;
  }
  if (value->kind == ScalarKind::guarded) {
    for (const Expr& condition : value->guard) {
      if (condition.symbols().count(variable) != 0) return false;
    }
  }
  for (const ScalarPtr& operand : value->operands) {
    if (!check(operand, variable, seen)) return false;
  }
  return true;
}

struct WideCheck {
  const LoopKernel& kernel;
  const std::string& variable;
  Expr lanes;
  bool found = false;
  std::set<const Scalar*> seen;

  bool run(const ScalarPtr& value) {
    if (!seen.insert(value.get()).second) return true;
    for (const Expr& condition : value->guard) {
      if (condition.symbols().count(variable) != 0) return false;
    }
    if (value->kind == ScalarKind::load && value->index.symbols().count(variable) != 0) {
      if (!value->memory.empty()) return false;
      if (kernel.buffers[static_cast<size_t>(value->buffer)].dtype != DType::f32) return false;
      const std::optional<Linear> linear = linear_in(value->index, variable);
      if (!linear || !linear->coefficient.is_constant(1)) return false;
      if (!exact_division(linear->rest, lanes)) return false;
      found = true;
    }
    for (const ScalarPtr& operand : value->operands) {
      if (!run(operand)) return false;
    }
    return true;
  }
};

void widen(const ScalarPtr& value, int& bits, std::set<const Scalar*>& seen) {
  if (!seen.insert(value.get()).second) return;
  if (value->kind != ScalarKind::literal) bits = std::max(bits, dtype_info(value->dtype).bits);
  for (const ScalarPtr& operand : value->operands) widen(operand, bits, seen);
}

int add_flops(const ScalarPtr& value, std::set<const Scalar*>& seen) {
  if (!seen.insert(value.get()).second) return 0;
  const ScalarFunction* function = find_scalar_function(value->function);
  int total = function == nullptr ? 0 : function->cost;
  for (const ScalarPtr& operand : value->operands) total += add_flops(operand, seen);
  return total;
}

}  // namespace

bool loads_wide(const LoopKernel& kernel, const ScalarPtr& value, const std::string& variable, int lanes) {
  WideCheck check{kernel, variable, Expr(static_cast<int64_t>(lanes)), false, {}};
  return check.run(value) && check.found;
}

int flops(const ScalarPtr& value) {
  std::set<const Scalar*> seen;
  return add_flops(value, seen);
}

int widest_bits(const ScalarPtr& value) {
  int bits = 32;
  std::set<const Scalar*> seen;
  widen(value, bits, seen);
  return bits;
}

bool accesses_linearly(const ScalarPtr& value, const std::string& variable) {
  std::set<const Scalar*> seen;
  return check(value, variable, seen);
}

}  // namespace mcc::backend
