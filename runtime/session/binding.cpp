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

std::string expected_text(const Manifest& manifest, const TensorInfo& tensor) {
  std::vector<std::string> names;
  for (const SymbolInfo& symbol : manifest.symbols) {
    names.push_back(symbol.label.empty() ? symbol.name : symbol.label);
  }
  std::string text = "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    text += (i ? ", " : "") + tensor.shape[i].text(names);
  }
  return text + "]";
}

class Binder {
 public:
  Binder(const Manifest& manifest, const Device* device)
      : manifest_(manifest), device_(device), binding_(std::make_unique<Binding>()) {}

  std::unique_ptr<Binding> bind(std::span<const Dims> input_shapes) {
    binding_->input_shapes.assign(input_shapes.begin(), input_shapes.end());
    check_ranks();
    bind_symbols();
    check_inputs();
    size_outputs();
    size_buffers();
    bind_program();
    return std::move(binding_);
  }

 private:
  int64_t evaluate(const Expression& expression) const {
    return expression.evaluate(binding_->symbols);
  }

  [[noreturn]] void fail_shape(size_t input, const std::string& reason) const {
    const TensorInfo& tensor = manifest_.inputs[input];
    fail_usage("input \"" + tensor.name + "\" has shape " +
               shape_text(binding_->input_shapes[input]) + ", expected " +
               expected_text(manifest_, tensor) + ": " + reason);
  }

  void check_ranks() const {
    if (binding_->input_shapes.size() != manifest_.inputs.size()) {
      fail_usage("the model has " + std::to_string(manifest_.inputs.size()) + " input(s), " +
                 std::to_string(binding_->input_shapes.size()) + " shape(s) were given");
    }
    for (size_t i = 0; i < manifest_.inputs.size(); ++i) {
      const Dims& dims = binding_->input_shapes[i];
      if (dims.size() != manifest_.inputs[i].shape.size()) {
        fail_shape(i, "it must have " + std::to_string(manifest_.inputs[i].shape.size()) + " axes");
      }
      for (int64_t dim : dims) {
        if (dim < 0) fail_shape(i, "a dimension is negative");
      }
    }
  }

  void bind_symbols() {
    for (const SymbolInfo& symbol : manifest_.symbols) {
      const SymbolSource& source = symbol.source;
      const bool from_input = source.kind == SymbolSource::Kind::input_dim;
      const int64_t value = from_input
                                ? binding_->input_shapes[static_cast<size_t>(source.input)]
                                                        [static_cast<size_t>(source.axis)]
                                : evaluate(source.expression);
      if (value < symbol.minimum || value > symbol.maximum) {
        std::string limits = "at least " + std::to_string(symbol.minimum);
        if (symbol.maximum < kUnboundedSymbol) {
          limits = "between " + std::to_string(symbol.minimum) + " and " +
                   std::to_string(symbol.maximum);
        }
        const std::string reason = "\"" + (symbol.label.empty() ? symbol.name : symbol.label) +
                                   "\" is " + std::to_string(value) + ", but must be " + limits;
        if (from_input) fail_shape(static_cast<size_t>(source.input), reason);
        fail_usage("the input shapes do not fit the model: " + reason);
      }
      binding_->symbols.push_back(value);
    }
  }

  void check_inputs() const {
    for (size_t i = 0; i < manifest_.inputs.size(); ++i) {
      for (size_t axis = 0; axis < manifest_.inputs[i].shape.size(); ++axis) {
        const int64_t expected = evaluate(manifest_.inputs[i].shape[axis]);
        if (binding_->input_shapes[i][axis] != expected) {
          fail_shape(i, "axis " + std::to_string(axis) + " must be " + std::to_string(expected));
        }
      }
    }
  }

  static int64_t tensor_bytes(const TensorInfo& tensor, const Dims& dims) {
    int64_t elements = 1;
    for (int64_t dim : dims) elements = checked_multiply(elements, dim);
    return dtype_bytes(tensor.dtype, elements);
  }

  void size_outputs() {
    for (const TensorInfo& output : manifest_.outputs) {
      Dims dims;
      for (const Expression& dim : output.shape) dims.push_back(evaluate(dim));
      for (int64_t dim : dims) {
        if (dim < 0) {
          fail_usage("output \"" + output.name + "\" would have the shape " + shape_text(dims) +
                     " with these input shapes");
        }
      }
      binding_->output_bytes.push_back(tensor_bytes(output, dims));
      binding_->output_shapes.push_back(std::move(dims));
    }
    for (size_t i = 0; i < manifest_.inputs.size(); ++i) {
      binding_->input_bytes.push_back(tensor_bytes(manifest_.inputs[i], binding_->input_shapes[i]));
    }
  }

  [[noreturn]] static void fail_buffer(size_t number, const std::string& problem) {
    fail_model("plan manifest: buffers[" + std::to_string(number) + "]: " + problem);
  }

  void size_buffers() {
    for (size_t i = 0; i < manifest_.buffers.size(); ++i) {
      const BufferInfo& buffer = manifest_.buffers[i];
      const int64_t bytes = evaluate(buffer.bytes);
      if (bytes < 0) fail_buffer(i, "its size is negative with these shapes");
      const auto index = static_cast<size_t>(buffer.index);
      if ((buffer.kind == BufferKind::input && bytes != binding_->input_bytes[index]) ||
          (buffer.kind == BufferKind::output && bytes != binding_->output_bytes[index])) {
        fail_buffer(i, "its size differs from the signature's");
      }
      binding_->buffer_bytes.push_back(bytes);
    }
    for (size_t i = 0; i < manifest_.buffers.size(); ++i) {
      const BufferInfo& buffer = manifest_.buffers[i];
      if (buffer.kind != BufferKind::alias) continue;
      const int64_t limit = binding_->buffer_bytes[static_cast<size_t>(buffer.of)];
      if (buffer.offset > limit || binding_->buffer_bytes[i] > limit - buffer.offset) {
        fail_buffer(i, "the alias reaches outside its buffer");
      }
    }
    if (!manifest_.arena.is_static) {
      binding_->arena = plan_arena(manifest_, binding_->symbols);
      return;
    }
    binding_->arena.bytes = manifest_.arena.bytes;
    binding_->arena.lower_bound_bytes = manifest_.arena.lower_bound_bytes;
    binding_->arena.sum_bytes = manifest_.arena.sum_bytes;
    for (const BufferInfo& buffer : manifest_.buffers) {
      binding_->arena.offsets.push_back(buffer.kind == BufferKind::arena ? buffer.offset : -1);
    }
  }

  void bind_program() {
    binding_->input_uses.resize(manifest_.inputs.size());
    binding_->output_uses.resize(manifest_.outputs.size());
    for (const Instruction& instruction : manifest_.program) {
      BoundStep step;
      step.kind = instruction.kind;
      if (instruction.kind == InstructionKind::copy) {
        step.buffers = {instruction.from, instruction.to};
        step.bytes = binding_->buffer_bytes[static_cast<size_t>(instruction.from)];
        if (step.bytes != binding_->buffer_bytes[static_cast<size_t>(instruction.to)]) {
          fail_model("plan manifest: program: a copy between buffers of different sizes");
        }
      } else {
        step.buffers = instruction.buffers;
        step.launch = bind_launch(instruction);
      }
      note_uses(step);
      binding_->steps.push_back(std::move(step));
    }
  }

  BoundLaunch bind_launch(const Instruction& instruction) const {
    const KernelInfo& kernel = manifest_.kernels[static_cast<size_t>(instruction.kernel)];
    BoundLaunch launch;
    launch.kernel = instruction.kernel;
    launch.buffers.resize(instruction.buffers.size());
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
      const AddressUse use{binding_->steps.size(), argument, alias ? named.offset : 0};
      const auto index = static_cast<size_t>(storage.index);
      if (storage.kind == BufferKind::input) binding_->input_uses[index].push_back(use);
      if (storage.kind == BufferKind::output) binding_->output_uses[index].push_back(use);
    }
  }

  const Manifest& manifest_;
  const Device* device_;
  std::unique_ptr<Binding> binding_;
};

}  // namespace

std::unique_ptr<Binding> bind_shapes(const Manifest& manifest, const Device* device,
                                     std::span<const Dims> input_shapes) {
  return Binder(manifest, device).bind(input_shapes);
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
