// See sim_queue.h.
#include "runtime/sim_device/sim_queue.h"

#include <algorithm>
#include <cstring>

#include "runtime/sim/orders.h"
#include "runtime/support/error.h"

namespace mcc::runtime {

namespace {

constexpr size_t kShownFindings = 5;

std::string buffer_name(const Manifest& manifest, int number) {
  const std::string& origin = manifest.buffers[static_cast<size_t>(number)].origin;
  return origin.empty() ? "buffer " + std::to_string(number) : origin;
}

bool overlap(const BoundLaunch& launch, size_t a, size_t b) {
  const auto* first = static_cast<const std::byte*>(launch.buffers[a]);
  const auto* second = static_cast<const std::byte*>(launch.buffers[b]);
  return first < second + launch.buffer_bytes[b] && second < first + launch.buffer_bytes[a];
}

sim::Dim3 grid_of(const BoundLaunch& launch) {
  return {static_cast<uint32_t>(launch.grid[0]), static_cast<uint32_t>(launch.grid[1]),
          static_cast<uint32_t>(launch.grid[2])};
}

sim::Dim3 block_of(const BoundLaunch& launch) {
  return {static_cast<uint32_t>(launch.block[0]), static_cast<uint32_t>(launch.block[1]),
          static_cast<uint32_t>(launch.block[2])};
}

std::string findings_text(const KernelInfo& kernel, const sim::LaunchReport& report) {
  std::string text = "the simulator found " + std::to_string(report.findings.size()) +
                     " problem(s) in kernel " + kernel.name + " (" + kernel.kernel_class;
  for (const std::string& node : kernel.origin) text += " " + node;
  text += ")";
  for (size_t i = 0; i < std::min(report.findings.size(), kShownFindings); ++i) {
    text += "\n  " + report.findings[i].text();
  }
  if (report.findings.size() > kShownFindings) text += "\n  ...";
  return text;
}

}  // namespace

void SimQueue::upload(std::byte* device, const std::byte* host, int64_t bytes) {
  const std::lock_guard lock(global_->mutex);
  const SimWindow window(*global_, "the copy to the device", device, bytes, true);
  global_->memory.write(window.address(), host, static_cast<size_t>(bytes));
}

void SimQueue::download(std::byte* host, const std::byte* device, int64_t bytes) {
  const std::lock_guard lock(global_->mutex);
  const SimWindow window(*global_, "the copy from the device", device, bytes, false);
  const auto size = static_cast<size_t>(bytes);
  if (options_.checks && !global_->memory.is_initialised(window.address(), size)) {
    size_t at = 0;
    while (global_->memory.is_initialised(window.address() + at, 1)) ++at;
    fail_internal("the simulator found uninitialised memory in a result of " +
                  std::to_string(bytes) + " bytes: no kernel wrote byte " + std::to_string(at));
  }
  global_->memory.read(window.address(), host, size);
}

void SimQueue::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  const std::lock_guard lock(global_->mutex);
  sim::Memory& memory = global_->memory;
  const SimWindow source(*global_, "the copy's source", from, bytes, false);
  const SimWindow target(*global_, "the copy's target", to, bytes, true);
  const auto size = static_cast<size_t>(bytes);
  const bool whole = memory.is_initialised(source.address(), size);
  std::vector<bool> initialised;
  for (size_t i = 0; i < size && !whole; ++i)
    initialised.push_back(memory.is_initialised(source.address() + i, 1));
  memory.write(target.address(), from, size);
  for (size_t i = 0; i < size && !whole; ++i) {
    if (!initialised[i]) memory.set_initialised(target.address() + i, 1, false);
  }
}

void SimQueue::launch(const Image& image, const BoundLaunch& launch) {
  if (std::find(std::begin(launch.grid), std::end(launch.grid), 0) != std::end(launch.grid)) return;
  const auto& sim_image = static_cast<const SimImage&>(image);
  const SimImage::Kernel& kernel = sim_image.kernel(launch.kernel);
  const size_t count = launch.buffers.size();
  const size_t inputs = count - static_cast<size_t>(kernel.info->outputs);

  const std::lock_guard lock(global_->mutex);
  std::vector<SimWindow> windows;
  sim::Arguments arguments;
  for (size_t i = 0; i < count; ++i) {
    windows.emplace_back(*global_, buffer_name(sim_image.manifest(), launch.buffer_numbers[i]),
                         launch.buffers[i], launch.buffer_bytes[i], i >= inputs);
    arguments.add(windows.back().address());
  }
  for (int64_t dim : launch.dims) arguments.add(dim);
  for (size_t i = inputs; i < count; ++i) {
    bool in_place = false;
    for (size_t other = 0; other < inputs; ++other)
      in_place = in_place || overlap(launch, i, other);
    if (in_place || !sim_image.writes_first(launch.instruction, i)) continue;
    global_->memory.set_initialised(windows[i].address(),
                                    static_cast<size_t>(launch.buffer_bytes[i]), false);
  }

  sim::LaunchOptions options;
  options.checks = options_.checks;
  options.counters = options_.counters;
  options.threads = threads_;
  options.registers = kernel.registers;
  const auto shared = static_cast<uint32_t>(launch.shared_bytes);
  sim::LaunchReport report;
  try {
    report =
        sim::launch_in_orders(*kernel.module, kernel.info->name, global_->memory, grid_of(launch),
                              block_of(launch), shared, arguments, options, options_.orders);
  } catch (const sim::SimError& error) {
    fail_internal("the simulator cannot launch kernel " + kernel.info->name + ": " + error.what());
  }
  if (!report.clean()) fail_internal(findings_text(*kernel.info, report));

  CountedLaunch counted;
  counted.instruction = launch.instruction;
  counted.kernel = kernel.info;
  counted.architecture = sim_image.architecture();
  counted.grid = grid_of(launch);
  counted.block = block_of(launch);
  counted.shared_bytes = launch.shared_bytes + kernel.static_shared_bytes;
  counted.registers = kernel.registers != 0
                          ? kernel.registers
                          : kernel.module->find_kernel(kernel.info->name)->live_registers;
  counted.counters = std::move(report.counters);
  launches_.push_back(std::move(counted));
}

void SimQueue::mark(int slot) {
  if (slot == 0) launches_.clear();
  if (static_cast<size_t>(slot) >= marks_.size()) marks_.resize(static_cast<size_t>(slot) + 1);
  marks_[static_cast<size_t>(slot)] = std::chrono::steady_clock::now();
}

double SimQueue::milliseconds_between(int from_slot, int to_slot) {
  const auto duration =
      marks_[static_cast<size_t>(to_slot)] - marks_[static_cast<size_t>(from_slot)];
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace mcc::runtime
