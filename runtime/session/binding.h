// What a set of input shapes determines: symbol values, output shapes, buffer sizes, the arena's
// offsets and every launch. Device-independent; addresses are filled in by the session.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/plan/arena.h"

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

struct Binding {
  std::vector<Dims> input_shapes;
  std::vector<Dims> output_shapes;
  std::vector<int64_t> symbols;
  std::vector<int64_t> buffer_bytes;  // per manifest buffer
  std::vector<int64_t> input_bytes;
  std::vector<int64_t> output_bytes;
  ArenaPlan arena;                    // offsets per manifest buffer
  std::vector<BoundStep> steps;       // one per program instruction
  std::vector<std::vector<AddressUse>> input_uses;
  std::vector<std::vector<AddressUse>> output_uses;

  // Session state: which memory generation the addresses in `steps` belong to, and the recording
  // made with them.
  uint64_t generation = 0;
  std::unique_ptr<Recording> recording;
};

// Error(usage) naming the input, axis and limit when shapes do not fit the plan; Error(model) when
// the plan contradicts itself under them.
// `device` may be null: launches are then not checked against its limits.
std::unique_ptr<Binding> bind_shapes(const Manifest& manifest, const Device* device,
                                     std::span<const Dims> input_shapes);

// Replaces the address of buffer argument `use`.
void set_address(Binding& binding, const AddressUse& use, std::byte* base);

}  // namespace mcc::runtime
