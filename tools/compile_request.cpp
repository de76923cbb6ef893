// See compile_request.h.
#include "tools/compile_request.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "lib/ir/text.h"
#include "lib/support/error.h"
#include "tools/commands.h"
#include "tools/io/files.h"

namespace mcc::tools {

namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

int64_t parse_size(const std::string& text, const std::string& option) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < 0) {
    throw UsageError("\"" + text + "\" in " + option + " is no size");
  }
  return value;
}

// "batch=1..64", "batch=4", "batch=1.." (no upper limit).
std::pair<std::string, Range> parse_range(const std::string& text) {
  const std::string option = "--dim " + text;
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(option + " is malformed: write --dim name=4 or --dim name=1..64");
  }
  const std::string name = text.substr(0, equals);
  const std::string sizes = text.substr(equals + 1);
  const size_t dots = sizes.find("..");
  if (dots == std::string::npos) {
    const int64_t size = parse_size(sizes, option);
    return {name, {size, size}};
  }
  Range range;
  range.low = parse_size(sizes.substr(0, dots), option);
  if (dots + 2 < sizes.size()) range.high = parse_size(sizes.substr(dots + 2), option);
  if (range.high < range.low) throw UsageError(option + ": the range is empty");
  return {name, range};
}

// "name:1x3xHxW"; the name itself may contain colons.
std::pair<std::string, std::vector<std::string>> parse_input(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw UsageError("--input " + text + " is malformed: write --input name:1x3x224x224");
  }
  std::vector<std::string> dims;
  if (colon + 1 < text.size()) dims = split(text.substr(colon + 1), 'x');
  for (const std::string& dim : dims) {
    if (dim.empty()) throw UsageError("--input " + text + ": a dimension is empty");
  }
  return {text.substr(0, colon), dims};
}

LayoutChoice layout_choice(const std::string& name) {
  if (name == "nchw") return LayoutChoice::channels_first;
  if (name == "nhwc") return LayoutChoice::channels_last;
  return LayoutChoice::automatic;
}

}  // namespace

void add_request_options(CLI::App& command, CompileRequest& request) {
  repeatable(command.add_option(
                 "--input", request.inputs,
                 "shape of an input: NAME:1x3x224x224; letters name dynamic dimensions"))
      ->type_name("NAME:SHAPE");
  repeatable(command.add_option("--dim", request.dims,
                                "sizes of a dynamic dimension: NAME=1..64, or NAME=4 to fix it"))
      ->type_name("NAME=RANGE");
  command.add_option("--layout", request.layout, "memory layout of images")
      ->check(CLI::IsMember({"auto", "nchw", "nhwc"}));
  command.add_option("-O,--optimize", request.level, "optimisation level")->check(CLI::Range(0, 2));
  command.add_option("--fold-limit", request.folding_limit_bytes,
                     "largest result of constant folding, bytes")
      ->check(CLI::NonNegativeNumber);
  repeatable(command.add_option("--disable", request.disabled, "passes to leave out"))
      ->delimiter(',')
      ->type_name("PASS");
  command.add_option("--stop-after", request.stop_after, "run only the first N passes (-1: all)");
}

ImportOptions import_options(const CompileRequest& request) {
  ImportOptions options;
  for (const std::string& text : request.inputs) options.input_shapes.insert(parse_input(text));
  for (const std::string& text : request.dims) options.dims.insert(parse_range(text));
  return options;
}

OptimizerOptions optimizer_options(const CompileRequest& request) {
  OptimizerOptions options;
  options.level = request.level;
  options.layout = layout_choice(request.layout);
  options.folding_limit_bytes = request.folding_limit_bytes;
  options.disabled.insert(request.disabled.begin(), request.disabled.end());
  options.stop_after = request.stop_after;
  return options;
}

std::string request_to_json(const CompileRequest& request) {
  return Json{{"inputs", request.inputs},
              {"dims", request.dims},
              {"layout", request.layout},
              {"level", request.level},
              {"fold_limit", request.folding_limit_bytes},
              {"disable", request.disabled},
              {"stop_after", request.stop_after}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

CompileRequest request_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    CompileRequest request;
    request.inputs = json.at("inputs").get<std::vector<std::string>>();
    request.dims = json.at("dims").get<std::vector<std::string>>();
    request.layout = json.at("layout").get<std::string>();
    request.level = json.at("level").get<int>();
    request.folding_limit_bytes = json.at("fold_limit").get<int64_t>();
    request.disabled = json.at("disable").get<std::vector<std::string>>();
    request.stop_after = json.at("stop_after").get<int64_t>();
    return request;
  } catch (const Json::exception&) {
    throw ModelError("the plan does not record the options that it was compiled with");
  }
}

Graph import_checked(const std::string& model, const ImportOptions& options) {
  if (model.ends_with(".ir")) return parse_graph(read_whole_file(model));
  Diagnostics diagnostics;
  Graph graph = import_model(model, options, diagnostics);
  diagnostics.throw_if_any();
  return graph;
}

}  // namespace mcc::tools
