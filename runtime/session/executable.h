// A plan made ready on one device: code loaded, weights placed. Shared by all sessions of the plan
// on that device; immutable after construction.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"
#include "runtime/session/phases.h"

namespace mcc::runtime {

struct Executable {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<Device> device;
  const TargetInfo* target = nullptr;  // of the plan's manifest
  PhaseTable phases;
  // Declared after the device: destroyed before it.
  std::unique_ptr<Memory> weights;
  std::unique_ptr<Image> image;
  double load_ms = 0;

  // `device_name` as for open_device; errors as there.
  static std::shared_ptr<const Executable> load(std::shared_ptr<const Plan> plan,
                                                const std::string& device_name);
};

}  // namespace mcc::runtime
