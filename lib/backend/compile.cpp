// From an optimised graph to a plan file: kernels, images, manifest, weights.
#include "lib/backend/compile.h"

#include <algorithm>
#include <map>
#include <thread>

#include <nlohmann/json.hpp>

#include "lib/backend/cache.h"
#include "lib/backend/cuda/compile_cuda.h"
#include "lib/backend/host/compile_host.h"
#include "lib/backend/kernel_set.h"
#include "lib/backend/plan_builder.h"
#include "lib/backend/weights.h"
#include "lib/support/error.h"
#include "lib/support/version.h"
#include "runtime/plan/manifest_json.h"
#include "runtime/plan/writer.h"

namespace mcc {
namespace {

using namespace backend;

std::vector<Target> host_targets(const CompileOptions& options) {
  std::vector<Target> targets;
  for (const std::string& isa : options.host_isas) {
    if (isa == "x86-64-v3") {
      targets.push_back(host_target_v3());
    } else if (isa == "x86-64-v4") {
      targets.push_back(host_target_v4());
    } else {
      throw UsageError("unknown host instruction set '" + isa + "'; known: x86-64-v3, x86-64-v4");
    }
  }
  return targets;
}

int thread_count(const CompileOptions& options) {
  if (options.threads > 0) return options.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// The architectures in `all` and after them those of `more` that are new.
std::vector<std::string> united(std::vector<std::string> all,
                                const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  }
  return all;
}

bool wants_cuda(const CompileOptions& options) {
  return !options.architectures.empty() || !options.sim_architectures.empty();
}

// Which of the compiled architectures the plan holds as PTX.
std::vector<std::string> ptx_architectures(const CompileOptions& options) {
  std::vector<std::string> names;
  const std::string lowest = options.ptx ? lowest_portable(options.architectures) : std::string();
  if (!lowest.empty()) names.push_back(lowest);
  return united(std::move(names), options.sim_architectures);
}

void report_progress(const CompileOptions& options, const char* stage, int done, int total) {
  if (options.progress) options.progress(stage, done, total);
}

CudaImages build_cuda(const KernelSet& set, const CompileOptions& options, KernelCache& cache) {
  std::vector<CudaSource> sources;
  for (const BuiltKernel& kernel : set.kernels) {
    sources.push_back({kernel.name, kernel.schedule, kernel.cuda_text});
  }
  CudaCompileOptions cuda_options;
  cuda_options.architectures = united(options.architectures, options.sim_architectures);
  cuda_options.threads = thread_count(options);
  cuda_options.progress = [&](int done, int total) { report_progress(options, "cuda", done, total); };
  return compile_cuda(sources, cuda_options, cache);
}

HostImage build_host(const KernelSet& set, size_t target, const CompileOptions& options,
                     KernelCache& cache) {
  std::vector<HostSource> sources;
  for (const BuiltKernel& kernel : set.kernels) {
    sources.push_back({kernel.name, kernel.schedule, kernel.host[target].text});
  }
  HostCompileOptions host_options;
  host_options.threads = thread_count(options);
  host_options.progress = [&](int done, int total) { report_progress(options, "host", done, total); };
  return compile_host(sources, set.kernels.empty() ? host_target_v3() : set.kernels[0].host[target].target,
                      host_options, cache);
}

void write_weights(const WeightTable& weights, runtime::PlanWriter& writer) {
  writer.begin_section(runtime::SectionKind::weights, runtime::kWeightsAlignment);
  std::vector<std::byte> packed;
  for (const WeightSlot& slot : weights.slots()) {
    writer.pad_section(runtime::kBufferAlignment);
    if (slot.layout.packing == Packing::plain) {
      writer.append(slot.tensor->data(), slot.tensor->bytes());
      continue;
    }
    packed.resize(static_cast<size_t>(slot.bytes));
    pack_weight(*slot.tensor, slot.layout, packed.data());
    writer.append(packed.data(), packed.size());
  }
}

}  // namespace

CompileReport compile_plan(const Graph& graph, const CompileOptions& options,
                           const std::filesystem::path& path) {
  report_progress(options, "kernels", 0, 1);
  const KernelSet set = build_kernels(graph, host_targets(options), wants_cuda(options));
  WeightTable weights;
  runtime::Manifest manifest = build_manifest(graph, set, weights);
  manifest.producer = "mcc " + std::string(version());
  manifest.options_json = options.options_json;

  KernelCache cache(options.use_cache ? options.cache_directory : std::filesystem::path(),
                    options.use_cache);
  nlohmann::ordered_json toolchain;
  runtime::PlanWriter writer(path.string());
  if (wants_cuda(options)) {
    const CudaImages images = build_cuda(set, options, cache);
    add_cuda_targets(images, options.architectures, ptx_architectures(options), writer, manifest);
    toolchain["nvrtc"] = images.nvrtc_version;
  }
  for (size_t i = 0; i < options.host_isas.size(); ++i) {
    const HostImage image = build_host(set, i, options, cache);
    runtime::TargetInfo target;
    target.name = target.isa = options.host_isas[i];
    target.kind = runtime::TargetKind::host;
    target.sections = {writer.add_section(
        runtime::SectionKind::image,
        std::string_view(reinterpret_cast<const char*>(image.elf.data()), image.elf.size()))};
    for (const BuiltKernel& kernel : set.kernels) {
      runtime::KernelResources resources;
      resources.name = kernel.name;
      target.kernels.push_back(resources);
    }
    manifest.targets.push_back(std::move(target));
    toolchain["host_compiler"] = image.compiler;
  }
  manifest.toolchain_json = toolchain.dump();
  if (options.keep_sources) {
    std::string sources;
    for (const BuiltKernel& kernel : set.kernels) {
      sources += kernel.cuda_text;
      for (const HostForm& form : kernel.host) sources += "// " + form.target.name + "\n" + form.text;
    }
    writer.add_section(runtime::SectionKind::sources, sources);
  }
  report_progress(options, "weights", 0, 1);
  if (weights.bytes() > 0) write_weights(weights, writer);
  writer.add_section(runtime::SectionKind::manifest, runtime::write_manifest(manifest));
  writer.finish();

  CompileReport report;
  report.launches = std::count_if(manifest.program.begin(), manifest.program.end(), [](const auto& step) {
    return step.kind == runtime::InstructionKind::launch;
  });
  report.kernels = static_cast<int64_t>(set.kernels.size());
  report.weights_bytes = weights.bytes();
  report.arena_bytes = manifest.arena.bytes;
  report.arena_lower_bound_bytes = manifest.arena.lower_bound_bytes;
  report.plan_bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  return report;
}

std::string emit_stage(const Graph& graph, const CompileOptions& options, EmitStage stage) {
  const bool cuda = stage == EmitStage::kernels || stage == EmitStage::cuda || stage == EmitStage::ptx;
  const std::vector<Target> hosts =
      stage == EmitStage::kernels || stage == EmitStage::host ? host_targets(options) : std::vector<Target>{};
  const KernelSet set = build_kernels(graph, hosts, cuda);
  std::string text;
  if (stage == EmitStage::ptx) {
    KernelCache cache(options.cache_directory, options.use_cache);
    for (const CudaImage& image : build_cuda(set, options, cache).images) text += image.ptx;
    return text;
  }
  for (const BuiltKernel& kernel : set.kernels) {
    if (stage == EmitStage::cuda) text += kernel.cuda_text + "\n";
    if (stage == EmitStage::kernels) text += "// cuda\n" + print_loops(kernel.cuda);
    for (const HostForm& form : kernel.host) {
      text += "// " + form.target.name + "\n" +
              (stage == EmitStage::host ? form.text : print_loops(form.kernel)) + "\n";
    }
  }
  return text;
}

}  // namespace mcc
