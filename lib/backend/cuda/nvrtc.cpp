// NVRTC through dlopen.
#include "lib/backend/cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "lib/support/error.h"

namespace mcc::backend {
namespace {

// The part of nvrtc.h that is used (NVRTC 12 and 13, "NVRTC User's Guide").
using Program = struct NvrtcProgramOpaque*;
constexpr int kSuccess = 0;
constexpr int kInvalidOption = 5;
constexpr int kCompilationError = 6;

// libnvrtc files of a directory, newest version first.
void add_directory(const std::filesystem::path& directory, std::vector<std::string>& candidates) {
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("libnvrtc.so", 0) == 0) found.push_back(entry.path().string());
  }
  std::sort(found.rbegin(), found.rend());
  candidates.insert(candidates.end(), found.begin(), found.end());
}

// The wheels put the library below site-packages/nvidia/<package>/lib.
void add_environment(const std::filesystem::path& environment, std::vector<std::string>& candidates) {
  std::error_code error;
  for (const auto& python : std::filesystem::directory_iterator(environment / "lib", error)) {
    const std::filesystem::path packages = python.path() / "site-packages" / "nvidia";
    std::error_code ignored;
    std::vector<std::filesystem::path> directories;
    for (const auto& package : std::filesystem::directory_iterator(packages, ignored)) {
      directories.push_back(package.path() / "lib");
    }
    std::sort(directories.rbegin(), directories.rend());
    for (const auto& directory : directories) add_directory(directory, candidates);
  }
}

std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  if (const char* chosen = std::getenv("MCC_NVRTC"); chosen != nullptr && *chosen != '\0') return {chosen};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(variable); home != nullptr && *home != '\0') {
      add_directory(std::filesystem::path(home) / "lib64", paths);
    }
  }
  add_directory("/usr/local/cuda/lib64", paths);
  if (const char* environment = std::getenv("VIRTUAL_ENV"); environment != nullptr && *environment != '\0') {
    add_environment(environment, paths);
  }
  add_environment(MCC_VENV_HINT, paths);
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) paths.push_back(name);
  return paths;
}

}  // namespace

struct Nvrtc::Functions {
  const char* (*error_string)(int) = nullptr;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
};

Nvrtc::Nvrtc() : functions_(std::make_unique<Functions>()) {}

Nvrtc::~Nvrtc() {
  if (library_ != nullptr) dlclose(library_);
}

std::shared_ptr<const Nvrtc> Nvrtc::open() {
  const std::vector<std::string> paths = candidates();
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc());
  for (const std::string& path : paths) {
    nvrtc->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (nvrtc->library_ == nullptr) continue;
    nvrtc->path_ = path;
    break;
  }
  if (nvrtc->library_ == nullptr) {
    std::string looked;
    for (const std::string& path : paths) looked += (looked.empty() ? "" : ", ") + path;
    throw EnvironmentError("NVRTC, the CUDA compiler library, was not found (looked for " + looked +
                           "); install the CUDA toolkit or the PyPI package nvidia-cuda-nvrtc, set MCC_NVRTC, "
                           "or compile without GPU code (--no-cuda)");
  }
  Functions& f = *nvrtc->functions_;
  bool complete = true;
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(nvrtc->library_, name));
    complete = complete && function != nullptr;
  };
  find(f.error_string, "nvrtcGetErrorString");
  find(f.version, "nvrtcVersion");
  find(f.create, "nvrtcCreateProgram");
  find(f.destroy, "nvrtcDestroyProgram");
  find(f.compile, "nvrtcCompileProgram");
  find(f.ptx_size, "nvrtcGetPTXSize");
  find(f.ptx, "nvrtcGetPTX");
  find(f.cubin_size, "nvrtcGetCUBINSize");
  find(f.cubin, "nvrtcGetCUBIN");
  find(f.log_size, "nvrtcGetProgramLogSize");
  find(f.log, "nvrtcGetProgramLog");
  if (!complete || f.version(&nvrtc->major_, &nvrtc->minor_) != kSuccess) {
    throw EnvironmentError("'" + nvrtc->path_ + "' is not a usable NVRTC");
  }
  return nvrtc;
}

NvrtcResult Nvrtc::compile(const std::string& source, const std::string& architecture,
                           const std::vector<std::string>& options) const {
  const Functions& f = *functions_;
  Program program = nullptr;
  if (const int code = f.create(&program, source.c_str(), "mcc.cu", 0, nullptr, nullptr); code != kSuccess) {
    throw EnvironmentError(std::string("NVRTC cannot start: ") + f.error_string(code));
  }
  const std::shared_ptr<void> owner(nullptr, [&](void*) { f.destroy(&program); });
  const std::string arch = "-arch=" + architecture;
  std::vector<const char*> arguments{arch.c_str()};
  for (const std::string& option : options) arguments.push_back(option.c_str());
  const int code = f.compile(program, static_cast<int>(arguments.size()), arguments.data());

  auto text = [&](auto size_of, auto read) {
    size_t size = 0;
    std::string contents;
    if (size_of(program, &size) != kSuccess || size == 0) return contents;
    contents.resize(size);
    if (read(program, contents.data()) != kSuccess) contents.clear();
    return contents;
  };
  NvrtcResult result;
  result.log = text(f.log_size, f.log);
  while (!result.log.empty() && result.log.back() == '\0') result.log.pop_back();
  if (code == kInvalidOption) {
    throw UsageError("NVRTC " + version() + " cannot compile for '" + architecture + "'");
  }
  if (code == kCompilationError) {
    throw InternalError("NVRTC refuses generated code for " + architecture + ": " + result.log.substr(0, 3000));
  }
  if (code != kSuccess) throw EnvironmentError(std::string("NVRTC failed: ") + f.error_string(code));
  result.ptx = text(f.ptx_size, f.ptx);
  while (!result.ptx.empty() && result.ptx.back() == '\0') result.ptx.pop_back();
  result.cubin = text(f.cubin_size, f.cubin);
  return result;
}

}  // namespace mcc::backend
