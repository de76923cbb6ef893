// The host image: units of kernels, compiled in parallel, linked without any library.
#include "lib/backend/host/compile_host.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "lib/support/error.h"
#include "lib/support/subprocess.h"
#include "skeletons.h"

namespace mcc::backend {
namespace {

constexpr size_t kSmallKernelsPerUnit = 12;

struct Unit {
  std::string text;
  std::string object;  // bytes
};

std::string find_compiler() {
  if (const char* chosen = std::getenv("MCC_HOST_CXX"); chosen != nullptr && *chosen != '\0') return chosen;
  for (const char* name : {"g++", "clang++"}) {
    if (program_exists(name)) return name;
  }
  throw EnvironmentError(
      "no C++ compiler for the host kernels: install g++ or clang++, set MCC_HOST_CXX, or compile with "
      "--no-host");
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& contents) {
  std::ofstream file(path, std::ios::binary);
  file << contents;
  if (!file.flush()) throw EnvironmentError("cannot write the temporary file '" + path + "'");
}

// The compiler's identity without running it on every compile of a plan: its --version text.
std::string compiler_version(const std::string& compiler, const std::string& directory) {
  const std::string source = directory + "/version.cpp";
  const std::string output = directory + "/version.txt";
  write_file(source, "__VERSION__\n");
  const ProcessResult result = run_process({compiler, "-E", "-P", "-o", output, source});
  if (result.exit_code != 0) throw EnvironmentError("'" + compiler + "' does not work: " + result.errors);
  std::string text = read_file(output);
  std::erase(text, '"');
  std::erase(text, '\n');
  return compiler + " " + text;
}

std::vector<std::string> compile_flags(const Target& target) {
  std::vector<std::string> flags{"-x", "c++", "-std=c++17", "-O3", "-march=" + target.name, "-fPIC",
          "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-trapping-math",
          "-ffp-contract=fast", "-fwrapv", "-fno-strict-aliasing", "-fno-asynchronous-unwind-tables",
          "-fno-stack-protector", "-fvisibility=default", "-fno-ident", "-w"};
  if (target.vector_bytes >= 64) flags.push_back("-mprefer-vector-width=512");
  return flags;
}

std::string preamble() {
  std::string text;
  for (std::string_view part : {skeletons::prelude_host_h, skeletons::prelude_host_math_h,
                                skeletons::prelude_host_rare_h, skeletons::prelude_host_convert_h}) {
    text += part;
  }
  return text;
}

// One definition of the memory functions that compilers assume to exist.
constexpr const char* kMemoryFunctions = R"(
extern "C" __attribute__((visibility("hidden"))) void* memcpy(void* to, const void* from, unsigned long n) {
  char* t = (char*)to; const char* f = (const char*)from;
  for (unsigned long i = 0; i < n; ++i) { t[i] = f[i]; __asm__ volatile("" ::: "memory"); }
  return to;
}
extern "C" __attribute__((visibility("hidden"))) void* memset(void* to, int value, unsigned long n) {
  char* t = (char*)to;
  for (unsigned long i = 0; i < n; ++i) { t[i] = (char)value; __asm__ volatile("" ::: "memory"); }
  return to;
}
)";

bool is_heavy(const std::string& schedule) { return schedule == "conv" || schedule == "contraction"; }

std::vector<Unit> make_units(const std::vector<HostSource>& kernels) {
  std::vector<Unit> units;
  Unit small;
  size_t count = 0;
  for (const HostSource& kernel : kernels) {
    if (is_heavy(kernel.schedule)) {
      units.push_back({kernel.text, {}});
      continue;
    }
    small.text += kernel.text;
    if (++count == kSmallKernelsPerUnit) {
      units.push_back(std::move(small));
      small = {};
      count = 0;
    }
  }
  if (count != 0) units.push_back(std::move(small));
  units.push_back({kMemoryFunctions, {}});
  return units;
}

}  // namespace

HostImage compile_host(const std::vector<HostSource>& kernels, const Target& target,
                       const HostCompileOptions& options, const KernelCache& cache) {
  const std::string compiler = find_compiler();
  const TemporaryDirectory directory;
  HostImage image;
  image.compiler = compiler_version(compiler, directory.path());
  const std::vector<std::string> flags = compile_flags(target);
  std::string all_flags;
  for (const std::string& flag : flags) all_flags += flag + " ";
  const std::string prefix = preamble();
  std::vector<Unit> units = make_units(kernels);

  std::atomic<size_t> next{0};
  std::atomic<int> done{0};
  std::mutex mutex;
  std::exception_ptr failure;
  auto work = [&] {
    for (size_t i = next++; i < units.size(); i = next++) {
      try {
        const std::string key = KernelCache::key("host", {image.compiler, all_flags, prefix, units[i].text});
        if (std::optional<std::string> known = cache.load(key)) {
          units[i].object = std::move(*known);
        } else {
          const std::string base = directory.path() + "/u" + std::to_string(i);
          write_file(base + ".cpp", prefix + units[i].text);
          std::vector<std::string> command{compiler};
          command.insert(command.end(), flags.begin(), flags.end());
          command.insert(command.end(), {"-c", "-o", base + ".o", base + ".cpp"});
          const ProcessResult result = run_process(command);
          if (result.exit_code != 0) {
            throw InternalError("the host compiler refuses generated code: " + result.errors.substr(0, 2000));
          }
          units[i].object = read_file(base + ".o");
          cache.store(key, units[i].object);
        }
        const int finished = ++done;
        if (options.progress) {
          const std::lock_guard<std::mutex> lock(mutex);
          options.progress(finished, static_cast<int>(units.size()));
        }
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = std::current_exception();
        return;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);

  const std::string output = directory.path() + "/image.so";
  std::vector<std::string> link{compiler, "-shared", "-nostdlib", "-Wl,--build-id=none", "-Wl,-s",
                                "-Wl,-z,noexecstack", "-Wl,--hash-style=gnu", "-o", output};
  for (size_t i = 0; i < units.size(); ++i) {
    // The object's bytes may come from the cache: every unit is written out under its number.
    const std::string object = directory.path() + "/l" + std::to_string(i) + ".o";
    write_file(object, units[i].object);
    link.push_back(object);
  }
  const ProcessResult result = run_process(link);
  if (result.exit_code != 0) {
    throw EnvironmentError("linking the host image failed: " + result.errors.substr(0, 2000));
  }
  const std::string bytes = read_file(output);
  image.elf.resize(bytes.size());
  std::memcpy(image.elf.data(), bytes.data(), bytes.size());
  return image;
}

}  // namespace mcc::backend
