// Loads libcuda.so.1 and explains its errors; see driver.h.
#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "runtime/support/error.h"

namespace mcc::runtime::cuda {

namespace {

struct AdviceRow {
  Result code;
  std::string_view text;
};
constexpr std::array<AdviceRow, 13> kAdvice{{
    {2, "the GPU has too little free memory: use a smaller batch or free memory"},
    {34, "the libcuda.so.1 found is a stub from the CUDA toolkit: remove the toolkit's stubs "
         "directory from LD_LIBRARY_PATH"},
    {100, "the driver sees no GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES, and that the container "
          "was started with GPUs"},
    {101, "there is no GPU with that number"},
    {200, "the driver cannot read this code: it may be older than the plan's CUDA version"},
    {209, "the plan has no code for this GPU: compile it again with the right --arch"},
    {218, "the driver refused the plan's PTX"},
    {222, "the driver is older than the plan's PTX: update the driver or compile with --arch for "
          "this GPU"},
    {700, "a kernel accessed memory out of bounds; this is a bug in the generated code"},
    {701, "a kernel needs more registers or shared memory than the GPU has"},
    {719, "a kernel failed while running; this is a bug in the generated code"},
    {802, "the system is not ready yet: the fabric manager may still be starting"},
    {803, "the user-space driver and the kernel module differ in version: restart after the driver "
          "update, or use matching libraries in the container"},
}};

// CUDA 12's driver is the first that runs what mcc compiles (R525).
constexpr int kMinimumVersion = 12000;

// Tests put a mock in place of the driver.
const char* library_name() {
  const char* name = std::getenv("MCC_LIBCUDA");
  return name != nullptr && *name != '\0' ? name : "libcuda.so.1";
}

Driver load_driver() {
  void* library = ::dlopen(library_name(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail_environment(
        "no CUDA driver: libcuda.so.1 cannot be loaded (install the NVIDIA driver, or use "
        "--device host)");
  }
  // The second form (CUDA 12) has one more parameter, which reports why a symbol was not found.
  using GetProcAddress = Result (*)(const char*, void**, int, uint64_t, int*);
  using OldGetProcAddress = Result (*)(const char*, void**, int, uint64_t);
  const auto get = reinterpret_cast<GetProcAddress>(::dlsym(library, "cuGetProcAddress_v2"));
  const auto old_get = reinterpret_cast<OldGetProcAddress>(::dlsym(library, "cuGetProcAddress"));
  if (get == nullptr && old_get == nullptr) {
    fail_environment("the CUDA driver is too old: version " + version_text(kMinimumVersion) +
                     " (R525) or newer is needed");
  }
  Driver driver;
  std::string missing;
  const auto find = [&](const char* name, int version) {
    void* address = nullptr;
    int status = 0;
    const Result result = get != nullptr ? get(name, &address, version, 0, &status)
                                         : old_get(name, &address, version, 0);
    if (result != 0 || address == nullptr) {
      if (missing.empty()) missing = name;
      return static_cast<void*>(nullptr);
    }
    return address;
  };
#define MCC_CUDA_LOAD(name, signature, version) \
  driver.name = reinterpret_cast<Driver::name##_type>(find(#name, version));
  MCC_CUDA_FUNCTIONS(MCC_CUDA_LOAD)
#undef MCC_CUDA_LOAD
  if (!missing.empty()) {
    fail_environment("the CUDA driver is too old: it lacks " + missing + "; version " +
                     version_text(kMinimumVersion) + " (R525) or newer is needed");
  }
  driver.check(driver.cuInit(0), "initialise the CUDA driver");
  driver.check(driver.cuDriverGetVersion(&driver.version), "ask for the CUDA driver's version");
  return driver;
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string advice(Result result) {
  for (const AdviceRow& row : kAdvice) {
    if (row.code == result) return std::string(row.text);
  }
  return {};
}

const Driver& Driver::get() {
  // A failed initialisation throws and is tried again by the next call.
  static const Driver driver = load_driver();
  return driver;
}

std::string Driver::error_text(Result result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  std::string message = name != nullptr ? name : "CUDA error " + std::to_string(result);
  if (text != nullptr) message.append(" (").append(text).append(")");
  return message;
}

void Driver::check(Result result, const std::string& action) const {
  if (result == 0) return;
  std::string message = "cannot " + action + ": " + error_text(result);
  if (const std::string remedy = advice(result); !remedy.empty()) message += ": " + remedy;
  fail_environment(message);
}

}  // namespace mcc::runtime::cuda
