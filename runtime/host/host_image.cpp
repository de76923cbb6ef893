// Loads the plan's shared object through an anonymous file (memfd) or, where the system forbids
// executing those, through a temporary file that is removed at once.
#include "runtime/host/host_image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/support/error.h"

namespace mcc::runtime {

namespace {

// Closes the descriptor and removes the path (if any) at the end of loading: the mapping stays.
struct ObjectFile {
  int descriptor = -1;
  std::string path;
  bool unlink_path = false;

  ObjectFile() = default;
  ObjectFile(const ObjectFile&) = delete;
  ObjectFile& operator=(const ObjectFile&) = delete;
  ~ObjectFile() {
    if (descriptor >= 0) ::close(descriptor);
    if (unlink_path) ::unlink(path.c_str());
  }
};

bool write_object(int descriptor, std::span<const std::byte> object) {
  size_t done = 0;
  while (done < object.size()) {
    const ssize_t count = ::write(descriptor, object.data() + done, object.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

void* load_from_memory(std::span<const std::byte> object, std::string& problem) {
  ObjectFile file;
  file.descriptor = ::memfd_create("mcc-plan", MFD_CLOEXEC);
  if (file.descriptor < 0 || !write_object(file.descriptor, object)) {
    problem = std::strerror(errno);
    return nullptr;
  }
  file.path = "/proc/self/fd/" + std::to_string(file.descriptor);
  void* handle = ::dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) problem = ::dlerror();
  return handle;
}

void* load_from_file(std::span<const std::byte> object, std::string& problem) {
  ObjectFile file;
  const char* directory = std::getenv("TMPDIR");
  file.path = std::string(directory != nullptr && *directory != '\0' ? directory : "/tmp") +
              "/mcc-plan-XXXXXX";
  file.descriptor = ::mkostemp(file.path.data(), O_CLOEXEC);
  if (file.descriptor < 0) {
    problem = "cannot create " + file.path + ": " + std::strerror(errno);
    return nullptr;
  }
  file.unlink_path = true;
  if (!write_object(file.descriptor, object)) {
    problem = "cannot write " + file.path + ": " + std::strerror(errno);
    return nullptr;
  }
  void* handle = ::dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) problem = ::dlerror();
  return handle;
}

}  // namespace

HostImage::HostImage(const Plan& plan, const TargetInfo& target) {
  for (size_t i = 0; i < target.sections.size(); ++i) {
    const std::span<const std::byte> object = plan.image(target, i);
    std::string memory_problem;
    std::string file_problem;
    void* handle = load_from_memory(object, memory_problem);
    if (handle == nullptr) handle = load_from_file(object, file_problem);
    if (handle == nullptr) {
      close();
      fail_environment("the plan's host code cannot be loaded: " + memory_problem +
                       "; and from a temporary file: " + file_problem);
    }
    handles_.push_back(handle);
  }
  for (const KernelResources& kernel : target.kernels) {
    void* symbol = ::dlsym(handles_[static_cast<size_t>(kernel.image)], kernel.name.c_str());
    if (symbol == nullptr) {
      close();
      fail_model("the plan's host code lacks kernel " + kernel.name);
    }
    kernels_.push_back(reinterpret_cast<HostKernel>(symbol));
  }
}

HostImage::~HostImage() { close(); }

void HostImage::close() {
  for (void* handle : handles_) ::dlclose(handle);
  handles_.clear();
}

}  // namespace mcc::runtime
