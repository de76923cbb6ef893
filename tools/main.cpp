// mcc: the command line. Parses, runs one subcommand, maps failures to the documented exit codes.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <exception>
#include <new>

#include "lib/support/error.h"
#include "lib/support/version.h"
#include "runtime/sim_device/sim_device.h"
#include "runtime/support/error.h"
#include "tools/commands.h"
#include "tools/io/printable.h"

namespace {

using mcc::ExitCode;
using mcc::tools::ToolContext;

struct CommandRow {
  void (*add)(CLI::App&, ToolContext&);
};
constexpr CommandRow kCommands[] = {{mcc::tools::add_compile}, {mcc::tools::add_run},
                                    {mcc::tools::add_inspect}, {mcc::tools::add_verify},
                                    {mcc::tools::add_profile}, {mcc::tools::add_sim},
                                    {mcc::tools::add_ops},     {mcc::tools::add_doctor},
                                    {mcc::tools::add_opt},     {mcc::tools::add_completion}};

int report(ExitCode code, const char* message) {
  spdlog::error("{}", mcc::tools::printable(message));
  if (code == ExitCode::internal) {
    spdlog::error("this is a bug in mcc: please report it with the model and the command line");
  }
  return static_cast<int>(code);
}

void set_log_level(const std::string& name) {
  spdlog::set_level(spdlog::level::from_str(name));
}

// Exceptions of the compiler carry their exit code; those of the runtime use the same numbers.
int run(CLI::App& app, ToolContext& context, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return context.exit_code;
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return static_cast<int>(ExitCode::usage);
  } catch (const mcc::Error& error) {
    return report(error.code(), error.what());
  } catch (const mcc::runtime::Error& error) {
    return report(static_cast<ExitCode>(error.status()), error.what());
  } catch (const std::bad_alloc&) {
    return report(ExitCode::environment, "out of memory");
  } catch (const std::exception& error) {
    return report(ExitCode::internal, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  mcc::runtime::register_device_kind(mcc::runtime::sim_device_kind());
  // Messages go to stderr: stdout carries results only.
  spdlog::set_default_logger(spdlog::stderr_color_mt("mcc"));
  spdlog::set_pattern("%^%l%$: %v");
  CLI::App app("mcc compiles ONNX models ahead of time to plan files and runs them.", "mcc");
  app.set_version_flag("--version", "mcc " + std::string(mcc::version()));
  app.require_subcommand(1);
  app.fallthrough();
  app.option_defaults()->always_capture_default();
  std::string log_level = "info";
  app.add_option("--log-level", log_level, "how much to tell on stderr")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}))
      ->each(set_log_level);
  ToolContext context;
  context.app = &app;
  for (const CommandRow& row : kCommands) row.add(app, context);
  return run(app, context, argc, argv);
}
