// The part of the CUDA driver API that the runtime uses, declared here and loaded from
// libcuda.so.1 when first needed: no CUDA header and no link-time dependency.
//
// Sources: "CUDA Driver API Reference Manual" (types, signatures, error codes) and its section on
// cuGetProcAddress (versioned entry points). test/unit/runtime compares these declarations with
// cuda.h where a toolkit is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mcc::runtime::cuda {

using Result = int;  // CUresult; 0 is success
using Device = int;
using DevicePointer = unsigned long long;
using Context = struct CUctx_st*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using Graph = struct CUgraph_st*;
using GraphExec = struct CUgraphExec_st*;

// Numbers from the enumerations of the reference manual.
constexpr int kAttributeMaxGridX = 5;
constexpr int kAttributeMaxGridY = 6;
constexpr int kAttributeMaxGridZ = 7;
constexpr int kAttributeMultiprocessors = 16;
constexpr int kAttributeCapabilityMajor = 75;
constexpr int kAttributeCapabilityMinor = 76;
constexpr int kAttributeMaxSharedOptin = 97;
constexpr int kFunctionMaxDynamicShared = 8;
constexpr int kJitErrorLog = 5;
constexpr int kJitErrorLogSize = 6;
constexpr unsigned kStreamNonBlocking = 1;
constexpr int kCaptureThreadLocal = 1;

// One row per function: member, signature, the API version whose form is declared here.
#define MCC_CUDA_FUNCTIONS(X)                                                                    \
  X(cuInit, Result (*)(unsigned), 2000)                                                          \
  X(cuDriverGetVersion, Result (*)(int*), 2020)                                                  \
  X(cuGetErrorName, Result (*)(Result, const char**), 6000)                                      \
  X(cuGetErrorString, Result (*)(Result, const char**), 6000)                                    \
  X(cuDeviceGetCount, Result (*)(int*), 2000)                                                    \
  X(cuDeviceGet, Result (*)(Device*, int), 2000)                                                 \
  X(cuDeviceGetName, Result (*)(char*, int, Device), 2000)                                       \
  X(cuDeviceGetAttribute, Result (*)(int*, int, Device), 2000)                                   \
  X(cuDeviceTotalMem, Result (*)(size_t*, Device), 3020)                                         \
  X(cuDevicePrimaryCtxRetain, Result (*)(Context*, Device), 7000)                                \
  X(cuDevicePrimaryCtxRelease, Result (*)(Device), 11000)                                        \
  X(cuCtxPushCurrent, Result (*)(Context), 4000)                                                 \
  X(cuCtxPopCurrent, Result (*)(Context*), 4000)                                                 \
  X(cuModuleLoadDataEx, Result (*)(Module*, const void*, unsigned, int*, void**), 2010)          \
  X(cuModuleUnload, Result (*)(Module), 2000)                                                    \
  X(cuModuleGetFunction, Result (*)(Function*, Module, const char*), 2000)                       \
  X(cuFuncSetAttribute, Result (*)(Function, int, int), 9000)                                    \
  X(cuMemAlloc, Result (*)(DevicePointer*, size_t), 3020)                                        \
  X(cuMemFree, Result (*)(DevicePointer), 3020)                                                  \
  X(cuMemHostAlloc, Result (*)(void**, size_t, unsigned), 2020)                                  \
  X(cuMemFreeHost, Result (*)(void*), 2000)                                                      \
  X(cuMemcpyHtoD, Result (*)(DevicePointer, const void*, size_t), 3020)                          \
  X(cuMemcpyHtoDAsync, Result (*)(DevicePointer, const void*, size_t, Stream), 3020)             \
  X(cuMemcpyDtoHAsync, Result (*)(void*, DevicePointer, size_t, Stream), 3020)                   \
  X(cuMemcpyDtoDAsync, Result (*)(DevicePointer, DevicePointer, size_t, Stream), 3020)           \
  X(cuStreamCreate, Result (*)(Stream*, unsigned), 2000)                                         \
  X(cuStreamDestroy, Result (*)(Stream), 4000)                                                   \
  X(cuStreamSynchronize, Result (*)(Stream), 2000)                                               \
  X(cuStreamBeginCapture, Result (*)(Stream, int), 10010)                                        \
  X(cuStreamEndCapture, Result (*)(Stream, Graph*), 10000)                                       \
  X(cuGraphInstantiateWithFlags, Result (*)(GraphExec*, Graph, unsigned long long), 11040)       \
  X(cuGraphLaunch, Result (*)(GraphExec, Stream), 10000)                                         \
  X(cuGraphExecDestroy, Result (*)(GraphExec), 10000)                                            \
  X(cuGraphDestroy, Result (*)(Graph), 10000)                                                    \
  X(cuEventCreate, Result (*)(Event*, unsigned), 2000)                                           \
  X(cuEventDestroy, Result (*)(Event), 4000)                                                     \
  X(cuEventRecord, Result (*)(Event, Stream), 2000)                                              \
  X(cuEventElapsedTime, Result (*)(float*, Event, Event), 2000)                                  \
  X(cuLaunchKernel,                                                                              \
    Result (*)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
               Stream, void**, void**),                                                          \
    4000)

// The loaded driver: one function pointer per row.
struct Driver {
#define MCC_CUDA_MEMBER(name, signature, version) \
  using name##_type = signature;                  \
  name##_type name = nullptr;
  MCC_CUDA_FUNCTIONS(MCC_CUDA_MEMBER)
#undef MCC_CUDA_MEMBER

  int version = 0;  // cuDriverGetVersion: 13000 for CUDA 13.0

  // Loads and initialises the driver once per process. Error(environment) with one sentence that
  // says what is missing; later calls repeat it.
  static const Driver& get();

  // Error(environment) that names the action, the code and, for the known codes, the remedy.
  void check(Result result, const std::string& action) const;
  // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
  std::string error_text(Result result) const;
};

// "13.0" for 13000.
std::string version_text(int version);
// What to do about an error code; "" when the code needs no explanation.
std::string advice(Result result);

}  // namespace mcc::runtime::cuda
