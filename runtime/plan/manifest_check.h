// Checks of a manifest that need several of its parts together.
#pragma once

#include <cstdint>

#include "runtime/plan/manifest.h"

namespace mcc::runtime {

// Error(model) naming the first violation: buffers against the signature, the weights section's
// size, the arena and the program; lifetimes and overlaps of a static arena; kernels against
// targets. What depends on symbol values is checked when shapes are bound.
void check_manifest(const Manifest& manifest, uint64_t weights_bytes);

}  // namespace mcc::runtime
