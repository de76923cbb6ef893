// The host side of the kernel harness.
#include "kernel_harness.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <random>

#include "lib/backend/host/compile_host.h"
#include "lib/backend/weights.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/op.h"
#include "lib/ir/text.h"
#include "lib/optimizer/fusion/fusion.h"
#include "lib/support/subprocess.h"

namespace mcc::test {

std::vector<Tensor> random_inputs(const Graph& graph, const Bindings& dims, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Tensor> inputs;
  for (ValueId input : graph.inputs) {
    std::vector<int64_t> shape;
    for (const Expr& dim : graph.shape(input)) shape.push_back(dim.evaluate(dims));
    Tensor tensor(graph.dtype(input), shape);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      if (is_floating(tensor.dtype())) {
        tensor.set_double(i, normal(random));
      } else {
        tensor.set_int64(i, static_cast<int64_t>(random() % 5));
      }
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  double largest = 1e-30;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double value = std::fabs(expected.get_double(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  int wrong = 0;
  for (int64_t i = 0; i < expected.elements() && wrong < 5; ++i) {
    const double a = actual.get_double(i);
    const double e = expected.get_double(i);
    const bool same = (std::isnan(a) && std::isnan(e)) || a == e || std::fabs(a - e) <= tolerance * largest;
    if (!same) {
      ++wrong;
      ADD_FAILURE() << what << ": element " << i << " is " << a << ", expected " << e;
    }
  }
}

namespace {

Tensor make_tensor(const TensorType& type, const Bindings& dims) {
  std::vector<int64_t> shape;
  for (const Expr& dim : type.shape) shape.push_back(dim.evaluate(dims));
  return Tensor(type.dtype, shape);
}

// The image as a file, loaded.
class Library {
 public:
  explicit Library(const std::vector<std::byte>& elf) {
    const std::string path = directory_.path() + "/image.so";
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(elf.data()), static_cast<std::streamsize>(elf.size()));
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) ADD_FAILURE() << dlerror();
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void* symbol(const std::string& name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name.c_str()); }

 private:
  TemporaryDirectory directory_;
  void* handle_ = nullptr;
};

using HostKernel = void (*)(void* const*, const int64_t*, int64_t, int64_t, void*);

}  // namespace

void check_on_host(const std::string& graph_text, const RunOptions& options) {
  Graph graph = parse_graph(graph_text);
  const std::vector<Tensor> inputs = random_inputs(graph, options.dims, options.seed);
  const std::vector<Tensor> expected = evaluate(graph, inputs);
  const Bindings bindings = bind_symbols(graph, inputs);
  fuse_operators(graph);
  const backend::KernelSet set = backend::build_kernels(graph, {options.target}, false);
  std::vector<backend::HostSource> sources;
  for (const backend::BuiltKernel& kernel : set.kernels) sources.push_back({kernel.name, kernel.schedule, kernel.host[0].text});
  const backend::KernelCache cache({}, false);
  const backend::HostImage image = backend::compile_host(sources, options.target, {}, cache);
  const Library library(image.elf);

  const std::vector<int32_t> producers = graph.producers();
  std::vector<Tensor> values(graph.values.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) values[static_cast<size_t>(graph.inputs[i])] = inputs[i];
  for (size_t index = 0; index < graph.nodes.size(); ++index) {
    const Node& node = graph.nodes[index];
    if (node.op == Op::constant) {
      values[static_cast<size_t>(node.outputs[0])] = *node.attributes.tensor("value");
      continue;
    }
    if (node.op == Op::reshape) {
      const Tensor shaped = make_tensor(graph.type(node.outputs[0]), bindings);
      values[static_cast<size_t>(node.outputs[0])] = values[static_cast<size_t>(node.inputs[0])].reshaped(shaped.shape());
      continue;
    }
    const backend::BuiltKernel& kernel = set.kernels[static_cast<size_t>(set.kernel_of_node[index])];
    const backend::LoopKernel& loops = kernel.host[0].kernel;
    std::vector<void*> buffers;
    std::vector<Tensor> packed;
    packed.reserve(node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Tensor& tensor = values[static_cast<size_t>(node.inputs[i])];
      if (kernel.buffers[i].packing == backend::Packing::plain) {
        buffers.push_back(const_cast<std::byte*>(tensor.data()));
        continue;
      }
      packed.emplace_back(tensor.dtype(), std::vector<int64_t>{backend::stored_elements(tensor, kernel.buffers[i])});
      backend::pack_weight(tensor, kernel.buffers[i], packed.back().mutable_data());
      buffers.push_back(packed.back().mutable_data());
    }
    for (ValueId output : node.outputs) {
      values[static_cast<size_t>(output)] = make_tensor(graph.type(output), bindings);
      buffers.push_back(values[static_cast<size_t>(output)].mutable_data());
    }
    std::vector<int64_t> dims;
    for (const std::string& dim : kernel.dims) dims.push_back(bindings.at(dim));
    std::vector<std::byte> scratch(static_cast<size_t>(loops.scratch_bytes) + 64);
    void* aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
    const auto run = reinterpret_cast<HostKernel>(library.symbol(kernel.name));
    ASSERT_NE(run, nullptr) << kernel.name;
    // In two ranges, as a thread pool would.
    const int64_t items = loops.parallel.evaluate(bindings);
    const int64_t middle = items / 2;
    if (middle > 0) run(buffers.data(), dims.data(), 0, middle, aligned);
    if (items > middle) run(buffers.data(), dims.data(), middle, items, aligned);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    expect_close(values[static_cast<size_t>(graph.outputs[i])], expected[i], options.tolerance,
                 options.target.name + ", output " + std::to_string(i));
  }
}

void check_on_host(const std::string& graph_text, const Bindings& dims, double tolerance) {
  if (__builtin_cpu_supports("avx512f")) {
    check_on_host(graph_text, RunOptions{backend::host_target_v4(), dims, 1, tolerance});
  }
  if (__builtin_cpu_supports("avx2")) {
    check_on_host(graph_text, RunOptions{backend::host_target_v3(), dims, 1, tolerance});
  }
}

}  // namespace mcc::test
