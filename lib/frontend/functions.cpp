// Expanding functions: those of the model, and the bodies that operator schemas define.
#include "lib/frontend/frame.h"
#include "lib/frontend/importer.h"
#include "lib/support/error.h"
#include "onnx/defs/schema.h"

namespace mcc::frontend {
namespace {

// Functions may call functions; a cycle would never end.
constexpr int kDeepestNesting = 64;

onnx::TypeProto onnx_type(const Operand& operand) {
  onnx::TypeProto type;
  if (!operand || operand.is_poison() || operand.is_sequence()) return type;
  auto* tensor = type.mutable_tensor_type();
  tensor->set_elem_type(dtype_to_onnx(operand.dtype()));
  auto* shape = tensor->mutable_shape();
  for (const Expr& dim : operand.shape()) {
    auto* entry = shape->add_dim();
    if (dim.is_constant()) entry->set_dim_value(dim.constant());
  }
  return type;
}

// The node with attribute references resolved, for builders that read it.
onnx::NodeProto resolved_node(const NodeContext& context) {
  onnx::NodeProto node = context.proto;
  node.clear_attribute();
  for (const auto& [name, attribute] : context.attributes) {
    onnx::AttributeProto* copy = node.add_attribute();
    *copy = *attribute;
    copy->set_name(name);
    copy->clear_ref_attr_name();
  }
  return node;
}

// The schema's body for this node, or nullptr.
std::shared_ptr<onnx::FunctionProto> schema_body(const NodeContext& context) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(
      context.proto.op_type(), static_cast<int>(context.opset),
      std::string(plain_domain(context.proto.domain())));
  if (schema == nullptr) return nullptr;
  const int version = static_cast<int>(context.opset);
  if (schema->HasContextDependentFunction()) {
    std::vector<onnx::TypeProto> types;
    for (const Operand& input : context.inputs) types.push_back(onnx_type(input));
    // The build context keeps pointers into the node it is given: it must outlive the context.
    const onnx::NodeProto node = resolved_node(context);
    const onnx::FunctionBodyBuildContextImpl build(node, types);
    auto body = std::make_shared<onnx::FunctionProto>();
    if (schema->BuildContextDependentFunction(build, *body, version)) {
      // Some builders name inputs and outputs themselves.
      if (body->output_size() == 0) schema->BuildFunction(*body);
      return body;
    }
  }
  if (schema->HasFunction()) {
    if (const onnx::FunctionProto* body = schema->GetFunction(version)) {
      return std::make_shared<onnx::FunctionProto>(*body);
    }
  }
  return nullptr;
}

}  // namespace

// Whether the operator's schema has a body at all, whatever its inputs.
static bool has_schema_body(const NodeContext& context) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(
      context.proto.op_type(), static_cast<int>(context.opset),
      std::string(plain_domain(context.proto.domain())));
  return schema != nullptr && (schema->HasFunction() || schema->HasContextDependentFunction());
}

bool Importer::expand_function(NodeContext& context, const std::string& name, Frame& frame) {
  const onnx::FunctionProto* function = frame.local_function(context.proto);
  std::shared_ptr<onnx::FunctionProto> owned;
  if (function == nullptr) {
    for (const Operand& input : context.inputs) {
      // The body may depend on the inputs' types: without them there is nothing to expand.
      if (input.is_poison()) return has_schema_body(context);
    }
    owned = schema_body(context);
    function = owned.get();
  }
  if (function == nullptr) return false;
  if (depth_ >= kDeepestNesting) throw ModelError("functions are nested too deeply.");

  Frame inner(frame, Scope());
  for (const auto& import : function->opset_import()) {
    inner.opsets[std::string(plain_domain(import.domain()))] = import.version();
  }
  inner.attributes.clear();
  for (const auto& attribute : function->attribute_proto()) {
    inner.attributes[attribute.name()] = &attribute;
  }
  // Defaults of a schema's own attributes, which a body may refer to.
  if (owned != nullptr) {
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(
        context.proto.op_type(), static_cast<int>(context.opset),
      std::string(plain_domain(context.proto.domain())));
    for (const auto& [attribute_name, attribute] : schema->attributes()) {
      if (attribute.default_value.has_name()) {
        inner.attributes[attribute_name] = &attribute.default_value;
      }
    }
  }
  for (const auto& [attribute_name, attribute] : context.attributes) {
    inner.attributes[attribute_name] = attribute;
  }
  inner.prefix = name + "/";
  inner.own_origin = false;
  for (int i = 0; i < function->input_size(); ++i) {
    inner.scope.set(function->input(i), context.optional(static_cast<size_t>(i)));
  }
  // A schema's body is made for this expansion: its constants must keep it alive. A body's own
  // attributes may still be the caller's, so the caller's message is kept with it.
  const std::shared_ptr<const void> outer_owner = proto_owner_;
  if (owned != nullptr) {
    proto_owner_ = std::make_shared<std::pair<std::shared_ptr<const void>,
                                              std::shared_ptr<const void>>>(outer_owner, owned);
  }
  ++depth_;
  const auto leave = [&] {
    --depth_;
    proto_owner_ = outer_owner;
  };
  try {
    import_nodes(function->node(), context.b, inner);
  } catch (...) {
    leave();
    throw;
  }
  leave();
  for (const std::string& output : function->output()) {
    const Operand* result = inner.scope.find(output);
    context.outputs.push_back(result == nullptr ? Operand() : *result);
  }
  return true;
}

}  // namespace mcc::frontend
