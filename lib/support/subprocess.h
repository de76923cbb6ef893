// Running another program without a shell.
#pragma once

#include <string>
#include <vector>

namespace mcc {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal when it was killed
  std::string errors; // what it wrote to stderr
};

// Runs arguments[0] (looked up in PATH) with the other arguments; stdin is empty, stdout is
// discarded. EnvironmentError when it cannot be started. Thread-safe.
ProcessResult run_process(const std::vector<std::string>& arguments);

// Whether a program of this name is in PATH.
bool program_exists(const std::string& name);

// A directory that is removed with everything in it when the object goes.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace mcc
