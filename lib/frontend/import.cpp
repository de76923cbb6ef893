// Loading of model files and the public entry points.
#include "lib/frontend/import.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/checker.h>
#include <onnx/inliner/inliner.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <set>

#include "lib/frontend/importer.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

Graph import_proto(std::shared_ptr<onnx::ModelProto> model, const std::string& directory, const ImportOptions& options,
                   Diagnostics& diagnostics) {
  if (!model->has_graph() || model->graph().node_size() + model->graph().output_size() == 0) {
    throw ModelError("the file holds no ONNX graph");
  }
  if (model->functions_size() != 0) onnx::inliner::InlineLocalFunctions(*model);
  return frontend::Importer(std::move(model), directory, options, diagnostics).run();
}

}  // namespace

Graph import_model(const std::filesystem::path& path, const ImportOptions& options, Diagnostics& diagnostics) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw UsageError("cannot read the model '" + path.string() + "': " + std::strerror(errno));
  auto model = std::make_shared<onnx::ModelProto>();
  bool parsed = false;
  {
    google::protobuf::io::FileInputStream stream(file);
    google::protobuf::io::CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(INT_MAX);
    parsed = model->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
  }
  close(file);
  if (!parsed) {
    throw ModelError("'" + path.string() + "' is not a complete ONNX model: the file is cut short, damaged or of another kind");
  }
  try {
    return import_proto(std::move(model), path.parent_path().string(), options, diagnostics);
  } catch (const ModelError& error) {
    throw ModelError("'" + path.string() + "': " + error.what());
  }
}

Graph import_model_bytes(std::string_view bytes, const ImportOptions& options, Diagnostics& diagnostics,
                         const std::filesystem::path& directory) {
  auto model = std::make_shared<onnx::ModelProto>();
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw ModelError("the data is not a complete ONNX model");
  }
  return import_proto(std::move(model), directory.string(), options, diagnostics);
}

std::vector<SupportedOperator> supported_operators() {
  std::map<std::pair<std::string, std::string>, std::set<int>> versions;
  for (const frontend::OperatorEntry* entry : frontend::operator_entries()) {
    versions[{entry->domain, entry->name}].insert(entry->since);
  }
  versions[{"", "If"}].insert(1);
  std::vector<SupportedOperator> supported;
  for (const auto& [name, since] : versions) {
    SupportedOperator row{name.first, name.second, std::vector<int>(since.begin(), since.end()), ""};
    if (name.second == "If") row.note = "with a condition that is known when compiling";
    supported.push_back(std::move(row));
  }
  return supported;
}

}  // namespace mcc
