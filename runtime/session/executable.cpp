// See executable.h.
#include "runtime/session/executable.h"

#include <chrono>
namespace mcc::runtime {

std::shared_ptr<const Executable> Executable::load(std::shared_ptr<const Plan> plan,
                                                   const std::string& device_name) {
  const auto start = std::chrono::steady_clock::now();
  const Manifest& manifest = plan->manifest();
  auto executable = std::make_shared<Executable>();
  executable->phases = split_phases(manifest);
  executable->device = open_device(device_name, manifest);
  executable->target = &executable->device->choose_target(manifest);
  executable->weights = executable->device->place_weights(plan->weights());
  executable->image = executable->device->load(*plan, *executable->target);
  executable->plan = std::move(plan);
  executable->load_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return executable;
}

}  // namespace mcc::runtime
