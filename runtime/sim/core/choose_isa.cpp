// Which instruction set the executor uses on this processor.
#include <cstring>
#include <string>

#include "runtime/sim/error.h"
#include "runtime/sim/exec/isa.h"

namespace mcc::sim {

namespace isa_base { extern const Isa kIsa; }
namespace isa_v3 { extern const Isa kIsa; }
namespace isa_v4 { extern const Isa kIsa; }

const Isa& choose_isa(const char* name) {
  struct Row { const Isa* isa; bool usable; };
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
  const Row rows[] = {{&isa_v4::kIsa, v4}, {&isa_v3::kIsa, v3}, {&isa_base::kIsa, true}};
  for (const Row& row : rows) {
    if (name == nullptr ? row.usable : std::strcmp(row.isa->name, name) == 0) {
      if (!row.usable) throw SimError(std::string("this processor cannot run the simulator's '") + name + "' code");
      return *row.isa;
    }
  }
  throw SimError(std::string("the simulator has no code for '") + name + "'; there are x86-64, x86-64-v3 and x86-64-v4");
}

}  // namespace mcc::sim
