// map: one scalar function applied to every element.
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"
#include "lib/ir/ops/map_evaluate.h"
#include "lib/ir/scalar_function.h"

namespace mcc::ops {
namespace {

bool accepts(const ScalarFunction& function, DType dtype) {
  switch (dtype_info(dtype).kind) {
    case DTypeKind::floating:
      return function.accepts_float;
    case DTypeKind::signed_integer:
    case DTypeKind::unsigned_integer:
      return function.accepts_integer;
    case DTypeKind::boolean:
      return function.accepts_boolean;
    // Strings and complex numbers live on the host side of a program: only comparison for
    // equality, selection and conversion have a meaning for them.
    case DTypeKind::complex:
    case DTypeKind::string:
      return function.name == "eq" || function.name == "ne" || function.name == "select" ||
             function.name == "cast";
  }
  return false;
}

std::vector<TensorType> infer_map(const Node& node, const std::vector<TensorType>& inputs) {
  const std::string& name = text_of(node, "fn");
  const ScalarFunction* function = find_scalar_function(name);
  if (function == nullptr) refuse(node, "there is no scalar function '" + name + "'.");
  if (inputs.size() != static_cast<size_t>(function->arity)) {
    refuse(node, "'" + name + "' takes " + std::to_string(function->arity) + " operands, not " +
                     std::to_string(inputs.size()) + ".");
  }
  TensorType out = inputs.back();
  for (size_t i = 0; i < inputs.size(); ++i) {
    out.shape = merge_shapes(node, inputs[i].shape, out.shape, "operands of '" + name + "'");
    if (i == 0 && name == "select") {
      if (inputs[0].dtype != DType::boolean)
        refuse(node, "the condition of 'select' must be bool.");
      continue;
    }
    require_same_dtype(node, inputs[i].dtype, out.dtype, "operands of '" + name + "'");
  }
  if (!accepts(*function, out.dtype)) {
    refuse(node, "'" + name + "' has no meaning for " + std::string(dtype_info(out.dtype).name) +
                     " operands.");
  }
  if (function->result == ResultRule::boolean) out.dtype = DType::boolean;
  if (function->result == ResultRule::cast) {
    const DType to = dtype_of(node, "to");
    if (name == "bitcast" && dtype_info(to).bits != dtype_info(out.dtype).bits) {
      refuse(node, "a bitcast needs types of equal width.");
    }
    out.dtype = to;
  }
  return {out};
}

const OpInfo kRows[] = {
    {Op::map, "map", 1, 3, 1, kElementwise, infer_map, evaluate_map},
};

}  // namespace

std::span<const OpInfo> map_ops() { return rows(kRows); }

}  // namespace mcc::ops
