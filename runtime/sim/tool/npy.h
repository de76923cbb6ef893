// NumPy's .npy files (format 1.0 to 3.0, C order), read and written as plain bytes with a dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mcc::sim {

struct NpyArray {
  std::string dtype;            // "f4", "i8", "u1", "f2", "b1": kind and bytes per element
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
};

// SimError when the file cannot be read or is not a little-endian array in C order.
NpyArray read_npy(const std::string& path);
void write_npy(const std::string& path, const NpyArray& array);
std::vector<std::byte> read_bytes(const std::string& path);
void write_bytes(const std::string& path, const std::vector<std::byte>& bytes);

}  // namespace mcc::sim
