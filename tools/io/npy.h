// Arrays in NumPy's .npy and .npz formats, to and from tensors.
// Formats: numpy.lib.format (NEP 1) and, for .npz, a ZIP archive of .npy files (see zip.h).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/ir/tensor.h"

namespace mcc::tools {

// One array as a file describes it: plain, C order, native byte order; `type` is NumPy's
// description without the byte order: "f4", "i8", "b1", "V2".
struct NpyArray {
  std::string type;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
};

// UsageError naming `source` when the bytes are no .npy file or of an unsupported kind (objects,
// strings, big-endian, structured).
NpyArray parse_npy(std::string_view bytes, const std::string& source);

// The array as a tensor of `dtype`. Types must agree; bf16 and 8-bit floats are accepted as their
// raw bits (V2, u2, V1, u1), 4- and 2-bit integers as one element per byte (i1, u1). UsageError
// that names `what` otherwise.
Tensor to_tensor(NpyArray array, DType dtype, const std::string& what);

// The .npy form: types that NumPy lacks become wider ones that hold their values exactly
// (bf16, 8- and 4-bit floats as f4; 4- and 2-bit integers as i1 or u1).
std::string write_npy(const Tensor& tensor);

using NamedArray = std::pair<std::string, NpyArray>;
using NamedTensor = std::pair<std::string, Tensor>;

// EnvironmentError when the file cannot be read, UsageError when it is malformed.
std::vector<NamedArray> read_npz(const std::filesystem::path& path);
NpyArray read_npy(const std::filesystem::path& path);
// Written under a temporary name and renamed. EnvironmentError when that fails.
void write_npz(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors);

}  // namespace mcc::tools
