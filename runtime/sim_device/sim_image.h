// A target's PTX, decoded, with what a queue must know of each kernel.
#pragma once

#include <vector>

#include "runtime/device.h"
#include "runtime/sim/sim.h"

namespace mcc::runtime {

class SimImage : public Image {
 public:
  struct Kernel {
    const KernelInfo* info = nullptr;  // the manifest's
    const sim::Module* module = nullptr;
    int64_t static_shared_bytes = 0;
    int registers = 0;  // per thread, as ptxas reported; 0: not known
  };

  // Error(internal) when the simulator does not know an instruction, or a kernel is missing.
  SimImage(const Plan& plan, const TargetInfo& target);
  const Kernel& kernel(int number) const { return kernels_[static_cast<size_t>(number)]; }
  const Manifest& manifest() const { return manifest_; }
  int architecture() const { return architecture_; }
  // Whether no earlier instruction writes the memory that argument `argument` of `instruction`
  // names: what lies there is then left over from other buffers of the arena.
  bool writes_first(int instruction, size_t argument) const;

 private:
  void find_first_writes();

  const Manifest& manifest_;
  int architecture_ = 0;
  std::vector<sim::Module> modules_;  // one for each section of the target
  std::vector<Kernel> kernels_;
  std::vector<std::vector<bool>> first_writes_;  // by instruction and argument
};

}  // namespace mcc::runtime
