// Buffers and program of a plan.
#include "lib/backend/plan_builder.h"

#include <algorithm>
#include <map>
#include <optional>

#include "lib/ir/op.h"
#include "lib/optimizer/memory/inplace.h"
#include "lib/support/error.h"
#include "runtime/plan/arena.h"
#include "runtime/plan/dtype.h"

namespace mcc::backend {
namespace {

using runtime::BufferInfo;
using runtime::BufferKind;
using runtime::Expression;
using runtime::Manifest;

class Builder {
 public:
  Builder(const Graph& graph, const KernelSet& kernels, WeightTable& weights)
      : graph_(graph), kernels_(kernels), weights_(weights), producers_(graph.producers()),
        root_(graph.values.size()), buffer_of_(graph.values.size(), -1) {}

  Manifest run() {
    manifest_.model_name = graph_.name;
    for (ValueId input : graph_.inputs) {
      manifest_.inputs.push_back(tensor_info(input, graph_.values[static_cast<size_t>(input)].name));
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      manifest_.outputs.push_back(tensor_info(graph_.outputs[i], graph_.output_names[i]));
    }
    find_roots();
    make_buffers();
    make_symbols();
    make_kernels();
    make_program();
    runtime::derive_lifetimes(manifest_);
    choose_inplace();
    plan_arena();
    return std::move(manifest_);
  }

 private:
  Expression expression(const Expr& expr) const { return to_expression(expr, graph_); }

  mcc_dtype dtype_code(DType dtype) const {
    std::optional<runtime::DTypeRow> row = runtime::find_dtype(dtype_info(dtype).name);
    if (!row) {
      throw ModelError("values of type " + std::string(dtype_info(dtype).name) +
                       " cannot be stored in a plan");
    }
    return row->code;
  }

  Expression bytes_of(const TensorType& type) const {
    const Expr bits = product(type.shape) * Expr(static_cast<int64_t>(dtype_info(type.dtype).bits));
    return expression(ceildiv(bits, 8));
  }

  std::vector<Expression> shape_of(const TensorType& type) const {
    std::vector<Expression> shape;
    for (const Expr& dim : type.shape) shape.push_back(expression(dim));
    return shape;
  }

  runtime::TensorInfo tensor_info(ValueId value, const std::string& name) const {
    return {name, dtype_code(graph_.dtype(value)), shape_of(graph_.type(value))};
  }

  // Reshapes that stayed outside of kernels share their input's memory.
  void find_roots() {
    for (size_t value = 0; value < root_.size(); ++value) root_[value] = static_cast<ValueId>(value);
    for (const Node& node : graph_.nodes) {
      if (node.op == Op::reshape) root_[static_cast<size_t>(node.outputs[0])] = root(node.inputs[0]);
    }
  }
  ValueId root(ValueId value) const { return root_[static_cast<size_t>(value)]; }

  int add_buffer(BufferKind kind, ValueId value) {
    BufferInfo buffer;
    buffer.kind = kind;
    buffer.dtype = dtype_code(graph_.dtype(value));
    buffer.bytes = bytes_of(graph_.type(value));
    buffer.shape = shape_of(graph_.type(value));
    buffer.origin = graph_.values[static_cast<size_t>(value)].name;
    manifest_.buffers.push_back(std::move(buffer));
    return static_cast<int>(manifest_.buffers.size()) - 1;
  }

  int& buffer_of(ValueId value) { return buffer_of_[static_cast<size_t>(value)]; }

  void make_buffers() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      buffer_of(graph_.inputs[i]) = add_buffer(BufferKind::input, graph_.inputs[i]);
      manifest_.buffers.back().index = static_cast<int>(i);
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const int buffer = add_buffer(BufferKind::output, graph_.outputs[i]);
      manifest_.buffers.back().index = static_cast<int>(i);
      output_buffers_.push_back(buffer);
      // The kernel that makes the value writes the output directly; what else shows the same
      // memory (inputs, weights, an output listed twice) is copied at the end.
      const ValueId storage = root(graph_.outputs[i]);
      const int32_t producer = producers_[static_cast<size_t>(storage)];
      const bool computed =
          producer >= 0 && graph_.nodes[static_cast<size_t>(producer)].op == Op::fused;
      if (computed && buffer_of(storage) < 0) {
        buffer_of(storage) = buffer;
      } else {
        copies_.emplace_back(graph_.outputs[i], buffer);
      }
    }
    for (const Node& node : graph_.nodes) {
      if (node.op != Op::fused) continue;
      for (ValueId output : node.outputs) {
        if (buffer_of(output) < 0) buffer_of(output) = add_buffer(BufferKind::arena, output);
      }
    }
  }

  void make_symbols() {
    for (const Symbol& symbol : graph_.symbols) {
      runtime::SymbolInfo info;
      info.name = symbol.name;
      info.label = symbol.label;
      info.minimum = std::max<int64_t>(symbol.range.low, 0);
      info.maximum = std::min(symbol.range.high, runtime::kUnboundedSymbol);
      switch (symbol.source.kind) {
        case SymbolSource::Kind::input_dim:
          info.source.kind = runtime::SymbolSource::Kind::input_dim;
          info.source.input = symbol.source.input;
          info.source.axis = static_cast<int>(symbol.source.axis);
          break;
        case SymbolSource::Kind::value:
          info.source.kind = runtime::SymbolSource::Kind::buffer;
          info.source.buffer = buffer_of(root(symbol.source.input));
          info.source.element = symbol.source.axis;
          break;
        case SymbolSource::Kind::expression:
          info.source.kind = runtime::SymbolSource::Kind::expression;
          info.source.expression = expression(symbol.source.expression);
          break;
      }
      manifest_.symbols.push_back(std::move(info));
    }
  }

  void make_kernels() {
    for (const BuiltKernel& built : kernels_.kernels) {
      runtime::KernelInfo kernel;
      kernel.name = built.name;
      kernel.origin = built.origin;
      kernel.kernel_class = built.schedule;
      kernel.outputs = static_cast<int>(std::count_if(built.buffers.begin(), built.buffers.end(),
                                                      [](const KernelBuffer& b) { return b.output; }));
      if (!built.host.empty()) {
        // Work items may differ between instruction sets only through their grain and scratch.
        const LoopKernel& first = built.host.front().kernel;
        runtime::HostLaunch launch;
        launch.parallel = expression(first.parallel);
        launch.grain = first.grain;
        for (const HostForm& form : built.host) {
          check_internal(form.kernel.parallel == first.parallel,
                         "the parallel extent of a host kernel depends on the instruction set");
          launch.scratch_bytes = std::max(launch.scratch_bytes, form.kernel.scratch_bytes);
        }
        kernel.host = launch;
      }
      if (!built.cuda_text.empty()) {
        runtime::CudaLaunch launch;
        for (int axis = 0; axis < 3; ++axis) {
          launch.grid[axis] = expression(built.cuda.grid[axis]);
          launch.block[axis] = built.cuda.block[axis];
        }
        launch.shared_bytes = built.cuda.shared_bytes;
        kernel.cuda = launch;
      }
      manifest_.kernels.push_back(std::move(kernel));
    }
  }

  // The buffer through which a kernel reads `value`; weights get one per stored form.
  int operand(ValueId value, const KernelBuffer& layout) {
    const ValueId storage = root(value);
    const int32_t producer = producers_[static_cast<size_t>(storage)];
    if (producer < 0 || graph_.nodes[static_cast<size_t>(producer)].op != Op::constant) {
      check_internal(buffer_of(storage) >= 0, "a kernel reads a value that no kernel makes");
      return buffer_of(storage);
    }
    const TensorPtr& tensor = graph_.nodes[static_cast<size_t>(producer)].attributes.tensor("value");
    const int slot = weights_.add(tensor, layout);
    auto [found, fresh] = weight_buffers_.emplace(slot, 0);
    if (fresh) {
      found->second = add_buffer(BufferKind::weight, storage);
      const WeightSlot& stored = weights_.slots()[static_cast<size_t>(slot)];
      manifest_.buffers.back().offset = stored.offset;
      manifest_.buffers.back().bytes = Expression(stored.bytes);
    }
    return found->second;
  }

  void make_program() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.op == Op::constant || node.op == Op::reshape) continue;
      if (node.op != Op::fused) {
        throw ModelError("operator '" + std::string(op_info(node.op).name) +
                         "' cannot be compiled into a plan" +
                         (node.origin.empty() ? "" : " (node '" + node.origin[0] + "')") +
                         "; `mcc ops` lists what can");
      }
      runtime::Instruction launch;
      launch.kernel = kernels_.kernel_of_node[i];
      const BuiltKernel& kernel = kernels_.kernels[static_cast<size_t>(launch.kernel)];
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        launch.buffers.push_back(operand(node.inputs[input], kernel.buffers[input]));
      }
      for (ValueId output : node.outputs) launch.buffers.push_back(buffer_of(output));
      for (const std::string& dim : kernel.dims) launch.dims.push_back(expression(Expr::symbol(dim)));
      manifest_.program.push_back(std::move(launch));
      node_of_instruction_.push_back(&node);
    }
    for (const auto& [value, buffer] : copies_) {
      runtime::Instruction copy;
      copy.kind = runtime::InstructionKind::copy;
      copy.from = operand(value, KernelBuffer{});
      copy.to = buffer;
      manifest_.program.push_back(std::move(copy));
      node_of_instruction_.push_back(nullptr);
    }
  }

  void choose_inplace() {
    for (size_t i = 0; i < manifest_.program.size(); ++i) {
      const Node* node = node_of_instruction_[i];
      if (node == nullptr) continue;
      const runtime::Instruction& launch = manifest_.program[i];
      const int output = launch.buffers.back();
      BufferInfo& target = manifest_.buffers[static_cast<size_t>(output)];
      if (target.kind != BufferKind::arena) continue;
      for (int candidate : inplace_candidates(*node)) {
        const int source = launch.buffers[static_cast<size_t>(candidate)];
        const BufferInfo& from = manifest_.buffers[static_cast<size_t>(source)];
        if (from.kind != BufferKind::arena || from.last != static_cast<int>(i)) continue;
        if (std::count(launch.buffers.begin(), launch.buffers.end(), source) != 1) continue;
        target.inplace_of = source;
        break;
      }
    }
  }

  void plan_arena() {
    const bool all_constant =
        std::all_of(manifest_.buffers.begin(), manifest_.buffers.end(), [](const BufferInfo& buffer) {
          return buffer.kind != BufferKind::arena || buffer.bytes.is_constant();
        });
    manifest_.arena.is_static = all_constant;
    if (!all_constant) return;
    const runtime::ArenaPlan plan = runtime::plan_arena(manifest_, {});
    for (size_t i = 0; i < manifest_.buffers.size(); ++i) {
      if (manifest_.buffers[i].kind == BufferKind::arena) manifest_.buffers[i].offset = plan.offsets[i];
    }
    manifest_.arena.bytes = plan.bytes;
    manifest_.arena.lower_bound_bytes = plan.lower_bound_bytes;
    manifest_.arena.sum_bytes = plan.sum_bytes;
  }

  const Graph& graph_;
  const KernelSet& kernels_;
  WeightTable& weights_;
  std::vector<int32_t> producers_;
  std::vector<ValueId> root_;
  std::vector<int> buffer_of_;
  std::vector<int> output_buffers_;
  std::vector<std::pair<ValueId, int>> copies_;
  std::map<int, int> weight_buffers_;
  std::vector<const Node*> node_of_instruction_;
  Manifest manifest_;
};

}  // namespace

Manifest build_manifest(const Graph& graph, const KernelSet& kernels, WeightTable& weights) {
  return Builder(graph, kernels, weights).run();
}

}  // namespace mcc::backend
