// Emits IR nodes for one graph (the model's or a subgraph's) from operands.
//
// Every primitive goes through emit(), which folds small constants, evaluates shape arithmetic
// symbolically, and only otherwise appends a node: an operator's import function is written once
// and serves data and shapes alike. Broadcasts are made explicit here.
// Errors: ModelError with a sentence; the importer adds node name and operator.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/frontend/operand.h"
#include "lib/frontend/symbols.h"
#include "lib/ir/op.h"

namespace mcc::frontend {

using Operands = std::vector<Operand>;

class Builder {
 public:
  Builder(Graph& graph, Symbols& symbols, Builder* parent = nullptr);

  // -- the funnel
  Operands emit_all(Op op, const Operands& inputs, Attributes attributes = {},
                    std::vector<Graph> subgraphs = {});
  Operand emit(Op op, const Operands& inputs, Attributes attributes = {});
  // The value of the graph that holds the operand; constants and known values get a node now,
  // values of an enclosing graph become inputs of this one.
  ValueId materialize(const Operand& operand);

  // -- constants and sources
  Operand scalar(DType dtype, double value);
  Operand integers(const Ints& values);                  // i64 vector
  Operand constant(Tensor tensor);
  Operand dims(const Shape& values);                     // i64 vector of expressions
  Operand number(const Expr& value, DType dtype);        // rank 0
  Operand full(const Shape& shape, const Operand& rank0);
  Operand iota(const Shape& shape, int64_t axis, DType dtype);

  // -- elementwise, with ONNX (numpy) broadcasting
  Operand map(std::string_view fn, Operands operands);
  Operand cast(const Operand& x, DType dtype);
  // All operands broadcast to their common shape.
  Operands broadcast_together(Operands operands);
  Operand select(const Operand& condition, const Operand& a, const Operand& b) {
    return map("select", {condition, a, b});
  }
  // x <fn> a number of x's type.
  Operand with_scalar(std::string_view fn, const Operand& x, double value) {
    return map(fn, {x, scalar(x.dtype(), value)});
  }

  // -- views (without effect: the operand itself)
  Operand reshape(const Operand& x, const Shape& shape);
  Operand transpose(const Operand& x, const Ints& perm);
  Operand move_axis(const Operand& x, int64_t from, int64_t to);
  Operand broadcast(const Operand& x, const Shape& shape, const Ints& axes);
  Operand broadcast_to(const Operand& x, const Shape& shape);  // aligned at the last axis
  // A vector along `axis` of a tensor of the given rank: [1, .., n, .., 1].
  Operand along_axis(const Operand& vector, int64_t axis, int64_t rank);
  Operand unsqueeze(const Operand& x, Ints axes);  // axes of the result, sorted or not
  Operand squeeze(const Operand& x, Ints axes);
  Operand slice(const Operand& x, const Shape& starts, const Shape& shape, const Ints& steps);
  Operand slice_axis(const Operand& x, int64_t axis, const Expr& start, const Expr& size,
                     int64_t step = 1);
  Operand reverse(const Operand& x, int64_t axis);
  Operand pad(const Operand& x, const Shape& low, const Shape& high, const std::string& mode,
              const Operand& fill = {});
  Operand concat(const Operands& parts, int64_t axis);

  // -- the rest
  Operand gather(const Operand& x, const Operand& indices, int64_t axis);
  Operand reduce(std::string_view fn, const Operand& x, Ints axes, bool keep_dims);
  Operand mean(const Operand& x, Ints axes, bool keep_dims);
  Operand contract(const Operand& a, const Operand& b, const Ints& a_batch, const Ints& b_batch,
                   const Ints& a_contract, const Ints& b_contract,
                   std::optional<DType> out = std::nullopt);
  Operand matmul(const Operand& a, const Operand& b, std::optional<DType> out = std::nullopt);
  Operand softmax(const Operand& x, int64_t axis);

  // -- symbols
  Shape common_shape(const Shape& a, const Shape& b);
  Expr merge(const Expr& a, const Expr& b) { return symbols_.merge(a, b); }
  Expr simplified(const Expr& expr) const { return symbols_.simplified(expr); }
  // The entries of an integer scalar or vector as expressions; elements that only a run can tell
  // become symbols in [low, 2^31).
  Shape expressions(const Operand& integers, int64_t low = 0);
  // A count that an operator's run determines: element 0 of an integer tensor.
  Expr runtime_count(const Operand& count, const std::string& label);
  // A data-dependent operator whose attribute `count` is a new symbol, which the operator's own
  // output number `count_output` holds.
  Operands emit_counted(Op op, const Operands& inputs, Attributes attributes,
                        const std::string& label, size_t count_output);
  Symbols& symbols() { return symbols_; }
  const Ranges& ranges() const { return symbols_.ranges(); }

  Graph& graph() { return graph_; }
  // ONNX node names that new nodes stand for.
  std::vector<std::string> origin;

  // Values of enclosing graphs that this graph reads, in order of first use.
  struct Capture {
    Operand outer;
    ValueId inner = kNoValue;
  };
  const std::vector<Capture>& captures() const { return captures_; }
  ValueId capture(const Operand& outer);
  Builder* parent() const { return parent_; }

 private:
  ValueId emit_known(const Operand& operand);

  Graph& graph_;
  Symbols& symbols_;
  Builder* parent_;
  // Constants and known values that have a node here; operands are kept so that addresses of
  // their states stay unique.
  std::map<const void*, std::pair<Operand, ValueId>> nodes_;
  std::vector<Capture> captures_;
  std::map<std::pair<ValueId, int64_t>, Expr> runtime_;  // (value, element) → symbol
};

// All axes of a tensor except the listed ones, ascending.
Ints other_axes(int64_t rank, const Ints& axes);
// A negative axis counts from the end; ModelError when it is outside of [-rank, rank).
int64_t normalized_axis(int64_t axis, int64_t rank);
Ints normalized_axes(const Ints& axes, int64_t rank);  // sorted; ModelError for duplicates
Ints iota_axes(int64_t first, int64_t last);           // first .. last - 1

}  // namespace mcc::frontend
