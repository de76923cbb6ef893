// The host as a device: kernels are functions of a shared object, run by a thread pool.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"

namespace mcc::runtime {

bool probe_host(std::string& text);
std::shared_ptr<Device> open_host(const std::string& options);

}  // namespace mcc::runtime
