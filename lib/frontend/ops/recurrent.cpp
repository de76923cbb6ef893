// LSTM, GRU and RNN: the IR's recurrent operator with every optional input made explicit.
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

struct Cell {
  const char* name;
  int64_t gates;
  std::vector<std::string> activations;  // the defaults of one direction
};

// The IR's text of the activation functions: name[:alpha[:beta]] of one direction after another.
std::string activation_text(NodeContext& c, const Cell& cell, int64_t directions) {
  std::vector<std::string> names = c.texts("activations");
  const size_t needed = cell.activations.size() * static_cast<size_t>(directions);
  if (names.empty()) {
    for (int64_t d = 0; d < directions; ++d) {
      names.insert(names.end(), cell.activations.begin(), cell.activations.end());
    }
  }
  if (names.size() != needed) {
    throw ModelError("there must be " + std::to_string(needed) + " activation functions.");
  }
  // Parameters belong to the functions that take some, in order.
  const std::vector<double> alphas = c.reals("activation_alpha"), betas = c.reals("activation_beta");
  size_t alpha = 0, beta = 0;
  std::string text;
  for (std::string& name : names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
    const bool two = name == "affine" || name == "scaledtanh" || name == "hardsigmoid";
    const bool one = two || name == "leakyrelu" || name == "thresholdedrelu" || name == "elu";
    text += (text.empty() ? "" : ",") + name;
    char number[64];
    if (one && alpha < alphas.size()) {
      std::snprintf(number, sizeof number, ":%.9g", alphas[alpha++]);
      text += number;
      if (two && beta < betas.size()) {
        std::snprintf(number, sizeof number, ":%.9g", betas[beta++]);
        text += number;
      }
    }
  }
  return text;
}

Operand zeros(Builder& b, const Operand& like, const Shape& shape) {
  return b.full(shape, b.scalar(like.dtype(), 0));
}

void import_recurrent(NodeContext& c, const Cell& cell) {
  Builder& b = c.b;
  const bool lstm = std::string_view(cell.name) == "lstm";
  const bool batch_first = c.integer("layout", 0) != 0;
  const std::string direction = c.text("direction", "forward");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  Operand x = c.in(0);
  const Operand w = c.in(1), r = c.in(2);
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3) throw ModelError("X, W and R must be 3-D.");
  if (batch_first) x = b.transpose(x, {1, 0, 2});
  const Expr time = x.dim(0), batch = x.dim(1), hidden = r.dim(2);
  const Shape state{directions, batch, hidden};
  const auto initial = [&](size_t input) {
    if (!c.has(input)) return zeros(b, x, state);
    return batch_first ? b.transpose(c.in(input), {1, 0, 2}) : c.in(input);
  };
  Operands inputs{x, w, r};
  inputs.push_back(c.has(3) ? c.in(3)
                            : zeros(b, x, {directions, hidden * Expr(2 * cell.gates)}));
  inputs.push_back(c.has(4) ? c.in(4) : b.full({batch}, b.number(time, DType::i32)));
  inputs.push_back(initial(5));
  if (lstm) {
    inputs.push_back(initial(6));
    inputs.push_back(c.has(7) ? c.in(7) : zeros(b, x, {directions, hidden * Expr(3)}));
  }
  Attributes attributes;
  attributes.set("cell", std::string(cell.name));
  attributes.set("direction", direction);
  attributes.set("activations", activation_text(c, cell, directions));
  attributes.set("clip", c.real("clip", 0));
  attributes.set("linear_before_reset", c.integer("linear_before_reset", 0));
  attributes.set("input_forget", c.integer("input_forget", 0));
  const Operands results = b.emit_all(Op::recurrent, inputs, attributes);
  // Y [T, D, B, H], batch first [B, T, D, H]; states [D, B, H], batch first [B, D, H].
  c.out(batch_first ? b.transpose(results[0], {2, 0, 1, 3}) : results[0]);
  for (size_t i = 1; i < results.size(); ++i) {
    c.out(batch_first ? b.transpose(results[i], {1, 0, 2}) : results[i]);
  }
}

ImportFunction recurrent(Cell cell) {
  return [cell](NodeContext& c) { import_recurrent(c, cell); };
}

const OperatorEntry kEntries[] = {
    {"", "GRU", 7, recurrent({"gru", 3, {"sigmoid", "tanh"}})},
    {"", "LSTM", 7, recurrent({"lstm", 4, {"sigmoid", "tanh", "tanh"}})},
    {"", "RNN", 7, recurrent({"rnn", 1, {"tanh"}})},
};

}  // namespace

std::span<const OperatorEntry> recurrent_entries() { return kEntries; }

}  // namespace mcc::frontend
