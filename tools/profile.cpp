// mcc profile: counts what every launch of a plan does on the simulator, and estimates its time on
// a named GPU by the roofline model.
#include "tools/profile.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "lib/support/error.h"
#include "tools/commands.h"
#include "tools/io/files.h"
#include "tools/io/inputs.h"
#include "tools/io/plan_handle.h"
#include "tools/io/progress.h"

namespace mcc::tools {

namespace {

struct ProfileOptions {
  std::string plan;
  SessionRequest session;
  InputRequest input;
  std::string gpu = "h100";
  std::string html;
  bool json = false;
};

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const sim::Gpu& gpu : sim::gpus()) names.emplace_back(gpu.name);
  return names;
}

Json gpu_json(const sim::Gpu& gpu) {
  return {{"name", gpu.name},
          {"sms", gpu.sms},
          {"clock_ghz", gpu.clock_ghz},
          {"memory_gb_per_s", gpu.memory_gb_s},
          {"fp32_tflops", gpu.fp32_tflops},
          {"tensor_f16_tflops", gpu.tensor_f16_tflops},
          {"source", gpu.source}};
}

// The launches with one estimate each instead of one for every GPU.
Json choose_estimates(Json launches, const sim::Gpu& gpu) {
  for (Json& launch : launches) {
    Json estimate = launch["estimates"][std::string(gpu.name)];
    launch.erase("estimates");
    launch["estimate"] = std::move(estimate);
  }
  return launches;
}

Json totals_json(const Json& launches) {
  double microseconds = 0;
  uint64_t warps = 0, threads = 0, sectors = 0, unique = 0, conflicts = 0;
  for (const Json& launch : launches) {
    const Json& counters = launch["counters"];
    const Json& global = counters["global"];
    microseconds += launch["estimate"]["total_us"].get<double>();
    warps += counters["warp_instructions"].get<uint64_t>();
    threads += counters["thread_instructions"].get<uint64_t>();
    sectors += global["load_sectors"].get<uint64_t>() + global["store_sectors"].get<uint64_t>();
    unique +=
        global["unique_read_bytes"].get<uint64_t>() + global["unique_write_bytes"].get<uint64_t>();
    conflicts += counters["shared"]["bank_conflicts"].get<uint64_t>();
  }
  return {{"launches", launches.size()}, {"estimated_us", microseconds},
          {"warp_instructions", warps},  {"thread_instructions", threads},
          {"sectors", sectors},          {"unique_bytes", unique},
          {"bank_conflicts", conflicts}};
}

void print_table(const Json& report) {
  std::printf("%-6s %-12s %10s %-13s %9s %9s %6s %6s %s\n", "kernel", "class", "est. us",
              "bound by", "MB moved", "MB least", "coal.", "occ.", "nodes");
  for (const Json& launch : report["launches"]) {
    const Json& global = launch["counters"]["global"];
    const double moved =
        32e-6 * (global["load_sectors"].get<double>() + global["store_sectors"].get<double>());
    const double least = 1e-6 * (global["unique_read_bytes"].get<double>() +
                                 global["unique_write_bytes"].get<double>());
    std::string nodes;
    for (const Json& node : launch["origin"])
      nodes += (nodes.empty() ? "" : " ") + node.get<std::string>();
    std::printf("%-6s %-12s %10.2f %-13s %9.3f %9.3f %6.2f %6.2f %s\n",
                launch["kernel"].get<std::string>().c_str(),
                launch["class"].get<std::string>().c_str(),
                launch["estimate"]["total_us"].get<double>(),
                launch["estimate"]["bound"].get<std::string>().c_str(), moved, least,
                global["coalescing"].get<double>(), launch["occupancy"]["fraction"].get<double>(),
                nodes.c_str());
  }
  const Json& totals = report["totals"];
  std::printf(
      "%lld launches, estimated %.1f us on %s (a lower bound from peak rates, not a measurement)\n",
      totals["launches"].get<long long>(), totals["estimated_us"].get<double>(),
      report["gpu"]["name"].get<std::string>().c_str());
}

// Counts one run; the session's device must be one that counts.
Json count_launches(const ProfileOptions& options, const PlanHandle& plan, SessionHandle& session) {
  std::vector<Tensor> inputs = make_inputs(plan.inputs(), options.input);
  std::vector<Tensor> outputs = session.bind(plan, inputs);
  Progress progress;
  progress.update("running on the simulator");
  session.run(inputs, outputs);
  progress.clear();
  const char* text = nullptr;
  session.check(mcc_session_report(session.get(), &text));
  if (*text == '\0') {
    throw UsageError("the device " + options.session.device +
                     " counts nothing: use --device sim, or `mcc run --profile` for times");
  }
  return Json::parse(text);
}

int profile(const ProfileOptions& options) {
  const sim::Gpu& gpu = *sim::find_gpu(options.gpu);  // the option was checked
  const PlanHandle plan(options.plan);
  SessionHandle session(plan, options.session);
  Json launches = choose_estimates(count_launches(options, plan, session), gpu);
  Json report = {{"plan", options.plan},
                 {"model", mcc_plan_model_name(plan.get())},
                 {"device", mcc_session_device(session.get())},
                 {"target", mcc_session_target(session.get())},
                 {"gpu", gpu_json(gpu)},
                 {"totals", totals_json(launches)}};
  report["launches"] = std::move(launches);
  if (!options.html.empty()) write_whole_file(options.html, profile_html(report, gpu));
  if (options.json) {
    print_json(report);
  } else {
    print_table(report);
  }
  return 0;
}

}  // namespace

void add_profile(CLI::App& app, ToolContext& context) {
  auto options = std::make_shared<ProfileOptions>();
  options->session.device = "sim";
  CLI::App* command = app.add_subcommand(
      "profile", "Count what a plan's kernels do and estimate their time on a GPU");
  command->add_option("plan", options->plan, "the plan file")->required()->type_name("PLAN");
  command->add_option("--device", options->session.device, "the device that counts: sim or sim:80");
  command->add_option("--gpu", options->gpu, "the GPU to estimate for")
      ->check(CLI::IsMember(gpu_names()));
  command->add_option("--threads", options->session.threads, "host threads (0: one per core)")
      ->check(CLI::Range(0, 4096));
  repeatable(command->add_option("--input", options->input.sources,
                                 "FILE.npz, or NAME=FILE.npy|FILE|random|zeros (default: random)"))
      ->type_name("SOURCE");
  repeatable(
      command->add_option("--dim", options->input.dims, "size of a dynamic dimension: NAME=SIZE"))
      ->type_name("NAME=SIZE");
  command->add_option("--seed", options->input.seed, "seed of random inputs");
  command->add_option("--html", options->html, "draw roofline and times into this file")
      ->type_name("FILE.html");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &context] { context.exit_code = profile(*options); });
}

}  // namespace mcc::tools
