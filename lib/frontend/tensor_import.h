// TensorProto → Tensor, sharing the bytes of the parsed model or of a mapped external file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "lib/ir/tensor.h"
#include "onnx/onnx_pb.h"

namespace mcc::frontend {

// ModelError for types without a counterpart.
DType dtype_from_onnx(int data_type);
int dtype_to_onnx(DType dtype);

// The external data files of one model, each mapped once.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  struct Mapping {
    std::shared_ptr<const void> owner;
    const std::byte* data = nullptr;
    size_t bytes = 0;
  };
  // ModelError when `location` leaves the model's directory, is missing or cannot be mapped.
  const Mapping& open(const std::string& location);

 private:
  std::filesystem::path directory_;
  std::map<std::string, Mapping> mapped_;
};

// `owner` keeps `proto` alive: raw data is shared, not copied. ModelError when the data does not
// fit type and shape, or lies outside of its external file.
Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::shared_ptr<const void>& owner,
                         ExternalFiles& files);
// Dense form of a sparse initializer or attribute.
Tensor tensor_from_sparse(const onnx::SparseTensorProto& proto,
                          const std::shared_ptr<const void>& owner, ExternalFiles& files);

}  // namespace mcc::frontend
