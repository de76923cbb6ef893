// Running another program through posix_spawn.
#include "lib/support/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/support/error.h"

extern char** environ;

namespace mcc {

ProcessResult run_process(const std::vector<std::string>& arguments) {
  int channel[2];
  if (pipe2(channel, O_CLOEXEC) != 0) throw EnvironmentError("cannot create a pipe: " + std::string(std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, channel[1], 2);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(channel[1]);
  if (error != 0) {
    close(channel[0]);
    throw EnvironmentError("cannot run '" + arguments[0] + "': " + std::strerror(error));
  }
  ProcessResult result;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(channel[0], buffer, sizeof buffer);
    if (got > 0) {
      result.errors.append(buffer, static_cast<size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  close(channel[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

bool program_exists(const std::string& name) {
  const char* variable = std::getenv("PATH");
  const std::string path = variable == nullptr ? "/usr/bin:/bin" : variable;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::filesystem::path candidate = std::filesystem::path(path.substr(begin, end - begin)) / name;
    if (access(candidate.c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

TemporaryDirectory::TemporaryDirectory() {
  const char* base = std::getenv("TMPDIR");
  std::string pattern = std::string(base == nullptr || *base == '\0' ? "/tmp" : base) + "/mcc-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw EnvironmentError("cannot create a temporary directory '" + pattern + "': " + std::strerror(errno));
  }
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace mcc
