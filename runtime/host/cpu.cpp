// CPUID through the compiler's built-ins, which also check that the system saves wide registers.
#include "runtime/host/cpu.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mcc::runtime {

std::vector<std::string_view> supported_isas() {
  std::vector<std::string_view> result;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") &&
                  __builtin_cpu_supports("ssse3");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) result.push_back("x86-64-v4");
  if (v3) result.push_back("x86-64-v3");
  if (v2) result.push_back("x86-64-v2");
#endif
  return result;
}

std::string processor_description() {
  std::string name = "unknown processor";
#if defined(__x86_64__)
  // CPUID leaves 0x80000002..4 hold the brand string.
  std::array<unsigned, 12> words{};
  bool known = true;
  for (unsigned i = 0; i < 3; ++i) {
    known = known && __get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1],
                                 &words[4 * i + 2], &words[4 * i + 3]) != 0;
  }
  if (known) {
    std::array<char, sizeof words + 1> text{};
    std::memcpy(text.data(), words.data(), sizeof words);
    name = text.data();
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
  }
#endif
  const std::vector<std::string_view> isas = supported_isas();
  if (isas.empty()) return name;
  return name + " (" + std::string(isas.front()) + ")";
}

}  // namespace mcc::runtime
