// Matrix products and Einsum.
#include <algorithm>
#include <cctype>

#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

void import_matmul(NodeContext& c) { c.out(c.b.matmul(c.in(0), c.in(1))); }

// alpha * A' * B' + beta * C; transposes are the choice of contracted axes.
void import_gemm(NodeContext& c) {
  const Operand a = c.in(0), b = c.in(1);
  if (a.rank() != 2 || b.rank() != 2) throw ModelError("A and B must be matrices.");
  const int64_t a_axis = c.integer("transA", 0) != 0 ? 0 : 1;
  const int64_t b_axis = c.integer("transB", 0) != 0 ? 1 : 0;
  Operand result = c.b.contract(a, b, {}, {}, {a_axis}, {b_axis});
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  if (alpha != 1) result = c.b.with_scalar("mul", result, alpha);
  if (c.has(2) && beta != 0) {
    const Operand bias = beta == 1 ? c.in(2) : c.b.with_scalar("mul", c.in(2), beta);
    result = c.b.map("add", {result, bias});
  }
  c.out(result);
}

// -- Einsum

struct Term {
  std::string labels;  // one character per axis; ellipsis axes are '0', '1', ... from the left
  Operand x;
};

// "...ij" with the ellipsis replaced by digits for `rank` axes.
std::string expand_labels(const std::string& text, int64_t rank, int64_t ellipsis_rank) {
  std::string labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '.') {
      if (std::isalpha(static_cast<unsigned char>(text[i])) == 0) {
        throw ModelError("the equation has an unexpected character.");
      }
      labels += text[i];
      continue;
    }
    if (text.compare(i, 3, "...") != 0) throw ModelError("the equation has a stray dot.");
    i += 2;
    const int64_t named = static_cast<int64_t>(text.size()) - 3;
    const int64_t own = rank < 0 ? ellipsis_rank : rank - named;
    // Ellipses align at their last axis.
    for (int64_t k = ellipsis_rank - own; k < ellipsis_rank; ++k) {
      labels += static_cast<char>('0' + k);
    }
  }
  return labels;
}

// A label that occurs twice in a term selects the diagonal.
void take_diagonals(Builder& b, Term& term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const size_t j = term.labels.find(term.labels[i], i + 1);
    if (j == std::string::npos) continue;
    const auto first = static_cast<int64_t>(i), second = static_cast<int64_t>(j);
    // Move the two axes to the front, keep the elements where their indices agree, sum one away.
    const Operand on = b.map("eq", {b.iota(term.x.shape(), first, DType::i64),
                                    b.iota(term.x.shape(), second, DType::i64)});
    b.merge(term.x.dim(first), term.x.dim(second));
    term.x = b.reduce("sum", b.select(on, term.x, b.scalar(term.x.dtype(), 0)), {second}, false);
    term.labels.erase(j, 1);
    --i;
  }
}

// Sums away the axes whose label occurs nowhere else.
void sum_private(Builder& b, Term& term, const std::string& kept) {
  Ints axes;
  std::string rest;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (kept.find(term.labels[i]) == std::string::npos) {
      axes.push_back(static_cast<int64_t>(i));
    } else {
      rest += term.labels[i];
    }
  }
  term.x = b.reduce("sum", term.x, axes, false);
  term.labels = rest;
}

// Two terms into one: shared labels that are needed later are batch axes, others contracted.
Term combine(Builder& b, Term lhs, Term rhs, const std::string& kept) {
  // A dimension of 1 stands for a broadcast one: drop it from the side that has it.
  for (auto* pair : {&lhs, &rhs}) {
    Term& other = pair == &lhs ? rhs : lhs;
    for (size_t i = pair->labels.size(); i-- > 0;) {
      const size_t at = other.labels.find(pair->labels[i]);
      if (at == std::string::npos || !pair->x.shape()[i].is_constant(1) ||
          other.x.shape()[at].is_constant(1)) {
        continue;
      }
      pair->x = b.squeeze(pair->x, {static_cast<int64_t>(i)});
      pair->labels.erase(i, 1);
    }
  }
  sum_private(b, lhs, kept + rhs.labels);
  sum_private(b, rhs, kept + lhs.labels);
  Ints lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  std::string batch, lhs_free, rhs_free;
  for (size_t i = 0; i < lhs.labels.size(); ++i) {
    const size_t j = rhs.labels.find(lhs.labels[i]);
    if (j == std::string::npos) {
      lhs_free += lhs.labels[i];
    } else if (kept.find(lhs.labels[i]) != std::string::npos) {
      lhs_batch.push_back(static_cast<int64_t>(i));
      rhs_batch.push_back(static_cast<int64_t>(j));
      batch += lhs.labels[i];
    } else {
      lhs_contract.push_back(static_cast<int64_t>(i));
      rhs_contract.push_back(static_cast<int64_t>(j));
    }
  }
  for (char label : rhs.labels) {
    if (lhs.labels.find(label) == std::string::npos) rhs_free += label;
  }
  return {batch + lhs_free + rhs_free,
          b.contract(lhs.x, rhs.x, lhs_batch, rhs_batch, lhs_contract, rhs_contract)};
}

void import_einsum(NodeContext& c) {
  std::string equation = c.text("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  std::vector<std::string> texts(1);
  for (char ch : equation.substr(0, arrow)) {
    if (ch == ',') {
      texts.emplace_back();
    } else {
      texts.back() += ch;
    }
  }
  if (texts.size() != c.inputs.size()) {
    throw ModelError("the equation '" + equation + "' has " + std::to_string(texts.size()) +
                     " terms for " + std::to_string(c.inputs.size()) + " inputs.");
  }
  int64_t ellipsis = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].find("...") == std::string::npos) continue;
    ellipsis = std::max(ellipsis, c.in(i).rank() - static_cast<int64_t>(texts[i].size()) + 3);
  }
  std::vector<Term> terms;
  for (size_t i = 0; i < texts.size(); ++i) {
    terms.push_back({expand_labels(texts[i], c.in(i).rank(), ellipsis), c.in(i)});
    if (static_cast<int64_t>(terms[i].labels.size()) != c.in(i).rank()) {
      throw ModelError("term " + std::to_string(i) + " of '" + equation +
                       "' does not fit an input of rank " + std::to_string(c.in(i).rank()) + ".");
    }
  }
  std::string output;
  if (arrow != std::string::npos) {
    output = expand_labels(equation.substr(arrow + 2), -1, ellipsis);
  } else {
    // Implicit: the ellipsis, then the labels that occur once, in alphabetical order.
    std::string all;
    for (const Term& term : terms) all += term.labels;
    std::sort(all.begin(), all.end());
    for (char label : all) {
      const bool digit = std::isdigit(static_cast<unsigned char>(label)) != 0;
      const bool once = std::count(all.begin(), all.end(), label) == 1;
      if ((digit || once) && output.find(label) == std::string::npos) output += label;
    }
  }
  for (Term& term : terms) take_diagonals(c.b, term);
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string kept = output;
    for (size_t k = i + 1; k < terms.size(); ++k) kept += terms[k].labels;
    result = combine(c.b, result, terms[i], kept);
  }
  sum_private(c.b, result, output);
  Ints perm;
  for (char label : output) {
    const size_t at = result.labels.find(label);
    if (at == std::string::npos) throw ModelError("the output of '" + equation + "' has a new label.");
    perm.push_back(static_cast<int64_t>(at));
  }
  c.out(c.b.transpose(result.x, perm));
}

const OperatorEntry kEntries[] = {
    {"", "Einsum", 12, import_einsum},
    {"", "Gemm", 7, import_gemm},
    {"", "MatMul", 1, import_matmul},
};

}  // namespace

std::span<const OperatorEntry> contraction_entries() { return kEntries; }

}  // namespace mcc::frontend
