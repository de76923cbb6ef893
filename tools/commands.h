// The subcommands of mcc: one file each, joined by the table in main.cpp.
#pragma once

#include <CLI/CLI.hpp>

namespace mcc::tools {

// What all subcommands share.
struct ToolContext {
  CLI::App* app = nullptr;  // the whole command line, for `completion`
  int exit_code = 0;        // set by the subcommand that ran; see docs/cli.md
};

// For options that may be given several times: each occurrence takes one value, so that
// `--input a.npz plan.bin` leaves plan.bin to the positional argument.
inline CLI::Option* repeatable(CLI::Option* option) {
  return option->allow_extra_args(false)->default_str("");
}

// Each adds its subcommand with its options and the callback that runs it. Callbacks report
// failures by throwing; main maps those to exit codes.
void add_compile(CLI::App& app, ToolContext& context);
void add_run(CLI::App& app, ToolContext& context);
void add_inspect(CLI::App& app, ToolContext& context);
void add_verify(CLI::App& app, ToolContext& context);
void add_ops(CLI::App& app, ToolContext& context);
void add_doctor(CLI::App& app, ToolContext& context);
void add_profile(CLI::App& app, ToolContext& context);
void add_sim(CLI::App& app, ToolContext& context);
void add_opt(CLI::App& app, ToolContext& context);
void add_completion(CLI::App& app, ToolContext& context);

}  // namespace mcc::tools
