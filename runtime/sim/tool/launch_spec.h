// Launches described by text, for the command line and test tools.
//
// A launch:   "kernel=NAME grid=X[,Y[,Z]] block=X[,Y[,Z]] [shared=BYTES] [seed=N] [threads=N]
//              [checks=0|1] [counters=0|1]", in any order, separated by spaces; the kernel may be
//              left out when the module has only one.
// Arguments, one text each, in the order of the kernel's parameters:
//   TYPE:VALUE                 a scalar: i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
//   null                       a null pointer
//   in:FILE                    a read-only buffer from a file (.npy, anything else is raw bytes)
//   inout:FILE[:FILE]          a buffer with contents; written to the second file after the launch
//   out:TYPE:COUNT[:FILE]      an uninitialised buffer; written to the file after the launch
//   zeros:TYPE:COUNT[:FILE]    a writable buffer of zeros
//   iota:TYPE:COUNT            0, 1, 2, ...
//   random:TYPE:COUNT[:SEED]   uniform in [-1, 1), integers in [-100, 100] or [0, 100]; deterministic
// COUNT may be a product such as 64*128. Buffers are named "arg0", "arg1"... in findings.
#pragma once

#include <string>
#include <vector>

#include "runtime/sim/sim.h"

namespace mcc::sim {

struct LaunchSpec {
  std::string kernel;
  Dim3 grid, block;
  uint32_t shared_bytes = 0;
  LaunchOptions options;
};
// SimError for an unknown key or a malformed value.
LaunchSpec parse_launch(const std::string& text);

// Arguments and the buffers they need, placed in a Memory.
class ArgumentSet {
 public:
  // SimError naming the argument that cannot be understood.
  ArgumentSet(Memory& memory, const std::vector<std::string>& texts);
  const Arguments& arguments() const { return arguments_; }
  // Writes the buffers that name an output file.
  void save() const;

 private:
  struct Output {
    Address address = 0;
    size_t bytes = 0;
    std::string dtype;  // for .npy
    std::string path;
    std::vector<int64_t> shape;
  };
  Memory& memory_;
  Arguments arguments_;
  std::vector<Output> outputs_;
};

}  // namespace mcc::sim
