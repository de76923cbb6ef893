// What operators with data-dependent output sizes share.
#pragma once

#include "lib/ir/evaluate.h"

namespace mcc::ops {

// ModelError when the attribute `count` is known and is not `count`; while its symbol is unknown,
// the result binds it (see evaluate.cpp).
void check_count(const Node& node, const EvaluationContext& context, int64_t count);

}  // namespace mcc::ops
