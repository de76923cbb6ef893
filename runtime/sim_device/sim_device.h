// The device `sim`: runs the PTX of a plan on the simulator, with all checks. For machines without
// a GPU, and for finding what a GPU would not report. See docs/simulator.md.
#pragma once

#include "runtime/device.h"

namespace mcc::runtime {

// The row for register_device_kind(). Never chosen by "auto".
DeviceKind sim_device_kind();

}  // namespace mcc::runtime
