// See cuda_queue.h. Every call that needs a context makes the device's primary one current first,
// so sessions may move between threads.
#include "runtime/cuda/cuda_queue.h"

#include <array>

#include "runtime/support/checked.h"

namespace mcc::runtime::cuda {

namespace {

constexpr int64_t kDefaultSharedLimit = 48 << 10;  // above it a kernel must opt in

DevicePointer device_pointer(const void* address) {
  return static_cast<DevicePointer>(reinterpret_cast<uintptr_t>(address));
}

}  // namespace

PrimaryContext::PrimaryContext(const Driver& driver, Device device)
    : driver_(driver), device_(device) {
  driver_.check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "create a CUDA context");
}

PrimaryContext::~PrimaryContext() { driver_.cuDevicePrimaryCtxRelease(device_); }

CurrentContext::CurrentContext(const PrimaryContext& context) : driver_(context.driver()) {
  driver_.check(driver_.cuCtxPushCurrent(context.handle()), "use the CUDA context");
}

CurrentContext::~CurrentContext() {
  Context previous = nullptr;
  driver_.cuCtxPopCurrent(&previous);
}

DeviceMemory::DeviceMemory(ContextPtr context, int64_t bytes) : context_(std::move(context)) {
  const CurrentContext current(*context_);
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  context_->driver().check(context_->driver().cuMemAlloc(&pointer_, size),
                           "allocate " + std::to_string(bytes) + " bytes of GPU memory");
}

DeviceMemory::~DeviceMemory() {
  const CurrentContext current(*context_);
  context_->driver().cuMemFree(pointer_);
}

PinnedMemory::PinnedMemory(ContextPtr context, int64_t bytes) : context_(std::move(context)) {
  const CurrentContext current(*context_);
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  context_->driver().check(context_->driver().cuMemHostAlloc(&pointer_, size, 0),
                           "allocate " + std::to_string(bytes) + " bytes of pinned memory");
}

PinnedMemory::~PinnedMemory() {
  const CurrentContext current(*context_);
  context_->driver().cuMemFreeHost(pointer_);
}

CudaImage::CudaImage(ContextPtr context, const Plan& plan, const TargetInfo& target)
    : context_(std::move(context)) {
  const CurrentContext current(*context_);
  try {
    for (size_t i = 0; i < target.sections.size(); ++i) load_module(plan.image(target, i), target);
    find_kernels(plan, target);
  } catch (...) {
    unload();
    throw;
  }
}

void CudaImage::load_module(std::span<const std::byte> code, const TargetInfo& target) {
  const Driver& driver = context_->driver();
  // The driver reads PTX up to a terminating zero, which a section does not have.
  std::string text;
  const void* data = code.data();
  if (target.kind == TargetKind::ptx) {
    text.assign(reinterpret_cast<const char*>(code.data()), code.size());
    data = text.c_str();
  }
  std::array<char, 4096> log{};
  std::array<int, 2> options{kJitErrorLog, kJitErrorLogSize};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(uintptr_t{log.size() - 1})};
  Module module = nullptr;
  const Result result = driver.cuModuleLoadDataEx(&module, data, options.size(), options.data(),
                                                  values.data());
  if (result != 0) {
    std::string action = "load the plan's code for " + target.name;
    if (log[0] != '\0') action += " (" + std::string(log.data()) + ")";
    driver.check(result, action);
  }
  modules_.push_back(module);
}

void CudaImage::find_kernels(const Plan& plan, const TargetInfo& target) {
  const Driver& driver = context_->driver();
  const std::vector<KernelInfo>& kernels = plan.manifest().kernels;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const KernelInfo& kernel = kernels[k];
    const Module module = modules_[static_cast<size_t>(target.kernels[k].image)];
    Function function = nullptr;
    driver.check(driver.cuModuleGetFunction(&function, module, kernel.name.c_str()),
                 "find kernel " + kernel.name + " in the plan's code for " + target.name);
    if (kernel.cuda && kernel.cuda->shared_bytes > kDefaultSharedLimit) {
      driver.check(driver.cuFuncSetAttribute(function, kFunctionMaxDynamicShared,
                                             static_cast<int>(kernel.cuda->shared_bytes)),
                   "give kernel " + kernel.name + " its shared memory");
    }
    functions_.push_back(function);
  }
}

void CudaImage::unload() {
  for (Module module : modules_) context_->driver().cuModuleUnload(module);
  modules_.clear();
}

CudaImage::~CudaImage() {
  const CurrentContext current(*context_);
  unload();
}

// Takes over `graph`, which is not needed once instantiated.
CudaRecording::CudaRecording(ContextPtr context, Graph graph) : context_(std::move(context)) {
  const Driver& driver = context_->driver();
  const Result result = driver.cuGraphInstantiateWithFlags(&executable_, graph, 0);
  driver.cuGraphDestroy(graph);
  driver.check(result, "instantiate the CUDA graph");
}

CudaRecording::~CudaRecording() {
  const CurrentContext current(*context_);
  context_->driver().cuGraphExecDestroy(executable_);
}

CudaQueue::CudaQueue(ContextPtr context) : context_(std::move(context)) {
  const CurrentContext current(*context_);
  driver().check(driver().cuStreamCreate(&stream_, kStreamNonBlocking), "create a CUDA stream");
}

CudaQueue::~CudaQueue() {
  const CurrentContext current(*context_);
  driver().cuStreamSynchronize(stream_);
  for (Event event : events_) driver().cuEventDestroy(event);
  driver().cuStreamDestroy(stream_);
}

void CudaQueue::upload(std::byte* device, const std::byte* host, int64_t bytes) {
  const CurrentContext current(*context_);
  driver().check(driver().cuMemcpyHtoDAsync(device_pointer(device), host,
                                            static_cast<size_t>(bytes), stream_),
                 "copy to the GPU");
}

void CudaQueue::download(std::byte* host, const std::byte* device, int64_t bytes) {
  const CurrentContext current(*context_);
  driver().check(driver().cuMemcpyDtoHAsync(host, device_pointer(device),
                                            static_cast<size_t>(bytes), stream_),
                 "copy from the GPU");
}

void CudaQueue::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  const CurrentContext current(*context_);
  driver().check(driver().cuMemcpyDtoDAsync(device_pointer(to), device_pointer(from),
                                            static_cast<size_t>(bytes), stream_),
                 "copy on the GPU");
}

// Kernel ABI: a pointer for each buffer, then an 8-byte integer for each dim. The driver copies
// the values that `parameters_` points at during the call.
void CudaQueue::launch(const Image& image, const BoundLaunch& launch) {
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) return;
  const CurrentContext current(*context_);
  parameters_.clear();
  for (void* const& buffer : launch.buffers) parameters_.push_back(const_cast<void**>(&buffer));
  for (const int64_t& dim : launch.dims) parameters_.push_back(const_cast<int64_t*>(&dim));
  const Function function = static_cast<const CudaImage&>(image).function(launch.kernel);
  driver().check(
      driver().cuLaunchKernel(
          function, static_cast<unsigned>(launch.grid[0]), static_cast<unsigned>(launch.grid[1]),
          static_cast<unsigned>(launch.grid[2]), static_cast<unsigned>(launch.block[0]),
          static_cast<unsigned>(launch.block[1]), static_cast<unsigned>(launch.block[2]),
          static_cast<unsigned>(launch.shared_bytes), stream_, parameters_.data(), nullptr),
      "launch kernel number " + std::to_string(launch.kernel));
}

void CudaQueue::synchronize() {
  const CurrentContext current(*context_);
  driver().check(driver().cuStreamSynchronize(stream_), "finish the work on the GPU");
}

void CudaQueue::begin_recording() {
  const CurrentContext current(*context_);
  driver().check(driver().cuStreamBeginCapture(stream_, kCaptureThreadLocal),
                 "record a CUDA graph");
}

std::unique_ptr<Recording> CudaQueue::end_recording() {
  const CurrentContext current(*context_);
  Graph graph = nullptr;
  driver().check(driver().cuStreamEndCapture(stream_, &graph), "record a CUDA graph");
  return std::make_unique<CudaRecording>(context_, graph);
}

void CudaQueue::replay(const Recording& recording) {
  const CurrentContext current(*context_);
  driver().check(
      driver().cuGraphLaunch(static_cast<const CudaRecording&>(recording).executable(), stream_),
      "launch the CUDA graph");
}

void CudaQueue::mark(int slot) {
  const CurrentContext current(*context_);
  while (events_.size() <= static_cast<size_t>(slot)) {
    Event event = nullptr;
    driver().check(driver().cuEventCreate(&event, 0), "create a CUDA event");
    events_.push_back(event);
  }
  driver().check(driver().cuEventRecord(events_[static_cast<size_t>(slot)], stream_),
                 "record a CUDA event");
}

double CudaQueue::milliseconds_between(int from_slot, int to_slot) {
  const CurrentContext current(*context_);
  float milliseconds = 0;
  driver().check(driver().cuEventElapsedTime(&milliseconds, events_[static_cast<size_t>(from_slot)],
                                             events_[static_cast<size_t>(to_slot)]),
                 "read CUDA events");
  return static_cast<double>(milliseconds);
}

}  // namespace mcc::runtime::cuda
