// .npy headers and element conversions; see npy.h.
#include "tools/io/npy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "lib/support/error.h"
#include "tools/io/files.h"
#include "tools/io/zip.h"

namespace mcc::tools {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

struct TypeRow {
  DType dtype;
  std::string_view type;      // what write_npy writes, and what to_tensor takes as it is
  std::string_view raw;       // another spelling of the same bits, or empty
  bool widened;               // written as another type than stored
};
constexpr std::array<TypeRow, 23> kTypes{{
    {DType::f64, "f8", "", false},        {DType::f32, "f4", "", false},
    {DType::f16, "f2", "", false},        {DType::bf16, "f4", "V2", true},
    {DType::f8e4m3fn, "f4", "V1", true},  {DType::f8e4m3fnuz, "f4", "V1", true},
    {DType::f8e5m2, "f4", "V1", true},    {DType::f8e5m2fnuz, "f4", "V1", true},
    {DType::f4e2m1, "f4", "", true},      {DType::i64, "i8", "", false},
    {DType::i32, "i4", "", false},        {DType::i16, "i2", "", false},
    {DType::i8, "i1", "", false},         {DType::i4, "i1", "", true},
    {DType::i2, "i1", "", true},          {DType::u64, "u8", "", false},
    {DType::u32, "u4", "", false},        {DType::u16, "u2", "", false},
    {DType::u8, "u1", "", false},         {DType::u4, "u1", "", true},
    {DType::u2, "u1", "", true},          {DType::boolean, "b1", "", false},
    {DType::c64, "c8", "", false},
}};

const TypeRow& type_row(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row;
  }
  throw UsageError("arrays of type " + std::string(dtype_info(dtype).name) +
                   " cannot be read from or written to .npy files");
}

// The value after 'key': in the header's Python dictionary, up to the next comma outside brackets.
std::string header_value(const std::string& header, const std::string& key,
                         const std::string& source) {
  const size_t at = header.find("'" + key + "'");
  const size_t colon = at == std::string::npos ? at : header.find(':', at);
  if (colon == std::string::npos) throw UsageError(source + " has a damaged .npy header");
  size_t begin = header.find_first_not_of(' ', colon + 1);
  size_t end = begin;
  int depth = 0;
  for (; end < header.size(); ++end) {
    if (header[end] == '(') ++depth;
    if (header[end] == ')') --depth;
    if (depth == 0 && (header[end] == ',' || header[end] == '}')) break;
  }
  if (begin == std::string::npos) throw UsageError(source + " has a damaged .npy header");
  return header.substr(begin, end - begin);
}

std::vector<int64_t> parse_shape(const std::string& text, const std::string& source) {
  std::vector<int64_t> shape;
  for (size_t i = 0; i < text.size();) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      ++i;
      continue;
    }
    int64_t dim = 0;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
      if (dim > INT64_MAX / 10 - 10) throw UsageError(source + " has an impossible shape");
      dim = dim * 10 + (text[i] - '0');
    }
    shape.push_back(dim);
  }
  return shape;
}

// Bytes of one element from "f4", "V2": the digits.
int64_t type_size(const std::string& type) {
  int64_t size = 0;
  for (char c : type.substr(1)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return 0;
    size = std::min<int64_t>(size * 10 + (c - '0'), 1 << 20);
  }
  return size;
}

// Column-major data in row-major order.
std::vector<std::byte> to_row_major(const NpyArray& array, int64_t size) {
  std::vector<std::byte> result(array.data.size());
  const size_t rank = array.shape.size();
  std::vector<int64_t> index(rank, 0);
  const int64_t count = static_cast<int64_t>(array.data.size()) / size;
  for (int64_t linear = 0; linear < count; ++linear) {
    int64_t source = 0;
    for (size_t axis = rank; axis-- > 0;) source = source * array.shape[axis] + index[axis];
    std::memcpy(result.data() + linear * size, array.data.data() + source * size,
                static_cast<size_t>(size));
    for (size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < array.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

std::string type_name(const NpyArray& array) { return "'" + array.type + "'"; }

}  // namespace

NpyArray parse_npy(std::string_view bytes, const std::string& source) {
  if (bytes.size() < 12 || bytes.substr(0, 6) != kMagic) {
    throw UsageError(source + " is no .npy file");
  }
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(bytes[at])); };
  const bool long_header = bytes[6] >= 2;  // versions 2 and 3 have a 4-byte length
  const size_t start = long_header ? 12 : 10;
  const size_t length = byte(8) | byte(9) << 8 | (long_header ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > bytes.size() - start) throw UsageError(source + " is truncated");
  const std::string header(bytes.substr(start, length));
  NpyArray array;
  array.shape = parse_shape(header_value(header, "shape", source), source);
  std::string descr = header_value(header, "descr", source);
  descr.erase(std::remove(descr.begin(), descr.end(), '\''), descr.end());
  if (descr.size() < 3 || descr[0] == '[' || std::strchr("OSUMm", descr[1]) != nullptr) {
    throw UsageError(source + " holds elements of type " + descr +
                     "; only numeric arrays can be read");
  }
  array.type = descr.substr(1);
  const int64_t size = type_size(array.type);
  if (descr[0] == '>' && size > 1) {
    throw UsageError(source + " is big-endian: save it again with .astype('<" + array.type + "')");
  }
  int64_t bytes_needed = size;
  for (int64_t dim : array.shape) {
    if (__builtin_mul_overflow(bytes_needed, dim, &bytes_needed)) {
      throw UsageError(source + " has an impossible shape");
    }
  }
  const std::string_view data = bytes.substr(start + length);
  if (size == 0 || static_cast<int64_t>(data.size()) < bytes_needed) {
    throw UsageError(source + " is truncated");
  }
  const auto* begin = reinterpret_cast<const std::byte*>(data.data());
  array.data.assign(begin, begin + bytes_needed);
  if (header_value(header, "fortran_order", source).find("True") != std::string::npos) {
    array.data = to_row_major(array, size);
  }
  return array;
}

Tensor to_tensor(NpyArray array, DType dtype, const std::string& what) {
  const TypeRow& row = type_row(dtype);
  const bool exact = !row.widened && array.type == row.type;
  const bool raw = !row.raw.empty() && (array.type == row.raw || (array.type == "u2" && row.raw == "V2") ||
                                        (array.type == "u1" && row.raw == "V1"));
  Tensor tensor(dtype, array.shape);
  if (exact || raw) {
    if (tensor.bytes() > 0) std::memcpy(tensor.mutable_data(), array.data.data(), tensor.bytes());
    return tensor;
  }
  const bool packed = dtype_info(dtype).bits < 8 && (array.type == "i1" || array.type == "u1");
  if (!packed) {
    throw UsageError(what + " must hold " + std::string(dtype_info(dtype).name) +
                     ", the array is of NumPy type " + type_name(array));
  }
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const auto value = static_cast<unsigned char>(array.data[static_cast<size_t>(i)]);
    tensor.set_int64(i, array.type == "i1" ? static_cast<signed char>(value) : value);
  }
  return tensor;
}

std::string write_npy(const Tensor& tensor) {
  const TypeRow& row = type_row(tensor.dtype());
  std::string shape = "(";
  for (int64_t dim : tensor.shape()) shape += std::to_string(dim) + ",";
  if (tensor.rank() > 1) shape.pop_back();
  const char order = row.type.back() == '1' ? '|' : '<';
  std::string header = "{'descr': '" + std::string(1, order) + std::string(row.type) +
                       "', 'fortran_order': False, 'shape': " + shape + "), }";
  // The data starts at a multiple of 64; the header ends with a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string result(kMagic);
  result += {'\x01', '\0', static_cast<char>(header.size() & 0xff),
             static_cast<char>(header.size() >> 8)};
  result += header;
  if (!row.widened) {
    result.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
    return result;
  }
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (row.type == "f4") {
      const auto value = static_cast<float>(tensor.get_double(i));
      result.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      result += static_cast<char>(tensor.get_int64(i));
    }
  }
  return result;
}

std::vector<NamedArray> read_npz(const std::filesystem::path& path) {
  std::vector<NamedArray> arrays;
  for (ZipEntry& entry : read_zip(read_whole_file(path), path.string())) {
    std::string name = entry.name;
    if (name.size() > 4 && name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.emplace_back(name, parse_npy(entry.data, path.string() + ":" + entry.name));
  }
  return arrays;
}

NpyArray read_npy(const std::filesystem::path& path) {
  return parse_npy(read_whole_file(path), path.string());
}

void write_npz(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors) {
  ZipWriter archive;
  for (const auto& [name, tensor] : tensors) archive.add(name + ".npy", write_npy(tensor));
  write_whole_file(path, archive.finish());
}

}  // namespace mcc::tools
