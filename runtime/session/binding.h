// What a set of input shapes (and, for data-dependent sizes, values read while running)
// determines: symbol values, output shapes, buffer sizes, arena offsets and every launch.
// Device-independent; addresses are filled in by the session.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/plan/arena.h"
#include "runtime/session/phases.h"

namespace mcc::runtime {

using Dims = std::vector<int64_t>;

struct BoundStep {
  InstructionKind kind = InstructionKind::launch;
  BoundLaunch launch;            // addresses unset until resolved
  std::vector<int> buffers;      // manifest buffers of the launch, or {from, to} of a copy
  void* from = nullptr;          // copy, once resolved
  void* to = nullptr;
  int64_t bytes = 0;             // copy
};

// Where an input's or output's address occurs, so that it can be replaced between runs.
struct AddressUse {
  size_t step = 0;
  size_t argument = 0;  // position in BoundStep::buffers
  int64_t offset = 0;   // of an alias
};

// Sizes that are not known yet are -1.
struct Binding {
  std::vector<Dims> input_shapes;
  std::vector<Dims> output_shapes;
  std::vector<int64_t> symbols;
  std::vector<int64_t> buffer_bytes;  // per manifest buffer
  std::vector<int64_t> input_bytes;
  std::vector<int64_t> output_bytes;
  std::vector<ArenaPlan> arenas;      // one per bound phase; offsets per manifest buffer
  std::vector<BoundStep> steps;       // one per instruction of the bound phases
  std::vector<std::vector<AddressUse>> input_uses;
  std::vector<std::vector<AddressUse>> output_uses;

  // Session state: which memory generation the addresses in `steps` belong to, and the recording
  // made with them.
  uint64_t generation = 0;
  std::unique_ptr<Recording> recording;
};

// Binds what the input shapes alone determine; for a static plan that is everything. `device` may
// be null: launches are then not checked against its limits. Error(usage) naming the input, axis
// and limit when shapes do not fit the plan; Error(model) when the plan contradicts itself.
std::unique_ptr<Binding> bind_shapes(const Manifest& manifest, const PhaseTable& phases,
                                     const Device* device, std::span<const Dims> input_shapes);

// Sets a symbol read at run time. Error(usage) when it is out of its range.
void set_symbol(const Manifest& manifest, Binding& binding, int symbol, int64_t value);
// Binds the next phase, all of whose symbols are set.
void bind_phase(const Manifest& manifest, const PhaseTable& phases, const Device* device,
                Binding& binding);
// Forgets everything that run-time values determined.
void unbind_phases(const Manifest& manifest, const PhaseTable& phases, Binding& binding);

// Replaces the address of buffer argument `use`.
void set_address(Binding& binding, const AddressUse& use, std::byte* base);

}  // namespace mcc::runtime
