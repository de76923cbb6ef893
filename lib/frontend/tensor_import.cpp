// Tensors of the model: typed fields, raw bytes, external files. See tensor_import.h.
#include "lib/frontend/tensor_import.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <algorithm>
#include <cstring>
#include <optional>

#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

struct TypePair {
  int onnx;
  DType dtype;
};
using Onnx = onnx::TensorProto;
constexpr TypePair kTypes[] = {
    {Onnx::FLOAT, DType::f32},           {Onnx::UINT8, DType::u8},
    {Onnx::INT8, DType::i8},             {Onnx::UINT16, DType::u16},
    {Onnx::INT16, DType::i16},           {Onnx::INT32, DType::i32},
    {Onnx::INT64, DType::i64},           {Onnx::STRING, DType::string},
    {Onnx::BOOL, DType::boolean},        {Onnx::FLOAT16, DType::f16},
    {Onnx::DOUBLE, DType::f64},          {Onnx::UINT32, DType::u32},
    {Onnx::UINT64, DType::u64},          {Onnx::COMPLEX64, DType::c64},
    {Onnx::COMPLEX128, DType::c128},     {Onnx::BFLOAT16, DType::bf16},
    {Onnx::FLOAT8E4M3FN, DType::f8e4m3fn}, {Onnx::FLOAT8E4M3FNUZ, DType::f8e4m3fnuz},
    {Onnx::FLOAT8E5M2, DType::f8e5m2},   {Onnx::FLOAT8E5M2FNUZ, DType::f8e5m2fnuz},
    {Onnx::UINT4, DType::u4},            {Onnx::INT4, DType::i4},
    {Onnx::FLOAT4E2M1, DType::f4e2m1},   {Onnx::UINT2, DType::u2},
    {Onnx::INT2, DType::i2},
};

std::string quoted(const Onnx& proto) { return "the tensor '" + proto.name() + "'"; }

// Elements are read through pointers of their type, which must be aligned for vector loops.
bool is_aligned(const void* data, DType dtype) {
  const auto size = static_cast<uintptr_t>(std::max(dtype_info(dtype).bits / 8, 1));
  return reinterpret_cast<uintptr_t>(data) % std::min<uintptr_t>(size, 8) == 0;
}

Tensor share_or_copy(DType dtype, const std::vector<int64_t>& shape,
                     const std::shared_ptr<const void>& owner, const void* data, size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  if (is_aligned(data, dtype)) return Tensor(dtype, shape, owner, from, bytes);
  Tensor copy(dtype, shape);
  if (copy.bytes() != bytes) Tensor(dtype, shape, owner, from, bytes);  // throws with the sizes
  std::memcpy(copy.mutable_data(), from, bytes);
  return copy;
}

size_t parse_size(const Onnx& proto, const std::string& text, const char* what) {
  size_t value = 0;
  const bool digits = !text.empty() && text.size() <= 18 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (digits) value = std::stoull(text);
  if (!digits) {
    throw ModelError(quoted(proto) + " has a malformed " + what + " of its external data: '" +
                     text + "'.");
  }
  return value;
}

Tensor external_tensor(const Onnx& proto, DType dtype, const std::vector<int64_t>& shape,
                       ExternalFiles& files) {
  std::string location;
  size_t offset = 0;
  std::optional<size_t> length;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_size(proto, entry.value(), "offset");
    if (entry.key() == "length") length = parse_size(proto, entry.value(), "length");
  }
  if (location.empty()) throw ModelError(quoted(proto) + " names no external data file.");
  int64_t elements = 1;
  for (int64_t dim : shape) elements *= dim;
  const auto bytes = static_cast<size_t>(dtype_bytes(dtype, elements));
  if (bytes == 0) return Tensor(dtype, shape);
  const ExternalFiles::Mapping& file = files.open(location);
  if (length && *length != bytes) {
    throw ModelError(quoted(proto) + " needs " + std::to_string(bytes) +
                     " bytes but its external data has a length of " + std::to_string(*length) +
                     ".");
  }
  if (offset > file.bytes || bytes > file.bytes - offset) {
    throw ModelError(quoted(proto) + " needs " + std::to_string(bytes) + " bytes from offset " +
                     std::to_string(offset) + " of the external data file '" + location +
                     "', which has only " + std::to_string(file.bytes) + " bytes.");
  }
  return share_or_copy(dtype, shape, file.owner, file.data + offset, bytes);
}

template <typename Field>
void check_count(const Onnx& proto, const Field& field, int64_t expected) {
  if (field.size() != expected) {
    throw ModelError(quoted(proto) + " has " + std::to_string(field.size()) +
                     " values where its type needs " + std::to_string(expected) + ".");
  }
}

// int32_data holds narrow integers, bools and the bit patterns of narrow floats, one per entry;
// 4- and 2-bit types are packed into bytes first.
Tensor narrow_tensor(const Onnx& proto, DType dtype, const std::vector<int64_t>& shape,
                     int64_t elements) {
  Tensor tensor(dtype, shape);
  const int bits = dtype_info(dtype).bits;
  const int64_t entries = bits < 8 ? dtype_bytes(dtype, elements) : elements;
  check_count(proto, proto.int32_data(), entries);
  std::byte* to = tensor.mutable_data();
  for (int64_t i = 0; i < entries; ++i) {
    const auto value = static_cast<uint32_t>(proto.int32_data(static_cast<int>(i)));
    if (bits == 16) {
      const auto half = static_cast<uint16_t>(value);
      std::memcpy(to + 2 * i, &half, 2);
    } else {
      to[i] = static_cast<std::byte>(dtype == DType::boolean ? (value != 0 ? 1 : 0) : value & 0xff);
    }
  }
  return tensor;
}

Tensor typed_tensor(const Onnx& proto, DType dtype, const std::vector<int64_t>& shape,
                    const std::shared_ptr<const void>& owner) {
  int64_t elements = 1;
  for (int64_t dim : shape) elements *= dim;
  const auto share = [&](const auto& field, int64_t per_element = 1) {
    check_count(proto, field, elements * per_element);
    return share_or_copy(dtype, shape, owner, field.data(),
                         static_cast<size_t>(dtype_bytes(dtype, elements)));
  };
  switch (dtype) {
    case DType::f32: return share(proto.float_data());
    case DType::c64: return share(proto.float_data(), 2);
    case DType::f64: return share(proto.double_data());
    case DType::c128: return share(proto.double_data(), 2);
    case DType::i64: return share(proto.int64_data());
    case DType::i32: return share(proto.int32_data());
    case DType::u64: return share(proto.uint64_data());
    case DType::u32: {
      check_count(proto, proto.uint64_data(), elements);
      Tensor tensor(dtype, shape);
      for (int64_t i = 0; i < elements; ++i) {
        tensor.set_int64(i, static_cast<int64_t>(proto.uint64_data(static_cast<int>(i))));
      }
      return tensor;
    }
    case DType::string: {
      check_count(proto, proto.string_data(), elements);
      Tensor tensor(dtype, shape);
      tensor.strings->assign(proto.string_data().begin(), proto.string_data().end());
      return tensor;
    }
    default: return narrow_tensor(proto, dtype, shape, elements);
  }
}

}  // namespace

DType dtype_from_onnx(int data_type) {
  for (const TypePair& pair : kTypes) {
    if (pair.onnx == data_type) return pair.dtype;
  }
  std::string name = "number " + std::to_string(data_type);
  if (onnx::TensorProto_DataType_IsValid(data_type)) {
    name = onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(data_type));
  }
  throw ModelError("the element type " + name + " is not supported.");
}

int dtype_to_onnx(DType dtype) {
  for (const TypePair& pair : kTypes) {
    if (pair.dtype == dtype) return pair.onnx;
  }
  return Onnx::UNDEFINED;
}

const ExternalFiles::Mapping& ExternalFiles::open(const std::string& location) {
  const auto found = mapped_.find(location);
  if (found != mapped_.end()) return found->second;
  const std::filesystem::path relative = std::filesystem::path(location).lexically_normal();
  if (relative.is_absolute() || relative.empty() || *relative.begin() == "..") {
    throw ModelError("the external data file '" + location +
                     "' lies outside of the model's directory.");
  }
  const std::filesystem::path path = directory_ / relative;
  // A link could lead out of the directory just as ".." does.
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  const std::filesystem::path root =
      std::filesystem::weakly_canonical(directory_.empty() ? "." : directory_, error);
  const std::filesystem::path inside = real.lexically_relative(root);
  if (!error && (inside.empty() || *inside.begin() == "..")) {
    throw ModelError("the external data file '" + location +
                     "' lies outside of the model's directory.");
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw ModelError("the external data file '" + path.string() + "' cannot be opened: " +
                     std::strerror(errno) + ".");
  }
  struct stat status {};
  Mapping mapping;
  void* memory = MAP_FAILED;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    mapping.bytes = static_cast<size_t>(status.st_size);
    if (mapping.bytes > 0) {
      memory = ::mmap(nullptr, mapping.bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
  }
  ::close(descriptor);
  if (memory != MAP_FAILED) {
    mapping.data = static_cast<const std::byte*>(memory);
    mapping.owner = std::shared_ptr<const void>(
        memory, [bytes = mapping.bytes](const void* at) { ::munmap(const_cast<void*>(at), bytes); });
  } else if (mapping.bytes > 0 || !S_ISREG(status.st_mode)) {
    throw ModelError("the external data file '" + path.string() + "' cannot be mapped.");
  }
  return mapped_.emplace(location, std::move(mapping)).first->second;
}

Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::shared_ptr<const void>& owner,
                         ExternalFiles& files) {
  const DType dtype = dtype_from_onnx(proto.data_type());
  std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  int64_t elements = 1;
  for (int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements) ||
        elements > (int64_t{1} << 48)) {
      throw ModelError(quoted(proto) + " has an impossible shape.");
    }
  }
  if (proto.data_location() == Onnx::EXTERNAL) return external_tensor(proto, dtype, shape, files);
  if (!proto.has_raw_data() || dtype == DType::string) {
    return typed_tensor(proto, dtype, shape, owner);
  }
  const std::string& raw = proto.raw_data();
  if (raw.size() != static_cast<size_t>(dtype_bytes(dtype, elements))) {
    throw ModelError(quoted(proto) + " has " + std::to_string(raw.size()) +
                     " bytes of data where its type needs " +
                     std::to_string(dtype_bytes(dtype, elements)) + ".");
  }
  return share_or_copy(dtype, shape, owner, raw.data(), raw.size());
}

Tensor tensor_from_sparse(const onnx::SparseTensorProto& proto,
                          const std::shared_ptr<const void>& owner, ExternalFiles& files) {
  const Tensor values = tensor_from_proto(proto.values(), owner, files);
  const Tensor indices = tensor_from_proto(proto.indices(), owner, files);
  std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  Tensor dense(values.dtype(), shape);
  const bool linear = indices.rank() == 1;
  const auto rank = static_cast<int64_t>(shape.size());
  if (indices.elements() != values.elements() * (linear ? 1 : rank)) {
    throw ModelError("a sparse tensor has a wrong number of indices.");
  }
  for (int64_t i = 0; i < values.elements(); ++i) {
    int64_t at = linear ? indices.get_int64(i) : 0;
    for (int64_t a = 0; !linear && a < rank; ++a) {
      at = at * shape[static_cast<size_t>(a)] + indices.get_int64(i * rank + a);
    }
    if (at < 0 || at >= dense.elements()) throw ModelError("a sparse tensor's index is too large.");
    dense.set_double(at, values.get_double(i));
  }
  return dense;
}

}  // namespace mcc::frontend
