// The importer: inputs, initializers, nodes, outputs. Functions are in functions.cpp.
#include "lib/frontend/importer.h"

#include <algorithm>
#include <set>

#include "lib/frontend/frame.h"
#include "lib/frontend/op_table.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

std::string operation_text(const onnx::NodeProto& node, int64_t opset) {
  const std::string_view domain = plain_domain(node.domain());
  return (domain.empty() ? "" : std::string(domain) + ".") + node.op_type() + " (opset " +
         std::to_string(opset) + ")";
}

// Advice when an entry's ModelError has none of its own.
constexpr const char* kGeneralAdvice =
    "check the model with onnx.checker.check_model(..., full_check=True), or give the inputs' "
    "shapes with --input";

}  // namespace

const Operand* Scope::find(const std::string& name) const {
  const auto found = names_.find(name);
  if (found != names_.end()) return &found->second;
  return outer_ == nullptr ? nullptr : outer_->find(name);
}

Importer::Importer(const LoadedModel& model, const ImportOptions& options,
                   Diagnostics& diagnostics, ExternalFiles& files, Equalities& equalities)
    : model_(model),
      options_(options),
      diagnostics_(diagnostics),
      files_(files),
      equalities_(equalities),
      proto_owner_(model.proto) {}

Importer::~Importer() = default;

bool Importer::learned() const { return symbols_ != nullptr && symbols_->learned(); }

void Importer::report(const std::string& node, const std::string& operation,
                      const std::string& reason, const std::string& advice) {
  diagnostics_.report({node, operation, reason, advice});
}

std::vector<DeclaredInput> Importer::declare_inputs() {
  const onnx::GraphProto& graph = model_.proto->graph();
  std::set<std::string> initialized, names;
  for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) initialized.insert(tensor.values().name());
  std::vector<DeclaredInput> inputs;
  for (const auto& info : graph.input()) {
    if (initialized.count(info.name()) != 0) continue;  // a parameter, not an input
    names.insert(info.name());
    const auto given = options_.input_shapes.find(info.name());
    DeclaredInput input{info.name(), {}};
    const std::string whole = "input '" + info.name() + "'";
    if (!info.type().has_tensor_type()) {
      report("", whole, "only tensors can be inputs of a model, not sequences, maps or optionals.",
             "split the model so that its inputs are tensors");
      input_types_.push_back(onnx::TensorProto::FLOAT);
      inputs.push_back(input);
      continue;
    }
    const auto& type = info.type().tensor_type();
    input_types_.push_back(type.elem_type());
    const auto fallback = [&](size_t axis) {
      return info.name() + "[" + std::to_string(axis) + "]";
    };
    if (type.has_shape()) {
      for (const auto& dim : type.shape().dim()) {
        const std::string text = dim.has_dim_value() && dim.dim_value() >= 0
                                     ? std::to_string(dim.dim_value())
                                     : dim.dim_param();
        input.dims.push_back(parse_dimension(text, fallback(input.dims.size())));
      }
    }
    if (given != options_.input_shapes.end()) {
      Shape shape;
      for (const std::string& text : given->second) {
        shape.push_back(parse_dimension(text, fallback(shape.size())));
      }
      if (type.has_shape() && shape.size() != input.dims.size()) {
        throw UsageError("input '" + info.name() + "' has " + std::to_string(input.dims.size()) +
                         " dimensions, but --input gives it " + std::to_string(shape.size()) + ".");
      }
      for (size_t i = 0; i < input.dims.size(); ++i) {
        const Expr& declared = input.dims[i];
        if (declared.is_constant() && !(declared == shape[i])) {
          throw UsageError("dimension " + std::to_string(i) + " of input '" + info.name() +
                           "' is fixed to " + declared.str() + " by the model.");
        }
        if (!declared.is_constant()) equalities_.learn(declared, shape[i], {});
      }
      input.dims = shape;
    } else if (!type.has_shape()) {
      report("", whole, "the model does not say its shape.",
             "give one with --input " + info.name() + ":1x3x224x224");
    }
    inputs.push_back(std::move(input));
  }
  for (const auto& [name, shape] : options_.input_shapes) {
    if (names.count(name) != 0) continue;
    std::string list;
    for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
    throw UsageError("the model has no input '" + name + "'; its inputs are: " + list + ".");
  }
  return inputs;
}

Operand Importer::tensor_operand(const onnx::TensorProto& proto) {
  return Operand::constant(
      std::make_shared<const Tensor>(tensor_from_proto(proto, proto_owner_, files_)));
}

Operand Importer::sparse_operand(const onnx::SparseTensorProto& proto) {
  return Operand::constant(
      std::make_shared<const Tensor>(tensor_from_sparse(proto, proto_owner_, files_)));
}

void Importer::import_initializers(const onnx::GraphProto& graph, Scope& scope) {
  const auto import_one = [&](const std::string& name, const auto& make) {
    Operand operand = Operand::poison();
    try {
      operand = make();
      operand.set_name(name);
    } catch (const ModelError& error) {
      report("", "weight '" + name + "'", error.what(),
             "export the model again, or restore its external data files");
    }
    scope.set(name, operand);
  };
  for (const auto& tensor : graph.initializer()) {
    import_one(tensor.name(), [&] { return tensor_operand(tensor); });
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    import_one(tensor.values().name(), [&] { return sparse_operand(tensor); });
  }
}

void Importer::import_nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                            Builder& builder, Frame& frame) {
  for (int i = 0; i < nodes.size(); ++i) {
    const std::string& given = nodes[i].name();
    const std::string name = frame.prefix + (given.empty() ? "#" + std::to_string(i) : given);
    import_node(nodes[i], name, builder, frame);
  }
}

void Importer::import_node(const onnx::NodeProto& node, const std::string& name, Builder& builder,
                           Frame& frame) {
  const std::string domain(plain_domain(node.domain()));
  const int64_t opset = frame.opset(domain);
  NodeContext context(node, opset, builder, *this);
  const auto fail = [&](const std::string& reason, const std::string& advice) {
    report(name, operation_text(node, opset), reason, advice);
    context.outputs.assign(static_cast<size_t>(node.output_size()), Operand::poison());
  };
  bool poisoned = false;
  std::string missing;
  for (const std::string& input : node.input()) {
    const Operand* operand = input.empty() ? nullptr : frame.scope.find(input);
    if (operand == nullptr && !input.empty()) missing = input;
    context.inputs.push_back(operand == nullptr ? Operand() : *operand);
    poisoned = poisoned || context.inputs.back().is_poison();
  }
  for (const auto& attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      context.attributes[attribute.name()] = &attribute;
      continue;
    }
    const auto bound = frame.attributes.find(attribute.ref_attr_name());
    if (bound != frame.attributes.end()) context.attributes[attribute.name()] = bound->second;
  }
  const std::vector<std::string> outer_origin = builder.origin;
  if (frame.own_origin) builder.origin = {name};
  Frame* const outer_frame = frame_;
  frame_ = &frame;
  try {
    const OperatorEntry* entry = find_entry(domain, node.op_type(), opset);
    if (!missing.empty()) {
      fail("the input '" + missing + "' is defined nowhere before this node.", kGeneralAdvice);
    } else if (frame.is_local_function(node) || entry == nullptr) {
      if (!expand_function(context, name, frame)) {
        fail("the operator is not supported.",
             "`mcc ops` lists what is; rewrite the model without it, or export for another opset");
      } else if (poisoned) {
        context.outputs.clear();
      }
    } else if (!poisoned) {
      entry->import(context);
    }
  } catch (const Refusal& error) {
    fail(error.what(), error.advice);
  } catch (const ModelError& error) {
    fail(error.what(), kGeneralAdvice);
  }
  frame_ = outer_frame;
  builder.origin = outer_origin;
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    Operand result = Operand::poison();
    if (static_cast<size_t>(i) < context.outputs.size() && context.outputs[static_cast<size_t>(i)]) {
      result = context.outputs[static_cast<size_t>(i)];
      if (!result.is_poison() && !result.is_sequence()) {
        result.set_name(node.output(i));
        const bool has_node = result.owner() == &builder;
        if (has_node && builder.graph().values[static_cast<size_t>(result.id())].name.empty()) {
          builder.graph().values[static_cast<size_t>(result.id())].name = node.output(i);
        }
      }
    } else if (!poisoned && !context.outputs.empty()) {
      report(name, operation_text(node, opset),
             "output " + std::to_string(i) + " ('" + node.output(i) + "') is not supported.",
             "remove the uses of this output");
    }
    frame.scope.set(node.output(i), result);
  }
}

Operands Importer::import_body(const onnx::GraphProto& body, Builder& builder,
                               const std::map<std::string, Operand>& names) {
  check_internal(frame_ != nullptr, "a body is imported outside of a node");
  Frame frame(*frame_, Scope(&frame_->scope));
  import_initializers(body, frame.scope);
  for (const auto& [name, operand] : names) frame.scope.set(name, operand);
  import_nodes(body.node(), builder, frame);
  Operands outputs;
  for (const auto& info : body.output()) {
    const Operand* operand = frame.scope.find(info.name());
    if (operand == nullptr) {
      throw ModelError("the body's output '" + info.name() + "' is defined nowhere.");
    }
    outputs.push_back(*operand);
  }
  return outputs;
}

void Importer::finish_outputs(Builder& builder, const Scope& scope) {
  for (const auto& info : model_.proto->graph().output()) {
    const Operand* operand = scope.find(info.name());
    const std::string whole = "output '" + info.name() + "'";
    if (operand == nullptr) {
      report("", whole, "no node computes it.", kGeneralAdvice);
    } else if (operand->is_sequence()) {
      report("", whole, "only tensors can be outputs of a model, not sequences.",
             "split the model so that its outputs are tensors");
    } else if (!operand->is_poison()) {
      graph_.add_output(builder.materialize(*operand), info.name());
    }
  }
}

Graph Importer::run() {
  const onnx::ModelProto& model = *model_.proto;
  graph_.name = model.graph().name();
  const std::vector<DeclaredInput> inputs = declare_inputs();
  symbols_ = std::make_unique<Symbols>(graph_, inputs, options_, equalities_);
  Builder builder(graph_, *symbols_);
  Frame frame(model);
  for (size_t i = 0; i < inputs.size(); ++i) {
    try {
      TensorType type{dtype_from_onnx(input_types_[i]), symbols_->input_shape(inputs[i])};
      const ValueId id = graph_.add_input(type, inputs[i].name);
      frame.scope.set(inputs[i].name, Operand::value(&builder, id, std::move(type)));
    } catch (const ModelError& error) {
      report("", "input '" + inputs[i].name + "'", error.what(), kGeneralAdvice);
      frame.scope.set(inputs[i].name, Operand::poison());
    }
  }
  import_initializers(model.graph(), frame.scope);
  if (diagnostics_.empty()) {
    import_nodes(model.graph().node(), builder, frame);
    finish_outputs(builder, frame.scope);
    symbols_->add_conditions();
  }
  return std::move(graph_);
}

}  // namespace mcc::frontend
