// Emits IR nodes for ONNX operators: explicit broadcasts, constants and symbolic values made into
// nodes where they are needed as data.
// Invariant: every node emitted while an ONNX node is imported carries that node's name as origin.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/frontend/operand.h"
#include "lib/ir/graph.h"

namespace mcc::frontend {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }
  void set_origin(std::string name) { origin_ = std::move(name); }

  // The IR value of an operand; constants and known values get a node on first use.
  ValueId value(const Operand& operand);

  Operand emit(Op op, const std::vector<Operand>& inputs, Attributes attributes = {});
  std::vector<Operand> emit_all(Op op, const std::vector<Operand>& inputs, Attributes attributes = {});
  // A scalar function of operands after broadcasting them to a common shape.
  Operand map(const std::string& fn, const std::vector<Operand>& operands);
  Operand cast(const Operand& x, DType to);
  Operand scalar(DType dtype, double value);
  Operand like(const Operand& x, double value) { return scalar(x.dtype(), value); }
  Operand broadcast_to(const Operand& x, const Shape& shape);
  Operand reshape(const Operand& x, const Shape& shape);
  Operand transpose(const Operand& x, const Ints& perm);
  Operand slice(const Operand& x, int64_t axis, const Expr& start, const Expr& size, int64_t step = 1);
  Operand concat(const std::vector<Operand>& parts, int64_t axis);
  Operand reduce(const std::string& fn, const Operand& x, Ints axes, bool keep_dims);
  Operand gather(const Operand& data, const Operand& indices, int64_t axis);
  // Matrix product in numpy.matmul's sense; `out` is the result type.
  Operand matmul(const Operand& a, const Operand& b, DType out);

  // The shape that ONNX (numpy) broadcasting gives. ModelError when impossible.
  static Shape broadcast_shape(const std::vector<Shape>& shapes);

 private:
  Graph& graph_;
  std::string origin_;
  std::map<const void*, ValueId> materialised_;
  std::vector<Operand> kept_;  // keeps the identities in materialised_ alive
};

// [low, high) as a list.
Ints axis_range(int64_t low, int64_t high);
// A possibly negative axis made non-negative; ModelError when out of range.
int64_t normalize_axis(int64_t axis, int64_t rank);

}  // namespace mcc::frontend
