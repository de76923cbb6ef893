// The pass runner: order, verification, dumps, bisection, timing.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "lib/ir/text.h"
#include "lib/ir/verify.h"
#include "lib/optimizer/optimizer.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

#ifdef MCC_VERIFY_PASSES
constexpr bool kAlwaysVerify = true;
#else
constexpr bool kAlwaysVerify = false;
#endif

class Runner {
 public:
  Runner(Graph& graph, const OptimizerOptions& options) : graph_(graph), options_(options), context_{options} {}

  void run(const PassInfo& pass) {
    if (options_.stop_after >= 0 && count_ >= options_.stop_after) return;
    ++count_;
    if (options_.disabled.count(std::string(pass.name)) != 0) return;
    const auto begin = std::chrono::steady_clock::now();
    const bool changed = pass.run(graph_, context_);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    if (options_.time_passes) {
      char line[128];
      std::snprintf(line, sizeof line, "%3d %-34s %8.2f ms  %s\n", static_cast<int>(count_),
                    std::string(pass.name).c_str(), elapsed.count(), changed ? "changed" : "");
      print(line);
    }
    if (kAlwaysVerify || options_.verify) verify_graph(graph_, std::string(pass.name).c_str());
    if (options_.print_after.count("all") != 0 || options_.print_after.count(std::string(pass.name)) != 0) {
      print("// after " + std::string(pass.name) + "\n" + print_graph(graph_));
    }
    if (changed && !options_.dump_directory.empty()) dump(pass);
  }

 private:
  void print(const std::string& text) const {
    if (options_.print) {
      options_.print(text);
    } else {
      std::fputs(text.c_str(), stderr);
    }
  }

  void dump(const PassInfo& pass) const {
    std::filesystem::create_directories(options_.dump_directory);
    char number[16];
    std::snprintf(number, sizeof number, "%03d_", static_cast<int>(count_));
    const std::filesystem::path path = options_.dump_directory / (number + std::string(pass.name) + ".mcc");
    std::ofstream file(path);
    file << print_graph(graph_);
    if (!file.flush()) throw EnvironmentError("cannot write '" + path.string() + "'");
  }

  Graph& graph_;
  const OptimizerOptions& options_;
  PassContext context_;
  int64_t count_ = 0;
};

const PassInfo& find_pass(const std::string& name) {
  for (const PassInfo& pass : passes()) {
    if (pass.name == name) return pass;
  }
  std::string known;
  std::set<std::string_view> seen;
  for (const PassInfo& pass : passes()) {
    if (seen.insert(pass.name).second) known += (known.empty() ? "" : ", ") + std::string(pass.name);
  }
  throw UsageError("unknown pass '" + name + "'; known passes: " + known);
}

}  // namespace

void optimize(Graph& graph, const OptimizerOptions& options) {
  for (const std::string& name : options.disabled) find_pass(name);
  for (const std::string& name : options.print_after) {
    if (name != "all") find_pass(name);
  }
  Runner runner(graph, options);
  for (const PassInfo& pass : passes()) {
    if (pass.level <= options.level) runner.run(pass);
  }
}

void run_passes(Graph& graph, const std::vector<std::string>& names, const OptimizerOptions& options) {
  Runner runner(graph, options);
  for (const std::string& name : names) runner.run(find_pass(name));
}

}  // namespace mcc
