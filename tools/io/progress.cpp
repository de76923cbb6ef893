// See progress.h.
#include "tools/io/progress.h"

#include <unistd.h>

#include <cstdio>

namespace mcc::tools {

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) != 0) {}

void Progress::update(const std::string& stage, int done, int total) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool same = stage == stage_ && done < total;
  if (same && shown_ && now - last_ < std::chrono::milliseconds(100)) return;
  stage_ = stage;
  last_ = now;
  shown_ = true;
  // Carriage return, text, erase to the end of the line.
  if (total > 0) {
    std::fprintf(stderr, "\r%s %d/%d\033[K", stage.c_str(), done, total);
  } else {
    std::fprintf(stderr, "\r%s\033[K", stage.c_str());
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace mcc::tools
