// If, Loop and Scan.
#include "lib/frontend/importer.h"
#include "lib/frontend/op_table.h"
#include "lib/frontend/ops/loop_builder.h"

namespace mcc::frontend {
namespace {

const onnx::GraphProto& body_of(const NodeContext& c, std::string_view name) {
  const onnx::AttributeProto* attribute = c.attribute(name);
  if (attribute == nullptr || !attribute->has_g()) {
    throw ModelError("the attribute '" + std::string(name) + "' is missing.");
  }
  return attribute->g();
}

void finish(NodeContext& c, Operands results) {
  if (any_poison(results)) {
    results.assign(static_cast<size_t>(c.proto.output_size()), Operand::poison());
  }
  c.outputs = std::move(results);
}

void import_if(NodeContext& c) {
  const Operand condition = c.in(0);
  const auto branch = [&](const char* name) {
    return [&c, name](Builder& b) { return c.importer.import_body(body_of(c, name), b, {}); };
  };
  if (const Tensor* known = condition.constant_tensor()) {
    if (known->elements() != 1) throw ModelError("the condition must be one bool.");
    return finish(c, branch(known->get_int64(0) != 0 ? "then_branch" : "else_branch")(c.b));
  }
  finish(c, emit_if(c, condition, branch("then_branch"), branch("else_branch")));
}

void import_loop(NodeContext& c) {
  const onnx::GraphProto& body = body_of(c, "body");
  LoopSpec spec;
  spec.trip_count = c.has(0) ? c.b.reshape(c.in(0), {}) : Operand();
  spec.condition = c.has(1) ? c.b.reshape(c.in(1), {}) : Operand();
  for (size_t i = 2; i < c.inputs.size(); ++i) spec.carried.push_back(c.in(i));
  const size_t carried = spec.carried.size();
  if (static_cast<size_t>(body.input_size()) != carried + 2 ||
      static_cast<size_t>(body.output_size()) < carried + 1) {
    throw ModelError("the body's inputs and outputs do not fit the loop's.");
  }
  spec.scan_count = static_cast<size_t>(body.output_size()) - carried - 1;
  spec.body_nodes = body.node_size();
  spec.body = [&](Builder& b, const Operand& iteration, const Operand& condition,
                  const Operands& values) {
    std::map<std::string, Operand> names;
    names[body.input(0).name()] = iteration;
    names[body.input(1).name()] = condition;
    for (size_t i = 0; i < carried; ++i) {
      names[body.input(static_cast<int>(i) + 2).name()] = values[i];
    }
    const Operands outputs = c.importer.import_body(body, b, names);
    const auto first_scan = outputs.begin() + static_cast<std::ptrdiff_t>(carried) + 1;
    return LoopResult{outputs[0], Operands(outputs.begin() + 1, first_scan),
                      Operands(first_scan, outputs.end())};
  };
  finish(c, emit_loop(c, spec));
}

// Scan is a loop over slices of its scan inputs.
void import_scan(NodeContext& c) {
  const onnx::GraphProto& body = body_of(c, "body");
  const auto scans = static_cast<size_t>(c.integer("num_scan_inputs"));
  if (scans < 1 || scans > c.inputs.size() ||
      static_cast<size_t>(body.input_size()) != c.inputs.size()) {
    throw ModelError("num_scan_inputs does not fit the inputs.");
  }
  const size_t states = c.inputs.size() - scans;
  if (static_cast<size_t>(body.output_size()) < states) {
    throw ModelError("the body returns too few values.");
  }
  const size_t scan_outputs = static_cast<size_t>(body.output_size()) - states;
  const Ints in_axes = c.ints("scan_input_axes", Ints(scans, 0));
  const Ints in_directions = c.ints("scan_input_directions", Ints(scans, 0));
  const Ints out_axes = c.ints("scan_output_axes", Ints(scan_outputs, 0));
  const Ints out_directions = c.ints("scan_output_directions", Ints(scan_outputs, 0));
  if (in_axes.size() != scans || in_directions.size() != scans ||
      out_axes.size() != scan_outputs || out_directions.size() != scan_outputs) {
    throw ModelError("axes and directions do not fit the scanned values.");
  }
  // Scanned values with time first.
  Operands sources;
  for (size_t i = 0; i < scans; ++i) {
    const Operand x = c.in(states + i);
    const int64_t axis = normalized_axis(in_axes[i], x.rank());
    const Operand moved = c.b.move_axis(x, axis, 0);
    sources.push_back(in_directions[i] != 0 ? c.b.reverse(moved, 0) : moved);
  }
  LoopSpec spec;
  spec.trip_count = c.b.number(sources[0].dim(0), DType::i64);
  for (size_t i = 0; i < states; ++i) spec.carried.push_back(c.in(i));
  spec.scan_count = scan_outputs;
  spec.body_nodes = body.node_size();
  spec.body = [&](Builder& b, const Operand& iteration, const Operand&, const Operands& values) {
    std::map<std::string, Operand> names;
    for (size_t i = 0; i < states; ++i) names[body.input(static_cast<int>(i)).name()] = values[i];
    for (size_t i = 0; i < scans; ++i) {
      names[body.input(static_cast<int>(states + i)).name()] =
          b.gather(sources[i], iteration, 0);
    }
    const Operands outputs = c.importer.import_body(body, b, names);
    const auto first_scan = outputs.begin() + static_cast<std::ptrdiff_t>(states);
    return LoopResult{Operand(), Operands(outputs.begin(), first_scan),
                      Operands(first_scan, outputs.end())};
  };
  Operands results = emit_loop(c, spec);
  if (!any_poison(results)) {
    for (size_t i = 0; i < scan_outputs; ++i) {
      Operand& result = results[states + i];
      if (out_directions[i] != 0) result = c.b.reverse(result, 0);
      result = c.b.move_axis(result, 0, normalized_axis(out_axes[i], result.rank()));
    }
  }
  finish(c, std::move(results));
}

const OperatorEntry kEntries[] = {
    {"", "If", 1, import_if},
    {"", "Loop", 1, import_loop},
    {"", "Scan", 9, import_scan},
};

}  // namespace

std::span<const OperatorEntry> control_entries() { return kEntries; }

}  // namespace mcc::frontend
