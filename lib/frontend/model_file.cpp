// Reading a model: see model_file.h.
#include "lib/frontend/model_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>

#include "lib/support/error.h"
#include "onnx/checker.h"
#include "onnx/version_converter/convert.h"

namespace mcc::frontend {
namespace {

// The first opset whose operators broadcast the way that our entries do.
constexpr int kOldestOpset = 7;

// protobuf writes parse errors to stderr; ours carry the file's name and come once.
bool parse_quietly(onnx::ModelProto& model, google::protobuf::io::ZeroCopyInputStream& stream) {
  const google::protobuf::LogSilencer silence;
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(INT_MAX);
  return model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

// What parses as a message need not be a model: any file of few bytes does.
const char* missing_part(const onnx::ModelProto& model) {
  if (!model.has_graph()) return "it holds no graph";
  if (model.opset_import_size() == 0) return "it imports no operator set";
  return nullptr;
}

LoadedModel finish(std::shared_ptr<onnx::ModelProto> model, bool parsed, const std::string& what,
                   const std::filesystem::path& directory) {
  if (!parsed) {
    throw ModelError(what + " is not a complete ONNX model: the file is cut short, damaged or of "
                            "another format.");
  }
  if (const char* missing = missing_part(*model)) {
    throw ModelError(what + " is not a complete ONNX model: " + missing + ".");
  }
  return {std::move(model), directory};
}

}  // namespace

LoadedModel load_model(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw EnvironmentError("the model '" + path.string() + "' cannot be opened: " +
                     std::strerror(errno) + ".");
  }
  // A stream, not a mapping: the parsed message is then the only copy of the weights.
  google::protobuf::io::FileInputStream stream(descriptor, 1 << 20);
  stream.SetCloseOnDelete(true);
  auto model = std::make_shared<onnx::ModelProto>();
  const bool parsed = parse_quietly(*model, stream);
  if (!parsed && stream.GetErrno() != 0) {
    throw ModelError("the model '" + path.string() + "' cannot be read: " +
                     std::strerror(stream.GetErrno()) + ".");
  }
  return finish(std::move(model), parsed, "the model '" + path.string() + "'",
                path.parent_path());
}

LoadedModel parse_model(std::string_view bytes, const std::filesystem::path& directory) {
  if (bytes.size() > INT_MAX) throw ModelError("a model in memory must be smaller than 2 GiB.");
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  auto model = std::make_shared<onnx::ModelProto>();
  const bool parsed = parse_quietly(*model, stream);
  return finish(std::move(model), parsed, "the model", directory);
}

std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

int64_t opset_of(const onnx::ModelProto& model, std::string_view domain) {
  for (const auto& import : model.opset_import()) {
    if (plain_domain(import.domain()) == plain_domain(domain)) return import.version();
  }
  return 0;
}

LoadedModel raise_old_opset(LoadedModel model) {
  const int64_t opset = opset_of(*model.proto, "");
  if (opset == 0 || opset >= kOldestOpset) return model;
  try {
    model.proto = std::make_shared<const onnx::ModelProto>(
        onnx::version_conversion::ConvertVersion(*model.proto, kOldestOpset));
  } catch (const std::exception& error) {
    throw ModelError("the model's opset " + std::to_string(opset) +
                     " could not be converted to opset " + std::to_string(kOldestOpset) + ": " +
                     error.what());
  }
  return model;
}

std::string check_structure(const LoadedModel& model) {
  try {
    onnx::checker::CheckerContext context;
    context.set_ir_version(static_cast<int>(model.proto->ir_version()));
    context.set_model_dir(model.directory.empty() ? "." : model.directory.string());
    std::unordered_map<std::string, int> opsets;
    for (const auto& import : model.proto->opset_import()) {
      opsets[import.domain()] = static_cast<int>(import.version());
    }
    context.set_opset_imports(opsets);
    const onnx::checker::LexicalScopeContext scope;
    onnx::checker::check_graph(model.proto->graph(), context, scope);
    onnx::checker::check_function_call_cycles(*model.proto);
  } catch (const std::exception& error) {
    std::string text = error.what();
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text.empty() ? "the onnx checker refuses the model" : text;
  }
  return {};
}

}  // namespace mcc::frontend
