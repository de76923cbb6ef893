// mcc ops: the ONNX operators that can be imported.
#include <cstdio>
#include <memory>

#include "lib/frontend/import.h"
#include "lib/support/error.h"
#include "tools/commands.h"
#include "tools/io/report.h"

namespace mcc::tools {

namespace {

std::string versions_text(const SupportedOperator& op) {
  std::string text;
  for (int version : op.since_versions) text += (text.empty() ? "" : ", ") + std::to_string(version);
  return text;
}

bool matches(const SupportedOperator& op, const std::string& filter) {
  return filter.empty() || op.name.find(filter) != std::string::npos;
}

int run(const std::string& filter, bool as_json) {
  Json json = Json::array();
  int count = 0;
  for (const SupportedOperator& op : supported_operators()) {
    if (!matches(op, filter)) continue;
    ++count;
    if (as_json) {
      json.push_back({{"domain", op.domain.empty() ? "ai.onnx" : op.domain},
                      {"name", op.name},
                      {"since_versions", op.since_versions},
                      {"note", op.note}});
    } else {
      const std::string name = op.domain.empty() ? op.name : op.domain + "." + op.name;
      std::printf("%-40s since opset %-16s %s\n", name.c_str(), versions_text(op).c_str(),
                  op.note.c_str());
    }
  }
  if (count == 0 && !filter.empty()) {
    throw UsageError("no supported operator's name contains \"" + filter + "\"");
  }
  if (as_json) print_json(Json{{"operators", std::move(json)}});
  return 0;
}

}  // namespace

void add_ops(CLI::App& app, ToolContext& context) {
  auto filter = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("ops", "List the supported ONNX operators");
  command->add_option("filter", *filter, "only operators whose name contains this")->type_name("TEXT");
  command->add_flag("--json", *json, "print one JSON object");
  command->callback([filter, json, &context] { context.exit_code = run(*filter, *json); });
}

}  // namespace mcc::tools
