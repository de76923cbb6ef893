// What follows the colon in `--device sim:80,orders=2,checks=1,counters=1`.
#pragma once

#include <string>

namespace mcc::runtime {

struct SimOptions {
  int architecture = 0;  // 80 for sm_80; 0: the highest PTX target of the plan
  int orders = 0;        // further runs of every launch, each in another order of warps and lanes
  bool checks = true;    // memory, initialisation, races, barriers
  bool counters = true;  // sectors, bank conflicts, traffic by buffer
};

// Error(usage) naming the part that is not understood.
SimOptions parse_sim_options(const std::string& text);

}  // namespace mcc::runtime
