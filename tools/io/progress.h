// A progress line for long work: on a terminal only, so that logs and pipes stay clean.
#pragma once

#include <chrono>
#include <string>

namespace mcc::tools {

class Progress {
 public:
  // Writes to stderr when that is a terminal.
  Progress();
  // Removes the line.
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Replaces the line by "stage done/total"; `total` 0 shows the stage alone. At most ten times a
  // second for the same stage.
  void update(const std::string& stage, int done = 0, int total = 0);
  void clear();

 private:
  bool terminal_ = false;
  bool shown_ = false;
  std::string stage_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace mcc::tools
