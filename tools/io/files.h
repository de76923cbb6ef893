// Whole files, and whether a stream is a terminal.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace mcc::tools {

// EnvironmentError with the path and the reason when it cannot be read.
std::string read_whole_file(const std::filesystem::path& path);
// Written under a temporary name beside `path`, then renamed: on failure (EnvironmentError) `path`
// is as it was. "-" is standard output; devices and pipes are written to directly.
void write_whole_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace mcc::tools
