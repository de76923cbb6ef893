// Questions about the memory accesses of a value.
#include "lib/backend/schedules/common/access.h"

#include <set>

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

}  // namespace

bool accesses_linearly(const ScalarPtr& value, const std::string& variable) {
  std::set<const Scalar*> seen;
  return check(value, variable, seen);
}

}  // namespace mcc::backend
