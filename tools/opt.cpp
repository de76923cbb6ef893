// mcc opt: runs passes on a graph in text form, for developers and tests.
#include <memory>

#include "lib/ir/text.h"
#include "lib/support/error.h"
#include "tools/commands.h"
#include "tools/compile_request.h"
#include "tools/io/files.h"

namespace mcc::tools {

namespace {

struct OptCommand {
  std::string input = "-";
  std::string output = "-";
  std::vector<std::string> passes;
  CompileRequest request;
  std::vector<std::string> print_after;
  std::string dump_directory;
  bool time_passes = false;
  bool full = false;
  bool list = false;
};

std::string read_input(const std::string& path) {
  return read_whole_file(path == "-" ? "/dev/stdin" : path);
}

int run(const OptCommand& command) {
  if (command.list) {
    std::string text;
    for (const PassInfo& pass : passes()) {
      text += std::string(pass.name) + " (level " + std::to_string(pass.level) + "): " +
              std::string(pass.reason) + "\n";
    }
    write_whole_file("-", text);
    return 0;
  }
  Graph graph = parse_graph(read_input(command.input));
  OptimizerOptions options = optimizer_options(command.request);
  options.print_after.insert(command.print_after.begin(), command.print_after.end());
  options.dump_directory = command.dump_directory;
  options.time_passes = command.time_passes;
  options.verify = true;
  if (command.passes.empty()) {
    optimize(graph, options);
  } else {
    run_passes(graph, command.passes, options);
  }
  PrintOptions print;
  print.full = command.full;
  write_whole_file(command.output, print_graph(graph, print));
  return 0;
}

}  // namespace

void add_opt(CLI::App& app, ToolContext& context) {
  auto options = std::make_shared<OptCommand>();
  CLI::App* command = app.add_subcommand("opt", "Run passes on a graph in text form");
  command->add_option("input", options->input, "the graph's text (-: standard input)")->type_name("FILE");
  command->add_option("-o,--output", options->output, "where the result goes (-: standard output)")
      ->type_name("FILE");
  repeatable(command->add_option("-p,--passes", options->passes,
                                 "run exactly these passes, in this order"))
      ->delimiter(',')
      ->type_name("PASS,...");
  command->add_option("--layout", options->request.layout, "memory layout of images")
      ->check(CLI::IsMember({"auto", "nchw", "nhwc"}));
  command->add_option("-O,--optimize", options->request.level, "optimisation level")
      ->check(CLI::Range(0, 2));
  repeatable(command->add_option("--disable", options->request.disabled, "passes to leave out"))
      ->delimiter(',');
  command->add_option("--stop-after", options->request.stop_after, "run only the first N passes (-1: all)");
  repeatable(command->add_option("--print-after", options->print_after,
                                 "print after these passes, or all"))
      ->delimiter(',');
  command->add_option("--dump-dir", options->dump_directory, "write every changed graph here");
  command->add_flag("--time-passes", options->time_passes, "print how long each pass took");
  command->add_flag("--full", options->full, "print all tensor elements, so that the text parses back");
  command->add_flag("--list", options->list, "list the passes of the pipeline");
  command->callback([options, &context] { context.exit_code = run(*options); });
}

}  // namespace mcc::tools
