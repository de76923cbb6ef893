// The CUDA prelude compiles with NVRTC, every function of it instantiated, without any header.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/backend/prelude.h"
#include "lib/ir/scalar_function.h"

namespace mcc::backend {
namespace {

// The part of nvrtc.h that is needed.
struct Nvrtc {
  void* library = nullptr;
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(void*, int, const char* const*);
  int (*log_size)(void*, size_t*);
  int (*log)(void*, char*);
  int (*cubin_size)(void*, size_t*);
  int (*destroy)(void**);

  Nvrtc() {
    for (const char* name :
         {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) return;
    load(create, "nvrtcCreateProgram"), load(compile, "nvrtcCompileProgram");
    load(log_size, "nvrtcGetProgramLogSize"), load(log, "nvrtcGetProgramLog");
    load(cubin_size, "nvrtcGetCUBINSize"), load(destroy, "nvrtcDestroyProgram");
  }
  template <typename Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    ASSERT_NE(function, nullptr) << name;
  }
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// A kernel that applies a function to arrays of one type.
std::string kernel(const ScalarFunction& row, const std::string& type, bool integer) {
  std::string spelling(integer && !row.integer.empty() ? row.integer : row.cuda);
  for (int i = 0; i < 3; ++i) {
    replace(spelling, "$" + std::to_string(i), "x" + std::to_string(i) + "[i]");
  }
  replace(spelling, "$T", type);
  replace(spelling, "$R", "mcc_u8");
  if (row.name == "bitcast") replace(spelling, "mcc_u8", type);
  const std::string result = row.result == ResultRule::same ? type : std::string("mcc_u8");
  const std::string first = row.name == "select" ? "bool" : type;
  return "extern \"C\" __global__ void " + std::string(row.name) + "_" + type + "(const " + first +
         "* x0, const " + type + "* x1, const " + type + "* x2, " + type +
         "* out) {\n  const int i = threadIdx.x;\n  out[i] = (" + result + ")(" + spelling +
         ");\n}\n";
}

std::string test_source() {
  std::string text = cuda_prelude();
  for (const ScalarFunction& row : all_scalar_functions()) {
    if (row.accepts_float) {
      for (const char* type : {"float", "double"}) text += kernel(row, type, false);
    }
    if (row.accepts_boolean && row.result == ResultRule::same && row.name != "select") {
      text += kernel(row, "bool", false);
    }
    if (!row.accepts_integer) continue;
    if (row.name.substr(0, 4) == "dot4") {
      text += kernel(row, "mcc_i32", true);
      continue;
    }
    for (const char* type :
         {"mcc_i8", "mcc_u8", "mcc_i16", "mcc_u16", "mcc_i32", "mcc_u32", "mcc_i64", "mcc_u64"}) {
      text += kernel(row, type, true);
    }
  }
  text += R"(
extern "C" __global__ void conversions(float* x, mcc_u16* h, mcc_u8* b, mcc_i64 n) {
  float s = mcc_f16_to_f32(h[0]) + mcc_bf16_to_f32(h[1]);
  h[2] = mcc_f32_to_f16(x[0]);
  h[3] = mcc_f32_to_bf16(x[1]);
)";
  for (std::string format : {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"}) {
    text += "  s += mcc_" + format + "_to_f32(b[0]);\n  b[1] = mcc_f32_to_" + format +
            "(x[2]);\n  b[2] = mcc_f32_to_" + format + "_unsaturated(x[3]);\n";
  }
  return text + R"(
  s += mcc_f4e2m1_to_f32(mcc_load_u4(b, n)) + mcc_load_i4(b, n) + mcc_load_i2(b, n) + mcc_load_u2(b, n);
  mcc_store_bits(b, n, 4, mcc_f32_to_f4e2m1(x[4]));
  x[5] = s + mcc_random_uniform(1, n) + mcc_random_normal(1, n) + mcc_truncate<mcc_i8>(x[6]);
  x[6] = mcc_select(n > 0, x[7], x[8]) + mcc_convert<float>(n);
}
)";
}

TEST(CudaPrelude, CompilesForEveryFunctionAndType) {
  const Nvrtc nvrtc;
  if (nvrtc.library == nullptr) GTEST_SKIP() << "NVRTC is not installed";
  const std::string source = test_source();
  for (const char* architecture : {"sm_75", "sm_80"}) {
    void* program = nullptr;
    ASSERT_EQ(nvrtc.create(&program, source.c_str(), "prelude.cu", 0, nullptr, nullptr), 0);
    const std::string arch = std::string("-arch=") + architecture;
    const std::vector<const char*> options{arch.c_str(), "-std=c++17", "-default-device"};
    const int status = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
    size_t size = 0;
    nvrtc.log_size(program, &size);
    std::string log(size, '\0');
    nvrtc.log(program, log.data());
    ASSERT_EQ(status, 0) << architecture << "\n" << log;
    ASSERT_EQ(nvrtc.cubin_size(program, &size), 0);
    EXPECT_GT(size, 10000U);
    nvrtc.destroy(&program);
  }
}

}  // namespace
}  // namespace mcc::backend
