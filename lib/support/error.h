// The error types of mcc and the process exit codes that they map to.
// Invariant: who is to blame decides the type: the model (ModelError), the command line
// (UsageError), the machine (EnvironmentError), or mcc itself (InternalError).
#pragma once

#include <stdexcept>
#include <string>

namespace mcc {

// Exit codes of the command line tool; documented in docs/cli.md, part of its contract.
enum class ExitCode {
  success = 0,
  model = 1,         // the model or plan file is wrong or uses something unsupported
  usage = 2,         // wrong options or inputs given by the user
  environment = 3,   // driver, toolkit, compiler, disk
  internal = 4,      // a bug in mcc
  verification = 5,  // results differ from the reference
};

// Base class; `what()` is a complete sentence for the user.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

class ModelError : public Error {
 public:
  explicit ModelError(const std::string& message) : Error(ExitCode::model, message) {}
};

class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitCode::usage, message) {}
};

class EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message) : Error(ExitCode::environment, message) {}
};

class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : Error(ExitCode::internal, message) {}
};

// Throws InternalError when `condition` is false. Used for mcc's own invariants, never for input.
inline void check_internal(bool condition, const char* message) {
  if (!condition) throw InternalError(message);
}

}  // namespace mcc
