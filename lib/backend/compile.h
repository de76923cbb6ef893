// The backend's front door: an optimised graph becomes a plan file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc {

struct CompileOptions {
  std::vector<std::string> architectures{"sm_80", "sm_89", "sm_90"};
  bool ptx = true;  // one PTX image of the lowest architecture for newer GPUs
  // PTX of these architectures too, for the device `sim`; no CUBIN unless `architectures` has them.
  std::vector<std::string> sim_architectures;
  std::vector<std::string> host_isas{"x86-64-v3", "x86-64-v4"};  // empty: no host code
  int threads = 0;  // 0: one per processor
  std::filesystem::path cache_directory;  // empty: the user's cache directory
  bool use_cache = true;
  bool keep_sources = false;  // store the generated source text in the plan
  std::string options_json = "{}";  // recorded in the manifest
  // Called from the compiling thread with a stage's name and how far it is; may be empty.
  std::function<void(const std::string& stage, int done, int total)> progress;
};

struct CompileReport {
  int64_t launches = 0;
  int64_t kernels = 0;
  int64_t weights_bytes = 0;
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound_bytes = 0;
  int64_t plan_bytes = 0;
};

// Writes the plan to a temporary file beside `path` and renames it. EnvironmentError when a
// compiler is missing or the disk is full; ModelError when an operator has no schedule.
CompileReport compile_plan(const Graph& graph, const CompileOptions& options,
                           const std::filesystem::path& path);

enum class EmitStage { kernels, cuda, host, ptx };
// The text of one stage for all kernels, for people and tests.
std::string emit_stage(const Graph& graph, const CompileOptions& options, EmitStage stage);

}  // namespace mcc
