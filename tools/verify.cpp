// mcc verify: a plan's results against the reference evaluator, then, where they differ, launch by
// launch to the first difference.
//
// The launches of a plan are the fused nodes of the optimised graph, in order. So the import and
// the optimisation are repeated with the options that the plan records, and the evaluator's value
// of each fused node is compared with what the kernel wrote.
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "lib/ir/evaluate.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"
#include "tools/commands.h"
#include "tools/compile_request.h"
#include "tools/io/compare.h"
#include "tools/io/inputs.h"
#include "tools/io/plan_handle.h"
#include "tools/io/progress.h"
#include "tools/io/report.h"

namespace mcc::tools {

namespace {

struct VerifyOptions {
  std::string model;
  std::string plan;
  SessionRequest session;
  InputRequest input;
  double tolerance = -1;  // negative: by element type
  bool layers = false;
  bool json = false;
};

struct Verdict {
  std::string name;
  Difference difference;
  double tolerance = 0;
  bool ok() const { return difference.relative <= tolerance; }
};

double tolerance_for(const VerifyOptions& options, DType dtype) {
  return options.tolerance >= 0 ? options.tolerance : default_tolerance(dtype);
}

Json verdict_json(const Verdict& verdict) {
  return {{"name", verdict.name},
          {"max_abs_error", verdict.difference.max_abs},
          {"relative_error", verdict.difference.relative},
          {"tolerance", verdict.tolerance},
          {"ok", verdict.ok()}};
}

void print_verdict(const char* what, const Verdict& verdict) {
  std::printf("%s %s: relative difference %.3g (tolerance %.3g), largest %.3g%s\n", what,
              verdict.name.c_str(), verdict.difference.relative, verdict.tolerance,
              verdict.difference.max_abs, verdict.ok() ? "" : "  DIFFERS");
  if (!verdict.ok()) {
    std::printf("    at element %lld: expected %.9g, got %.9g\n",
                static_cast<long long>(verdict.difference.index), verdict.difference.expected,
                verdict.difference.actual);
  }
}

// Outputs of the model by the reference evaluator.
std::vector<Tensor> reference_outputs(const Graph& graph, const std::vector<Tensor>& inputs,
                                      Progress& progress) {
  int done = 0;
  return evaluate(graph, inputs, [&](const Node&, const std::vector<Tensor>&) {
    progress.update("reference", ++done, static_cast<int>(graph.nodes.size()));
  });
}

std::vector<Verdict> compare_outputs(const VerifyOptions& options, const Graph& graph,
                                     const std::vector<Tensor>& expected,
                                     const std::vector<Tensor>& actual) {
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].shape() != actual[i].shape() || expected[i].dtype() != actual[i].dtype()) {
      throw ModelError("output \"" + graph.output_names[i] + "\" is " +
                       dims_text(expected[i].shape()) + " in the model but " +
                       dims_text(actual[i].shape()) + " in the plan: the plan is of another model");
    }
    verdicts.push_back({graph.output_names[i], compare(expected[i], actual[i]),
                        tolerance_for(options, expected[i].dtype())});
  }
  return verdicts;
}

// What the launches should have written: per launch, the values of the fused node's outputs.
struct LayerReference {
  std::vector<std::vector<Tensor>> outputs;
  std::vector<std::vector<std::string>> origins;
  std::vector<Tensor> graph_outputs;
};

LayerReference evaluate_layers(const Graph& graph, const std::vector<Tensor>& inputs,
                               Progress& progress) {
  LayerReference reference;
  int done = 0;
  reference.graph_outputs =
      evaluate(graph, inputs, [&](const Node& node, const std::vector<Tensor>& outputs) {
        progress.update("layers", ++done, static_cast<int>(graph.nodes.size()));
        if (node.op != Op::fused) return;
        reference.outputs.push_back(outputs);
        reference.origins.push_back(node.origin);
      });
  return reference;
}

// Collects the comparison of every launch while the plan runs.
struct LayerWatch {
  const VerifyOptions& options;
  const LayerReference& reference;
  std::vector<Verdict> verdicts;
  std::optional<size_t> first;   // the first verdict that is not ok
  std::string first_text;
  bool mismatched = false;       // the plan's program is not the optimised graph's

  int observe(const mcc_observation& seen) {
    if (seen.kernel == nullptr) return 0;
    const auto launch = static_cast<size_t>(seen.instruction);
    const auto ordinal = static_cast<size_t>(seen.ordinal);
    if (launch >= reference.outputs.size() || ordinal >= reference.outputs[launch].size() ||
        reference.outputs[launch][ordinal].bytes() != seen.bytes) {
      mismatched = true;
      return 1;
    }
    const Tensor& expected = reference.outputs[launch][ordinal];
    Tensor actual(expected.dtype(), expected.shape());
    if (seen.bytes > 0) std::memcpy(actual.mutable_data(), seen.data, seen.bytes);
    Verdict verdict{seen.kernel, compare(expected, actual),
                    tolerance_for(options, expected.dtype())};
    if (!verdict.ok() && !first) {
      first = verdicts.size();
      for (const std::string& node : reference.origins[launch]) {
        first_text += (first_text.empty() ? "" : ", ") + node;
      }
      if (seen.name[0] != '\0') first_text += " (tensor " + std::string(seen.name) + ")";
      first_text += ", shape " + dims_text(expected.shape());
    }
    verdicts.push_back(std::move(verdict));
    return 0;
  }
};

int observe_launch(const mcc_observation* observation, void* user) {
  return static_cast<LayerWatch*>(user)->observe(*observation);
}

bool all_ok(const std::vector<Verdict>& verdicts) {
  for (const Verdict& verdict : verdicts) {
    if (!verdict.ok()) return false;
  }
  return true;
}

void report_layers(const LayerWatch& watch, const std::vector<Verdict>& optimized, Json& json,
                   bool as_json) {
  json["layers_checked"] = watch.verdicts.size();
  json["optimizer_ok"] = all_ok(optimized);
  json["first_difference"] = nullptr;
  if (watch.first) {
    json["first_difference"] = verdict_json(watch.verdicts[*watch.first]);
    json["first_difference"]["origin"] = watch.first_text;
  }
  if (as_json) return;
  if (!all_ok(optimized)) {
    std::printf("the optimised graph already differs from the model: a pass changed its meaning "
                "(bisect with --stop-after)\n");
    for (const Verdict& verdict : optimized) print_verdict("  optimised output", verdict);
  }
  if (watch.mismatched) {
    std::printf("layers cannot be compared: the plan's program is not what this mcc makes of the "
                "model with the recorded options\n");
  } else if (watch.first) {
    print_verdict("first difference in kernel", watch.verdicts[*watch.first]);
    std::printf("    %s\n", watch.first_text.c_str());
  } else {
    std::printf("all %zu compared layers agree\n", watch.verdicts.size());
  }
}

int run(const VerifyOptions& options) {
  const PlanHandle plan(options.plan);
  const Json manifest = Json::parse(mcc_plan_json(plan.get()));
  const CompileRequest request = request_from_json(manifest["options"].dump());
  Progress progress;
  progress.update("importing");
  Graph graph = import_checked(options.model, import_options(request));
  const std::vector<Tensor> inputs = make_inputs(plan.inputs(), options.input);
  if (graph.inputs.size() != inputs.size() || graph.outputs.size() != plan.outputs().size()) {
    throw ModelError("the model and the plan differ in their inputs or outputs");
  }
  SessionHandle session(plan, options.session);
  std::vector<Tensor> actual = session.bind(plan, inputs);
  session.run(inputs, actual);
  const std::vector<Tensor> expected = reference_outputs(graph, inputs, progress);
  const std::vector<Verdict> verdicts = compare_outputs(options, graph, expected, actual);
  const bool outputs_ok = all_ok(verdicts);
  Json json = {{"model", options.model},
               {"plan", options.plan},
               {"device", mcc_session_device(session.get())},
               {"outputs", Json::array()}};
  for (const Verdict& verdict : verdicts) json["outputs"].push_back(verdict_json(verdict));
  progress.clear();
  if (!options.json) {
    for (const Verdict& verdict : verdicts) print_verdict("output", verdict);
  }
  bool layers_ok = true;
  if (!outputs_ok || options.layers) {
    optimize(graph, optimizer_options(request));
    const LayerReference reference = evaluate_layers(graph, inputs, progress);
    LayerWatch watch{options, reference, {}, {}, {}, false};
    session.check(mcc_session_observe(session.get(), observe_launch, &watch));
    session.run(inputs, actual);
    progress.clear();
    report_layers(watch, compare_outputs(options, graph, expected, reference.graph_outputs), json,
                  options.json);
    layers_ok = !watch.first && !watch.mismatched;
  }
  // With --layers a difference inside counts even when the outputs happen to agree.
  const bool ok = outputs_ok && layers_ok;
  json["ok"] = ok;
  if (options.json) print_json(json);
  if (!options.json) std::printf("%s\n", ok ? "verified" : "NOT VERIFIED");
  return static_cast<int>(ok ? ExitCode::success : ExitCode::verification);
}

}  // namespace

void add_verify(CLI::App& app, ToolContext& context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app.add_subcommand("verify", "Compare a plan's results with the reference evaluator");
  command->add_option("model", options->model, "the ONNX file")->required()->type_name("MODEL.onnx");
  command->add_option("plan", options->plan, "the plan compiled from it")->required()->type_name("PLAN");
  command->add_option("--device", options->session.device, "auto, host, cuda or cuda:N");
  command->add_option("--threads", options->session.threads, "host threads (0: one per core)")
      ->check(CLI::Range(0, 4096));
  repeatable(command->add_option("--input", options->input.sources,
                                 "FILE.npz, or NAME=FILE.npy|FILE|random|zeros (default: random)"))
      ->type_name("SOURCE");
  repeatable(command->add_option("--dim", options->input.dims,
                                 "size of a dynamic dimension: NAME=SIZE"))
      ->type_name("NAME=SIZE");
  command->add_option("--seed", options->input.seed, "seed of random inputs");
  command->add_option("--tolerance", options->tolerance,
                      "accepted difference relative to the largest magnitude (default: by type)");
  command->add_flag("--layers", options->layers, "compare every layer even if the outputs agree");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &context] { context.exit_code = run(*options); });
}

}  // namespace mcc::tools
