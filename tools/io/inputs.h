// The inputs of a run, from what the user gave: archives, files, generated values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/ir/tensor.h"
#include "tools/io/plan_handle.h"

namespace mcc::tools {

struct InputRequest {
  // Each "FILE.npz" (one array per input name) or "name=FILE.npy", "name=FILE" (raw bytes),
  // "name=random", "name=zeros". Inputs that nothing names are random.
  std::vector<std::string> sources;
  // "batch=4": sizes of dynamic dimensions for what is generated or read from raw bytes. A dynamic
  // dimension without a size takes its smallest positive one.
  std::vector<std::string> dims;
  uint64_t seed = 0;
};

// One tensor per input of the plan, in order. UsageError naming the input when a source does not
// fit (unknown name, dtype, rank, raw size), EnvironmentError when a file cannot be read.
std::vector<Tensor> make_inputs(const std::vector<PlanTensor>& inputs, const InputRequest& request);

// "name=4" pairs. UsageError when malformed.
std::map<std::string, int64_t> parse_dims(const std::vector<std::string>& dims);

// Reproducible values: floats normal with deviation 1, u8 and i8 over their whole range, other
// integers and booleans 0 or 1 (valid as token ids, masks, positions and indices alike).
Tensor random_tensor(DType dtype, std::vector<int64_t> shape, uint64_t seed);

}  // namespace mcc::tools
