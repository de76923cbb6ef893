// The simulator's exception: PTX that cannot be decoded, launches that cannot start.
#pragma once

#include <stdexcept>
#include <string>

namespace mcc::sim {

// The text is one complete sentence; for PTX it starts with "line N:".
class SimError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void fail_at(int line, const std::string& message) {
  throw SimError("line " + std::to_string(line) + ": " + message);
}

}  // namespace mcc::sim
