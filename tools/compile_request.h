// The options that decide what a model becomes, shared by `compile`, which records them in the
// plan, and `verify`, which repeats the import and the optimisation.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "lib/frontend/import.h"
#include "lib/optimizer/optimizer.h"

namespace mcc::tools {

// As given on the command line.
struct CompileRequest {
  std::vector<std::string> inputs;  // "name:1x3xHx224"
  std::vector<std::string> dims;    // "batch=1..64", "batch=4"
  std::string layout = "auto";
  int level = 2;
  int64_t folding_limit_bytes = int64_t{64} << 20;
  std::vector<std::string> disabled;
  int64_t stop_after = -1;
};

// Adds the options to a subcommand.
void add_request_options(CLI::App& command, CompileRequest& request);

// UsageError naming the option when malformed.
ImportOptions import_options(const CompileRequest& request);
OptimizerOptions optimizer_options(const CompileRequest& request);

// The form that the plan's manifest keeps under "options".
std::string request_to_json(const CompileRequest& request);
// Its inverse; ModelError when the text was not written by request_to_json.
CompileRequest request_from_json(const std::string& text);

// import_model plus the report of problems: throws ModelError with all of them. A file named *.ir
// is a graph in text form instead (see `mcc opt`).
Graph import_checked(const std::string& model, const ImportOptions& options);

}  // namespace mcc::tools
