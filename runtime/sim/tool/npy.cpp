// Reading and writing of .npy (NumPy enhancement proposal 1).
#include "runtime/sim/tool/npy.h"

#include <cstring>
#include <fstream>

#include "runtime/sim/error.h"

namespace mcc::sim {

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw SimError("cannot open '" + path + "'");
  std::vector<std::byte> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw SimError("cannot read '" + path + "'");
  return bytes;
}

void write_bytes(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw SimError("cannot write '" + path + "'");
}

NpyArray read_npy(const std::string& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  const auto bad = [&](const std::string& why) { return SimError("'" + path + "' is not a usable .npy file: " + why); };
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0) throw bad("its first bytes are wrong");
  const auto byte = [&](size_t i) { return static_cast<size_t>(bytes[i]); };
  const bool long_header = byte(6) >= 2;
  const size_t length = long_header ? byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24 : byte(8) | byte(9) << 8;
  const size_t start = long_header ? 12 : 10;
  if (length > bytes.size() - start) throw bad("its header is cut off");
  const std::string header(reinterpret_cast<const char*>(bytes.data()) + start, length);
  const auto value_of = [&](const std::string& key) {
    const size_t at = header.find("'" + key + "'");
    if (at == std::string::npos) throw bad("the header lacks '" + key + "'");
    return header.find(':', at) + 1;
  };
  NpyArray array;
  size_t at = header.find('\'', value_of("descr")) + 1;
  const std::string descr = header.substr(at, header.find('\'', at) - at);
  if (descr.size() < 3 || (descr[0] != '<' && descr[0] != '|' && descr[0] != '=')) throw bad("its type '" + descr + "' is not supported");
  array.dtype = descr.substr(1);
  at = value_of("fortran_order");
  if (header.substr(at, 6).find("True") != std::string::npos) throw bad("it is in Fortran order");
  at = header.find('(', value_of("shape")) + 1;
  const std::string shape = header.substr(at, header.find(')', at) - at);
  size_t count = 1;
  for (size_t i = 0; i < shape.size();) {
    const size_t digit = shape.find_first_of("0123456789", i);
    if (digit == std::string::npos) break;
    size_t end = digit;
    array.shape.push_back(std::stoll(shape.substr(digit), &end));
    count *= static_cast<size_t>(array.shape.back());
    i = digit + end;
  }
  const size_t element = static_cast<size_t>(std::atoi(array.dtype.c_str() + 1));
  if (count * element != bytes.size() - start - length) throw bad("its size differs from its shape");
  array.data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(start + length), bytes.end());
  return array;
}

void write_npy(const std::string& path, const NpyArray& array) {
  std::string shape;
  for (int64_t dim : array.shape) shape += std::to_string(dim) + ",";
  std::string header = "{'descr': '" + std::string(array.dtype.back() == '1' ? "|" : "<") + array.dtype + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  std::vector<std::byte> bytes;
  const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  for (char c : magic) bytes.push_back(static_cast<std::byte>(c));
  for (char c : header) bytes.push_back(static_cast<std::byte>(c));
  bytes.insert(bytes.end(), array.data.begin(), array.data.end());
  write_bytes(path, bytes);
}

}  // namespace mcc::sim
