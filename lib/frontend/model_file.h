// Reading a model: parsing, checking, raising very old opsets.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "onnx/onnx_pb.h"

namespace mcc::frontend {

struct LoadedModel {
  std::shared_ptr<const onnx::ModelProto> proto;
  std::filesystem::path directory;  // of external data
};

// ModelError, one sentence that names the file, when it is missing, cut short or no ONNX model.
LoadedModel load_model(const std::filesystem::path& path);
LoadedModel parse_model(std::string_view bytes, const std::filesystem::path& directory);

// The version of a domain that the model imports; 0 if it does not.
int64_t opset_of(const onnx::ModelProto& model, std::string_view domain);
std::string_view plain_domain(std::string_view domain);  // "ai.onnx" is ""

// A model of an opset before 7, whose operators broadcast by attributes, raised to opset 7... by
// the onnx version converter. ModelError when it cannot.
LoadedModel raise_old_opset(LoadedModel model);

// The onnx checker's complaint, or "".
std::string check_structure(const LoadedModel& model);

}  // namespace mcc::frontend
