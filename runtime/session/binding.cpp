// Shapes → symbols → sizes → launches; see binding.h.
#include "runtime/session/binding.h"

#include <algorithm>

#include "runtime/plan/dtype.h"
#include "runtime/support/checked.h"

namespace mcc::runtime {

namespace {

std::string shape_text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

std::string symbol_name(const SymbolInfo& symbol) {
  return symbol.label.empty() ? symbol.name : symbol.label;
}

std::string expected_text(const Manifest& manifest, const TensorInfo& tensor) {
  std::vector<std::string> names;
  for (const SymbolInfo& symbol : manifest.symbols) names.push_back(symbol_name(symbol));
  std::string text = "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    text += (i ? ", " : "") + tensor.shape[i].text(names);
  }
  return text + "]";
}

// "" when the value is in range, else what is wrong.
std::string range_problem(const SymbolInfo& symbol, int64_t value) {
  if (value >= symbol.minimum && value <= symbol.maximum) return {};
  std::string limits = "at least " + std::to_string(symbol.minimum);
  if (symbol.maximum < kUnboundedSymbol) {
    limits = "between " + std::to_string(symbol.minimum) + " and " + std::to_string(symbol.maximum);
  }
  return "\"" + symbol_name(symbol) + "\" is " + std::to_string(value) + ", but must be " + limits;
}

int64_t tensor_bytes(const TensorInfo& tensor, const Dims& dims) {
  int64_t elements = 1;
  for (int64_t dim : dims) elements = checked_multiply(elements, dim);
  return dtype_bytes(tensor.dtype, elements);
}

[[noreturn]] void fail_buffer(size_t number, const std::string& problem) {
  fail_model("plan manifest: buffers[" + std::to_string(number) + "]: " + problem);
}

// Checks the input shapes and computes the symbols that they determine.
class ShapeBinder {
 public:
  ShapeBinder(const Manifest& manifest, const PhaseTable& phases, Binding& binding)
      : manifest_(manifest), phases_(phases), binding_(binding) {}

  void bind() {
    check_ranks();
    bind_symbols();
    check_inputs();
    for (size_t i = 0; i < manifest_.inputs.size(); ++i) {
      binding_.input_bytes.push_back(tensor_bytes(manifest_.inputs[i], binding_.input_shapes[i]));
    }
  }

 private:
  [[noreturn]] void fail_shape(size_t input, const std::string& reason) const {
    const TensorInfo& tensor = manifest_.inputs[input];
    fail_usage("input \"" + tensor.name + "\" has shape " +
               shape_text(binding_.input_shapes[input]) + ", expected " +
               expected_text(manifest_, tensor) + ": " + reason);
  }

  void check_ranks() const {
    if (binding_.input_shapes.size() != manifest_.inputs.size()) {
      fail_usage("the model has " + std::to_string(manifest_.inputs.size()) + " input(s), " +
                 std::to_string(binding_.input_shapes.size()) + " shape(s) were given");
    }
    for (size_t i = 0; i < manifest_.inputs.size(); ++i) {
      const Dims& dims = binding_.input_shapes[i];
      if (dims.size() != manifest_.inputs[i].shape.size()) {
        fail_shape(i, "it must have " + std::to_string(manifest_.inputs[i].shape.size()) + " axes");
      }
      for (int64_t dim : dims) {
        if (dim < 0) fail_shape(i, "a dimension is negative");
      }
    }
  }

  void bind_symbols() {
    for (size_t s = 0; s < manifest_.symbols.size(); ++s) {
      const SymbolInfo& symbol = manifest_.symbols[s];
      const SymbolSource& source = symbol.source;
      if (phases_.phase_of_symbol[s] >= 0) {
        binding_.symbols.push_back(-1);
        continue;
      }
      const bool from_input = source.kind == SymbolSource::Kind::input_dim;
      const int64_t value = from_input
                                ? binding_.input_shapes[static_cast<size_t>(source.input)]
                                                       [static_cast<size_t>(source.axis)]
                                : source.expression.evaluate(binding_.symbols);
      if (const std::string problem = range_problem(symbol, value); !problem.empty()) {
        if (from_input) fail_shape(static_cast<size_t>(source.input), problem);
        fail_usage("the input shapes do not fit the model: " + problem);
      }
      binding_.symbols.push_back(value);
    }
  }

  void check_inputs() const {
    for (size_t i = 0; i < manifest_.inputs.size(); ++i) {
      for (size_t axis = 0; axis < manifest_.inputs[i].shape.size(); ++axis) {
        const Expression& dim = manifest_.inputs[i].shape[axis];
        if (phases_.phase_of(dim) >= 0) fail_model("plan manifest: an input's shape depends on data");
        const int64_t expected = dim.evaluate(binding_.symbols);
        if (binding_.input_shapes[i][axis] != expected) {
          fail_shape(i, "axis " + std::to_string(axis) + " must be " + std::to_string(expected));
        }
      }
    }
  }

  const Manifest& manifest_;
  const PhaseTable& phases_;
  Binding& binding_;
};

// Computes sizes, arena and launches once the symbols of a phase are known. `phase` -1 stands for
// the time before any phase, when only the input shapes are known.
class PhaseBinder {
 public:
  PhaseBinder(const Manifest& manifest, const PhaseTable& phases, const Device* device,
              Binding& binding, int phase)
      : manifest_(manifest), phases_(phases), device_(device), binding_(binding), phase_(phase) {}

  void bind_sizes() {
    size_outputs();
    size_buffers();
    check_aliases();
  }

  void bind_steps() {
    const Phase& phase = phases_.phases[static_cast<size_t>(phase_)];
    plan_memory(phase);
    for (size_t i = phase.begin; i < phase.end; ++i) bind_instruction(manifest_.program[i]);
  }

 private:
  bool known(const Expression& expression) const { return phases_.phase_of(expression) <= phase_; }
  int64_t evaluate(const Expression& expression) const {
    if (!known(expression)) fail_model("plan manifest: a size is needed before it is known");
    return expression.evaluate(binding_.symbols);
  }

  void size_outputs() {
    for (size_t i = 0; i < manifest_.outputs.size(); ++i) {
      if (binding_.output_bytes[i] >= 0) continue;
      const TensorInfo& output = manifest_.outputs[i];
      Dims& dims = binding_.output_shapes[i];
      bool complete = true;
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        dims[axis] = -1;
        if (!known(output.shape[axis])) {
          complete = false;
          continue;
        }
        dims[axis] = evaluate(output.shape[axis]);
        if (dims[axis] < 0) {
          fail_usage("output \"" + output.name + "\" would have the shape " + shape_text(dims) +
                     " with these input shapes");
        }
      }
      if (complete) binding_.output_bytes[i] = tensor_bytes(output, dims);
    }
  }

  void size_buffers() {
    for (size_t i = 0; i < manifest_.buffers.size(); ++i) {
      const BufferInfo& buffer = manifest_.buffers[i];
      if (binding_.buffer_bytes[i] >= 0 || !known(buffer.bytes)) continue;
      const int64_t bytes = evaluate(buffer.bytes);
      if (bytes < 0) fail_buffer(i, "its size is negative with these shapes");
      const auto index = static_cast<size_t>(buffer.index);
      if ((buffer.kind == BufferKind::input && bytes != binding_.input_bytes[index]) ||
          (buffer.kind == BufferKind::output && bytes != binding_.output_bytes[index])) {
        fail_buffer(i, "its size differs from the signature's");
      }
      binding_.buffer_bytes[i] = bytes;
    }
  }

  void check_aliases() const {
    for (size_t i = 0; i < manifest_.buffers.size(); ++i) {
      const BufferInfo& buffer = manifest_.buffers[i];
      if (buffer.kind != BufferKind::alias || binding_.buffer_bytes[i] < 0) continue;
      const int64_t limit = binding_.buffer_bytes[static_cast<size_t>(buffer.of)];
      if (limit < 0) continue;  // checked again when it is known
      if (buffer.offset > limit || binding_.buffer_bytes[i] > limit - buffer.offset) {
        fail_buffer(i, "the alias reaches outside its buffer");
      }
    }
  }

  void plan_memory(const Phase& phase) {
    if (!manifest_.arena.is_static) {
      for (size_t i = 0; i < manifest_.buffers.size(); ++i) {
        const int first = manifest_.buffers[i].first;
        if (first >= static_cast<int>(phase.begin) && first < static_cast<int>(phase.end) &&
            binding_.buffer_bytes[i] < 0) {
          fail_buffer(i, "it is used before its size is known");
        }
      }
      binding_.arenas.push_back(
          plan_arena(manifest_, binding_.buffer_bytes, phase.begin, phase.end));
      return;
    }
    ArenaPlan plan;
    if (phase_ == 0) {
      plan.bytes = manifest_.arena.bytes;
      plan.lower_bound_bytes = manifest_.arena.lower_bound_bytes;
      plan.sum_bytes = manifest_.arena.sum_bytes;
      for (const BufferInfo& buffer : manifest_.buffers) {
        plan.offsets.push_back(buffer.kind == BufferKind::arena ? buffer.offset : -1);
      }
    } else {
      plan.offsets.assign(manifest_.buffers.size(), -1);
    }
    binding_.arenas.push_back(std::move(plan));
  }

  void bind_instruction(const Instruction& instruction) {
    BoundStep step;
    step.kind = instruction.kind;
    if (instruction.kind == InstructionKind::copy) {
      step.buffers = {instruction.from, instruction.to};
      step.bytes = binding_.buffer_bytes[static_cast<size_t>(instruction.from)];
      if (step.bytes != binding_.buffer_bytes[static_cast<size_t>(instruction.to)]) {
        fail_model("plan manifest: program: a copy between buffers of different sizes");
      }
    } else {
      step.buffers = instruction.buffers;
      step.launch = bind_launch(instruction);
    }
    for (int buffer : step.buffers) {
      const auto storage = static_cast<size_t>(storage_of(manifest_, buffer));
      if (binding_.buffer_bytes[static_cast<size_t>(buffer)] < 0 ||
          binding_.buffer_bytes[storage] < 0) {
        fail_buffer(static_cast<size_t>(buffer), "it is used before its size is known");
      }
    }
    note_uses(step);
    binding_.steps.push_back(std::move(step));
  }

  BoundLaunch bind_launch(const Instruction& instruction) const {
    const KernelInfo& kernel = manifest_.kernels[static_cast<size_t>(instruction.kernel)];
    BoundLaunch launch;
    launch.kernel = instruction.kernel;
    launch.instruction = static_cast<int>(binding_.steps.size());
    launch.buffers.resize(instruction.buffers.size());
    launch.buffer_numbers = instruction.buffers;
    for (int buffer : instruction.buffers) {
      launch.buffer_bytes.push_back(binding_.buffer_bytes[static_cast<size_t>(buffer)]);
    }
    for (const Expression& dim : instruction.dims) launch.dims.push_back(evaluate(dim));
    if (kernel.host) {
      launch.parallel = evaluate(kernel.host->parallel);
      launch.grain = kernel.host->grain;
    }
    if (kernel.cuda) {
      for (size_t i = 0; i < 3; ++i) {
        launch.grid[i] = evaluate(kernel.cuda->grid[i]);
        launch.block[i] = kernel.cuda->block[i];
      }
      launch.shared_bytes = kernel.cuda->shared_bytes;
    }
    if (device_ != nullptr) device_->check_launch(kernel, launch);
    return launch;
  }

  void note_uses(const BoundStep& step) {
    for (size_t argument = 0; argument < step.buffers.size(); ++argument) {
      const BufferInfo& named = manifest_.buffers[static_cast<size_t>(step.buffers[argument])];
      const bool alias = named.kind == BufferKind::alias;
      const BufferInfo& storage = alias ? manifest_.buffers[static_cast<size_t>(named.of)] : named;
      const AddressUse use{binding_.steps.size(), argument, alias ? named.offset : 0};
      const auto index = static_cast<size_t>(storage.index);
      if (storage.kind == BufferKind::input) binding_.input_uses[index].push_back(use);
      if (storage.kind == BufferKind::output) binding_.output_uses[index].push_back(use);
    }
  }

  const Manifest& manifest_;
  const PhaseTable& phases_;
  const Device* device_;
  Binding& binding_;
  int phase_;
};

}  // namespace

std::unique_ptr<Binding> bind_shapes(const Manifest& manifest, const PhaseTable& phases,
                                     const Device* device, std::span<const Dims> input_shapes) {
  auto binding = std::make_unique<Binding>();
  binding->input_shapes.assign(input_shapes.begin(), input_shapes.end());
  ShapeBinder(manifest, phases, *binding).bind();
  unbind_phases(manifest, phases, *binding);
  if (phases.is_static()) bind_phase(manifest, phases, device, *binding);
  return binding;
}

void set_symbol(const Manifest& manifest, Binding& binding, int symbol, int64_t value) {
  const SymbolInfo& info = manifest.symbols[static_cast<size_t>(symbol)];
  if (const std::string problem = range_problem(info, value); !problem.empty()) {
    fail_usage("a size computed while running does not fit the model: " + problem);
  }
  binding.symbols[static_cast<size_t>(symbol)] = value;
}

void bind_phase(const Manifest& manifest, const PhaseTable& phases, const Device* device,
                Binding& binding) {
  PhaseBinder binder(manifest, phases, device, binding, static_cast<int>(binding.arenas.size()));
  binder.bind_sizes();
  binder.bind_steps();
}

void unbind_phases(const Manifest& manifest, const PhaseTable& phases, Binding& binding) {
  for (size_t s = 0; s < manifest.symbols.size(); ++s) {
    if (phases.phase_of_symbol[s] >= 0) binding.symbols[s] = -1;
  }
  binding.arenas.clear();
  binding.steps.clear();
  binding.input_uses.assign(manifest.inputs.size(), {});
  binding.output_uses.assign(manifest.outputs.size(), {});
  binding.buffer_bytes.assign(manifest.buffers.size(), -1);
  binding.output_bytes.assign(manifest.outputs.size(), -1);
  binding.output_shapes.clear();
  for (const TensorInfo& output : manifest.outputs) {
    binding.output_shapes.emplace_back(output.shape.size(), -1);
  }
  PhaseBinder(manifest, phases, nullptr, binding, -1).bind_sizes();
}

void set_address(Binding& binding, const AddressUse& use, std::byte* base) {
  BoundStep& step = binding.steps[use.step];
  void* address = base + use.offset;
  if (step.kind == InstructionKind::launch) {
    step.launch.buffers[use.argument] = address;
  } else {
    (use.argument == 0 ? step.from : step.to) = address;
  }
}

}  // namespace mcc::runtime
