// ONNX models to IR graphs. Knows no onnx type, so that nothing above the frontend does.
//
// Guarantees of an imported graph: verified; every node's `origin` names the ONNX nodes that it
// stands for; shape arithmetic of the model is gone (folded into symbolic dimensions); inputs and
// outputs keep the model's names and order.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/graph.h"
#include "lib/support/diagnostics.h"

namespace mcc {

struct ImportOptions {
  // Input name → one text per dimension: a number fixes it, an identifier names its symbol
  // ("x" → {"1", "3", "H", "W"}). Also the way to give an input without a shape one.
  std::map<std::string, std::vector<std::string>> input_shapes;
  // Symbol label → the sizes that the plan must serve; low == high fixes the dimension. A symbol
  // that is not listed ranges over [1, 2^31), or [0, 2^31) when its label or the only inputs that
  // have it are named after a "past" or "cache" (a KV cache starts out empty).
  std::map<std::string, Range> dims;
};

// How symbols come about: each distinct dim_param is one symbol; an expression over such names
// ("past + 1") stays an expression; a dimension without a name is a symbol of its own, labelled
// "input[axis]". Two different symbols that an operator needs to be equal become one: the
// importer starts over with that knowledge, so that input shapes contradicting it are refused when
// inputs are bound. ONNX broadcasting of two symbolic dimensions counts as such a need.
//
// All problems of the model go to `diagnostics`; throws ModelError with all of them at the end.
// UsageError when `options` do not fit the model (unknown input or symbol).
Graph import_model(const std::filesystem::path& path, const ImportOptions& options,
                   Diagnostics& diagnostics);
// The same for a serialized ModelProto in memory; external data is looked up in `directory`.
Graph import_model_bytes(std::string_view bytes, const ImportOptions& options,
                         Diagnostics& diagnostics, const std::filesystem::path& directory = {});

struct SupportedOperator {
  std::string domain;  // "" is ai.onnx
  std::string name;
  std::vector<int> since_versions;  // of the entries, ascending
  std::string note;                 // limits, or "by its function body"
};
// Sorted by domain, then name.
std::vector<SupportedOperator> supported_operators();

}  // namespace mcc
