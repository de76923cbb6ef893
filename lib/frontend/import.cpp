// import_model: load, check, import until nothing new is learned about dimensions, verify.
#include "lib/frontend/import.h"

#include "lib/frontend/importer.h"
#include "lib/frontend/op_table.h"
#include "lib/ir/verify.h"
#include "lib/support/error.h"
#include "onnx/defs/schema.h"

namespace mcc {
namespace {

using namespace frontend;

// Each attempt may make more dimensions equal; in practice two suffice.
constexpr int kMostAttempts = 8;

Graph import_loaded(LoadedModel model, const ImportOptions& options, Diagnostics& diagnostics) {
  model = raise_old_opset(std::move(model));
  ExternalFiles files(model.directory);
  Equalities equalities;
  for (int attempt = 1;; ++attempt) {
    Diagnostics found;
    Importer importer(model, options, found, files, equalities);
    Graph graph = importer.run();
    const bool again = importer.learned() && attempt < kMostAttempts;
    if (again) continue;
    if (found.empty()) {
      const std::string complaint = check_structure(model);
      if (!complaint.empty()) {
        found.report({"", "the whole model", complaint,
                      "export the model again, or repair it with the onnx package"});
      }
    }
    for (const Problem& problem : found.problems()) diagnostics.report(problem);
    diagnostics.throw_if_any();
    eliminate_dead_nodes(graph);
    verify_graph(graph, "import");
    return graph;
  }
}

}  // namespace

Graph import_model(const std::filesystem::path& path, const ImportOptions& options,
                   Diagnostics& diagnostics) {
  return import_loaded(load_model(path), options, diagnostics);
}

Graph import_model_bytes(std::string_view bytes, const ImportOptions& options,
                         Diagnostics& diagnostics, const std::filesystem::path& directory) {
  return import_loaded(parse_model(bytes, directory), options, diagnostics);
}

std::vector<SupportedOperator> supported_operators() {
  std::map<std::pair<std::string, std::string>, SupportedOperator> found;
  for (const OperatorEntry* entry : all_entries()) {
    SupportedOperator& op = found[{std::string(entry->domain), std::string(entry->name)}];
    op.domain = entry->domain;
    op.name = entry->name;
    op.since_versions.push_back(entry->since_version);
    if (!entry->note.empty()) op.note = entry->note;
  }
  // Operators without an entry whose schema defines them by others.
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (!schema.domain().empty() || schema.deprecated()) continue;
    if (!schema.HasFunction() && !schema.HasContextDependentFunction()) continue;
    const auto [at, is_new] = found.try_emplace({schema.domain(), schema.Name()});
    if (!is_new) continue;
    at->second = {schema.domain(), schema.Name(), {schema.since_version()},
                  "by its function body"};
  }
  std::vector<SupportedOperator> result;
  for (auto& [key, op] : found) result.push_back(std::move(op));
  return result;
}

}  // namespace mcc
