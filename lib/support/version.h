// The version of mcc.
#pragma once

#include <string_view>

namespace mcc {

// "0.1.0"
std::string_view version();

}  // namespace mcc
