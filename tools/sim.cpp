// mcc sim: runs one kernel of a PTX file on the simulator, for people who debug kernels.
#include <chrono>
#include <cstdio>
#include <memory>

#include "lib/support/error.h"
#include "runtime/sim/orders.h"
#include "runtime/sim/tool/launch_spec.h"
#include "tools/commands.h"
#include "tools/io/files.h"
#include "tools/io/report.h"

namespace mcc::tools {

namespace {

struct SimOptions {
  std::string file;
  std::string launch;
  std::vector<std::string> arguments;
  int orders = 0;
  bool json = false;
};

using Count = unsigned long long;

Json kernel_json(const sim::KernelInfo& kernel) {
  Json parameters = Json::array();
  for (const sim::KernelParameter& parameter : kernel.parameters) {
    parameters.push_back({{"name", parameter.name}, {"bytes", parameter.bytes}});
  }
  return {{"name", kernel.name},
          {"parameters", std::move(parameters)},
          {"shared_bytes", kernel.static_shared_bytes},
          {"local_bytes", kernel.local_bytes},
          {"live_registers", kernel.live_registers}};
}

int list_kernels(const sim::Module& module, bool json) {
  Json rows = Json::array();
  for (const sim::KernelInfo& kernel : module.kernels()) {
    rows.push_back(kernel_json(kernel));
    if (json) continue;
    std::printf(
        "%s: %zu parameters, %lld bytes of shared memory, %lld of local memory, %d live "
        "registers\n",
        kernel.name.c_str(), kernel.parameters.size(),
        static_cast<long long>(kernel.static_shared_bytes),
        static_cast<long long>(kernel.local_bytes), kernel.live_registers);
  }
  if (json) print_json({{"architecture", module.architecture()}, {"kernels", std::move(rows)}});
  return 0;
}

Json finding_json(const sim::Finding& finding) {
  return {{"kind", sim::finding_name(finding.kind)},
          {"kernel", finding.kernel},
          {"line", finding.ptx_line},
          {"instruction", finding.instruction},
          {"source_file", finding.source_file},
          {"source_line", finding.source_line},
          {"block", {finding.block.x, finding.block.y, finding.block.z}},
          {"thread", {finding.thread.x, finding.thread.y, finding.thread.z}},
          {"address", finding.address},
          {"buffer", finding.buffer},
          {"message", finding.message},
          {"count", finding.count}};
}

Json report_json(const sim::LaunchReport& report) {
  Json findings = Json::array();
  for (const sim::Finding& finding : report.findings) findings.push_back(finding_json(finding));
  Json lines = Json::array();
  for (const sim::LineCounters& line : report.lines) {
    lines.push_back({{"line", line.ptx_line},
                     {"instruction", line.instruction},
                     {"warps", line.warps},
                     {"threads", line.threads},
                     {"requests", line.requests},
                     {"sectors", line.sectors},
                     {"diverged", line.diverged}});
  }
  return {{"clean", report.clean()},
          {"complete", report.complete},
          {"findings", std::move(findings)},
          {"output", report.output},
          {"warp_instructions", report.counters.warp_instructions},
          {"thread_instructions", report.counters.thread_instructions},
          {"bank_conflicts", report.counters.bank_conflicts()},
          {"coalescing", report.counters.coalescing()},
          {"lines", std::move(lines)}};
}

void print_report(const sim::LaunchReport& report, double seconds) {
  std::fputs(report.output.c_str(), stdout);
  std::fputs(report.text().c_str(), stdout);
  const sim::Counters& c = report.counters;
  std::printf("%.3f s, %.1f M thread instructions/s\n", seconds,
              static_cast<double>(c.thread_instructions) / seconds * 1e-6);
  std::printf("instructions: %llu warp, %llu thread\n", static_cast<Count>(c.warp_instructions),
              static_cast<Count>(c.thread_instructions));
  for (int i = 0; i < static_cast<int>(sim::InstClass::count); ++i) {
    if (c.by_class[i] == 0) continue;
    std::printf("  %-18s %llu\n", sim::class_name(static_cast<sim::InstClass>(i)),
                static_cast<Count>(c.by_class[i]));
  }
  std::printf(
      "global: %llu load and %llu store sectors, coalescing %.2f; unique bytes %llu read, %llu "
      "written\n",
      static_cast<Count>(c.global_load_sectors), static_cast<Count>(c.global_store_sectors),
      c.coalescing(), static_cast<Count>(c.unique_read_bytes),
      static_cast<Count>(c.unique_write_bytes));
  std::printf(
      "shared: %llu passes, %llu of them conflicts; barriers %llu; divergent branches %llu of "
      "%llu\n",
      static_cast<Count>(c.shared_load_passes + c.shared_store_passes),
      static_cast<Count>(c.bank_conflicts()), static_cast<Count>(c.barriers),
      static_cast<Count>(c.divergent_branches), static_cast<Count>(c.branches));
}

int run_kernel(const sim::Module& module, const SimOptions& options) {
  sim::LaunchSpec spec = sim::parse_launch(options.launch);
  if (spec.kernel.empty() && module.kernels().size() == 1) spec.kernel = module.kernels()[0].name;
  sim::Memory memory;
  sim::ArgumentSet arguments(memory, options.arguments);
  const auto start = std::chrono::steady_clock::now();
  const sim::LaunchReport report =
      sim::launch_in_orders(module, spec.kernel, memory, spec.grid, spec.block, spec.shared_bytes,
                            arguments.arguments(), spec.options, options.orders);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  arguments.save();
  if (options.json) {
    print_json(report_json(report));
  } else {
    print_report(report, seconds);
  }
  return report.clean() ? 0 : static_cast<int>(ExitCode::verification);
}

sim::Module parse_file(const std::string& file) {
  const std::string ptx = read_whole_file(file);
  try {
    return sim::Module::parse(ptx);
  } catch (const sim::SimError& error) {
    throw ModelError(file + ": " + error.what());
  }
}

int run(const SimOptions& options) {
  const sim::Module module = parse_file(options.file);
  if (module.kernels().empty()) throw ModelError(options.file + " holds no kernel (.entry)");
  if (options.launch.empty()) return list_kernels(module, options.json);
  try {
    return run_kernel(module, options);
  } catch (const sim::SimError& error) {  // the launch or the arguments do not fit the kernel
    throw UsageError(error.what());
  }
}

}  // namespace

void add_sim(CLI::App& app, ToolContext& context) {
  auto options = std::make_shared<SimOptions>();
  CLI::App* command =
      app.add_subcommand("sim", "Run a kernel of a PTX file on the simulator (docs/simulator.md)");
  command->add_option("file", options->file, "the PTX file")->required()->type_name("FILE.ptx");
  command
      ->add_option(
          "--launch", options->launch,
          "\"kernel=NAME grid=X,Y,Z block=X,Y,Z shared=BYTES\"; without it the kernels are listed")
      ->type_name("SPEC");
  command
      ->add_option("--args", options->arguments,
                   "one for each parameter: TYPE:VALUE, null, in:FILE, inout:FILE[:FILE], "
                   "out:TYPE:COUNT[:FILE], "
                   "zeros:…, iota:…, random:TYPE:COUNT[:SEED]")
      ->type_name("ARG...");
  command
      ->add_option("--orders", options->orders,
                   "run again in this many other orders of warps and lanes")
      ->check(CLI::Range(0, 1000));
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &context] { context.exit_code = run(*options); });
}

}  // namespace mcc::tools
