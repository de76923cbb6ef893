// Small formatting helpers of the subcommands.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/ir/tensor.h"

namespace mcc::tools {

using Json = nlohmann::ordered_json;

// "5.22 MB" (decimal units), "812 bytes".
std::string bytes_text(int64_t bytes);
// "[1, 3, 224, 224]"
std::string dims_text(const std::vector<int64_t>& dims);
// JSON to standard output, indented, with invalid UTF-8 replaced.
void print_json(const Json& json);
// "min -1.2, max 3.4, mean 0.1, 0 NaN"; for an empty tensor "no elements".
std::string summary_text(const Tensor& tensor);

}  // namespace mcc::tools
