// Text for a terminal: names in files that nobody vetted may hold any bytes.
#pragma once

#include <string>
#include <string_view>

namespace mcc::tools {

// `text` with control characters (but newlines and tabs) and bytes that aren't UTF-8 as \xNN, so
// that it can neither steer a terminal nor break a reader of the output.
std::string printable(std::string_view text);

}  // namespace mcc::tools
