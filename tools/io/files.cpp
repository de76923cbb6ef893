// See files.h.
#include "tools/io/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lib/support/error.h"

namespace mcc::tools {

namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& path, int error) {
  throw EnvironmentError(std::string("cannot ") + what + " " + path.string() + ": " +
                         std::strerror(error));
}

// 0 or an errno.
int write_all(int descriptor, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t count = ::write(descriptor, contents.data(), contents.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    contents.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

void write_in_place(const std::filesystem::path& path, std::string_view contents) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail("write", path, errno);
  int error = write_all(descriptor, contents);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) fail("write", path, error);
}

}  // namespace

std::string read_whole_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("read", path, errno);
  std::string contents;
  struct stat info {};
  if (::fstat(descriptor, &info) == 0 && info.st_size > 0) {
    contents.reserve(static_cast<size_t>(info.st_size));
  }
  char buffer[1 << 16];
  ssize_t count = 0;
  while ((count = ::read(descriptor, buffer, sizeof buffer)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      ::close(descriptor);
      fail("read", path, error);
    }
    contents.append(buffer, static_cast<size_t>(count));
  }
  ::close(descriptor);
  return contents;
}

void write_whole_file(const std::filesystem::path& path, std::string_view contents) {
  if (path == "-") {
    if (const int error = write_all(STDOUT_FILENO, contents); error != 0) {
      fail("write to", "standard output", error);
    }
    return;
  }
  // Devices and pipes are written to; renaming would replace them.
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    write_in_place(path, contents);
    return;
  }
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) fail("create", path, errno);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  int error = write_all(descriptor, contents);
  if (error == 0 && ::fchmod(descriptor, 0666 & ~mask) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail("write", path, error);
  }
}

}  // namespace mcc::tools
