// Tensors of the model: raw data, typed fields, external files.
#include <fcntl.h>
#include <onnx/onnx_pb.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "lib/frontend/node_context.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

struct Mapping {
  void* address = nullptr;
  size_t bytes = 0;
  ~Mapping() {
    if (address != nullptr) munmap(address, bytes);
  }
};

std::shared_ptr<Mapping> map_file(const std::filesystem::path& path, const std::string& tensor) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    throw ModelError("tensor '" + tensor + "' keeps its data in '" + path.string() + "', which cannot be read: " +
                     std::strerror(errno));
  }
  struct stat status = {};
  auto mapping = std::make_shared<Mapping>();
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    void* address = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (address != MAP_FAILED) {
      mapping->address = address;
      mapping->bytes = static_cast<size_t>(status.st_size);
    }
  }
  close(file);
  if (mapping->address == nullptr) throw ModelError("external data file '" + path.string() + "' is empty or unreadable");
  return mapping;
}

TensorPtr external_tensor(const onnx::TensorProto& proto, DType dtype, const std::vector<int64_t>& shape,
                          const std::string& directory) {
  std::string location;
  uint64_t offset = 0;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = std::strtoull(entry.value().c_str(), nullptr, 10);
  }
  const std::filesystem::path relative(location);
  bool escapes = location.empty() || relative.is_absolute();
  for (const auto& part : relative) escapes = escapes || part == "..";
  if (escapes) {
    throw ModelError("tensor '" + proto.name() + "' names external data outside of the model's directory: '" + location + "'");
  }
  const std::shared_ptr<Mapping> mapping = map_file(std::filesystem::path(directory) / relative, proto.name());
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) throw ModelError("tensor '" + proto.name() + "' has an impossible shape");
  }
  const auto bytes = static_cast<uint64_t>(dtype_bytes(dtype, count));
  if (offset > mapping->bytes || bytes > mapping->bytes - offset) {
    throw ModelError("tensor '" + proto.name() + "' reaches beyond the end of its external data file '" + location + "'");
  }
  const auto* data = static_cast<const std::byte*>(mapping->address) + offset;
  return std::make_shared<const Tensor>(dtype, shape, mapping, data, bytes);
}

}  // namespace

DType import_dtype(int onnx_type) {
  switch (onnx_type) {
    case onnx::TensorProto::FLOAT: return DType::f32;
    case onnx::TensorProto::DOUBLE: return DType::f64;
    case onnx::TensorProto::FLOAT16: return DType::f16;
    case onnx::TensorProto::BFLOAT16: return DType::bf16;
    case onnx::TensorProto::FLOAT8E4M3FN: return DType::f8e4m3fn;
    case onnx::TensorProto::FLOAT8E4M3FNUZ: return DType::f8e4m3fnuz;
    case onnx::TensorProto::FLOAT8E5M2: return DType::f8e5m2;
    case onnx::TensorProto::FLOAT8E5M2FNUZ: return DType::f8e5m2fnuz;
    case onnx::TensorProto::FLOAT4E2M1: return DType::f4e2m1;
    case onnx::TensorProto::INT64: return DType::i64;
    case onnx::TensorProto::INT32: return DType::i32;
    case onnx::TensorProto::INT16: return DType::i16;
    case onnx::TensorProto::INT8: return DType::i8;
    case onnx::TensorProto::INT4: return DType::i4;
    case onnx::TensorProto::UINT64: return DType::u64;
    case onnx::TensorProto::UINT32: return DType::u32;
    case onnx::TensorProto::UINT16: return DType::u16;
    case onnx::TensorProto::UINT8: return DType::u8;
    case onnx::TensorProto::UINT4: return DType::u4;
    case onnx::TensorProto::BOOL: return DType::boolean;
    case onnx::TensorProto::STRING: return DType::string;
    case onnx::TensorProto::COMPLEX64: return DType::c64;
    case onnx::TensorProto::COMPLEX128: return DType::c128;
    default: throw ModelError("element type number " + std::to_string(onnx_type) + " is not supported");
  }
}

TensorPtr import_tensor(const onnx::TensorProto& proto, const std::shared_ptr<const void>& owner,
                        const std::string& directory) {
  const DType dtype = import_dtype(proto.data_type());
  const std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) return external_tensor(proto, dtype, shape, directory);
  if (dtype == DType::string) {
    Tensor tensor(dtype, shape);
    if (proto.string_data_size() != tensor.elements()) throw ModelError("tensor '" + proto.name() + "' has a wrong number of strings");
    for (int i = 0; i < proto.string_data_size(); ++i) (*tensor.strings)[static_cast<size_t>(i)] = proto.string_data(i);
    return std::make_shared<const Tensor>(std::move(tensor));
  }
  if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    const auto* data = reinterpret_cast<const std::byte*>(raw.data());
    // The protobuf's memory is shared when it is aligned well enough and kept alive by `owner`.
    if (owner != nullptr && reinterpret_cast<uintptr_t>(data) % 8 == 0) {
      return std::make_shared<const Tensor>(dtype, shape, owner, data, raw.size());
    }
    Tensor tensor(dtype, shape);
    if (tensor.bytes() != raw.size()) {
      throw ModelError("tensor '" + proto.name() + "' has " + std::to_string(raw.size()) + " bytes where its shape needs " +
                       std::to_string(tensor.bytes()));
    }
    if (!raw.empty()) std::memcpy(tensor.mutable_data(), raw.data(), raw.size());
    return std::make_shared<const Tensor>(std::move(tensor));
  }
  Tensor tensor(dtype, shape);
  const int64_t count = tensor.elements();
  const auto fill = [&](const auto& field, auto convert) {
    if (field.size() != count) throw ModelError("tensor '" + proto.name() + "' has a wrong number of elements");
    for (int i = 0; i < field.size(); ++i) convert(i, field.Get(i));
  };
  switch (proto.data_type()) {
    case onnx::TensorProto::FLOAT: fill(proto.float_data(), [&](int i, float v) { tensor.mutable_as<float>()[i] = v; }); break;
    case onnx::TensorProto::DOUBLE: fill(proto.double_data(), [&](int i, double v) { tensor.mutable_as<double>()[i] = v; }); break;
    case onnx::TensorProto::INT64: fill(proto.int64_data(), [&](int i, int64_t v) { tensor.set_int64(i, v); }); break;
    case onnx::TensorProto::UINT64:
    case onnx::TensorProto::UINT32:
      fill(proto.uint64_data(), [&](int i, uint64_t v) { tensor.set_int64(i, static_cast<int64_t>(v)); });
      break;
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      fill(proto.int32_data(), [&](int i, int32_t v) { tensor.mutable_as<uint16_t>()[i] = static_cast<uint16_t>(v); });
      break;
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::BOOL:
      fill(proto.int32_data(), [&](int i, int32_t v) { tensor.set_int64(i, v); });
      break;
    default: {
      // 8-bit floats and packed types: one byte of storage an entry.
      if (static_cast<size_t>(proto.int32_data_size()) != tensor.bytes()) {
        throw ModelError("tensor '" + proto.name() + "' has a wrong number of elements");
      }
      for (int i = 0; i < proto.int32_data_size(); ++i) {
        tensor.mutable_data()[i] = static_cast<std::byte>(proto.int32_data(i));
      }
    }
  }
  return std::make_shared<const Tensor>(std::move(tensor));
}

}  // namespace mcc::frontend
