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

void check_count(const char* what, size_t expected, size_t given) {
  if (given == expected) return;
  fail_usage("the model has " + std::to_string(expected) + " " + what + "(s), " +
             std::to_string(given) + " were given");
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
  arenas_.resize(executable_->phases.phases.size());
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
    binding = bind_shapes(manifest_, executable_->phases, executable_->device.get(), input_shapes);
    if (bindings_.size() >= kCachedBindings) bindings_.erase(bindings_.begin());
  }
  reserve(*binding);
  if (binding->generation != generation_) resolve(*binding);
  bindings_.push_back(std::move(binding));
  current_ = bindings_.back().get();
  timings_.bind_ms = stopwatch.milliseconds();
}

// Makes the block hold at least `bytes`; true when its memory moved.
bool Session::grow(Block& block, int64_t bytes, bool staging) {
  if (bytes <= block.capacity) return false;
  block.capacity = -1;
  block.memory.reset();  // before allocating: the two need not exist together
  Device& device = *executable_->device;
  block.memory = staging ? device.allocate_staging(bytes) : device.allocate(bytes);
  block.capacity = bytes;
  return true;
}

std::byte* Session::staging(Mirror& mirror, int64_t bytes) {
  (void)grow(mirror.staging, bytes, true);
  return mirror.staging.memory->address();
}

// Grows memory where the binding, as far as it is known, needs more than any before it.
void Session::reserve(const Binding& binding) {
  bool moved = false;
  for (size_t phase = 0; phase < binding.arenas.size(); ++phase) {
    moved |= grow(arenas_[phase], binding.arenas[phase].bytes, false);
  }
  if (!executable_->device->uses_host_memory()) {
    const auto grow_all = [&](std::vector<Mirror>& mirrors, const std::vector<int64_t>& bytes) {
      for (size_t i = 0; i < mirrors.size(); ++i) {
        moved |= grow(mirrors[i].device, bytes[i], false);
        if (bytes[i] >= 0) mirrors[i].address = mirrors[i].device.memory->address();
      }
    };
    grow_all(inputs_, binding.input_bytes);
    grow_all(outputs_, binding.output_bytes);
  }
  if (moved) ++generation_;
}

// The address of a buffer that is no alias; null for inputs and outputs that have none yet.
std::byte* Session::address_of(const Binding& binding, int buffer) const {
  const auto number = static_cast<size_t>(buffer);
  const BufferInfo& info = manifest_.buffers[number];
  switch (info.kind) {
    case BufferKind::weight: return executable_->weights->address() + info.offset;
    case BufferKind::input: return inputs_[static_cast<size_t>(info.index)].address;
    case BufferKind::output: return outputs_[static_cast<size_t>(info.index)].address;
    case BufferKind::arena:
      for (size_t phase = 0; phase < binding.arenas.size(); ++phase) {
        const int64_t offset = binding.arenas[phase].offsets[number];
        if (offset >= 0) return arenas_[phase].memory->address() + offset;
      }
      break;
    case BufferKind::alias: break;
  }
  fail_internal("buffer " + std::to_string(buffer) + " has no memory");
}

// Fills in the addresses of everything in the bound steps.
void Session::resolve(Binding& binding) {
  binding.recording.reset();
  for (size_t s = 0; s < binding.steps.size(); ++s) {
    const BoundStep& step = binding.steps[s];
    for (size_t argument = 0; argument < step.buffers.size(); ++argument) {
      const BufferInfo& named = manifest_.buffers[static_cast<size_t>(step.buffers[argument])];
      const int storage = storage_of(manifest_, step.buffers[argument]);
      std::byte* base = address_of(binding, storage);
      if (base == nullptr) continue;  // host memory: set at each run
      const int64_t offset = named.kind == BufferKind::alias ? named.offset : 0;
      set_address(binding, {s, argument, offset}, base);
    }
  }
  binding.generation = generation_;
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
  const bool is_static = executable_->phases.is_static();
  if (!is_static) unbind_phases(manifest_, executable_->phases, binding);
  check_arguments(binding, inputs, outputs);
  watching_ = observer_ != nullptr;
  place_inputs(binding, inputs);
  place_outputs(binding, outputs);
  queue_->mark(0);
  if (is_static) {
    run_static(binding, mode);
  } else {
    run_phases(binding, outputs, mode);
  }
  if (mode == Mode::normal) queue_->mark(1);
  fetch_outputs(binding, outputs);
}

void Session::check_arguments(const Binding& binding, std::span<const HostInput> inputs,
                              std::span<const HostOutput> outputs) const {
  check_count("input", manifest_.inputs.size(), inputs.size());
  check_count("output", manifest_.outputs.size(), outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto expected = static_cast<size_t>(binding.input_bytes[i]);
    if (inputs[i].bytes != expected || (inputs[i].data == nullptr && expected > 0)) {
      fail_usage("input \"" + manifest_.inputs[i].name + "\" has " +
                 std::to_string(inputs[i].bytes) + " bytes, its shape needs " +
                 std::to_string(expected));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (binding.output_bytes[i] < 0) continue;  // not known before the run
    const auto expected = static_cast<size_t>(binding.output_bytes[i]);
    if (outputs[i].bytes < expected || (outputs[i].data == nullptr && expected > 0)) {
      fail_usage("output \"" + manifest_.outputs[i].name + "\" has room for " +
                 std::to_string(outputs[i].bytes) + " bytes, its shape needs " +
                 std::to_string(expected));
    }
  }
}

void Session::place_inputs(Binding& binding, std::span<const HostInput> inputs) {
  const bool host_memory = executable_->device->uses_host_memory();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Mirror& mirror = inputs_[i];
    const int64_t bytes = binding.input_bytes[i];
    if (host_memory && is_aligned(inputs[i].data)) {
      mirror.address = const_cast<std::byte*>(inputs[i].data);  // kernels never write inputs
    } else {
      std::byte* copy = staging(mirror, bytes);
      if (bytes > 0) std::memcpy(copy, inputs[i].data, static_cast<size_t>(bytes));
      if (host_memory) mirror.address = copy;
      if (!host_memory && bytes > 0) queue_->upload(mirror.address, copy, bytes);
    }
    if (!host_memory) continue;
    for (const AddressUse& use : binding.input_uses[i]) set_address(binding, use, mirror.address);
  }
}

// On the host: the caller's memory where kernels can use it, else staging. Outputs of unknown size
// get their place when it becomes known.
void Session::place_outputs(Binding& binding, std::span<const HostOutput> outputs) {
  if (!executable_->device->uses_host_memory()) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t bytes = binding.output_bytes[i];
    if (bytes < 0) continue;
    const bool direct = is_aligned(outputs[i].data) && outputs[i].data != nullptr &&
                        outputs[i].bytes >= static_cast<size_t>(bytes);
    outputs_[i].staged = !direct;
    outputs_[i].address = direct ? outputs[i].data : staging(outputs_[i], bytes);
    for (const AddressUse& use : binding.output_uses[i]) {
      set_address(binding, use, outputs_[i].address);
    }
  }
}

void Session::fetch_outputs(const Binding& binding, std::span<const HostOutput> outputs) {
  if (!executable_->device->uses_host_memory()) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int64_t bytes = binding.output_bytes[i];
      if (bytes > 0) queue_->download(staging(outputs_[i], bytes), outputs_[i].address, bytes);
      outputs_[i].staged = true;
    }
  }
  queue_->synchronize();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (binding.output_bytes[i] <= 0 || outputs[i].data == nullptr) continue;
    read_output(i, outputs[i]);
  }
}

void Session::read_output(size_t index, const HostOutput& output) const {
  if (index >= outputs_.size()) fail_usage("there is no output with that index");
  const int64_t bytes = binding().output_bytes[index];
  if (bytes < 0) fail_usage("the output's size is known only after a run");
  if (output.bytes < static_cast<size_t>(bytes) || (output.data == nullptr && bytes > 0)) {
    fail_usage("output \"" + manifest_.outputs[index].name + "\" has room for " +
               std::to_string(output.bytes) + " bytes, its shape needs " + std::to_string(bytes));
  }
  const Mirror& mirror = outputs_[index];
  if (bytes == 0 || mirror.address == output.data) return;  // written there directly
  if (!mirror.staged || mirror.staging.capacity < bytes) {
    fail_usage("output \"" + manifest_.outputs[index].name + "\" was written to other memory");
  }
  std::memcpy(output.data, mirror.staging.memory->address(), static_cast<size_t>(bytes));
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

void Session::run_static(Binding& binding, Mode mode) {
  const bool step_by_step = mode == Mode::profile || watching_;
  if (!queue_->can_record() || options_.disable_replay || step_by_step) {
    run_steps(binding, 0, mode);
    return;
  }
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
}

// Runs the bound steps from `begin` on, one by one.
void Session::run_steps(const Binding& binding, size_t begin, Mode mode) {
  for (size_t i = begin; i < binding.steps.size(); ++i) {
    issue(binding.steps[i]);
    if (watching_) watching_ = notify(binding, static_cast<int>(i));
    if (mode == Mode::profile) queue_->mark(static_cast<int>(i) + 1);
  }
}

void Session::run_phases(Binding& binding, std::span<const HostOutput> outputs, Mode mode) {
  for (const Phase& phase : executable_->phases.phases) {
    for (int symbol : phase.symbols) {
      const SymbolInfo& info = manifest_.symbols[static_cast<size_t>(symbol)];
      const int64_t value = info.source.kind == SymbolSource::Kind::buffer
                                ? read_symbol(binding, info)
                                : info.source.expression.evaluate(binding.symbols);
      set_symbol(manifest_, binding, symbol, value);
    }
    bind_phase(manifest_, executable_->phases, executable_->device.get(), binding);
    reserve(binding);
    resolve(binding);
    place_outputs(binding, outputs);
    run_steps(binding, phase.begin, mode);
  }
}

int64_t Session::read_symbol(const Binding& binding, const SymbolInfo& symbol) {
  const int named = symbol.source.buffer;
  const BufferInfo& buffer = manifest_.buffers[static_cast<size_t>(named)];
  const std::byte* base = address_of(binding, storage_of(manifest_, named));
  if (base == nullptr) fail_internal("a size is read from memory that was not given");
  if (buffer.kind == BufferKind::alias) base += buffer.offset;
  // The manifest's check made sure of the type and that the element is inside the buffer.
  const int64_t size = buffer.dtype == MCC_I64 ? 8 : 4;
  std::byte bytes[8] = {};
  queue_->download(bytes, base + symbol.source.element * size, size);
  queue_->synchronize();
  if (size == 8) {
    int64_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  int32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
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
