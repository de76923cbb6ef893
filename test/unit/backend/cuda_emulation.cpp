// Compiling CUDA text for the host and launching it.
#include "cuda_emulation.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "lib/backend/prelude.h"
#include "lib/backend/printer/source_types.h"
#include "lib/support/subprocess.h"

namespace mcc::test {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 64;
constexpr auto kCanary = std::byte{0xff};  // NaN for every floating type

// The prelude's assembly and what the shim offers instead.
constexpr const char* kAssembly[][2] = {
    {R"(asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));)", "d = mcc_emulated_dot4(a, b, c, false);"},
    {R"(asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));)", "d = mcc_emulated_dot4(a, b, c, true);"},
    {R"(asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));)", "x = mcc_emulated_f16_to_f32(h);"},
    {R"(asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));)", "h = mcc_emulated_f32_to_f16(x);"},
    {R"(asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));)", "h = mcc_emulated_f32_to_bf16(x);"},
};

std::string emulated_prelude() {
  std::string text = backend::cuda_prelude();
  for (const auto& [from, to] : kAssembly) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << "the prelude no longer holds " << from;
    if (at != std::string::npos) text.replace(at, std::strlen(from), to);
  }
  return text;
}

std::string call_text(const backend::LoopKernel& kernel) {
  std::string arguments;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    arguments += std::string(arguments.empty() ? "" : ", ") + "(" + backend::source_type(kernel.buffers[i].dtype) +
                 "*)b[" + std::to_string(i) + "]";
  }
  for (size_t i = 0; i < kernel.dims.size(); ++i) arguments += ", d[" + std::to_string(i) + "]";
  return "extern \"C\" void mcc_call_" + kernel.name + "(void** b, const long long* d) { " + kernel.name + "(" +
         arguments + "); }\n";
}

// A copy of a buffer that ends just before an unmapped page and starts aligned.
class GuardedMemory {
 public:
  explicit GuardedMemory(const DeviceBuffer& buffer) : buffer_(buffer) {
    const size_t used = (buffer.bytes + kAlignment - 1) / kAlignment * kAlignment;
    const size_t pages = (used + kPage - 1) / kPage * kPage;
    size_ = pages + 2 * kPage;
    base_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + kPage, pages, PROT_READ | PROT_WRITE);
    data_ = base_ + kPage + pages - used;
    std::memset(base_ + kPage, 0xff, pages);
    if (buffer.bytes > 0) std::memcpy(data_, buffer.data, buffer.bytes);
  }
  ~GuardedMemory() { munmap(base_, size_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const { return data_; }
  bool intact() const {
    for (const std::byte* p = data_ + buffer_.bytes; p < base_ + size_ - kPage; ++p) {
      if (*p != kCanary) return false;
    }
    for (const std::byte* p = base_ + kPage; p < data_; ++p) {
      if (*p != kCanary) return false;
    }
    return true;
  }
  void read_back() const {
    if (buffer_.bytes > 0) std::memcpy(buffer_.data, data_, buffer_.bytes);
  }

 private:
  DeviceBuffer buffer_;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

CudaEmulation::CudaEmulation(const std::vector<const backend::LoopKernel*>& kernels, const std::string& text) {
  const TemporaryDirectory directory;
  const std::string source = directory.path() + "/kernels.cpp";
  const std::string library = directory.path() + "/kernels.so";
  {
    std::ofstream file(source);
    file << std::ifstream(MCC_SOURCE_DIR "/test/unit/backend/cuda_emulation_shim.h").rdbuf() << emulated_prelude() << text;
    for (const backend::LoopKernel* kernel : kernels) file << call_text(*kernel);
  }
  // No contraction of a * b + c: the prelude says where one rounding is wanted.
  const ProcessResult result = run_process({"g++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-march=native", "-fPIC",
                                            "-shared", "-o", library, source});
  if (result.exit_code != 0) {
    ADD_FAILURE() << result.errors.substr(0, 3000) << "\n" << text;
    return;
  }
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) ADD_FAILURE() << dlerror();
}

CudaEmulation::~CudaEmulation() {
  if (library_ != nullptr) dlclose(library_);
}

std::string CudaEmulation::launch(const backend::LoopKernel& kernel, const std::vector<DeviceBuffer>& buffers,
                                  const Bindings& dims, bool reverse) const {
  if (library_ == nullptr) return "not compiled";
  using Entry = void (*)(void**, const long long*);
  using Emulate = const char* (*)(Entry, void**, const long long*, const int*, int);
  const auto emulate = reinterpret_cast<Emulate>(dlsym(library_, "mcc_emulate"));
  const auto entry = reinterpret_cast<Entry>(dlsym(library_, ("mcc_call_" + kernel.name).c_str()));
  if (emulate == nullptr || entry == nullptr) return "no such kernel";
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  std::vector<void*> pointers;
  for (const DeviceBuffer& buffer : buffers) {
    memory.push_back(std::make_unique<GuardedMemory>(buffer));
    pointers.push_back(memory.back()->data());
  }
  std::vector<long long> values;
  for (const std::string& dim : kernel.dims) values.push_back(dims.at(dim));
  int shape[6];
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t grid = kernel.grid[axis].evaluate(dims);
    if (grid > (axis == 0 ? INT32_MAX : 65535)) return "a grid that is too large";
    shape[axis] = static_cast<int>(grid);
    shape[3 + axis] = kernel.block[axis];
  }
  if (const char* error = emulate(entry, pointers.data(), values.data(), shape, reverse ? 1 : 0)) return error;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!memory[i]->intact()) return "a write outside of buffer " + std::to_string(i);
    if (kernel.buffers[i].output) memory[i]->read_back();
  }
  return {};
}

}  // namespace mcc::test
