// Facts derived from a manifest: storage, lifetimes, written buffers.
#include "runtime/plan/manifest.h"

#include <algorithm>

namespace mcc::runtime {

int storage_of(const Manifest& manifest, int buffer) {
  const BufferInfo& info = manifest.buffers[static_cast<size_t>(buffer)];
  return info.kind == BufferKind::alias ? info.of : buffer;
}

void derive_lifetimes(Manifest& manifest) {
  for (BufferInfo& buffer : manifest.buffers) buffer.first = buffer.last = -1;
  for (size_t i = 0; i < manifest.program.size(); ++i) {
    const Instruction& instruction = manifest.program[i];
    const auto touch = [&](int buffer) {
      BufferInfo& info = manifest.buffers[static_cast<size_t>(storage_of(manifest, buffer))];
      if (info.kind != BufferKind::arena) return;
      if (info.first < 0) info.first = static_cast<int>(i);
      info.last = static_cast<int>(i);
    };
    for (int buffer : instruction.buffers) touch(buffer);
    if (instruction.kind == InstructionKind::copy) {
      touch(instruction.from);
      touch(instruction.to);
    }
  }
}

std::vector<int> written_buffers(const Manifest& manifest, const Instruction& instruction) {
  if (instruction.kind == InstructionKind::copy) return {instruction.to};
  const KernelInfo& kernel = manifest.kernels[static_cast<size_t>(instruction.kernel)];
  return {instruction.buffers.end() - kernel.outputs, instruction.buffers.end()};
}

}  // namespace mcc::runtime
