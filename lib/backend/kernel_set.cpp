// Scheduling and printing of all kernels of a graph.
#include "lib/backend/kernel_set.h"

#include <algorithm>
#include <map>

#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

// Stands for the kernel's name until equal kernels have been merged and numbered.
constexpr const char* kNameToken = "mcc_unnamed_kernel";

std::string with_name(const std::string& text, const std::string& name) {
  std::string out;
  size_t from = 0;
  for (size_t at = 0; (at = text.find(kNameToken, from)) != std::string::npos;) {
    out.append(text, from, at - from).append(name);
    from = at + std::string_view(kNameToken).size();
  }
  return out.append(text, from);
}

bool same_storage(const KernelBuffer& a, const KernelBuffer& b) {
  return a.dtype == b.dtype && a.output == b.output && a.packing == b.packing &&
         a.panel_width == b.panel_width && a.permutation == b.permutation &&
         a.batch_axes == b.batch_axes && a.contract_axes == b.contract_axes;
}

// What must agree for one program to serve every target.
void check_same_interface(const LoopKernel& a, const LoopKernel& b) {
  bool same = a.dims == b.dims && a.buffers.size() == b.buffers.size();
  for (size_t i = 0; same && i < a.buffers.size(); ++i) same = same_storage(a.buffers[i], b.buffers[i]);
  check_internal(same, "the host and CUDA schedules of a kernel disagree on its parameters");
}

std::string launch_text(const LoopKernel& kernel) {
  std::string text = kernel.parallel.str() + "/" + std::to_string(kernel.grain) + "/" +
                     std::to_string(kernel.scratch_bytes) + "/" + std::to_string(kernel.shared_bytes);
  for (int axis = 0; axis < 3; ++axis) {
    text += "/" + kernel.grid[axis].str() + "," + std::to_string(kernel.block[axis]);
  }
  for (const KernelBuffer& buffer : kernel.buffers) {
    text += "/" + std::to_string(static_cast<int>(buffer.dtype)) + ":" +
            std::to_string(static_cast<int>(buffer.packing)) + ":" + std::to_string(buffer.panel_width);
    for (int64_t axis : buffer.permutation) text += "." + std::to_string(axis);
    text += ":" + std::to_string(buffer.batch_axes) + ":" + std::to_string(buffer.contract_axes);
  }
  for (const std::string& dim : kernel.dims) text += "/" + dim;
  return text;
}

std::string origin_text(const Node& node) {
  std::string text;
  for (const std::string& name : node.origin) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "an unnamed node" : text;
}

Group make_group(const Graph& graph, const Node& node, const std::vector<int32_t>& producers) {
  Group group;
  group.body = &node.subgraphs[0];
  group.outer = &graph;
  group.schedule = node.attributes.text("schedule");
  for (ValueId input : node.inputs) {
    const int32_t producer = producers[static_cast<size_t>(input)];
    const bool constant = producer >= 0 && graph.nodes[static_cast<size_t>(producer)].op == Op::constant;
    group.constant_input.push_back(constant);
    group.constants.push_back(
        constant ? graph.nodes[static_cast<size_t>(producer)].attributes.tensor("value") : nullptr);
  }
  return group;
}

BuiltKernel build(const Group& group, const std::vector<Target>& host_targets, bool cuda) {
  const ScheduleInfo& schedule = find_schedule(group.schedule);
  BuiltKernel built;
  built.schedule = group.schedule;
  if (cuda) {
    built.cuda = schedule.cuda(group, cuda_target(80));
    built.cuda.name = kNameToken;
    built.cuda_text = print_cuda(built.cuda);
    built.buffers = built.cuda.buffers;
    built.dims = built.cuda.dims;
  }
  for (const Target& target : host_targets) {
    HostForm form{target, schedule.host(group, target), {}};
    form.kernel.name = kNameToken;
    form.text = print_host(form.kernel, target);
    if (cuda) check_same_interface(built.cuda, form.kernel);
    built.buffers = form.kernel.buffers;
    built.dims = form.kernel.dims;
    built.host.push_back(std::move(form));
  }
  return built;
}

std::string identity_of(const BuiltKernel& kernel) {
  std::string key = kernel.schedule + "\n" + kernel.cuda_text + "\n" + launch_text(kernel.cuda);
  for (const HostForm& form : kernel.host) key += "\n" + form.text + "\n" + launch_text(form.kernel);
  return key;
}

}  // namespace

KernelSet build_kernels(const Graph& graph, const std::vector<Target>& host_targets, bool cuda) {
  KernelSet set;
  set.kernel_of_node.assign(graph.nodes.size(), -1);
  const std::vector<int32_t> producers = graph.producers();
  std::map<std::string, int> known;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op != Op::fused) continue;
    try {
      BuiltKernel built = build(make_group(graph, node, producers), host_targets, cuda);
      const auto [found, fresh] =
          known.emplace(identity_of(built), static_cast<int>(set.kernels.size()));
      if (fresh) set.kernels.push_back(std::move(built));
      set.kernel_of_node[i] = found->second;
    } catch (const InternalError& error) {
      throw InternalError(std::string(error.what()) + " (schedule '" + node.attributes.text("schedule") +
                          "' of " + origin_text(node) + ")");
    } catch (const ModelError& error) {
      throw ModelError(std::string(error.what()) + " (" + origin_text(node) + ")");
    }
    std::vector<std::string>& origin = set.kernels[static_cast<size_t>(set.kernel_of_node[i])].origin;
    for (const std::string& name : node.origin) {
      if (std::find(origin.begin(), origin.end(), name) == origin.end()) origin.push_back(name);
    }
  }
  for (size_t i = 0; i < set.kernels.size(); ++i) {
    BuiltKernel& kernel = set.kernels[i];
    kernel.name = "k" + std::to_string(i);
    kernel.cuda.name = kernel.name;
    kernel.cuda_text = with_name(kernel.cuda_text, kernel.name);
    for (HostForm& form : kernel.host) {
      form.kernel.name = kernel.name;
      form.text = with_name(form.text, kernel.name);
    }
  }
  return set;
}

}  // namespace mcc::backend
