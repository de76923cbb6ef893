// The devices of this runtime, in the order in which "auto" prefers them. A new device is one row
// here and one directory next to host/ and cuda/.
#include <array>
#include <charconv>

#include "runtime/cuda/cuda_device.h"
#include "runtime/device.h"
#include "runtime/host/host_device.h"
#include "runtime/support/error.h"

namespace mcc::runtime {

namespace {

constexpr std::array<DeviceKind, 2> kKinds{{
    {"cuda", probe_cuda, open_cuda, true},
    {"host", probe_host, open_host, true},
}};

std::string known_names() {
  std::string names = "auto";
  for (const DeviceKind& kind : kKinds) names.append(", ").append(kind.name);
  return names;
}

std::shared_ptr<Device> open_automatic(const Manifest& manifest) {
  std::string problems;
  for (const DeviceKind& kind : kKinds) {
    if (!kind.automatic) continue;
    std::string text;
    if (!kind.probe(text)) {
      problems.append("; ").append(kind.name).append(": ").append(text);
      continue;
    }
    try {
      std::shared_ptr<Device> device = kind.open(0);
      (void)device->choose_target(manifest);
      return device;
    } catch (const Error& error) {
      problems.append("; ").append(kind.name).append(": ").append(error.what());
    }
  }
  fail_environment("no device of this machine can run the plan" + problems);
}

}  // namespace

std::span<const DeviceKind> device_kinds() { return kKinds; }

std::shared_ptr<Device> open_device(const std::string& name, const Manifest& manifest) {
  if (name == "auto") return open_automatic(manifest);
  const size_t colon = name.find(':');
  int ordinal = 0;
  if (colon != std::string::npos) {
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + colon + 1, end, ordinal);
    if (parsed.ec != std::errc() || parsed.ptr != end || ordinal < 0) {
      fail_usage("the device number in \"" + name + "\" is not a number: write it as cuda:1");
    }
  }
  for (const DeviceKind& kind : kKinds) {
    if (kind.name == name.substr(0, colon)) return kind.open(ordinal);
  }
  fail_usage("unknown device \"" + name + "\"; known are " + known_names());
}

}  // namespace mcc::runtime
