// See sim_image.h.
#include "runtime/sim_device/sim_image.h"

#include <algorithm>

#include "runtime/support/error.h"

namespace mcc::runtime {

SimImage::SimImage(const Plan& plan, const TargetInfo& target)
    : manifest_(plan.manifest()), architecture_(target.compute_capability) {
  try {
    for (size_t section = 0; section < target.sections.size(); ++section) {
      const std::span<const std::byte> text = plan.image(target, section);
      modules_.push_back(
          sim::Module::parse({reinterpret_cast<const char*>(text.data()), text.size()}));
    }
  } catch (const sim::SimError& error) {
    fail_internal("the simulator does not understand the plan's PTX for " + target.name + ": " +
                  error.what());
  }
  for (size_t i = 0; i < manifest_.kernels.size(); ++i) {
    Kernel kernel;
    kernel.info = &manifest_.kernels[i];
    kernel.module = &modules_[static_cast<size_t>(target.kernels[i].image)];
    const sim::KernelInfo* found = kernel.module->find_kernel(kernel.info->name);
    if (found == nullptr)
      fail_internal("the plan's PTX for " + target.name + " lacks kernel " + kernel.info->name);
    kernel.static_shared_bytes = found->static_shared_bytes;
    kernel.registers = static_cast<int>(std::max<int64_t>(target.kernels[i].registers, 0));
    kernels_.push_back(kernel);
  }
  find_first_writes();
}

void SimImage::find_first_writes() {
  std::vector<bool> written(manifest_.buffers.size(), false);
  for (const Instruction& instruction : manifest_.program) {
    std::vector<bool> first(instruction.buffers.size(), false);
    std::vector<int> storages;
    for (int buffer : written_buffers(manifest_, instruction))
      storages.push_back(storage_of(manifest_, buffer));
    if (instruction.kind == InstructionKind::launch) {
      const size_t begin = first.size() - storages.size();
      for (size_t i = 0; i < storages.size(); ++i)
        first[begin + i] = !written[static_cast<size_t>(storages[i])];
    }
    for (int storage : storages) written[static_cast<size_t>(storage)] = true;
    first_writes_.push_back(std::move(first));
  }
}

bool SimImage::writes_first(int instruction, size_t argument) const {
  return first_writes_[static_cast<size_t>(instruction)][argument];
}

}  // namespace mcc::runtime
