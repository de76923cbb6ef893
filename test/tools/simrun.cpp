// simrun kernel.ptx "kernel=k grid=4 block=256" ARG...: runs one PTX file on the simulator and prints
// findings and counters. The texts are those of runtime/sim/tool/launch_spec.h.
// Exit code: 0 clean, 1 findings, 2 usage or PTX error.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "runtime/sim/report/gpu.h"
#include "runtime/sim/tool/launch_spec.h"

namespace {

int run(int argc, char** argv) {
  using namespace mcc::sim;
  std::ifstream file(argv[1]);
  if (!file) throw SimError(std::string("cannot open '") + argv[1] + "'");
  const std::string ptx((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Module module = Module::parse(ptx);
  if (argc == 2) {
    for (const KernelInfo& kernel : module.kernels()) {
      std::printf("%s: %zu parameters, %lld bytes of shared memory, %lld of local memory, %d live registers\n", kernel.name.c_str(),
                  kernel.parameters.size(), static_cast<long long>(kernel.static_shared_bytes), static_cast<long long>(kernel.local_bytes), kernel.live_registers);
    }
    return 0;
  }
  LaunchSpec spec = parse_launch(argv[2]);
  if (spec.kernel.empty() && module.kernels().size() == 1) spec.kernel = module.kernels()[0].name;
  Memory memory;
  ArgumentSet arguments(memory, std::vector<std::string>(argv + 3, argv + argc));
  const auto start = std::chrono::steady_clock::now();
  const LaunchReport report = launch(module, spec.kernel, memory, spec.grid, spec.block, spec.shared_bytes, arguments.arguments(), spec.options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  arguments.save();
  std::fputs(report.output.c_str(), stdout);
  std::fputs(report.text().c_str(), stdout);
  const Counters& c = report.counters;
  std::printf("%.3f s, %.1f M thread instructions/s\n", seconds, static_cast<double>(c.thread_instructions) / seconds * 1e-6);
  std::printf("instructions: %llu warp, %llu thread\n", static_cast<unsigned long long>(c.warp_instructions), static_cast<unsigned long long>(c.thread_instructions));
  for (int i = 0; i < static_cast<int>(InstClass::count); ++i) {
    if (c.by_class[i] != 0) std::printf("  %-18s %llu\n", class_name(static_cast<InstClass>(i)), static_cast<unsigned long long>(c.by_class[i]));
  }
  std::printf("global: %llu load and %llu store sectors, coalescing %.2f; unique bytes %llu read, %llu written\n", static_cast<unsigned long long>(c.global_load_sectors),
              static_cast<unsigned long long>(c.global_store_sectors), c.coalescing(), static_cast<unsigned long long>(c.unique_read_bytes), static_cast<unsigned long long>(c.unique_write_bytes));
  std::printf("shared: %llu passes, %llu of them conflicts; barriers %llu; divergent branches %llu of %llu\n", static_cast<unsigned long long>(c.shared_load_passes + c.shared_store_passes),
              static_cast<unsigned long long>(c.bank_conflicts()), static_cast<unsigned long long>(c.barriers), static_cast<unsigned long long>(c.divergent_branches), static_cast<unsigned long long>(c.branches));
  return report.clean() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: simrun kernel.ptx [\"kernel=NAME grid=X block=X\" ARG...]\n");
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simrun: %s\n", error.what());
    return 2;
  }
}
