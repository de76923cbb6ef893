// The optimizer's front door: the pass table, the runner and its options.
//
// A pass is a free function `bool pass(Graph&, PassContext&)` that returns whether it changed the
// graph. Adding one means a file in lib/optimizer/passes/, a line in passes.h and a row in
// pipeline.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc {

enum class LayoutChoice : uint8_t { automatic, channels_first, channels_last };

struct OptimizerOptions {
  int level = 2;  // 0: only what compiling needs; 1: cheap; 2: everything
  LayoutChoice layout = LayoutChoice::automatic;
  // Results of constant folding larger than this stay computed at run time.
  int64_t folding_limit_bytes = int64_t{64} << 20;
  std::set<std::string> print_after;       // pass names; "all"
  std::filesystem::path dump_directory;    // every changed graph is written here; empty: none
  std::set<std::string> disabled;          // pass names
  int64_t stop_after = -1;                 // run only the first N passes (bisection); -1: all
  bool time_passes = false;
  bool verify = false;  // after every pass; always on in builds with MCC_VERIFY_PASSES
  // Where printed graphs and timings go; stderr when empty.
  std::function<void(const std::string&)> print;
};

struct PassContext {
  const OptimizerOptions& options;
};

struct PassInfo {
  std::string_view name;
  bool (*run)(Graph&, PassContext&);
  int level;                // smallest optimisation level that includes it
  std::string_view reason;  // what it is for, one line
};

// The default pipeline in order; a pass may occur more than once.
std::span<const PassInfo> passes();

// Runs the pipeline. UsageError for unknown pass names in the options.
void optimize(Graph& graph, const OptimizerOptions& options);

// Runs exactly the named passes in this order (`mcc opt`). UsageError for an unknown name.
void run_passes(Graph& graph, const std::vector<std::string>& names, const OptimizerOptions& options);

}  // namespace mcc
