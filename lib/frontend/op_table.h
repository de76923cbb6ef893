// The one table of ONNX operators that have an import function.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lib/frontend/node_context.h"

namespace mcc::frontend {

// The entry that holds for an operator at an opset: the newest one not newer than it; nullptr if
// there is none.
const OperatorEntry* find_entry(std::string_view domain, std::string_view name, int64_t opset);
std::vector<const OperatorEntry*> all_entries();

// Families, one file each under ops/.
std::span<const OperatorEntry> elementwise_entries();
std::span<const OperatorEntry> activation_entries();
std::span<const OperatorEntry> shape_entries();
std::span<const OperatorEntry> movement_entries();
std::span<const OperatorEntry> gather_entries();
std::span<const OperatorEntry> reduction_entries();
std::span<const OperatorEntry> contraction_entries();
std::span<const OperatorEntry> convolution_entries();
std::span<const OperatorEntry> pooling_entries();
std::span<const OperatorEntry> normalization_entries();
std::span<const OperatorEntry> quantization_entries();
std::span<const OperatorEntry> resize_entries();
std::span<const OperatorEntry> recurrent_entries();
std::span<const OperatorEntry> data_dependent_entries();
std::span<const OperatorEntry> sequence_entries();
std::span<const OperatorEntry> random_entries();
std::span<const OperatorEntry> signal_entries();
std::span<const OperatorEntry> control_entries();
std::span<const OperatorEntry> vision_entries();
std::span<const OperatorEntry> microsoft_entries();

}  // namespace mcc::frontend
