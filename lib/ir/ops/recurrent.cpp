// recurrent: LSTM, GRU and simple RNN layers over a padded batch of sequences.
// Formulas: the ONNX operator specification (LSTM, GRU, RNN); gate orders are iofc, zrh and i.
#include <algorithm>
#include <cmath>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"
#include "lib/ir/ops/recurrent_cell.h"

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
  const size_t functions = static_cast<size_t>(directions) * (lstm ? 3 : cell == "gru" ? 2 : 1);
  if (parse_activations(text_of(node, "activations")).size() != functions) {
    refuse(node, "'activations' must name " + std::to_string(functions) + " known functions.");
  }
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

using Values = std::vector<double>;

// One direction of a layer. Matrices are row-major.
struct Layer {
  std::string cell;
  int64_t steps, batch, inputs, hidden, gates;
  const double *w, *r, *b, *peepholes;  // of this direction; peepholes: lstm only
  std::vector<Activation> functions;
  double clip;
  bool linear_before_reset, input_forget;

  double clipped(double x) const { return clip > 0 ? std::clamp(x, -clip, clip) : x; }
  // Row `gate * hidden + unit` of a weight times a vector.
  static double dot(const double* weights, int64_t row, const double* vector, int64_t size) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += weights[row * size + i] * vector[i];
    return sum;
  }

  void step(const double* x, Values& h, Values& c) const;
  void step_lstm(const double* x, Values& h, Values& c) const;
  void step_gru(const double* x, Values& h) const;
  void step_rnn(const double* x, Values& h) const;
};

void Layer::step_lstm(const double* x, Values& h, Values& c) const {
  const Values before = h;
  for (int64_t u = 0; u < hidden; ++u) {
    const auto at = static_cast<size_t>(u);
    double gate[4];  // input, output, forget, cell
    for (int64_t g = 0; g < 4; ++g) {
      const int64_t row = g * hidden + u;
      gate[g] = dot(w, row, x, inputs) + dot(r, row, before.data(), hidden) + b[row] +
                b[4 * hidden + row];
    }
    const double old = c[at];
    const double i = functions[0](clipped(gate[0] + peepholes[u] * old));
    const double f =
        input_forget ? 1 - i : functions[0](clipped(gate[2] + peepholes[2 * hidden + u] * old));
    c[at] = f * old + i * functions[1](clipped(gate[3]));
    const double o = functions[0](clipped(gate[1] + peepholes[hidden + u] * c[at]));
    h[at] = o * functions[2](clipped(c[at]));
  }
}

void Layer::step_gru(const double* x, Values& h) const {
  const Values before = h;
  const auto gate = [&](int64_t g, int64_t u, const double* state) {
    return dot(w, g * hidden + u, x, inputs) + dot(r, g * hidden + u, state, hidden) +
           b[g * hidden + u] + b[(3 + g) * hidden + u];
  };
  Values reset(before.size()), scaled(before.size());
  for (int64_t u = 0; u < hidden; ++u) {
    const auto at = static_cast<size_t>(u);
    reset[at] = functions[0](clipped(gate(1, u, before.data())));
    scaled[at] = reset[at] * before[at];
  }
  for (int64_t u = 0; u < hidden; ++u) {
    const auto at = static_cast<size_t>(u);
    const double z = functions[0](clipped(gate(0, u, before.data())));
    double candidate = dot(w, 2 * hidden + u, x, inputs) + b[2 * hidden + u];
    if (linear_before_reset) {
      candidate += reset[at] * (dot(r, 2 * hidden + u, before.data(), hidden) + b[5 * hidden + u]);
    } else {
      candidate += dot(r, 2 * hidden + u, scaled.data(), hidden) + b[5 * hidden + u];
    }
    h[at] = (1 - z) * functions[1](clipped(candidate)) + z * before[at];
  }
}

void Layer::step_rnn(const double* x, Values& h) const {
  const Values before = h;
  for (int64_t u = 0; u < hidden; ++u) {
    h[static_cast<size_t>(u)] = functions[0](
        clipped(dot(w, u, x, inputs) + dot(r, u, before.data(), hidden) + b[u] + b[hidden + u]));
  }
}

void Layer::step(const double* x, Values& h, Values& c) const {
  if (cell == "lstm") return step_lstm(x, h, c);
  return cell == "gru" ? step_gru(x, h) : step_rnn(x, h);
}

void evaluate_recurrent(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                        std::span<Tensor> outputs) {
  const std::string& cell = node.attributes.text("cell");
  const std::string& direction = node.attributes.text("direction");
  const bool lstm = cell == "lstm";
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const std::vector<Activation> functions = parse_activations(node.attributes.text("activations"));
  const size_t per_direction = functions.size() / static_cast<size_t>(directions);
  Values tensors[8];
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i != 4) tensors[i] = all_doubles(inputs[i]);
  }
  const std::vector<int64_t> lengths = all_integers(inputs[4]);
  Layer layer{cell,
              inputs[0].shape()[0],
              inputs[0].shape()[1],
              inputs[0].shape()[2],
              inputs[2].shape()[2],
              lstm            ? 4
              : cell == "gru" ? 3
                              : 1,
              nullptr,
              nullptr,
              nullptr,
              nullptr,
              {},
              node.attributes.real("clip"),
              node.attributes.integer("linear_before_reset") != 0,
              node.attributes.integer("input_forget") != 0};
  Values y(static_cast<size_t>(outputs[0].elements()), 0);
  Values last_h = tensors[5], last_c = tensors[6];
  const int64_t rows = layer.gates * layer.hidden;
  for (int64_t d = 0; d < directions; ++d) {
    layer.w = tensors[1].data() + d * rows * layer.inputs;
    layer.r = tensors[2].data() + d * rows * layer.hidden;
    layer.b = tensors[3].data() + d * rows * 2;
    layer.peepholes = lstm ? tensors[7].data() + d * layer.hidden * 3 : nullptr;
    const auto first = functions.begin() + d * static_cast<int64_t>(per_direction);
    layer.functions.assign(first, first + static_cast<int64_t>(per_direction));
    const bool backward = direction == "reverse" || d == 1;
    for (int64_t n = 0; n < layer.batch; ++n) {
      const int64_t length = std::clamp<int64_t>(lengths[static_cast<size_t>(n)], 0, layer.steps);
      const auto state = (d * layer.batch + n) * layer.hidden;
      Values h(last_h.begin() + state, last_h.begin() + state + layer.hidden);
      Values c;
      if (lstm) c.assign(last_c.begin() + state, last_c.begin() + state + layer.hidden);
      // Steps beyond a sequence's length leave zeros in y and the state as it is.
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = backward ? length - 1 - s : s;
        layer.step(tensors[0].data() + (t * layer.batch + n) * layer.inputs, h, c);
        std::copy(h.begin(), h.end(),
                  y.begin() + ((t * directions + d) * layer.batch + n) * layer.hidden);
      }
      std::copy(h.begin(), h.end(), last_h.begin() + state);
      if (lstm) std::copy(c.begin(), c.end(), last_c.begin() + state);
    }
  }
  store_elements(outputs[0], 0, y);
  store_elements(outputs[1], 0, last_h);
  if (lstm) store_elements(outputs[2], 0, last_c);
}

const OpInfo kRows[] = {
    {Op::recurrent, "recurrent", 6, 8, -1, 0, infer_recurrent, evaluate_recurrent},
};

}  // namespace

std::span<const OpInfo> recurrent_ops() { return rows(kRows); }

}  // namespace mcc::ops
