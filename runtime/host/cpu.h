// Which host instruction sets this processor runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mcc::runtime {

// The names that plans use ("x86-64-v4", "x86-64-v3", "x86-64-v2") and that this processor
// supports, best first. Levels are those of the x86-64 psABI.
std::vector<std::string_view> supported_isas();
// "AMD EPYC 9R14 (x86-64-v4)"; the model name is what the processor itself reports.
std::string processor_description();

}  // namespace mcc::runtime
