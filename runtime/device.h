// What a device is to the runtime: memory, images of kernels, and a queue that runs them.
// docs/adding-a-device.md explains how to add one; runtime/device_table.cpp lists them.
//
// Invariants: a Device is safe to share between threads; a Queue belongs to one session and one
// thread at a time; Memory and Image objects are destroyed before their Device. Everything reports
// failures as runtime::Error with a complete sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace mcc::runtime {

// A block of device memory, aligned to kBufferAlignment at least; contents undefined.
class Memory {
 public:
  virtual ~Memory() = default;
  // A device address: usable in launches and copies, by the processor only for host devices.
  virtual std::byte* address() const = 0;
};

// The loaded code of one target: function `i` is kernel `i` of the manifest.
class Image {
 public:
  virtual ~Image() = default;
};

// One launch with everything evaluated. Vectors are in the kernel's parameter order.
struct BoundLaunch {
  int kernel = -1;
  int instruction = -1;  // of the manifest's program
  std::vector<void*> buffers;
  std::vector<int> buffer_numbers;    // manifest buffers, parallel to `buffers`
  std::vector<int64_t> buffer_bytes;  // exact sizes, parallel to `buffers`
  std::vector<int64_t> dims;
  // Host launches
  int64_t parallel = 0;
  int64_t grain = 1;
  // CUDA launches
  int64_t grid[3] = {1, 1, 1};
  int block[3] = {1, 1, 1};
  int64_t shared_bytes = 0;
};

// A recorded sequence of launches and copies that replays at low cost.
class Recording {
 public:
  virtual ~Recording() = default;
};

// Orders work on a device. Copies and launches run in the order of the calls; host memory given to
// upload and download must stay valid until synchronize() returns.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void upload(std::byte* device, const std::byte* host, int64_t bytes) = 0;
  virtual void download(std::byte* host, const std::byte* device, int64_t bytes) = 0;
  virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void launch(const Image& image, const BoundLaunch& launch) = 0;
  virtual void synchronize() = 0;

  // Between begin_recording and end_recording launches and copies are recorded, not run.
  // Devices without recording keep these defaults; record() is then never called.
  virtual bool can_record() const { return false; }
  virtual void begin_recording() {}
  virtual std::unique_ptr<Recording> end_recording() { return nullptr; }
  virtual void replay(const Recording&) {}

  // Time stamps on the device's own clock, in queue order: mark(i) for a small slot number i,
  // then, after synchronize(), the time between two of them.
  virtual void mark(int slot) = 0;
  virtual double milliseconds_between(int from_slot, int to_slot) = 0;

  // What the device counted since mark(0), as a JSON array with one object per launch
  // (docs/cli.md, `mcc profile`); empty for devices that count nothing.
  virtual std::string report() const { return {}; }
};

struct QueueOptions {
  int threads = 0;            // host: 0 = one per usable core
  int64_t scratch_bytes = 0;  // host: the largest scratch of the plan's kernels
};

class Device {
 public:
  virtual ~Device() = default;
  // For people: "cuda:0 NVIDIA A100 (sm_80), driver 13.0".
  virtual std::string description() const = 0;
  // The manifest's best target for this device. Error(environment) that says what the plan has,
  // what the device needs, and how to compile for it.
  virtual const TargetInfo& choose_target(const Manifest& manifest) const = 0;
  // True when kernels work on ordinary host memory: inputs and outputs then need no copies.
  virtual bool uses_host_memory() const = 0;
  virtual std::unique_ptr<Memory> allocate(int64_t bytes) = 0;
  // Memory for copies between host and device, at best pinned; usable by the processor.
  virtual std::unique_ptr<Memory> allocate_staging(int64_t bytes) = 0;
  // The plan's weights where kernels can read them; may refer to the plan's mapping.
  virtual std::unique_ptr<Memory> place_weights(std::span<const std::byte> weights) = 0;
  virtual std::unique_ptr<Image> load(const Plan& plan, const TargetInfo& target) = 0;
  virtual std::unique_ptr<Queue> make_queue(const QueueOptions& options) = 0;
  // Error(usage) when a launch exceeds what the device can start; called when shapes are bound.
  virtual void check_launch(const KernelInfo& kernel, const BoundLaunch& launch) const = 0;
};

// One kind of device: a row of the table in device_table.cpp, or one that a program registers.
struct DeviceKind {
  std::string_view name;  // "host", "cuda"
  // Whether it can be used here; `text` gets what was found or why not. Never throws.
  bool (*probe)(std::string& text);
  // Opens a device; `options` is what follows the colon ("1" of "cuda:1"), "" when nothing does.
  std::shared_ptr<Device> (*open)(const std::string& options);
  bool automatic;  // considered for "auto", in table order
};

// The device number in the options of "cuda:1"; 0 when there are none. Error(usage) otherwise.
int parse_ordinal(std::string_view kind, const std::string& options);

// The table. Registered kinds come after the built-in ones.
std::span<const DeviceKind> device_kinds();
// Adds a kind that is not part of the runtime library (the simulator, which is larger than all the
// rest). To be called before any other function of the runtime; not thread-safe. A name that is
// there already is ignored.
void register_device_kind(const DeviceKind& kind);

// Opens "auto", "host", "cuda", "cuda:1"...: "auto" takes the first automatic device that is
// usable here and that the plan has a target for. Error(usage) for an unknown name,
// Error(environment) when the device cannot be used.
std::shared_ptr<Device> open_device(const std::string& name, const Manifest& manifest);

}  // namespace mcc::runtime
