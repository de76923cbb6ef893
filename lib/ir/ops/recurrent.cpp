// recurrent: LSTM, GRU and simple RNN layers over a padded batch of sequences.
// Formulas: the ONNX operator specification (LSTM, GRU, RNN); gate orders are iofc, zrh and i.
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_recurrent(const Node& node, const std::vector<TensorType>& inputs) {
  const std::string& cell = choice_of(node, "cell", {"lstm", "gru", "rnn"});
  const std::string& direction =
      choice_of(node, "direction", {"forward", "reverse", "bidirectional"});
  const bool lstm = cell == "lstm";
  const int64_t gates = lstm ? 4 : cell == "gru" ? 3 : 1;
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (inputs.size() != (lstm ? 8U : 6U)) {
    refuse(node, cell + " takes " + (lstm ? "8" : "6") + " inputs, not " +
                     std::to_string(inputs.size()) + ".");
  }
  text_of(node, "activations");
  integer_of(node, "linear_before_reset");
  integer_of(node, "input_forget");
  real_of(node, "clip");
  const char* const names[] = {"x", "w", "r", "b", "the lengths", "h0", "c0", "the peepholes"};
  const size_t ranks[] = {3, 3, 3, 2, 1, 3, 3, 2};
  for (size_t i = 0; i < inputs.size(); ++i) {
    require_rank(node, inputs[i], ranks[i], names[i]);
    if (i != 4) require_same_dtype(node, inputs[0].dtype, inputs[i].dtype, "the inputs");
  }
  if (!is_floating(inputs[0].dtype)) refuse(node, "the input must be floating.");
  if (!is_integer(inputs[4].dtype)) refuse(node, "the lengths must be integers.");
  const Shape& x = inputs[0].shape;
  const Expr hidden = inputs[2].shape[2];
  const Expr all_gates = hidden * Expr(gates);
  merge_shapes(node, inputs[1].shape, {directions, all_gates, x[2]}, "w and its expected shape");
  merge_shapes(node, inputs[2].shape, {directions, all_gates, hidden}, "r and its expected shape");
  merge_shapes(node, inputs[3].shape, {directions, all_gates * Expr(2)},
               "b and its expected shape");
  merge_shapes(node, inputs[4].shape, {x[1]}, "the lengths and their expected shape");
  const Shape state{directions, x[1], hidden};
  merge_shapes(node, inputs[5].shape, state, "h0 and its expected shape");
  if (lstm) {
    merge_shapes(node, inputs[6].shape, state, "c0 and its expected shape");
    merge_shapes(node, inputs[7].shape, {directions, hidden * Expr(3)},
                 "the peepholes and their expected shape");
  }
  std::vector<TensorType> out{{inputs[0].dtype, {x[0], directions, x[1], hidden}},
                              {inputs[0].dtype, state}};
  if (lstm) out.push_back({inputs[0].dtype, state});
  return out;
}

const OpInfo kRows[] = {
    {Op::recurrent, "recurrent", 6, 8, -1, 0, infer_recurrent, nullptr},
};

}  // namespace

std::span<const OpInfo> recurrent_ops() { return rows(kRows); }

}  // namespace mcc::ops
