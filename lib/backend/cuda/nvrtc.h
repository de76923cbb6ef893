// NVRTC, opened at run time: mcc builds and starts without any part of CUDA.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace mcc::backend {

struct NvrtcResult {
  std::string ptx;
  std::string cubin;
  std::string log;  // what the compiler said, ptxas's resource report included
};

// Thread-safe: several threads may compile at once.
class Nvrtc {
 public:
  // Looks at $MCC_NVRTC, the toolkit ($CUDA_HOME, /usr/local/cuda), the dynamic loader's paths and
  // the NVIDIA wheels of mcc's Python environment. EnvironmentError saying where it looked and how
  // to get it.
  static std::shared_ptr<const Nvrtc> open();
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  int major() const { return major_; }
  int minor() const { return minor_; }
  std::string version() const { return std::to_string(major_) + "." + std::to_string(minor_); }
  const std::string& path() const { return path_; }

  // Compiles for one real architecture ("sm_80"). UsageError when NVRTC does not know it,
  // InternalError with the log when it refuses the source.
  NvrtcResult compile(const std::string& source, const std::string& architecture,
                      const std::vector<std::string>& options) const;

 private:
  struct Functions;
  Nvrtc();

  void* library_ = nullptr;
  std::unique_ptr<Functions> functions_;
  std::string path_;
  int major_ = 0;
  int minor_ = 0;
};

}  // namespace mcc::backend
