// Compiles host kernel text to one freestanding shared object per instruction set.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lib/backend/cache.h"
#include "lib/backend/target.h"

namespace mcc::backend {

struct HostSource {
  std::string name;      // exported symbol, "k0"
  std::string schedule;  // heavy schedules are compiled in units of their own
  std::string text;      // one extern "C" function
};

struct HostImage {
  std::vector<std::byte> elf;
  std::string compiler;  // first line of its --version
};

struct HostCompileOptions {
  int threads = 1;
  std::function<void(int done, int total)> progress;
};

// Uses $MCC_HOST_CXX, g++ or clang++, whichever exists first; EnvironmentError when none does.
// InternalError with the compiler's message when it refuses generated text. Same text, target and
// compiler: same bytes.
HostImage compile_host(const std::vector<HostSource>& kernels, const Target& target,
                       const HostCompileOptions& options, const KernelCache& cache);

}  // namespace mcc::backend
