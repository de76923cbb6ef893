// The stages of reductions over rows.
#include "lib/backend/schedules/common/reduction_view.h"

#include <algorithm>

#include "lib/backend/schedules/common/reduction_terms.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

Ints reduced_axes(const Node& node) {
  if (node.op == Op::reduce || node.op == Op::normalize) return node.attributes.ints("axes");
  return {node.attributes.integer("axis")};
}

}  // namespace

ReductionStages::ReductionStages(const Group& group)
    : lowering_(group, kernel_), node_(*lowering_.anchor()), input_(node_.inputs[0]),
      shape_(lowering_.body().shape(input_)), type_(lowering_.body().dtype(input_)) {
  for (int64_t axis : reduced_axes(node_)) reduced_.push_back(static_cast<size_t>(axis));
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    if (!is_reduced(axis)) kept_.push_back(axis);
  }
  at_.assign(shape_.size(), Expr(0));
}

bool ReductionStages::is_reduced(size_t axis) const {
  return std::find(reduced_.begin(), reduced_.end(), axis) != reduced_.end();
}

Shape ReductionStages::kept_dims() const {
  Shape dims;
  for (size_t axis : kept_) dims.push_back(shape_[axis]);
  return dims;
}

Shape ReductionStages::reduced_dims() const {
  Shape dims;
  for (size_t axis : reduced_) dims.push_back(shape_[axis]);
  return dims;
}

Indices ReductionStages::kept_indices() const {
  Indices indices;
  for (size_t axis : kept_) indices.push_back(at_[axis]);
  return indices;
}

void ReductionStages::fold(Block& block, const std::string& name, const std::string& reduction, DType dtype,
                           const ValueAt& value) {
  fold_into(block, name, reduction, dtype, [&](const std::string& partial) {
    return over_reduced([&](const Indices& at) {
      return Block{make_accumulate(partial, fold_function(reduction), value(at))};
    });
  });
}

Block ReductionStages::store_all(const ValueAt& value) {
  return over_reduced([&](const Indices& at) { return lowering_.finish(at, value(at)); });
}

Block ReductionStages::stages() {
  switch (node_.op) {
    case Op::reduce: return reduce();
    case Op::arg_reduce: return arg_reduce();
    case Op::softmax: return softmax();
    case Op::normalize: return normalize();
    default: throw InternalError("not a reduction");
  }
}

Block ReductionStages::reduce() {
  Block block;
  const DType dtype = compute_type(type_);
  fold(block, "total", node_.attributes.text("fn"), dtype, [&](const Indices& at) { return element(at); });
  Block stores = once_per_row(lowering_.finish(kept_indices(), register_value("total", dtype)));
  block.insert(block.end(), stores.begin(), stores.end());
  return block;
}

// One lane or thread walks the whole row: the first (or last) best place is found in order.
Block ReductionStages::arg_reduce() {
  const std::string fn = node_.attributes.text("fn");
  const bool last = node_.attributes.integer_or("select_last", 0) != 0;
  const std::string better = fn == "max" ? (last ? "ge" : "gt") : (last ? "le" : "lt");
  const DType dtype = compute_type(type_);
  Indices first = at_;
  first[reduced_[0]] = 0;
  Block block;
  define_row(block, "best", element(first));
  define_row(block, "place", literal_integer(DType::i64, 0));
  const std::string variable = lowering_.new_variable("r", shape_[reduced_[0]]);
  Indices at = at_;
  at[reduced_[0]] = Expr::symbol(variable);
  const ScalarPtr value = element(at);
  // The condition is a register of its own: both selections see the old best value. NaN counts as
  // best (numpy), once.
  ScalarPtr take = apply(better, {value, register_value("best", dtype)});
  if (is_floating(dtype)) {
    const ScalarPtr best_is_number = apply("not", {apply("isnan", {register_value("best", dtype)})});
    take = apply("and", {best_is_number, apply("or", {take, apply("isnan", {value})})});
  }
  Block step;
  define_row(step, "take", take);
  step.push_back(make_assign("place", apply("select", {register_value("take", DType::boolean),
                                                       index_value(Expr::symbol(variable)),
                                                       register_value("place", DType::i64)})));
  step.push_back(make_assign("best", apply("select", {register_value("take", DType::boolean), value,
                                                      register_value("best", dtype)})));
  block.push_back(make_loop(variable, shape_[reduced_[0]], LoopTag::serial, std::move(step)));
  Block stores = lowering_.finish(kept_indices(), register_value("place", DType::i64));
  block.insert(block.end(), stores.begin(), stores.end());
  return block;
}

Block ReductionStages::softmax() {
  const DType dtype = compute_type(type_);
  Block block;
  fold(block, "largest", "max", dtype, [&](const Indices& at) { return element(at); });
  auto exponential = [&](const Indices& at) {
    return apply("exp", {apply("sub", {element(at), register_value("largest", dtype)})});
  };
  // The exponentials are kept in the output when nothing follows the softmax there.
  const bool keeps = lowering_.body().outputs[0] == node_.outputs[0] && type_ == dtype;
  const int output = static_cast<int>(lowering_.body().inputs.size());
  auto position = [&](const Indices& at) { return lowering_.simplified(linear_index(at, shape_)); };
  fold_into(block, "sum", "sum", dtype, [&](const std::string& partial) {
    return over_reduced([&](const Indices& at) {
      const ScalarPtr value = exponential(at);
      Block body{make_accumulate(partial, "add", value)};
      if (keeps) body.push_back(make_store(output, type_, position(at), value));
      return body;
    });
  });
  define_row(block, "scale", apply("reciprocal", {register_value("sum", dtype)}));
  Block stores = store_all([&](const Indices& at) {
    const ScalarPtr value = keeps ? load(output, type_, position(at)) : exponential(at);
    return apply("mul", {value, register_value("scale", dtype)});
  });
  block.insert(block.end(), stores.begin(), stores.end());
  return block;
}

Block ReductionStages::normalize() {
  const DType dtype = compute_type(type_);
  const ScalarPtr weight = apply("reciprocal", {index_value(product(reduced_dims()), dtype)});
  const bool centred = node_.attributes.text("kind") == "layer";
  Block block;
  if (centred) {
    fold(block, "sum", "sum", dtype, [&](const Indices& at) { return element(at); });
    define_row(block, "mean", apply("mul", {register_value("sum", dtype), weight}));
  }
  auto centre = [&](const Indices& at) {
    return centred ? apply("sub", {element(at), register_value("mean", dtype)}) : element(at);
  };
  fold(block, "squares", "sum", dtype, [&](const Indices& at) {
    const ScalarPtr value = centre(at);
    return apply("mul", {value, value});
  });
  const ScalarPtr variance = apply("mul", {register_value("squares", dtype), weight});
  define_row(block, "scale",
             apply("rsqrt", {apply("add", {variance, literal(dtype, node_.attributes.real("epsilon"))})}));
  Block stores =
      store_all([&](const Indices& at) { return apply("mul", {centre(at), register_value("scale", dtype)}); });
  block.insert(block.end(), stores.begin(), stores.end());
  return block;
}

}  // namespace mcc::backend
