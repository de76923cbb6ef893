// mcc compile: an ONNX model becomes a plan, or the text of one stage.
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "lib/backend/compile.h"
#include "lib/ir/text.h"
#include "lib/support/error.h"
#include "tools/commands.h"
#include "tools/compile_request.h"
#include "tools/io/files.h"
#include "tools/io/progress.h"
#include "tools/io/report.h"

namespace mcc::tools {

namespace {

struct CompileCommand {
  std::string model;
  std::string output;
  CompileRequest request;
  CompileOptions backend;
  bool no_cuda = false;
  bool no_ptx = false;
  bool no_host = false;
  bool no_cache = false;
  std::string cache_directory;
  std::string emit;
  std::vector<std::string> print_after;
  std::string dump_directory;
  bool time_passes = false;
  bool verify_passes = false;
  bool json = false;
};

// "v3" is short for "x86-64-v3".
std::vector<std::string> full_isa_names(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) {
    result.push_back(name.starts_with("v") ? "x86-64-" + name : name);
  }
  return result;
}

CompileOptions backend_options(const CompileCommand& command, Progress& progress) {
  CompileOptions options = command.backend;
  options.host_isas = full_isa_names(options.host_isas);
  if (command.no_host) options.host_isas.clear();
  if (command.no_cuda) options.architectures.clear();
  options.ptx = !command.no_ptx && !command.no_cuda;
  options.use_cache = !command.no_cache;
  options.cache_directory = command.cache_directory;
  options.options_json = request_to_json(command.request);
  options.progress = [&progress](const std::string& stage, int done, int total) {
    progress.update(stage, done, total);
  };
  if (options.architectures.empty() && options.sim_architectures.empty() &&
      options.host_isas.empty()) {
    throw UsageError("nothing to compile for: --no-host and --no-cuda exclude every target");
  }
  return options;
}

Graph optimized_graph(const CompileCommand& command, Progress& progress) {
  progress.update("importing");
  Graph graph = import_checked(command.model, import_options(command.request));
  OptimizerOptions options = optimizer_options(command.request);
  options.print_after.insert(command.print_after.begin(), command.print_after.end());
  options.dump_directory = command.dump_directory;
  options.time_passes = command.time_passes;
  options.verify = command.verify_passes;
  progress.update("optimizing");
  if (!command.print_after.empty() || command.time_passes) progress.clear();
  optimize(graph, options);
  return graph;
}

std::string emitted(const CompileCommand& command, const Graph& graph, Progress& progress) {
  if (command.emit == "ir") return print_graph(graph);
  EmitStage stage = EmitStage::kernels;
  if (command.emit == "cuda") stage = EmitStage::cuda;
  if (command.emit == "host") stage = EmitStage::host;
  if (command.emit == "ptx") stage = EmitStage::ptx;
  return emit_stage(graph, backend_options(command, progress), stage);
}

void report(const CompileCommand& command, const std::string& output, const CompileReport& result,
            double seconds) {
  const double ratio = result.arena_lower_bound_bytes == 0
                           ? 1.0
                           : static_cast<double>(result.arena_bytes) /
                                 static_cast<double>(result.arena_lower_bound_bytes);
  // With dynamic dimensions the arena is planned when shapes are bound; `mcc inspect` tells.
  const bool planned = result.arena_lower_bound_bytes > 0;
  if (command.json) {
    const auto number = [&](auto value) { return planned ? Json(value) : Json(nullptr); };
    print_json({{"plan", output},
                {"program", {{"launches", result.launches}, {"kernels", result.kernels}}},
                {"arena",
                 {{"bytes", number(result.arena_bytes)},
                  {"lower_bound_bytes", number(result.arena_lower_bound_bytes)},
                  {"ratio", number(ratio)}}},
                {"weights_bytes", result.weights_bytes},
                {"file_bytes", result.plan_bytes},
                {"seconds", seconds}});
    return;
  }
  char arena[80] = "sized when shapes are bound";
  if (planned) {
    std::snprintf(arena, sizeof arena, "%s (%.3f x the lower bound)",
                  bytes_text(result.arena_bytes).c_str(), ratio);
  }
  std::printf("%s: %lld launches of %lld kernels, weights %s, arena %s, file %s, %.1f s\n",
              output.c_str(), static_cast<long long>(result.launches),
              static_cast<long long>(result.kernels), bytes_text(result.weights_bytes).c_str(),
              arena, bytes_text(result.plan_bytes).c_str(), seconds);
}

int run(const CompileCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  Progress progress;
  const Graph graph = optimized_graph(command, progress);
  if (!command.emit.empty()) {
    const std::string text = emitted(command, graph, progress);
    progress.clear();
    write_whole_file(command.output.empty() ? "-" : command.output, text);
    return 0;
  }
  std::string output = command.output;
  if (output.empty()) output = std::filesystem::path(command.model).stem().string() + ".plan";
  const CompileReport result = compile_plan(graph, backend_options(command, progress), output);
  progress.clear();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  report(command, output, result, elapsed.count());
  return 0;
}

}  // namespace

void add_compile(CLI::App& app, ToolContext& context) {
  auto options = std::make_shared<CompileCommand>();
  CLI::App* command = app.add_subcommand("compile", "Compile an ONNX model to a plan");
  command->add_option("model", options->model, "the ONNX file")->required()->type_name("MODEL.onnx");
  command->add_option("-o,--output", options->output,
                      "the plan to write (default: MODEL.plan here), or the text of --emit")
      ->type_name("FILE");
  add_request_options(*command, options->request);
  repeatable(command->add_option("--arch", options->backend.architectures,
                                 "GPU architectures (default: sm_80,sm_89,sm_90)"))
      ->delimiter(',')
      ->type_name("sm_80,...");
  repeatable(command->add_option("--sim-arch", options->backend.sim_architectures,
                                 "PTX for the simulator of these architectures too"))
      ->delimiter(',')
      ->type_name("sm_90,...");
  command->add_flag("--no-cuda", options->no_cuda, "no GPU code but that of --sim-arch");
  command->add_flag("--no-ptx", options->no_ptx, "no PTX for newer GPUs");
  repeatable(command->add_option("--host-isa", options->backend.host_isas,
                                 "host instruction sets (default: v3,v4)"))
      ->delimiter(',')
      ->type_name("v3,v4");
  command->add_flag("--no-host", options->no_host, "no host code");
  command->add_option("--threads", options->backend.threads, "compile threads (0: one per core)")
      ->check(CLI::Range(0, 1024));
  command->add_flag("--no-cache", options->no_cache, "neither read nor fill the kernel cache");
  command->add_option("--cache-dir", options->cache_directory, "where compiled kernels are kept")
      ->type_name("DIR");
  command->add_flag("--keep-sources", options->backend.keep_sources,
                    "store the generated source text in the plan");
  command->add_option("--emit", options->emit, "print one stage instead of writing a plan")
      ->check(CLI::IsMember({"ir", "kernels", "cuda", "host", "ptx"}));
  repeatable(command->add_option("--print-after", options->print_after,
                                 "print the graph after these passes, or all"))
      ->delimiter(',')
      ->type_name("PASS");
  command->add_option("--dump-dir", options->dump_directory, "write every changed graph here")
      ->type_name("DIR");
  command->add_flag("--time-passes", options->time_passes, "print how long each pass took");
  command->add_flag("--verify-passes", options->verify_passes, "check the graph after every pass");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &context] { context.exit_code = run(*options); });
}

}  // namespace mcc::tools
