// Folds of reductions.
#include "lib/backend/schedules/common/reduction_terms.h"

#include <limits>

#include "lib/support/error.h"

namespace mcc::backend {
namespace {

int64_t integer_limit(DType dtype, bool largest) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.kind == DTypeKind::boolean) return largest ? 1 : 0;
  if (info.kind == DTypeKind::unsigned_integer) {
    if (!largest) return 0;
    return info.bits == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << info.bits) - 1);
  }
  const auto high = static_cast<int64_t>((uint64_t{1} << (info.bits - 1)) - 1);
  return largest ? high : -high - 1;
}

}  // namespace

std::string fold_function(const std::string& reduction) {
  if (reduction == "sum") return "add";
  if (reduction == "prod") return "mul";
  if (reduction == "min" || reduction == "max") return reduction;
  if (reduction == "any") return "or";
  if (reduction == "all") return "and";
  throw InternalError("unknown reduction '" + reduction + "'");
}

ScalarPtr neutral_element(const std::string& reduction, DType dtype) {
  const DType type = compute_type(dtype);
  if (reduction == "sum" || reduction == "any") return literal_integer(type, 0);
  if (reduction == "prod" || reduction == "all") return literal_integer(type, 1);
  const bool largest = reduction == "min";
  if (is_floating(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return literal(type, largest ? infinity : -infinity);
  }
  return literal_integer(type, integer_limit(type, largest));
}

}  // namespace mcc::backend
