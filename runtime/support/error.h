// The one exception type inside the runtime; it never crosses the C API.
// Invariant: `status` says who is to blame and equals the exit code of the command line tool, so
// the numbers here, in include/mcc.h and in docs/cli.md are the same.
#pragma once

#include <stdexcept>
#include <string>

namespace mcc::runtime {

enum class Status {
  ok = 0,
  model = 1,        // the plan file is damaged, foreign or too new
  usage = 2,        // wrong arguments: shapes, dtypes, options
  environment = 3,  // driver, CPU, memory, disk
  internal = 4,     // a bug in the runtime
};

class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Status status() const { return status_; }

 private:
  Status status_;
};

[[noreturn]] inline void fail_model(const std::string& message) {
  throw Error(Status::model, message);
}
[[noreturn]] inline void fail_usage(const std::string& message) {
  throw Error(Status::usage, message);
}
[[noreturn]] inline void fail_environment(const std::string& message) {
  throw Error(Status::environment, message);
}
[[noreturn]] inline void fail_internal(const std::string& message) {
  throw Error(Status::internal, message);
}

}  // namespace mcc::runtime
