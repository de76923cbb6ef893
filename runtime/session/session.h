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

  void run(std::span<const HostInput> inputs, std::span<const HostOutput> outputs);
  // A run with a time for each instruction, in milliseconds.
  std::vector<double> profile(std::span<const HostInput> inputs,
                              std::span<const HostOutput> outputs);
  void observe(Observer observer) { observer_ = std::move(observer); }
  const SessionTimings& timings() const { return timings_; }

 private:
  // Memory of inputs or outputs on a device with memory of its own, or, on the host, for caller
  // memory that is not aligned as kernels expect.
  struct Mirror {
    std::unique_ptr<Memory> device;   // absent when kernels work on host memory
    std::unique_ptr<Memory> staging;  // allocated on first need
    int64_t device_capacity = -1;
    int64_t staging_capacity = -1;
  };
  enum class Mode { normal, profile };

  void bind_fixed_shapes();
  void reserve(Binding& binding);
  void resolve(Binding& binding);
  std::byte* staging(Mirror& mirror, int64_t bytes);
  void execute(std::span<const HostInput> inputs, std::span<const HostOutput> outputs, Mode mode);
  void run_program(Binding& binding, Mode mode);
  void issue(const BoundStep& step);
  bool notify(const Binding& binding, int instruction);

  std::shared_ptr<const Executable> executable_;
  const Manifest& manifest_;
  SessionOptions options_;
  int threads_ = 1;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Memory> arena_;
  int64_t arena_capacity_ = -1;
  std::vector<Mirror> inputs_;
  std::vector<Mirror> outputs_;
  // Raised whenever device memory moves: bindings resolved earlier are resolved again.
  uint64_t generation_ = 1;
  std::vector<std::unique_ptr<Binding>> bindings_;  // most recently used last
  Binding* current_ = nullptr;
  Observer observer_;
  SessionTimings timings_;
};

}  // namespace mcc::runtime
