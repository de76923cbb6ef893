// The graph: flat SSA over tensors.
//
// Invariants (checked by verify.h): nodes are in topological order; every value has exactly one
// definition (a graph input or one node output); a value's type is what its operator infers;
// values are dense and row-major in their shape. Physical layout (NHWC) is expressed by permuted
// logical shapes plus layout attributes on the operators, never by hidden strides.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "lib/ir/attribute.h"

namespace mcc {

using ValueId = int32_t;
constexpr ValueId kNoValue = -1;

enum class Op : uint8_t;  // lib/ir/op.h

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

struct Value {
  TensorType type;
  std::string name;  // the model's tensor name for reports; may be empty, never used in code
};

class Graph;

struct Node {
  Op op{};
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  std::vector<std::string> origin;  // ONNX node names this node stands for
  std::vector<Graph> subgraphs;     // bodies of fused, if, loop, scan, call
};

// Where a symbol's value comes from at run time.
struct SymbolSource {
  enum class Kind : uint8_t {
    input_dim,  // dimension `axis` of graph input `input`
    value,      // element `axis` of the integer tensor value `input` (a ValueId), read at run time.
                // `input` may be kNoValue for the count of a data-dependent operator that no other
                // value holds: the operator's result binds it
    expression, // `expression` over earlier symbols
  };
  Kind kind = Kind::input_dim;
  int32_t input = 0;
  int64_t axis = 0;
  Expr expression;
};

struct Symbol {
  std::string name;   // "s0", "s1", ...: generated, safe in source text
  std::string label;  // the model's name for it ("batch"), for messages only
  Range range{1, Range::kUnbounded};
  SymbolSource source;
};

class Graph {
 public:
  std::string name;
  std::vector<Value> values;  // indexed by ValueId; append-only, unused entries are allowed
  std::vector<Node> nodes;    // topological order
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::string> output_names;  // one per output (an output value may appear twice)
  std::vector<Symbol> symbols;            // empty in subgraphs, which see the outer ones

  ValueId add_value(TensorType type, std::string value_name = {});
  ValueId add_input(TensorType type, std::string value_name = {});
  void add_output(ValueId value, std::string output_name = {});
  const TensorType& type(ValueId value) const { return values[static_cast<size_t>(value)].type; }
  const Shape& shape(ValueId value) const { return type(value).shape; }
  DType dtype(ValueId value) const { return type(value).dtype; }
  int64_t rank(ValueId value) const { return static_cast<int64_t>(type(value).shape.size()); }

  // Appends a node, infers its output types through the operator table and returns its outputs.
  // Errors of inference are ModelError with the operator's wording.
  std::vector<ValueId> append(Node node);
  ValueId append_one(Op op, std::vector<ValueId> inputs, Attributes attributes = {},
                     std::vector<std::string> origin = {});

  // A new symbol with a generated name that is unique in this graph.
  Expr add_symbol(std::string label, Range range, SymbolSource source);
  const Symbol* find_symbol(std::string_view symbol_name) const;
  Ranges ranges() const;

  // Index into nodes of the producer of each value; -1 for inputs and undefined values.
  std::vector<int32_t> producers() const;
  // For each value the indices of nodes that read it (a node appears once per use);
  // values captured by a consumer's subgraph do not occur: subgraphs take explicit inputs.
  std::vector<std::vector<int32_t>> consumers() const;
  // Number of uses including graph outputs.
  std::vector<int32_t> use_counts() const;
  // The tensor of a `constant` node producing `value`, else nullptr.
  const Tensor* constant_of(ValueId value, const std::vector<int32_t>& producers_of) const;
};

// Rewrites a graph in one forward sweep: a pass visits the old nodes in order, keeps or replaces
// each, and finishes with the new node list. Uses are redirected through replacements.
// Ownership: borrows the graph for its lifetime; the graph is inconsistent until finish().
class Rewriter {
 public:
  explicit Rewriter(Graph& graph);
  // The old nodes, in order; read them through these, not through graph.nodes.
  const std::vector<Node>& old_nodes() const { return old_; }
  // The current name of an old value (follows replacements).
  ValueId resolve(ValueId value) const;
  // Copies an old node with its inputs resolved; outputs keep their ids.
  void keep(const Node& node);
  // Emits a new node before everything that follows; returns its outputs.
  std::vector<ValueId> emit(Node node);
  ValueId emit_one(Op op, std::vector<ValueId> inputs, Attributes attributes = {},
                   std::vector<std::string> origin = {});
  // All later uses of `old_value` (graph outputs too) read `new_value`. The new value takes over
  // the old one's name if it has none. Types must be equal (InternalError).
  void replace(ValueId old_value, ValueId new_value);
  // The node, kept or emitted so far, that defines a current value; nullptr for graph inputs. The
  // pointer stays valid until finish().
  const Node* producer(ValueId value) const;
  bool changed() const { return changed_; }
  Graph& graph() { return graph_; }
  // Installs the new node list. Call exactly once.
  void finish();

 private:
  Graph& graph_;
  std::vector<Node> old_;
  void record_producers();

  std::deque<Node> new_;  // nodes never move while the sweep runs
  std::vector<const Node*> producers_;
  std::map<ValueId, ValueId> replaced_;
  bool changed_ = false;
};

// Removes nodes whose outputs are unused (no operator of the IR has side effects). Returns true
// if anything went.
bool eliminate_dead_nodes(Graph& graph);

}  // namespace mcc
