// mcc run: executes a plan once, or measures it.
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "lib/support/error.h"
#include "tools/commands.h"
#include "tools/io/inputs.h"
#include "tools/io/npy.h"
#include "tools/io/plan_handle.h"
#include "tools/io/progress.h"
#include "tools/io/report.h"

namespace mcc::tools {

namespace {

struct RunOptions {
  std::string plan;
  SessionRequest session;
  InputRequest input;
  std::string output;
  bool bench = false;
  bool profile = false;
  bool json = false;
  int warmup = 3;
  double duration = 2;
  int64_t iterations = 0;
};

double elapsed_ms(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Json tensors_json(const std::vector<PlanTensor>& descriptions, const std::vector<Tensor>& tensors) {
  Json result = Json::array();
  for (size_t i = 0; i < tensors.size(); ++i) {
    result.push_back({{"name", descriptions[i].name},
                      {"dtype", std::string(dtype_info(tensors[i].dtype()).name)},
                      {"shape", tensors[i].shape()}});
  }
  return result;
}

Json common_json(const RunOptions& options, const PlanHandle& plan, const SessionHandle& session,
                 const std::vector<Tensor>& inputs, double load_ms) {
  int64_t arena = 0;
  int64_t lower_bound = 0;
  session.check(mcc_session_arena(session.get(), &arena, &lower_bound));
  return {{"plan", options.plan},
          {"model", mcc_plan_model_name(plan.get())},
          {"device", mcc_session_device(session.get())},
          {"target", mcc_session_target(session.get())},
          {"inputs", tensors_json(plan.inputs(), inputs)},
          {"arena", {{"bytes", arena}, {"lower_bound_bytes", lower_bound}}},
          {"load_ms", load_ms},
          {"bind_ms", session.timings().bind_ms}};
}

void print_outputs(const PlanHandle& plan, const std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::printf("%s: %s%s %s\n", plan.outputs()[i].name.c_str(),
                std::string(dtype_info(outputs[i].dtype()).name).c_str(),
                dims_text(outputs[i].shape()).c_str(), summary_text(outputs[i]).c_str());
  }
}

void save_outputs(const RunOptions& options, const PlanHandle& plan,
                  const std::vector<Tensor>& outputs) {
  if (options.output.empty()) return;
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < outputs.size(); ++i) {
    named.emplace_back(plan.outputs()[i].name, outputs[i]);
  }
  write_npz(options.output, named);
}

void report_bench(const RunOptions& options, SessionHandle& session, std::vector<Tensor>& inputs,
                  std::vector<Tensor>& outputs, Json& json) {
  Progress progress;
  progress.update("measuring");
  const bool counted = options.iterations > 0;
  const mcc_bench_options bench{sizeof bench, options.warmup, counted ? 0 : options.duration,
                                options.iterations};
  const mcc_bench_result result = session.bench(inputs, outputs, bench);
  progress.clear();
  json["latency_ms"] = {{"min", result.minimum_ms}, {"mean", result.mean_ms},
                        {"median", result.median_ms}, {"p90", result.p90_ms},
                        {"p95", result.p95_ms},       {"p99", result.p99_ms}};
  json["device_ms"] = {{"median", result.device_median_ms}};
  json["throughput_per_s"] = result.throughput_per_s;
  json["iterations"] = result.iterations;
  if (options.json) return;
  std::printf("latency ms: min %.3f, mean %.3f, median %.3f, p90 %.3f, p95 %.3f, p99 %.3f\n",
              result.minimum_ms, result.mean_ms, result.median_ms, result.p90_ms, result.p95_ms,
              result.p99_ms);
  std::printf("device ms: median %.3f (without copies between host and device)\n",
              result.device_median_ms);
  std::printf("throughput: %.2f per second over %lld runs\n", result.throughput_per_s,
              static_cast<long long>(result.iterations));
}

void report_profile(const RunOptions& options, const PlanHandle& plan, SessionHandle& session,
                    std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, Json& json) {
  const std::vector<mcc_kernel_time> times = session.profile(inputs, outputs);
  const Json manifest = Json::parse(mcc_plan_json(plan.get()));
  Json rows = Json::array();
  for (const mcc_kernel_time& time : times) {
    const Json& step = manifest["program"][static_cast<size_t>(time.instruction)];
    Json row = {{"instruction", time.instruction}, {"kernel", time.kernel}, {"ms", time.milliseconds}};
    if (step["op"] == "launch") {
      const Json& kernel = manifest["kernels"][step["kernel"].get<size_t>()];
      row["class"] = kernel["class"];
      row["origin"] = kernel["origin"];
    }
    rows.push_back(row);
    if (options.json) continue;
    std::string origin;
    for (const Json& node : row.value("origin", Json::array())) {
      origin += (origin.empty() ? "" : " ") + node.get<std::string>();
    }
    std::printf("%10.4f ms  %-6s %-12s %s\n", time.milliseconds, time.kernel,
                row.value("class", "copy").c_str(), origin.c_str());
  }
  json["profile"] = std::move(rows);
}

int run(const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const PlanHandle plan(options.plan);
  SessionHandle session(plan, options.session);
  const double load_ms = elapsed_ms(start);
  std::vector<Tensor> inputs = make_inputs(plan.inputs(), options.input);
  std::vector<Tensor> outputs = session.bind(plan, inputs);
  session.run(inputs, outputs);
  Json json = common_json(options, plan, session, inputs, load_ms);
  json["first_run_ms"] = session.timings().first_run_ms;
  if (!options.json && (options.bench || options.profile)) {
    std::printf("device: %s, target %s\nload %.2f ms, first run %.2f ms\n",
                mcc_session_device(session.get()), mcc_session_target(session.get()), load_ms,
                session.timings().first_run_ms);
  }
  if (options.profile) report_profile(options, plan, session, inputs, outputs, json);
  if (options.bench) report_bench(options, session, inputs, outputs, json);
  save_outputs(options, plan, outputs);
  json["outputs"] = tensors_json(plan.outputs(), outputs);
  if (options.json) {
    print_json(json);
  } else if (!options.bench && !options.profile) {
    print_outputs(plan, outputs);
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& app, ToolContext& context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a plan, or measure it with --bench");
  command->add_option("plan", options->plan, "the plan file")->required()->type_name("PLAN");
  command->add_option("--device", options->session.device,
                      "auto, host, cuda, cuda:N, or sim: the PTX simulator (docs/simulator.md)");
  command->add_option("--threads", options->session.threads, "host threads (0: one per core)")
      ->check(CLI::Range(0, 4096));
  command->add_flag("--no-replay", options->session.disable_replay,
                    "cuda: launch kernel by kernel instead of replaying a CUDA graph");
  repeatable(command->add_option("--input", options->input.sources,
                                 "FILE.npz, or NAME=FILE.npy|FILE|random|zeros (default: random)"))
      ->type_name("SOURCE");
  repeatable(command->add_option("--dim", options->input.dims,
                                 "size of a dynamic dimension: NAME=SIZE"))
      ->type_name("NAME=SIZE");
  command->add_option("--seed", options->input.seed, "seed of random inputs");
  command->add_option("-o,--output", options->output, "write the outputs to this .npz file")
      ->type_name("FILE.npz");
  command->add_flag("--bench", options->bench, "measure the latency");
  command->add_option("--warmup", options->warmup, "runs before measuring")->check(CLI::Range(0, 1000000));
  command->add_option("--duration", options->duration, "seconds to measure")->check(CLI::NonNegativeNumber);
  command->add_option("--iterations", options->iterations, "measure exactly this many runs instead")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--profile", options->profile, "time every launch once");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &context] { context.exit_code = run(*options); });
}

}  // namespace mcc::tools
