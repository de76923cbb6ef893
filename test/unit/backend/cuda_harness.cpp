// The CUDA side of the kernel harness.
#include "cuda_harness.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "cuda_emulation.h"
#include "kernel_harness.h"
#include "lib/backend/cuda/compile_cuda.h"
#include "lib/backend/cuda/nvrtc.h"
#include "lib/backend/weights.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/op.h"
#include "lib/ir/text.h"
#include "lib/optimizer/fusion/fusion.h"
#include "lib/support/error.h"

namespace mcc::test {
namespace {

Tensor make_tensor(const TensorType& type, const Bindings& dims) {
  std::vector<int64_t> shape;
  for (const Expr& dim : type.shape) shape.push_back(dim.evaluate(dims));
  return Tensor(type.dtype, shape);
}

bool nvrtc_is_installed() {
  static const bool installed = [] {
    try {
      backend::Nvrtc::open();
      return true;
    } catch (const EnvironmentError&) {
      return false;
    }
  }();
  return installed;
}

void compile_everywhere(const backend::KernelSet& set) {
  std::vector<backend::CudaSource> sources;
  for (const backend::BuiltKernel& kernel : set.kernels) sources.push_back({kernel.name, kernel.schedule, kernel.cuda_text});
  backend::CudaCompileOptions options;
  options.architectures = {"sm_80", "sm_89", "sm_90"};
  options.threads = 2;
  const backend::CudaImages images = backend::compile_cuda(sources, options, backend::KernelCache({}, false));
  size_t kernels = 0;
  for (const backend::CudaImage& image : images.images) {
    EXPECT_FALSE(image.cubin.empty());
    EXPECT_NE(image.ptx.find(".entry"), std::string::npos);
    for (size_t i = 0; i < image.kernels.size(); ++i, ++kernels) {
      EXPECT_EQ(image.resources[i].spill_bytes, 0) << image.kernels[i] << " on " << image.architecture;
      EXPECT_GT(image.resources[i].registers, 0);
    }
  }
  EXPECT_EQ(kernels, 3 * set.kernels.size());
}

// Runs one launch on copies of the values.
void launch(const CudaEmulation& emulation, const backend::BuiltKernel& kernel, const Node& node,
            std::vector<Tensor>& values, const Bindings& dims, bool reverse) {
  std::vector<Tensor> storage;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& tensor = values[static_cast<size_t>(node.inputs[i])];
    const backend::KernelBuffer& layout = kernel.buffers[i];
    Tensor copy(tensor.dtype(), {backend::stored_elements(tensor, layout)});
    if (layout.packing == backend::Packing::plain) {
      if (tensor.bytes() > 0) std::memcpy(copy.mutable_data(), tensor.data(), tensor.bytes());
    } else {
      backend::pack_weight(tensor, layout, copy.mutable_data());
    }
    storage.push_back(std::move(copy));
  }
  for (ValueId output : node.outputs) {
    Tensor& tensor = values[static_cast<size_t>(output)];
    std::memset(tensor.mutable_data(), 0xff, tensor.bytes());
  }
  std::vector<DeviceBuffer> buffers;
  for (Tensor& tensor : storage) buffers.push_back({tensor.mutable_data(), tensor.bytes()});
  for (ValueId output : node.outputs) {
    Tensor& tensor = values[static_cast<size_t>(output)];
    buffers.push_back({tensor.mutable_data(), tensor.bytes()});
  }
  const std::string problem = emulation.launch(kernel.cuda, buffers, dims, reverse);
  EXPECT_EQ(problem, "") << kernel.cuda_text;
}

}  // namespace

std::string check_on_cuda(const std::string& graph_text, const CudaOptions& options) {
  return check_on_cuda(parse_graph(graph_text), options);
}

std::string check_on_cuda(Graph graph, const CudaOptions& options) {
  std::vector<Tensor> inputs = random_inputs(graph, options.dims, options.seed);
  for (Tensor& input : inputs) {
    for (int64_t i = 0; is_integer(input.dtype()) && i < input.elements(); ++i) {
      input.set_int64(i, input.get_int64(i) % options.integers);
    }
  }
  const std::vector<Tensor> expected = evaluate(graph, inputs);
  const Bindings bindings = bind_symbols(graph, inputs);
  fuse_operators(graph);
  // Every kernel's results, to name the first one that departs.
  std::map<ValueId, Tensor> steps;
  evaluate(graph, inputs, [&](const Node& node, const std::vector<Tensor>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) steps[node.outputs[i]] = outputs[i];
  });
  const backend::KernelSet set = backend::build_kernels(graph, {}, true);
  if (options.compile && nvrtc_is_installed()) compile_everywhere(set);
  std::vector<const backend::LoopKernel*> kernels;
  std::string text;
  for (const backend::BuiltKernel& kernel : set.kernels) {
    kernels.push_back(&kernel.cuda);
    text += kernel.cuda_text;
  }
  const CudaEmulation emulation(kernels, text);
  for (const bool reverse : {false, true}) {
    std::vector<Tensor> values(graph.values.size());
    for (size_t i = 0; i < graph.inputs.size(); ++i) values[static_cast<size_t>(graph.inputs[i])] = inputs[i];
    for (size_t index = 0; index < graph.nodes.size(); ++index) {
      const Node& node = graph.nodes[index];
      if (node.op == Op::constant) {
        values[static_cast<size_t>(node.outputs[0])] = *node.attributes.tensor("value");
        continue;
      }
      for (ValueId output : node.outputs) values[static_cast<size_t>(output)] = make_tensor(graph.type(output), bindings);
      if (node.op == Op::reshape) {
        Tensor& to = values[static_cast<size_t>(node.outputs[0])];
        to = values[static_cast<size_t>(node.inputs[0])].reshaped(to.shape());
        continue;
      }
      const backend::BuiltKernel& kernel = set.kernels[static_cast<size_t>(set.kernel_of_node[index])];
      launch(emulation, kernel, node, values, bindings, reverse);
      for (ValueId output : node.outputs) {
        expect_close(values[static_cast<size_t>(output)], steps.at(output), options.tolerance,
                     std::string(reverse ? "reverse" : "forward") + " threads, kernel " + kernel.name + " (" + kernel.schedule + ")");
      }
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << kernel.cuda_text;
        return text;
      }
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      expect_close(values[static_cast<size_t>(graph.outputs[i])], expected[i], options.tolerance,
                   std::string(reverse ? "reverse" : "forward") + " threads, output " + std::to_string(i));
    }
    if (testing::Test::HasFailure()) break;
  }
  return text;
}

std::string check_on_cuda(const std::string& graph_text, const Bindings& dims, double tolerance) {
  CudaOptions options;
  options.dims = dims;
  options.tolerance = tolerance;
  return check_on_cuda(graph_text, options);
}

}  // namespace mcc::test
