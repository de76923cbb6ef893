// The report of `mcc profile` and its drawing.
#pragma once

#include <string>

#include "runtime/sim/report/gpu.h"
#include "tools/io/report.h"

namespace mcc::tools {

// A page without scripts or outside references: totals, roofline plot, bars of the launches' times.
// `report` has the keys of `mcc profile --json` (docs/cli.md); its texts may come from a model and
// are escaped.
std::string profile_html(const Json& report, const sim::Gpu& gpu);

}  // namespace mcc::tools
