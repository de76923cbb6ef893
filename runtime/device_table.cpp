// The devices of this runtime, in the order in which "auto" prefers them. A new device is one row
// here and one directory next to host/ and cuda/.
#include <algorithm>
#include <charconv>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/device.h"
#include "runtime/host/host_device.h"
#include "runtime/support/error.h"

namespace mcc::runtime {

namespace {

std::vector<DeviceKind>& kinds() {
  static std::vector<DeviceKind> table{
      {"cuda", probe_cuda, open_cuda, true},
      {"host", probe_host, open_host, true},
  };
  return table;
}

std::string known_names() {
  std::string names = "auto";
  for (const DeviceKind& kind : kinds()) names.append(", ").append(kind.name);
  return names;
}

std::shared_ptr<Device> open_automatic(const Manifest& manifest) {
  std::string problems;
  for (const DeviceKind& kind : kinds()) {
    if (!kind.automatic) continue;
    std::string text;
    if (!kind.probe(text)) {
      problems.append("; ").append(kind.name).append(": ").append(text);
      continue;
    }
    try {
      std::shared_ptr<Device> device = kind.open({});
      (void)device->choose_target(manifest);
      return device;
    } catch (const Error& error) {
      problems.append("; ").append(kind.name).append(": ").append(error.what());
    }
  }
  fail_environment("no device of this machine can run the plan" + problems);
}

}  // namespace

int parse_ordinal(std::string_view kind, const std::string& options) {
  int ordinal = 0;
  if (options.empty()) return ordinal;
  const char* end = options.data() + options.size();
  const auto parsed = std::from_chars(options.data(), end, ordinal);
  if (parsed.ec != std::errc() || parsed.ptr != end || ordinal < 0) {
    const std::string name(kind);
    fail_usage("the device number in \"" + name + ":" + options +
               "\" is not a number: write it as " + name + ":1");
  }
  return ordinal;
}

std::span<const DeviceKind> device_kinds() { return kinds(); }

void register_device_kind(const DeviceKind& kind) {
  const bool known = std::any_of(kinds().begin(), kinds().end(),
                                 [&](const DeviceKind& other) { return other.name == kind.name; });
  if (!known) kinds().push_back(kind);
}

std::shared_ptr<Device> open_device(const std::string& name, const Manifest& manifest) {
  if (name == "auto") return open_automatic(manifest);
  const size_t colon = name.find(':');
  const std::string options = colon == std::string::npos ? "" : name.substr(colon + 1);
  if (colon != std::string::npos && options.empty())
    fail_usage("nothing follows the colon in the device \"" + name + "\"");
  for (const DeviceKind& kind : kinds()) {
    if (kind.name == name.substr(0, colon)) return kind.open(options);
  }
  fail_usage("unknown device \"" + name + "\"; known are " + known_names());
}

}  // namespace mcc::runtime
