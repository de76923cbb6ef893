// The manifest's JSON form (docs/plan-format.md): writing and parsing.
#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/manifest.h"

namespace mcc::runtime {

// Deterministic text; one line per entry of the large arrays, so that plans can be diffed.
std::string write_manifest(const Manifest& manifest);

// Parses and checks types and index ranges of every field. What depends on several fields
// together is check_manifest's business. Error(model) naming the JSON path.
Manifest parse_manifest(std::string_view text);

}  // namespace mcc::runtime
