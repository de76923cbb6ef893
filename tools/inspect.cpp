// mcc inspect: what a plan holds. Needs no device.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "lib/support/error.h"
#include "tools/commands.h"
#include "tools/io/dims.h"
#include "tools/io/inputs.h"
#include "tools/io/plan_handle.h"
#include "tools/io/report.h"

namespace mcc::tools {

namespace {

struct InspectOptions {
  std::string plan;
  std::vector<std::string> dims;
  bool json = false;
  bool kernels = false;
  bool manifest = false;
};

Json signature_json(const std::vector<PlanTensor>& tensors) {
  Json result = Json::array();
  for (const PlanTensor& tensor : tensors) {
    Json shape = Json::array();
    for (size_t axis = 0; axis < tensor.text.size(); ++axis) {
      if (tensor.minimum[axis] == tensor.maximum[axis]) {
        shape.push_back(tensor.minimum[axis]);
      } else {
        shape.push_back(tensor.text[axis]);
      }
    }
    result.push_back({{"name", tensor.name},
                      {"dtype", std::string(dtype_info(tensor.dtype).name)},
                      {"shape", std::move(shape)}});
  }
  return result;
}

// Memory at the sizes given, or at the smallest ones.
Json arena_json(const PlanHandle& plan, const InspectOptions& options, int64_t& weights_bytes) {
  const std::map<std::string, int64_t> dims = parse_dims(options.dims);
  std::vector<std::vector<int64_t>> shapes;
  Json used = Json::object();
  const DimSizes sizes = complete_sizes(plan.inputs(), dims);
  for (const PlanTensor& input : plan.inputs()) {
    const std::vector<int64_t>& shape = shapes.emplace_back(shape_at(input, sizes));
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (input.minimum[axis] != input.maximum[axis]) used[input.text[axis]] = shape[axis];
    }
  }
  for (const auto& [name, size] : dims) {
    if (!used.contains(name)) throw UsageError("no input has a dimension named \"" + name + "\"");
  }
  std::vector<mcc_shape> views;
  for (const auto& shape : shapes) views.push_back({static_cast<int>(shape.size()), shape.data()});
  mcc_memory memory{};
  char error[1024];
  check_status(mcc_plan_memory(plan.get(), views.data(), static_cast<int>(views.size()), &memory,
                               error, sizeof error),
               error);
  weights_bytes = memory.weights_bytes;
  if (memory.arena_bytes < 0) {  // depends on data
    return {{"bytes", nullptr}, {"lower_bound_bytes", nullptr}, {"sum_bytes", nullptr},
            {"ratio", nullptr}, {"dims", std::move(used)}};
  }
  const double ratio = memory.arena_lower_bound_bytes == 0
                           ? 1.0
                           : static_cast<double>(memory.arena_bytes) /
                                 static_cast<double>(memory.arena_lower_bound_bytes);
  return {{"bytes", memory.arena_bytes}, {"lower_bound_bytes", memory.arena_lower_bound_bytes},
          {"sum_bytes", memory.arena_sum_bytes}, {"ratio", ratio}, {"dims", std::move(used)}};
}

Json targets_json(const Json& manifest) {
  Json result = Json::array();
  for (const Json& target : manifest["targets"]) {
    int64_t bytes = 0;
    for (const Json& id : target["sections"]) {
      bytes += manifest["file"]["sections"][id.get<size_t>() - 1]["bytes"].get<int64_t>();
    }
    Json row = {{"name", target["name"]}, {"kind", target["kind"]}, {"bytes", bytes}};
    for (const char* key : {"isa", "compute_capability", "minimum_driver"}) {
      if (target.contains(key)) row[key] = target[key];
    }
    Json kernels = Json::array();
    for (size_t k = 0; k < target["kernels"].size(); ++k) {
      const Json& resources = target["kernels"][k];
      Json kernel = {{"name", resources["name"]}, {"origin", manifest["kernels"][k]["origin"]}};
      for (const char* key : {"registers", "spill_bytes", "shared_bytes"}) {
        kernel[key] = resources.value(key, Json(nullptr));
      }
      kernels.push_back(std::move(kernel));
    }
    row["kernels"] = std::move(kernels);
    result.push_back(std::move(row));
  }
  return result;
}

Json program_json(const Json& manifest) {
  int64_t launches = 0;
  int64_t copies = 0;
  Json classes = Json::object();
  for (const Json& step : manifest["program"]) {
    if (step["op"] != "launch") {
      ++copies;
      continue;
    }
    ++launches;
    const std::string name = manifest["kernels"][step["kernel"].get<size_t>()]["class"];
    classes[name] = classes.value(name, 0) + 1;
  }
  return {{"launches", launches}, {"copies", copies},
          {"kernels", manifest["kernels"].size()}, {"launches_by_class", std::move(classes)}};
}

Json inspect(const InspectOptions& options, const PlanHandle& plan, const Json& manifest) {
  int64_t weights_bytes = 0;
  const Json arena = arena_json(plan, options, weights_bytes);
  Json json = {{"plan", options.plan},
               {"model", manifest["model"]["name"]},
               {"producer", manifest["producer"]},
               {"format", manifest["format"]},
               {"file_bytes", manifest["file"]["bytes"]},
               {"inputs", signature_json(plan.inputs())},
               {"outputs", signature_json(plan.outputs())}};
  Json symbols = Json::array();
  for (const Json& symbol : manifest["symbols"]) {
    const int64_t limit = symbol["max"].get<int64_t>();
    symbols.push_back({{"name", symbol["name"]}, {"label", symbol["label"]},
                       {"min", symbol["min"]},
                       {"max", limit >= (int64_t{1} << 31) - 1 ? Json(nullptr) : Json(limit)}});
  }
  json["symbols"] = std::move(symbols);
  json["program"] = program_json(manifest);
  json["arena"] = arena;
  json["arena"]["static"] = manifest["arena"]["static"];
  json["weights_bytes"] = weights_bytes;
  json["targets"] = targets_json(manifest);
  json["toolchain"] = manifest["toolchain"];
  json["options"] = manifest["options"];
  return json;
}

std::string shape_text(const Json& shape) {
  std::string text = "[";
  for (const Json& dim : shape) {
    text += (text.size() > 1 ? ", " : "") + (dim.is_string() ? dim.get<std::string>() : dim.dump());
  }
  return text + "]";
}

void print_tensors(const char* title, const Json& tensors) {
  for (const Json& tensor : tensors) {
    std::printf("%-10s %s: %s%s\n", title, tensor["name"].get<std::string>().c_str(),
                tensor["dtype"].get<std::string>().c_str(), shape_text(tensor["shape"]).c_str());
  }
}

void print_kernels(const Json& target) {
  for (const Json& kernel : target["kernels"]) {
    const auto number = [&](const char* key) {
      return kernel[key].is_null() ? std::string("-") : kernel[key].dump();
    };
    std::string origin;
    for (const Json& node : kernel["origin"]) origin += " " + node.get<std::string>();
    std::printf("  %-6s %5s registers %5s spilled %7s shared %s\n",
                kernel["name"].get<std::string>().c_str(), number("registers").c_str(),
                number("spill_bytes").c_str(), number("shared_bytes").c_str(), origin.c_str());
  }
}

void print_text(const Json& json, bool kernels) {
  std::printf("%-10s %s, %s, written by %s\n", "plan", json["model"].get<std::string>().c_str(),
              bytes_text(json["file_bytes"]).c_str(), json["producer"].get<std::string>().c_str());
  print_tensors("input", json["inputs"]);
  print_tensors("output", json["outputs"]);
  for (const Json& symbol : json["symbols"]) {
    const std::string limit = symbol["max"].is_null() ? "any" : symbol["max"].dump();
    std::printf("%-10s %s: %s..%s\n", "dimension", symbol["label"].get<std::string>().c_str(),
                symbol["min"].dump().c_str(), limit.c_str());
  }
  const Json& program = json["program"];
  std::printf("%-10s %s launches of %s kernels, %s copies\n", "program",
              program["launches"].dump().c_str(), program["kernels"].dump().c_str(),
              program["copies"].dump().c_str());
  const Json& arena = json["arena"];
  if (arena["bytes"].is_null()) {
    std::printf("%-10s known only while running: sizes depend on data\n", "arena");
  } else {
    std::printf("%-10s %s, %.3f x the lower bound of %s; without reuse %s%s\n", "arena",
                bytes_text(arena["bytes"]).c_str(), arena["ratio"].get<double>(),
                bytes_text(arena["lower_bound_bytes"]).c_str(), bytes_text(arena["sum_bytes"]).c_str(),
                arena["dims"].empty() ? "" : (" (at " + arena["dims"].dump() + ")").c_str());
  }
  std::printf("%-10s %s\n", "weights", bytes_text(json["weights_bytes"]).c_str());
  for (const Json& target : json["targets"]) {
    int64_t spilling = 0;
    for (const Json& kernel : target["kernels"]) {
      spilling += !kernel["spill_bytes"].is_null() && kernel["spill_bytes"] != 0 ? 1 : 0;
    }
    std::printf("%-10s %s (%s), %s%s\n", "target", target["name"].get<std::string>().c_str(),
                target["kind"].get<std::string>().c_str(), bytes_text(target["bytes"]).c_str(),
                spilling > 0 ? (", " + std::to_string(spilling) + " kernels spill registers").c_str()
                             : "");
    if (kernels) print_kernels(target);
  }
}

int run(const InspectOptions& options) {
  const PlanHandle plan(options.plan);
  const Json manifest = Json::parse(mcc_plan_json(plan.get()));
  if (options.manifest) {
    print_json(manifest);
    return 0;
  }
  const Json json = inspect(options, plan, manifest);
  if (options.json) {
    print_json(json);
  } else {
    print_text(json, options.kernels);
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, ToolContext& context) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect", "Show what a plan holds");
  command->add_option("plan", options->plan, "the plan file")->required()->type_name("PLAN");
  repeatable(command->add_option("--dim", options->dims,
                                 "size of a dynamic dimension for the arena: NAME=SIZE"))
      ->type_name("NAME=SIZE");
  command->add_flag("--kernels", options->kernels, "list every kernel of every target");
  command->add_flag("--manifest", options->manifest, "print the whole manifest as JSON");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &context] { context.exit_code = run(*options); });
}

}  // namespace mcc::tools
