// mcc doctor: what this machine has for compiling and running, what is missing, how to get it.
#include <dlfcn.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "lib/backend/cuda/nvrtc.h"
#include "lib/support/error.h"
#include "lib/support/version.h"
#include "tools/commands.h"
#include "tools/io/plan_handle.h"
#include "tools/io/report.h"

namespace mcc::tools {

namespace {

enum class Need { compile_host, compile_cuda, run_host, run_cuda, optional };

struct Finding {
  std::string name;
  Need need = Need::optional;
  bool ok = false;
  std::string detail;  // what was found, or why it cannot be used
  std::string advice;  // how to get it, when missing
};

const char* need_text(Need need) {
  switch (need) {
    case Need::compile_host: return "compile for the host";
    case Need::compile_cuda: return "compile for GPUs";
    case Need::run_host: return "run on the host";
    case Need::run_cuda: return "run on GPUs";
    case Need::optional: return "optional";
  }
  return "";
}

// The first of the libraries that loads: its path as the loader found it.
Finding find_library(const std::string& name, Need need, std::initializer_list<const char*> files,
                     const std::string& advice) {
  Finding finding{name, need, false, "not found", advice};
  for (const char* file : files) {
    void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    finding.ok = true;
    finding.detail = file;
    break;  // stays loaded: unloading some of these libraries is not safe
  }
  return finding;
}

Finding find_device(const char* kind, Need need, const std::string& advice) {
  Finding finding{kind, need, false, "this build has no such device", advice};
  for (int i = 0; i < mcc_device_count(); ++i) {
    if (std::string(mcc_device_name(i)) != kind) continue;
    std::array<char, 1024> text{};
    finding.ok = mcc_device_probe(i, text.data(), text.size()) != 0;
    finding.detail = text.data();
  }
  return finding;
}

// The first executable of that name on PATH.
std::filesystem::path find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string directory;
  for (const char* p = path != nullptr ? path : ""; ; ++p) {
    if (*p != ':' && *p != '\0') {
      directory += *p;
      continue;
    }
    const std::filesystem::path candidate = std::filesystem::path(directory) / name;
    if (!directory.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    directory.clear();
    if (*p == '\0') return {};
  }
}

Finding find_compiler() {
  Finding finding{"host compiler", Need::compile_host, false, "neither g++ nor clang++ is on PATH",
                  "install g++ (apt install g++)"};
  const char* chosen = std::getenv("MCC_HOST_CXX");
  for (const std::string& name : {std::string(chosen != nullptr ? chosen : ""), std::string("g++"),
                                  std::string("clang++"), std::string("c++")}) {
    if (name.empty()) continue;
    const std::filesystem::path program =
        name.find('/') != std::string::npos ? std::filesystem::path(name) : find_program(name);
    if (program.empty() || ::access(program.c_str(), X_OK) != 0) continue;
    finding.ok = true;
    finding.detail = program.string();
    break;
  }
  return finding;
}

Finding find_nvrtc() {
  Finding finding{"NVRTC", Need::compile_cuda, false, "",
                  "install the CUDA toolkit, or pip install nvidia-cuda-nvrtc"};
  try {
    const auto nvrtc = backend::Nvrtc::open();
    finding.ok = true;
    finding.detail = nvrtc->version() + ", " + nvrtc->path();
  } catch (const Error& error) {
    finding.detail = error.what();
  }
  return finding;
}

Finding find_memory() {
  struct sysinfo info {};
  ::sysinfo(&info);
  const auto unit = static_cast<int64_t>(info.mem_unit);
  return {"memory", Need::optional, true,
          bytes_text(static_cast<int64_t>(info.totalram) * unit) + ", " +
              bytes_text(static_cast<int64_t>(info.freeram) * unit) + " free",
          ""};
}

std::vector<Finding> examine() {
  return {
      find_device("host", Need::run_host, "plans need an x86-64 processor with AVX2"),
      find_memory(),
      find_compiler(),
      find_nvrtc(),
      find_device("cuda", Need::run_cuda, "install the NVIDIA driver (R525 or newer)"),
      find_library("cuBLASLt", Need::optional, {"libcublasLt.so.13", "libcublasLt.so.12"},
                   "pip install nvidia-cublas; only plans with library tactics use it"),
      find_library("cuDNN", Need::optional, {"libcudnn.so.9"},
                   "pip install nvidia-cudnn-cu13; only plans with library tactics use it"),
  };
}

int run(bool as_json) {
  const std::vector<Finding> findings = examine();
  Json rows = Json::array();
  bool can_compile = false;
  bool can_run = false;
  for (const Finding& finding : findings) {
    can_compile |= finding.ok && (finding.need == Need::compile_host || finding.need == Need::compile_cuda);
    can_run |= finding.ok && (finding.need == Need::run_host || finding.need == Need::run_cuda);
    rows.push_back({{"name", finding.name},
                    {"for", need_text(finding.need)},
                    {"ok", finding.ok},
                    {"detail", finding.detail},
                    {"advice", finding.ok ? "" : finding.advice}});
    if (as_json) continue;
    std::printf("%-4s %-14s %s\n", finding.ok ? "ok" : "--", finding.name.c_str(),
                finding.detail.c_str());
    if (!finding.ok) {
      std::printf("     needed to: %s; %s\n", need_text(finding.need), finding.advice.c_str());
    }
  }
  if (as_json) {
    print_json({{"version", std::string(version())},
                {"findings", std::move(rows)},
                {"can_compile", can_compile},
                {"can_run", can_run}});
  }
  return static_cast<int>(can_compile && can_run ? ExitCode::success : ExitCode::environment);
}

}  // namespace

void add_doctor(CLI::App& app, ToolContext& context) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("doctor", "Check driver, toolkit, compilers and processor");
  command->add_flag("--json", *json, "print one JSON object");
  command->callback([json, &context] { context.exit_code = run(*json); });
}

}  // namespace mcc::tools
