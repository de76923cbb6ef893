// A session: one user of an executable, with its own queue, arena and bindings.
// Invariant: used by one thread at a time; the executable (and through it the plan) outlives it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/session/binding.h"
#include "runtime/session/executable.h"

namespace mcc::runtime {

struct SessionOptions {
  int threads = 0;
  bool disable_replay = false;
};

struct HostInput {
  const std::byte* data = nullptr;
  size_t bytes = 0;
};
struct HostOutput {
  std::byte* data = nullptr;
  size_t bytes = 0;
};

// One buffer that an instruction wrote; `data` is a copy that lives during the call.
struct Observation {
  int instruction = 0;
  int buffer = 0;
  int ordinal = 0;  // among the instruction's written buffers
  Dims dims;
  bool has_shape = false;
  std::span<const std::byte> data;
};
// Returns false to end observation of this run.
using Observer = std::function<bool(const Observation&)>;

struct SessionTimings {
  double bind_ms = 0;
  double first_run_ms = 0;
  double last_run_ms = 0;
  double last_device_ms = 0;
};

class Session {
 public:
  Session(std::shared_ptr<const Executable> executable, const SessionOptions& options);

  const Executable& executable() const { return *executable_; }
  int threads() const { return threads_; }

  // Fixes the input shapes; errors as bind_shapes, and Error(environment) without memory. On
  // failure the session is unbound.
  void bind(std::span<const Dims> input_shapes);
  // The current binding; Error(usage) when there is none.
  const Binding& binding() const;

  // Outputs whose size depends on data may be given without memory; read_output fetches them.
  void run(std::span<const HostInput> inputs, std::span<const HostOutput> outputs);
  // Copies an output that the last run had no memory for. Error(usage) when there is none.
  void read_output(size_t index, const HostOutput& output) const;
  // A run with a time for each instruction, in milliseconds.
  std::vector<double> profile(std::span<const HostInput> inputs,
                              std::span<const HostOutput> outputs);
  void observe(Observer observer) { observer_ = std::move(observer); }
  const SessionTimings& timings() const { return timings_; }
  // What the device counted in the last run (Queue::report); empty when it counts nothing.
  std::string report() const { return queue_->report(); }

 private:
  struct Block {
    std::unique_ptr<Memory> memory;
    int64_t capacity = -1;
  };
  // Where an input or output lives: memory on the device (absent when kernels work on host
  // memory), and staging for copies, or for caller memory that kernels cannot use directly.
  struct Mirror {
    Block device;
    Block staging;
    std::byte* address = nullptr;  // what kernels use in the current run
    bool staged = false;           // outputs: the last run's result is in `staging`
  };
  enum class Mode { normal, profile };

  void bind_fixed_shapes();
  void reserve(const Binding& binding);
  bool grow(Block& block, int64_t bytes, bool staging);
  std::byte* staging(Mirror& mirror, int64_t bytes);
  std::byte* address_of(const Binding& binding, int buffer) const;
  void resolve(Binding& binding);

  void execute(std::span<const HostInput> inputs, std::span<const HostOutput> outputs, Mode mode);
  void check_arguments(const Binding& binding, std::span<const HostInput> inputs,
                       std::span<const HostOutput> outputs) const;
  void place_inputs(Binding& binding, std::span<const HostInput> inputs);
  void place_outputs(Binding& binding, std::span<const HostOutput> outputs);
  void fetch_outputs(const Binding& binding, std::span<const HostOutput> outputs);
  void run_static(Binding& binding, Mode mode);
  void run_phases(Binding& binding, std::span<const HostOutput> outputs, Mode mode);
  int64_t read_symbol(const Binding& binding, const SymbolInfo& symbol);
  void run_steps(const Binding& binding, size_t begin, Mode mode);
  void issue(const BoundStep& step);
  bool notify(const Binding& binding, int instruction);

  std::shared_ptr<const Executable> executable_;
  const Manifest& manifest_;
  SessionOptions options_;
  int threads_ = 1;
  std::unique_ptr<Queue> queue_;
  std::vector<Block> arenas_;  // one per phase
  std::vector<Mirror> inputs_;
  std::vector<Mirror> outputs_;
  // Raised whenever memory moves: bindings resolved earlier are resolved again.
  uint64_t generation_ = 1;
  std::vector<std::unique_ptr<Binding>> bindings_;  // most recently used last
  Binding* current_ = nullptr;
  Observer observer_;
  bool watching_ = false;  // the observer still wants to see this run
  SessionTimings timings_;
};

}  // namespace mcc::runtime
