// Binding, memory and execution of a session; see session.h.
#include "runtime/session/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/host/thread_pool.h"
#include "runtime/support/checked.h"

namespace mcc::runtime {

namespace {

constexpr size_t kCachedBindings = 16;

class Stopwatch {
 public:
  double milliseconds() const {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    return std::chrono::duration<double, std::milli>(elapsed).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(kBufferAlignment) == 0;
}

void check_sizes(const char* what, const std::vector<TensorInfo>& tensors, size_t given_count) {
  if (given_count == tensors.size()) return;
  fail_usage("the model has " + std::to_string(tensors.size()) + " " + what + "(s), " +
             std::to_string(given_count) + " were given");
}

}  // namespace

Session::Session(std::shared_ptr<const Executable> executable, const SessionOptions& options)
    : executable_(std::move(executable)),
      manifest_(executable_->plan->manifest()),
      options_(options) {
  if (options.threads < 0 || options.threads > 4096) {
    fail_usage("the number of threads must be between 1 and 4096 (0: one per core)");
  }
  threads_ = options.threads > 0 ? options.threads : usable_processors();
  QueueOptions queue_options;
  queue_options.threads = threads_;
  for (const KernelInfo& kernel : manifest_.kernels) {
    if (!kernel.host) continue;
    queue_options.scratch_bytes = std::max(queue_options.scratch_bytes, kernel.host->scratch_bytes);
  }
  queue_ = executable_->device->make_queue(queue_options);
  inputs_.resize(manifest_.inputs.size());
  outputs_.resize(manifest_.outputs.size());
  bind_fixed_shapes();
}

// A model without dynamic dimensions needs no bind by the caller.
void Session::bind_fixed_shapes() {
  std::vector<Dims> shapes;
  for (const TensorInfo& input : manifest_.inputs) {
    Dims dims;
    for (const Expression& dim : input.shape) {
      if (!dim.is_constant()) return;
      dims.push_back(dim.constant());
    }
    shapes.push_back(std::move(dims));
  }
  bind(shapes);
}

const Binding& Session::binding() const {
  if (current_ == nullptr) {
    fail_usage("the model has dynamic shapes: bind the input shapes before running");
  }
  return *current_;
}

void Session::bind(std::span<const Dims> input_shapes) {
  const Stopwatch stopwatch;
  current_ = nullptr;
  const auto found = std::find_if(bindings_.begin(), bindings_.end(), [&](const auto& candidate) {
    return std::equal(candidate->input_shapes.begin(), candidate->input_shapes.end(),
                      input_shapes.begin(), input_shapes.end());
  });
  std::unique_ptr<Binding> binding;
  if (found != bindings_.end()) {
    binding = std::move(*found);
    bindings_.erase(found);
  } else {
    binding = bind_shapes(manifest_, executable_->device.get(), input_shapes);
    if (bindings_.size() >= kCachedBindings) bindings_.erase(bindings_.begin());
  }
  reserve(*binding);
  if (binding->generation != generation_) resolve(*binding);
  bindings_.push_back(std::move(binding));
  current_ = bindings_.back().get();
  timings_.bind_ms = stopwatch.milliseconds();
}

// Grows memory where the binding needs more than any before it.
void Session::reserve(Binding& binding) {
  Device& device = *executable_->device;
  if (binding.arena.bytes > arena_capacity_) {
    arena_capacity_ = -1;
    arena_.reset();  // before allocating: the two need not exist together
    arena_ = device.allocate(binding.arena.bytes);
    arena_capacity_ = binding.arena.bytes;
    ++generation_;
  }
  if (device.uses_host_memory()) return;
  const auto grow = [&](std::vector<Mirror>& mirrors, const std::vector<int64_t>& bytes) {
    for (size_t i = 0; i < mirrors.size(); ++i) {
      if (bytes[i] <= mirrors[i].device_capacity) continue;
      mirrors[i].device_capacity = -1;
      mirrors[i].device.reset();
      mirrors[i].device = device.allocate(bytes[i]);
      mirrors[i].device_capacity = bytes[i];
      ++generation_;
    }
  };
  grow(inputs_, binding.input_bytes);
  grow(outputs_, binding.output_bytes);
}

// Fills in all addresses that do not change between runs.
void Session::resolve(Binding& binding) {
  binding.recording.reset();
  for (size_t s = 0; s < binding.steps.size(); ++s) {
    const BoundStep& step = binding.steps[s];
    for (size_t argument = 0; argument < step.buffers.size(); ++argument) {
      const auto number = static_cast<size_t>(step.buffers[argument]);
      const BufferInfo& named = manifest_.buffers[number];
      const bool alias = named.kind == BufferKind::alias;
      const size_t storage_number = alias ? static_cast<size_t>(named.of) : number;
      const BufferInfo& storage = manifest_.buffers[storage_number];
      std::byte* base = nullptr;
      switch (storage.kind) {
        case BufferKind::weight: base = executable_->weights->address() + storage.offset; break;
        case BufferKind::arena:
          base = arena_->address() + binding.arena.offsets[storage_number];
          break;
        case BufferKind::input:
        case BufferKind::output: {
          const auto& mirrors = storage.kind == BufferKind::input ? inputs_ : outputs_;
          const auto& memory = mirrors[static_cast<size_t>(storage.index)].device;
          if (memory == nullptr) continue;  // host memory: set at each run
          base = memory->address();
          break;
        }
        case BufferKind::alias: fail_internal("an alias of an alias");
      }
      set_address(binding, {s, argument, alias ? named.offset : 0}, base);
    }
  }
  binding.generation = generation_;
}

std::byte* Session::staging(Mirror& mirror, int64_t bytes) {
  if (bytes > mirror.staging_capacity) {
    mirror.staging_capacity = -1;
    mirror.staging.reset();
    mirror.staging = executable_->device->allocate_staging(bytes);
    mirror.staging_capacity = bytes;
  }
  return mirror.staging->address();
}

void Session::run(std::span<const HostInput> inputs, std::span<const HostOutput> outputs) {
  const Stopwatch stopwatch;
  execute(inputs, outputs, Mode::normal);
  timings_.last_run_ms = stopwatch.milliseconds();
  if (timings_.first_run_ms == 0) timings_.first_run_ms = timings_.last_run_ms;
  timings_.last_device_ms = queue_->milliseconds_between(0, 1);
}

std::vector<double> Session::profile(std::span<const HostInput> inputs,
                                     std::span<const HostOutput> outputs) {
  execute(inputs, outputs, Mode::profile);
  std::vector<double> times;
  const int steps = static_cast<int>(current_->steps.size());
  for (int i = 0; i < steps; ++i) times.push_back(queue_->milliseconds_between(i, i + 1));
  return times;
}

void Session::execute(std::span<const HostInput> inputs, std::span<const HostOutput> outputs,
                      Mode mode) {
  (void)binding();
  Binding& binding = *current_;
  check_sizes("input", manifest_.inputs, inputs.size());
  check_sizes("output", manifest_.outputs, outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto expected = static_cast<size_t>(binding.input_bytes[i]);
    if (inputs[i].bytes != expected || (inputs[i].data == nullptr && expected > 0)) {
      fail_usage("input \"" + manifest_.inputs[i].name + "\" has " +
                 std::to_string(inputs[i].bytes) + " bytes, its shape needs " +
                 std::to_string(expected));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto expected = static_cast<size_t>(binding.output_bytes[i]);
    if (outputs[i].bytes < expected || (outputs[i].data == nullptr && expected > 0)) {
      fail_usage("output \"" + manifest_.outputs[i].name + "\" has room for " +
                 std::to_string(outputs[i].bytes) + " bytes, its shape needs " +
                 std::to_string(expected));
    }
  }

  const bool host_memory = executable_->device->uses_host_memory();
  // Outputs that are computed elsewhere and copied to the caller at the end.
  std::vector<std::pair<size_t, const std::byte*>> copies;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t bytes = binding.input_bytes[i];
    if (host_memory) {
      std::byte* address = const_cast<std::byte*>(inputs[i].data);  // kernels never write inputs
      if (!is_aligned(address)) {
        address = staging(inputs_[i], bytes);
        if (bytes > 0) std::memcpy(address, inputs[i].data, static_cast<size_t>(bytes));
      }
      for (const AddressUse& use : binding.input_uses[i]) set_address(binding, use, address);
    } else if (bytes > 0) {
      std::byte* pinned = staging(inputs_[i], bytes);
      std::memcpy(pinned, inputs[i].data, static_cast<size_t>(bytes));
      queue_->upload(inputs_[i].device->address(), pinned, bytes);
    }
  }
  for (size_t i = 0; i < outputs.size() && host_memory; ++i) {
    std::byte* address = outputs[i].data;
    if (!is_aligned(address)) {
      address = staging(outputs_[i], binding.output_bytes[i]);
      copies.emplace_back(i, address);
    }
    for (const AddressUse& use : binding.output_uses[i]) set_address(binding, use, address);
  }
  run_program(binding, mode);
  for (size_t i = 0; i < outputs.size() && !host_memory; ++i) {
    const int64_t bytes = binding.output_bytes[i];
    if (bytes == 0) continue;
    std::byte* pinned = staging(outputs_[i], bytes);
    queue_->download(pinned, outputs_[i].device->address(), bytes);
    copies.emplace_back(i, pinned);
  }
  queue_->synchronize();
  for (const auto& [i, address] : copies) {
    const auto bytes = static_cast<size_t>(binding.output_bytes[i]);
    if (bytes > 0) std::memcpy(outputs[i].data, address, bytes);
  }
}

void Session::issue(const BoundStep& step) {
  if (step.kind == InstructionKind::copy) {
    if (step.bytes > 0) {
      queue_->copy(static_cast<std::byte*>(step.to), static_cast<const std::byte*>(step.from),
                   step.bytes);
    }
  } else {
    queue_->launch(*executable_->image, step.launch);
  }
}

void Session::run_program(Binding& binding, Mode mode) {
  const bool step_by_step = mode == Mode::profile || observer_ != nullptr;
  queue_->mark(0);
  if (queue_->can_record() && !options_.disable_replay && !step_by_step) {
    if (binding.recording == nullptr) {
      queue_->begin_recording();
      try {
        for (const BoundStep& step : binding.steps) issue(step);
      } catch (...) {
        (void)queue_->end_recording();
        throw;
      }
      binding.recording = queue_->end_recording();
    }
    queue_->replay(*binding.recording);
  } else {
    bool watched = observer_ != nullptr;
    for (size_t i = 0; i < binding.steps.size(); ++i) {
      issue(binding.steps[i]);
      if (watched) watched = notify(binding, static_cast<int>(i));
      if (mode == Mode::profile) queue_->mark(static_cast<int>(i) + 1);
    }
  }
  if (mode == Mode::normal) queue_->mark(1);
}

bool Session::notify(const Binding& binding, int instruction) {
  const Instruction& source = manifest_.program[static_cast<size_t>(instruction)];
  const BoundStep& step = binding.steps[static_cast<size_t>(instruction)];
  const std::vector<int> written = written_buffers(manifest_, source);
  const size_t first_argument = step.buffers.size() - written.size();
  for (size_t n = 0; n < written.size(); ++n) {
    const BufferInfo& buffer = manifest_.buffers[static_cast<size_t>(written[n])];
    const int64_t bytes = binding.buffer_bytes[static_cast<size_t>(written[n])];
    const void* address = step.kind == InstructionKind::copy
                              ? step.to
                              : step.launch.buffers[first_argument + n];
    std::vector<std::byte> copy(static_cast<size_t>(bytes));
    if (bytes > 0) queue_->download(copy.data(), static_cast<const std::byte*>(address), bytes);
    queue_->synchronize();
    Observation observation;
    observation.instruction = instruction;
    observation.buffer = written[n];
    observation.ordinal = static_cast<int>(n);
    observation.has_shape = !buffer.shape.empty();
    for (const Expression& dim : buffer.shape) {
      observation.dims.push_back(dim.evaluate(binding.symbols));
    }
    observation.data = copy;
    if (!observer_(observation)) return false;
  }
  return true;
}

}  // namespace mcc::runtime
