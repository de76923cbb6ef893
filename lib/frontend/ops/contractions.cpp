// Matrix products.
#include "lib/frontend/ops/families.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

Results import_matmul(NodeContext& n) { return {n.b.matmul(n.in(0), n.in(1), n.in(0).dtype())}; }

Results import_gemm(NodeContext& n) {
  Operand a = n.in(0);
  Operand b = n.in(1);
  if (a.rank() != 2 || b.rank() != 2) throw ModelError("the operands must be matrices");
  const bool transpose_a = n.integer("transA", 0) != 0;
  const bool transpose_b = n.integer("transB", 0) != 0;
  Attributes attributes;
  attributes.set("lhs_batch", Ints{});
  attributes.set("rhs_batch", Ints{});
  attributes.set("lhs_contract", Ints{transpose_a ? 0 : 1});
  attributes.set("rhs_contract", Ints{transpose_b ? 1 : 0});
  attributes.set("out", a.dtype());
  Operand result = n.b.emit(Op::contract, {a, b}, std::move(attributes));
  const double alpha = n.real("alpha", 1.0);
  const double beta = n.real("beta", 1.0);
  if (alpha != 1.0) result = n.b.map("mul", {result, n.b.like(result, alpha)});
  if (n.has(2) && beta != 0.0) {
    Operand c = n.in(2);
    if (beta != 1.0) c = n.b.map("mul", {c, n.b.like(c, beta)});
    result = n.b.map("add", {result, c});
  }
  return {result};
}

Results import_fused_matmul(NodeContext& n) {
  auto prepare = [&](Operand x, const char* flag) {
    if (n.integer(flag, 0) == 0 || x.rank() < 2) return x;
    Ints perm = axis_range(0, x.rank());
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return n.b.transpose(x, perm);
  };
  if (n.integer("transBatchA", 0) != 0 || n.integer("transBatchB", 0) != 0) {
    throw ModelError("transBatchA and transBatchB are not supported");
  }
  const Operand result = n.b.matmul(prepare(n.in(0), "transA"), prepare(n.in(1), "transB"), n.in(0).dtype());
  const double alpha = n.real("alpha", 1.0);
  return {alpha == 1.0 ? result : n.b.map("mul", {result, n.b.like(result, alpha)})};
}

constexpr OperatorEntry kEntries[] = {
    {"MatMul", 1, import_matmul}, {"Gemm", 7, import_gemm},
    {"FusedMatMul", 1, import_fused_matmul, Moves::none, "com.microsoft"},
};

}  // namespace

std::span<const OperatorEntry> contraction_operators() { return kEntries; }

}  // namespace mcc::frontend
