// See sim_options.h.
#include "runtime/sim_device/sim_options.h"

#include <charconv>

#include "runtime/support/error.h"

namespace mcc::runtime {

namespace {

constexpr int kLargestNumber = 1000;  // architectures and orders alike

int parse_number(const std::string& part, std::string_view digits) {
  int value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0 || value > kLargestNumber) {
    fail_usage("\"" + part +
               "\" is no option of the device sim: write it as sim, sim:80 or "
               "sim:80,orders=2,checks=0,counters=0");
  }
  return value;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

void parse_part(const std::string& part, SimOptions& options) {
  std::string_view rest = part;
  if (take_prefix(rest, "orders=")) {
    options.orders = parse_number(part, rest);
  } else if (take_prefix(rest, "checks=")) {
    options.checks = parse_number(part, rest) != 0;
  } else if (take_prefix(rest, "counters=")) {
    options.counters = parse_number(part, rest) != 0;
  } else {
    (void)take_prefix(rest, "sm_");
    options.architecture = parse_number(part, rest);
  }
}

}  // namespace

SimOptions parse_sim_options(const std::string& text) {
  SimOptions options;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    parse_part(text.substr(begin, comma - begin), options);
    begin = comma + 1;
  }
  return options;
}

}  // namespace mcc::runtime
