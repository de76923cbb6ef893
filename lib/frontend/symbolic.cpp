// Symbolic evaluation: operators that move elements run on element numbers, maps and reductions
// compute with expressions.
#include "lib/frontend/symbolic.h"

#include <algorithm>

#include "lib/ir/evaluate.h"
#include "lib/ir/op.h"

namespace mcc::frontend {
namespace {

constexpr int64_t kMostElements = 64;

std::optional<std::vector<int64_t>> constant_dims(const Shape& shape) {
  std::vector<int64_t> dims;
  int64_t elements = 1;
  for (const Expr& dim : shape) {
    if (!dim.is_constant() || dim.constant() < 0 || dim.constant() > kMostElements) {
      return std::nullopt;
    }
    dims.push_back(dim.constant());
    elements *= dims.back();
    if (elements > kMostElements) return std::nullopt;
  }
  return dims;
}

// Whether input `i` of the operator supplies elements of the output (as opposed to indices, which
// must be constant); nullopt for operators that do more than move elements.
std::optional<bool> is_moved(const Node& node, size_t i) {
  switch (node.op) {
    case Op::reshape:
    case Op::transpose:
    case Op::broadcast:
    case Op::slice:
    case Op::pad:
    case Op::concat: return true;
    case Op::gather:
    case Op::gather_elements:
    case Op::gather_nd: return i == 0;
    case Op::scatter_elements:
    case Op::scatter_nd:
      if (node.attributes.text("reduction") != "none") return std::nullopt;
      return i != 1;
    default: return std::nullopt;
  }
}

std::optional<KnownValues> move_elements(const Node& node, const std::vector<Operand>& inputs,
                                         const std::vector<int64_t>& dims) {
  for (const auto& [name, value] : node.attributes.entries()) {
    const Shape* shape = std::get_if<Shape>(&value);
    if (shape == nullptr) continue;
    for (const Expr& entry : *shape) {
      if (!entry.is_constant()) return std::nullopt;
    }
  }
  KnownValues pool;
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<bool> moved = is_moved(node, i);
    if (!moved) return std::nullopt;
    if (!*moved) {
      if (inputs[i].constant_tensor() == nullptr) return std::nullopt;
      arguments.push_back(*inputs[i].constant_tensor());
      continue;
    }
    const std::optional<KnownValues> values = inputs[i].known_values();
    const std::optional<std::vector<int64_t>> shape = constant_dims(inputs[i].shape());
    if (!values || !shape) return std::nullopt;
    Tensor numbers(DType::i64, *shape);
    for (size_t k = 0; k < values->size(); ++k) {
      numbers.set_int64(static_cast<int64_t>(k), static_cast<int64_t>(pool.size() + k));
    }
    pool.insert(pool.end(), values->begin(), values->end());
    arguments.push_back(std::move(numbers));
  }
  std::vector<Tensor> results;
  results.emplace_back(DType::i64, dims);
  op_info(node.op).evaluate(node, EvaluationContext{}, arguments, results);
  KnownValues out;
  for (int64_t k = 0; k < results[0].elements(); ++k) {
    out.push_back(pool.at(static_cast<size_t>(results[0].get_int64(k))));
  }
  return out;
}

Known reduced(Expr numerator, int64_t denominator, const Ranges& ranges) {
  numerator = simplify(numerator, ranges);
  if (denominator != 1) {
    if (const std::optional<Expr> whole = exact_division(numerator, denominator)) {
      return {*whole, 1};
    }
  }
  return {numerator, denominator};
}

Known one_if(bool truth) { return {Expr(truth ? 1 : 0), 1}; }

// [d op 0] for an integer expression d.
Known compare_known(std::string_view fn, const Expr& d, const Ranges& ranges) {
  const Range range = bounds(d, ranges);
  if (fn == "lt") {
    if (range.high < 0) return one_if(true);
    if (range.low >= 0) return one_if(false);
    return {simplify(min(Expr(1), max(Expr(0), -d)), ranges), 1};
  }
  if (fn == "le") return compare_known("lt", d - 1, ranges);
  if (fn == "gt") return compare_known("lt", -d, ranges);
  if (fn == "ge") return compare_known("lt", -d - 1, ranges);
  if (fn == "ne") return {Expr(1) - compare_known("eq", d, ranges).numerator, 1};
  if (d.is_constant(0)) return one_if(true);
  if (range.low > 0 || range.high < 0) return one_if(false);
  return {simplify(max(Expr(0), Expr(1) - max(d, -d)), ranges), 1};
}

bool is_comparison(std::string_view fn) {
  return fn == "lt" || fn == "le" || fn == "gt" || fn == "ge" || fn == "eq" || fn == "ne";
}

bool nonnegative(const Expr& e, const Ranges& ranges) { return bounds(e, ranges).low >= 0; }
bool positive(const Expr& e, const Ranges& ranges) { return bounds(e, ranges).low > 0; }

std::optional<Known> divide(const Known& a, const Known& b, bool integers, const Ranges& ranges) {
  if (integers) {
    if (const std::optional<Expr> exact = exact_division(a.numerator, b.numerator)) {
      if (!b.numerator.is_constant(0)) return Known{*exact, 1};
    }
    if (!positive(b.numerator, ranges)) return std::nullopt;
    if (nonnegative(a.numerator, ranges)) {
      return Known{simplify(floordiv(a.numerator, b.numerator), ranges), 1};
    }
    if (nonnegative(-a.numerator, ranges)) {
      return Known{simplify(-floordiv(-a.numerator, b.numerator), ranges), 1};
    }
    return std::nullopt;
  }
  if (b.numerator.is_constant()) {
    const int64_t n = b.numerator.constant();
    if (n == 0) return std::nullopt;
    const Expr numerator = a.numerator * Expr(n < 0 ? -b.denominator : b.denominator);
    return reduced(numerator, a.denominator * (n < 0 ? -n : n), ranges);
  }
  const std::optional<Expr> exact = exact_division(a.numerator * Expr(b.denominator),
                                                   b.numerator * Expr(a.denominator));
  if (exact && positive(b.numerator, ranges)) return Known{*exact, 1};
  return std::nullopt;
}

std::optional<Known> map_unary(std::string_view fn, const Known& x, DType from, DType to,
                               const Ranges& ranges) {
  if (fn == "neg") return Known{-x.numerator, x.denominator};
  if (fn == "not" && from == DType::boolean) return Known{Expr(1) - x.numerator, 1};
  if (fn == "abs") {
    if (nonnegative(x.numerator, ranges)) return x;
    return Known{simplify(max(x.numerator, -x.numerator), ranges), x.denominator};
  }
  if (fn == "relu") return Known{simplify(max(x.numerator, Expr(0)), ranges), x.denominator};
  if (fn == "sign") {
    return Known{simplify(min(Expr(1), max(Expr(-1), x.numerator)), ranges), 1};
  }
  const bool truncates = fn == "trunc" || (fn == "cast" && is_floating(from) && is_integer(to));
  if (fn == "floor" || (truncates && nonnegative(x.numerator, ranges))) {
    return Known{simplify(floordiv(x.numerator, x.denominator), ranges), 1};
  }
  if (fn == "ceil") return Known{simplify(ceildiv(x.numerator, x.denominator), ranges), 1};
  if (x.denominator == 1 && (fn == "round" || truncates)) return x;
  if (fn == "cast") {
    if (to == DType::boolean) return compare_known("ne", x.numerator, ranges);
    const bool keeps = to == DType::i64 || to == DType::i32 || to == DType::f32 || to == DType::f64;
    if (keeps && !truncates) return x;
  }
  return std::nullopt;
}

std::optional<KnownValues> fold_axes(const Node& node, const Operand& input,
                                     const std::vector<int64_t>& dims, const Ranges& ranges) {
  const std::string& fn = node.attributes.text("fn");
  const std::optional<KnownValues> values = input.known_values();
  const std::optional<std::vector<int64_t>> shape = constant_dims(input.shape());
  if (!values || !shape) return std::nullopt;
  const std::string_view step = fn == "sum"    ? "add"
                                : fn == "prod" ? "mul"
                                : fn == "min" || fn == "max" ? std::string_view(fn)
                                : fn == "any" ? "or"
                                              : "and";
  const Ints& axes = node.attributes.ints("axes");
  int64_t out_elements = 1;
  for (int64_t dim : dims) out_elements *= dim;
  std::vector<std::optional<Known>> out(static_cast<size_t>(out_elements));
  for (size_t k = 0; k < values->size(); ++k) {
    // The linear index of the element without the reduced axes.
    auto rest = static_cast<int64_t>(k);
    int64_t index = 0, stride = 1;
    for (size_t a = shape->size(); a-- > 0;) {
      const int64_t at = rest % (*shape)[a];
      rest /= (*shape)[a];
      if (std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(a))) continue;
      index += at * stride;
      stride *= (*shape)[a];
    }
    std::optional<Known>& cell = out[static_cast<size_t>(index)];
    if (!cell) {
      cell = (*values)[k];
      continue;
    }
    cell = map_known(step, {*cell, (*values)[k]}, input.dtype(), input.dtype(), ranges);
    if (!cell) return std::nullopt;
  }
  KnownValues result;
  for (const std::optional<Known>& cell : out) {
    if (!cell) return std::nullopt;  // a fold over nothing
    result.push_back(*cell);
  }
  return result;
}

}  // namespace

std::optional<Known> map_known(std::string_view fn, const KnownValues& x, DType operand_type,
                               DType result_type, const Ranges& ranges) {
  if (x.size() == 1) return map_unary(fn, x[0], operand_type, result_type, ranges);
  if (fn == "select") {
    if (x[0].numerator.is_constant()) return x[x[0].numerator.is_constant(0) ? 2 : 1];
    if (x[1].denominator != 1 || x[2].denominator != 1) return std::nullopt;
    return reduced(x[2].numerator + x[0].numerator * (x[1].numerator - x[2].numerator), 1, ranges);
  }
  if (x.size() != 2) return std::nullopt;
  const Known &a = x[0], &b = x[1];
  const bool integers = is_integer(operand_type);
  // Keeps products of denominators and sizes inside of 64 bits.
  constexpr int64_t kLargestDenominator = int64_t{1} << 20;
  if (a.denominator > kLargestDenominator || b.denominator > kLargestDenominator) {
    return std::nullopt;
  }
  const int64_t denominator = a.denominator == b.denominator ? a.denominator
                                                             : a.denominator * b.denominator;
  // Both over the common denominator.
  const Expr left = a.numerator * Expr(denominator / a.denominator);
  const Expr right = b.numerator * Expr(denominator / b.denominator);
  if (fn == "add") return reduced(left + right, denominator, ranges);
  if (fn == "sub") return reduced(left - right, denominator, ranges);
  if (fn == "mul") {
    return reduced(a.numerator * b.numerator, a.denominator * b.denominator, ranges);
  }
  if (fn == "div") return divide(a, b, integers, ranges);
  if (fn == "min") return reduced(min(left, right), denominator, ranges);
  if (fn == "max") return reduced(max(left, right), denominator, ranges);
  if (is_comparison(fn)) return compare_known(fn, simplify(left - right, ranges), ranges);
  if (operand_type == DType::boolean) {
    if (fn == "and") return reduced(a.numerator * b.numerator, 1, ranges);
    if (fn == "or") return reduced(max(a.numerator, b.numerator), 1, ranges);
    if (fn == "xor") return compare_known("ne", a.numerator - b.numerator, ranges);
    return std::nullopt;
  }
  const bool whole = denominator == 1 && positive(b.numerator, ranges);
  if (whole && (fn == "mod" || (fn == "fmod" && nonnegative(a.numerator, ranges)))) {
    return reduced(mod(a.numerator, b.numerator), 1, ranges);
  }
  if (whole && fn == "floordiv") return reduced(floordiv(a.numerator, b.numerator), 1, ranges);
  if (fn == "pow" && b.denominator == 1 && b.numerator.is_constant()) {
    if (b.numerator.is_constant(1)) return a;
    if (b.numerator.is_constant(2)) {
      return reduced(a.numerator * a.numerator, a.denominator * a.denominator, ranges);
    }
  }
  return std::nullopt;
}

std::optional<KnownValues> evaluate_symbolically(const Node& node,
                                                 const std::vector<Operand>& inputs,
                                                 const TensorType& type, const Symbols& symbols) {
  if (inputs.empty()) return std::nullopt;
  const std::optional<std::vector<int64_t>> dims = constant_dims(type.shape);
  if (!dims) return std::nullopt;
  if (node.op == Op::reduce) return fold_axes(node, inputs[0], *dims, symbols.ranges());
  if (node.op != Op::map) {
    if (!is_moved(node, 0)) return std::nullopt;
    return move_elements(node, inputs, *dims);
  }
  std::vector<KnownValues> operands;
  for (const Operand& input : inputs) {
    std::optional<KnownValues> values = input.known_values();
    if (!values) return std::nullopt;
    operands.push_back(std::move(*values));
  }
  KnownValues out;
  const std::string& fn = node.attributes.text("fn");
  for (size_t i = 0; i < operands[0].size(); ++i) {
    KnownValues arguments;
    for (const KnownValues& operand : operands) arguments.push_back(operand[i]);
    const std::optional<Known> value =
        map_known(fn, arguments, inputs.back().dtype(), type.dtype, symbols.ranges());
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

}  // namespace mcc::frontend
