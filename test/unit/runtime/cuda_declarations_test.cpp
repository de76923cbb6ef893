// Where a CUDA toolkit is installed: our own declarations of the driver API against cuda.h.
#include <gtest/gtest.h>

#include <type_traits>

#include "runtime/cuda/driver.h"

#if __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"

namespace mcc::runtime::cuda {
namespace {

// Pointers to structs of the same meaning but of different namespaces, and enumerations passed as
// int, are the same to the ABI; everything else must be equal.
template <typename Ours, typename Theirs>
constexpr bool same_abi() {
  if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    return true;
  } else {
    return std::is_integral_v<Ours> && std::is_enum_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
  }
}

template <typename Ours, typename Theirs>
struct Matches : std::false_type {};
template <typename R1, typename... A1, typename R2, typename... A2>
struct Matches<R1 (*)(A1...), R2(A2...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(A1) != sizeof...(A2)) {
      return false;
    } else {
      return same_abi<R1, R2>() && (same_abi<A1, A2>() && ...);
    }
  }
  static constexpr bool value = check();
};

#define MCC_CUDA_COMPARE(name, signature, version) \
  static_assert(Matches<Driver::name##_type, decltype(::name)>::value, #name);
MCC_CUDA_FUNCTIONS(MCC_CUDA_COMPARE)
#undef MCC_CUDA_COMPARE

TEST(CudaDeclarations, ConstantsMatchCudaH) {
  EXPECT_EQ(kAttributeMaxGridX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  EXPECT_EQ(kAttributeMaxGridY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  EXPECT_EQ(kAttributeMaxGridZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  EXPECT_EQ(kAttributeMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(kAttributeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kAttributeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kAttributeMaxSharedOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(kFunctionMaxDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(kJitErrorLog, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(kJitErrorLogSize, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

}  // namespace
}  // namespace mcc::runtime::cuda
#else
TEST(CudaDeclarations, NeedsAToolkit) { GTEST_SKIP() << "no cuda.h on this machine"; }
#endif
