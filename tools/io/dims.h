// Sizes of dimensions that nobody gave: inputs that share a dimension agree on it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/io/plan_handle.h"

namespace mcc::tools {

using DimSizes = std::map<std::string, int64_t>;

// The value of a dimension's text, sums and products of names and numbers ("past + 2 * time");
// nothing for other forms and for names without a size.
std::optional<int64_t> evaluate_dim(std::string_view text, const DimSizes& sizes);

// `given` and, for the other dimensions with a name of their own, the smallest size but zero.
DimSizes complete_sizes(const std::vector<PlanTensor>& inputs, DimSizes given);

// The shape of an input at these sizes; the smallest size where they don't tell.
std::vector<int64_t> shape_at(const PlanTensor& input, const DimSizes& sizes);

}  // namespace mcc::tools
