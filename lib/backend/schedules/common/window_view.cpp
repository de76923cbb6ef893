// Windows: taps, their conditions, and the folds over them.
#include "lib/backend/schedules/common/window_view.h"

#include "lib/backend/schedules/common/reduction_terms.h"

namespace mcc::backend {

Block over_taps(GroupLowering& lowering, const Indices& at,
                const std::function<Block(const Indices& position)>& fold) {
  const Node& node = *lowering.anchor();
  const Shape& in = lowering.body().shape(node.inputs[0]);
  const Ints& axes = node.attributes.ints("axes");
  const Ints& window = node.attributes.ints("window");
  const Ints& strides = node.attributes.ints("strides");
  const Ints& dilations = node.attributes.ints("dilations");
  const Shape& pads = node.attributes.shape("pads_low");
  Indices position = at;
  Guard inside;
  std::vector<std::string> taps;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    taps.push_back(lowering.new_variable("k", window[i]));
    position[axis] = at[axis] * Expr(strides[i]) + Expr::symbol(taps.back()) * Expr(dilations[i]) - pads[i];
    for (const Expr& condition : {position[axis], in[axis] - 1 - position[axis]}) {
      const Expr simple = lowering.simplified(condition);
      if (bounds(simple, lowering.ranges()).low < 0) inside.push_back(simple);
    }
  }
  Block block = fold(position);
  if (!inside.empty()) block = {make_if(inside, std::move(block))};
  for (size_t i = axes.size(); i-- > 0;) {
    block = {make_loop(taps[i], window[i], LoopTag::serial, std::move(block))};
  }
  return block;
}

namespace {

// The first largest element's row-major position over the sliding axes; NaN counts as largest.
Block largest_place(GroupLowering& lowering, const Indices& at, int lanes) {
  const Node& node = *lowering.anchor();
  const Graph& body = lowering.body();
  const DType dtype = compute_type(body.dtype(node.inputs[0]));
  const Shape& in = body.shape(node.inputs[0]);
  Block work{make_define("best", neutral_element("max", dtype), lanes),
             make_define("place", literal_integer(DType::i64, -1), lanes)};
  Block taps = over_taps(lowering, at, [&](const Indices& position) {
    const ScalarPtr value = lowering.element(node.inputs[0], position);
    const ScalarPtr best = register_value("best", dtype);
    const ScalarPtr place = register_value("place", DType::i64);
    Expr here = 0;
    for (int64_t axis : node.attributes.ints("axes")) {
      here = here * in[static_cast<size_t>(axis)] + position[static_cast<size_t>(axis)];
    }
    ScalarPtr better = apply("gt", {value, best});
    if (is_floating(dtype)) {
      better = apply("and", {apply("eq", {best, best}), apply("or", {better, apply("isnan", {value})})});
    }
    // A register of its own: both selections see the old best value.
    const ScalarPtr first = apply("lt", {place, literal_integer(DType::i64, 0)});
    const ScalarPtr take = register_value("take", DType::boolean);
    return Block{make_define("take", apply("or", {first, better}), lanes),
                 make_assign("place", apply("select", {take, index_value(here), place})),
                 make_assign("best", apply("select", {take, value, best}))};
  });
  work.insert(work.end(), taps.begin(), taps.end());
  Block stores = lowering.finish(at, register_value("place", DType::i64));
  work.insert(work.end(), stores.begin(), stores.end());
  return work;
}

}  // namespace

Block window_element(GroupLowering& lowering, const Indices& at, int lanes) {
  const Node& node = *lowering.anchor();
  const std::string& fn = node.attributes.text("fn");
  if (fn == "arg_max") return largest_place(lowering, at, lanes);
  const DType dtype = compute_type(lowering.body().dtype(node.inputs[0]));
  Block work{make_define("acc", neutral_element(fn, dtype), lanes)};
  Block taps = over_taps(lowering, at, [&](const Indices& position) {
    return Block{make_accumulate("acc", fold_function(fn), lowering.element(node.inputs[0], position))};
  });
  work.insert(work.end(), taps.begin(), taps.end());
  Block stores = lowering.finish(at, register_value("acc", dtype));
  work.insert(work.end(), stores.begin(), stores.end());
  return work;
}

}  // namespace mcc::backend
