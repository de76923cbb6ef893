// Updates of scatter operators.
#include "lib/backend/schedules/common/scatter_view.h"

#include "lib/backend/schedules/common/reduction_terms.h"
#include "lib/ir/op.h"

namespace mcc::backend {

ScatterView::ScatterView(GroupLowering& group_lowering)
    : lowering_(group_lowering), node_(*group_lowering.anchor()),
      output_(static_cast<int>(group_lowering.body().inputs.size())) {
  elements = product(lowering_.body().shape(node_.inputs[0]));
  updates = product(lowering_.body().shape(node_.inputs[2]));
}

Block ScatterView::copy(const Expr& position) {
  Indices at = delinearize(position, lowering_.body().shape(node_.inputs[0]));
  for (Expr& index : at) index = lowering_.simplified(index);
  return {make_store(output_, lowering_.body().dtype(node_.outputs[0]), position,
                     lowering_.element(node_.inputs[0], at))};
}

// The index at `at` as a symbol; one outside of the data becomes -1 or `size` and fails the guard.
Expr ScatterView::index(Block& block, Guard& inside, const Indices& at, const Expr& size) {
  const std::string symbol = lowering_.new_variable("g", size);
  const Range range{-1, bounds(size, lowering_.ranges()).high};
  lowering_.kernel().ranges[symbol] = range;
  const ScalarPtr zero = literal_integer(DType::i64, 0);
  ScalarPtr value = cast_scalar(lowering_.element(node_.inputs[1], at), DType::i64);
  value = apply("select", {apply("lt", {value, zero}), apply("add", {value, index_value(size)}), value});
  value = apply("max", {literal_integer(DType::i64, -1), apply("min", {value, index_value(size)})});
  block.push_back(make_let(symbol, value, range));
  inside.push_back(Expr::symbol(symbol));
  inside.push_back(size - 1 - Expr::symbol(symbol));
  return Expr::symbol(symbol);
}

Expr ScatterView::target(Block& block, Guard& inside, const Indices& at) {
  const Graph& body = lowering_.body();
  const Shape& data = body.shape(node_.inputs[0]);
  Indices place;
  if (node_.op == Op::scatter_elements) {
    const auto axis = static_cast<size_t>(node_.attributes.integer("axis"));
    place = at;
    place[axis] = index(block, inside, at, data[axis]);
    return linear_index(place, data);
  }
  const Shape& indices = body.shape(node_.inputs[1]);
  const auto tuple_rank = static_cast<std::ptrdiff_t>(indices.size()) - 1;
  Indices tuple(at.begin(), at.begin() + tuple_rank);
  tuple.emplace_back(0);
  for (int64_t i = 0; i < indices.back().constant(); ++i) {
    tuple.back() = i;
    place.push_back(index(block, inside, tuple, data[static_cast<size_t>(i)]));
  }
  place.insert(place.end(), at.begin() + tuple_rank, at.end());
  return linear_index(place, data);
}

Block ScatterView::update(const Expr& number, const Expr& first, const Expr& count) {
  const Graph& body = lowering_.body();
  Indices at = delinearize(number, body.shape(node_.inputs[2]));
  for (Expr& index : at) index = lowering_.simplified(index);
  Block block;
  Guard inside;
  const Expr place = target(block, inside, at);
  inside.push_back(place - first);
  inside.push_back(first + count - 1 - place);
  StmtPtr store = make_store(output_, body.dtype(node_.outputs[0]), place, lowering_.element(node_.inputs[2], at));
  const std::string& reduction = node_.attributes.text("reduction");
  if (reduction != "none") store->accumulate = reduction;
  block.push_back(make_if(inside, {store}));
  return block;
}

}  // namespace mcc::backend
