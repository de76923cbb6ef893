// Symbolic evaluation of shape arithmetic.
#include "lib/frontend/known_arithmetic.h"

#include <onnx/onnx_pb.h>

#include <cmath>
#include <numeric>
#include <set>

#include "lib/ir/evaluate.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

// Shape arithmetic handles short lists; longer ones are data.
constexpr int64_t kMostElements = 256;

using MaybeKnown = std::optional<Known>;

Known reduce_fraction(Expr numerator, int64_t denominator) {
  if (numerator.is_constant()) {
    const int64_t common = std::gcd(numerator.constant(), denominator);
    if (common > 1) return {Expr(numerator.constant() / common), denominator / common};
  } else if (std::optional<Expr> exact = exact_division(numerator, Expr(denominator))) {
    return {*exact, 1};
  }
  return {std::move(numerator), denominator};
}

Expr floor_of(const Known& x) { return floordiv(x.numerator, Expr(x.denominator)); }
Expr ceil_of(const Known& x) { return ceildiv(x.numerator, Expr(x.denominator)); }

MaybeKnown boolean(std::optional<bool> value) {
  if (!value) return std::nullopt;
  return Known{Expr(*value ? 1 : 0), 1};
}

// Sign of a difference, as far as the ranges decide it.
std::optional<bool> is_less(const Expr& a, const Expr& b, const Ranges& ranges) {
  const Range range = bounds(a - b, ranges);
  if (range.high < 0) return true;
  if (range.low >= 0) return false;
  return std::nullopt;
}

std::optional<bool> is_equal(const Expr& a, const Expr& b, const Ranges& ranges) {
  if (provably_equal(a, b)) return true;
  const Range range = bounds(a - b, ranges);
  if (range.low > 0 || range.high < 0) return false;
  return std::nullopt;
}

class Arithmetic {
 public:
  Arithmetic(const NodeContext& node, const Ranges& ranges, bool floating)
      : name_(node.node.op_type()), ranges_(ranges), floating_(floating) {}

  MaybeKnown apply(const std::vector<Known>& x) const {
    if (x.size() == 1) return unary(x[0]);
    if (name_ == "Where" && x.size() == 3) {
      if (!x[0].numerator.is_constant()) return std::nullopt;
      return x[0].numerator.constant() != 0 ? x[1] : x[2];
    }
    if (x.size() != 2) return std::nullopt;
    return binary(x[0], x[1]);
  }

 private:
  MaybeKnown unary(const Known& x) const {
    if (name_ == "Identity" || name_ == "Min" || name_ == "Max") return x;
    if (name_ == "Neg") return Known{-x.numerator, x.denominator};
    if (name_ == "Floor") return Known{floor_of(x), 1};
    if (name_ == "Ceil") return Known{ceil_of(x), 1};
    if (name_ == "Not" && x.numerator.is_constant()) return Known{Expr(x.numerator.constant() == 0 ? 1 : 0), 1};
    if (name_ == "Abs") {
      const Range range = bounds(x.numerator, ranges_);
      if (range.low >= 0) return x;
      if (range.high <= 0) return Known{-x.numerator, x.denominator};
      return Known{max(x.numerator, -x.numerator), x.denominator};
    }
    return std::nullopt;
  }

  MaybeKnown binary(const Known& a, const Known& b) const {
    const Expr left = a.numerator * Expr(b.denominator);
    const Expr right = b.numerator * Expr(a.denominator);
    const int64_t common = a.denominator * b.denominator;
    if (name_ == "Add") return reduce_fraction(left + right, common);
    if (name_ == "Sub") return reduce_fraction(left - right, common);
    if (name_ == "Mul") return reduce_fraction(a.numerator * b.numerator, common);
    if (name_ == "Div") return divide(a, b);
    if (name_ == "Mod") {
      if (a.denominator != 1 || b.denominator != 1 || bounds(b.numerator, ranges_).low < 1) return std::nullopt;
      return Known{mod(a.numerator, b.numerator), 1};
    }
    if (name_ == "Min") return reduce_fraction(min(left, right), common);
    if (name_ == "Max") return reduce_fraction(max(left, right), common);
    if (name_ == "Equal") return boolean(is_equal(left, right, ranges_));
    if (name_ == "Less") return boolean(is_less(left, right, ranges_));
    if (name_ == "Greater") return boolean(is_less(right, left, ranges_));
    if (name_ == "LessOrEqual" || name_ == "GreaterOrEqual") {
      const std::optional<bool> opposite =
          name_ == "LessOrEqual" ? is_less(right, left, ranges_) : is_less(left, right, ranges_);
      if (!opposite) return std::nullopt;
      return boolean(!*opposite);
    }
    if (name_ == "And" || name_ == "Or") {
      if (!a.numerator.is_constant() || !b.numerator.is_constant()) return std::nullopt;
      const bool x = a.numerator.constant() != 0;
      const bool y = b.numerator.constant() != 0;
      return boolean(name_ == "And" ? x && y : x || y);
    }
    return std::nullopt;
  }

  MaybeKnown divide(const Known& a, const Known& b) const {
    if (floating_) {
      if (!b.numerator.is_constant() || b.numerator.constant() == 0) {
        if (a.denominator != 1 || b.denominator != 1) return std::nullopt;
        std::optional<Expr> exact = exact_division(a.numerator, b.numerator);
        if (!exact) return std::nullopt;
        return Known{*exact, 1};
      }
      const int64_t divisor = b.numerator.constant();
      const Known flipped = reduce_fraction(a.numerator * Expr(b.denominator) * Expr(divisor < 0 ? -1 : 1),
                                            a.denominator * (divisor < 0 ? -divisor : divisor));
      return flipped;
    }
    // Integer division truncates; on non-negative numbers that is the floor.
    if (std::optional<Expr> exact = exact_division(a.numerator, b.numerator)) return Known{*exact, 1};
    if (bounds(a.numerator, ranges_).low < 0 || bounds(b.numerator, ranges_).low < 1) return std::nullopt;
    return Known{floordiv(a.numerator, b.numerator), 1};
  }

  std::string name_;
  const Ranges& ranges_;
  bool floating_;
};

std::optional<Operand> known_cast(const NodeContext& node) {
  const DType to = import_dtype(static_cast<int>(node.integer("to", 0)));
  const DTypeKind kind = dtype_info(to).kind;
  if (kind != DTypeKind::floating && kind != DTypeKind::signed_integer) return std::nullopt;
  if (dtype_info(to).bits < 32) return std::nullopt;
  KnownValues values = *node.in(0).known_values();
  for (Known& value : values) {
    if (kind == DTypeKind::floating || value.denominator == 1) continue;
    // Casting truncates; fractions of sizes are not negative.
    if (value.numerator.is_constant() && value.numerator.constant() < 0) return std::nullopt;
    value = {floor_of(value), 1};
  }
  return Operand::known(to, node.in(0).shape(), std::move(values));
}

std::vector<int64_t> constant_shape(const Shape& shape) {
  std::vector<int64_t> dims;
  for (const Expr& dim : shape) dims.push_back(dim.constant());
  return dims;
}

}  // namespace

std::optional<Operand> known_elementwise(const NodeContext& node, const Ranges& ranges) {
  static const std::set<std::string> kNames{"Identity", "Neg", "Floor", "Ceil", "Abs", "Not", "Where", "Add", "Sub",
                                            "Mul", "Div", "Mod", "Min", "Max", "Equal", "Less", "Greater",
                                            "LessOrEqual", "GreaterOrEqual", "And", "Or", "Cast"};
  if (kNames.count(node.node.op_type()) == 0 || !node.node.domain().empty()) return std::nullopt;
  std::vector<KnownValues> values;
  std::vector<Shape> shapes;
  bool symbolic = false;
  for (const Operand& input : node.inputs) {
    if (!input) return std::nullopt;
    std::optional<KnownValues> known = input.known_values();
    if (!known) return std::nullopt;
    symbolic = symbolic || input.is_symbolic();
    values.push_back(std::move(*known));
    shapes.push_back(input.shape());
  }
  if (values.empty()) return std::nullopt;
  const std::string& name = node.node.op_type();
  if (name == "Cast") return known_cast(node);
  const DType first = node.in(0).dtype();
  const bool floating = is_floating(first);
  // Arithmetic on float constants alone is left to constant folding, which rounds as the type does.
  if (floating && !symbolic) return std::nullopt;
  const Shape shape = Builder::broadcast_shape(shapes);
  const int64_t count = product(shape).constant();
  if (count > kMostElements) return std::nullopt;
  const Arithmetic arithmetic(node, ranges, floating);
  KnownValues results;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Known> operands;
    for (size_t input = 0; input < values.size(); ++input) {
      // Row-major position i of the result in the operand's own (broadcast) shape.
      int64_t rest = i;
      int64_t position = 0;
      int64_t stride = 1;
      const Shape& own = shapes[input];
      for (size_t axis = shape.size(); axis-- > 0;) {
        const int64_t index = rest % shape[axis].constant();
        rest /= shape[axis].constant();
        const size_t lead = shape.size() - own.size();
        if (axis < lead) continue;
        const int64_t dim = own[axis - lead].constant();
        if (dim != 1) position += index * stride;
        stride *= dim;
      }
      operands.push_back(values[input][static_cast<size_t>(position)]);
    }
    MaybeKnown result = arithmetic.apply(operands);
    if (!result) return std::nullopt;
    results.push_back(std::move(*result));
  }
  const bool compares = name == "Equal" || name == "Less" || name == "Greater" || name == "LessOrEqual" ||
                        name == "GreaterOrEqual" || name == "And" || name == "Or" || name == "Not";
  const DType dtype = compares ? DType::boolean : name == "Where" ? node.in(1).dtype() : first;
  return Operand::known(dtype, shape, std::move(results));
}

std::optional<Results> known_moves(NodeContext& node, const OperatorEntry& entry, const Ranges&) {
  // Element numbers stand in for the elements: what comes out says which element is where.
  KnownValues all;
  bool symbolic = false;
  std::vector<Operand> stand_ins = node.inputs;
  const size_t last = entry.moves == Moves::all ? node.inputs.size() : 1;
  DType dtype = DType::i64;
  for (size_t i = 0; i < last; ++i) {
    if (!node.has(i)) return std::nullopt;
    const std::optional<KnownValues> values = node.in(i).known_values();
    if (!values) return std::nullopt;
    if (i == 0) dtype = node.in(0).dtype();
    symbolic = symbolic || node.in(i).is_symbolic();
    Tensor numbers(DType::i64, constant_shape(node.in(i).shape()));
    for (size_t k = 0; k < values->size(); ++k) {
      numbers.set_int64(static_cast<int64_t>(k), static_cast<int64_t>(all.size()));
      all.push_back((*values)[k]);
    }
    stand_ins[i] = Operand::constant(std::make_shared<const Tensor>(std::move(numbers)));
  }
  if (static_cast<int64_t>(all.size()) > kMostElements) return std::nullopt;
  // Every other input must be known as well.
  for (size_t i = last; i < node.inputs.size(); ++i) {
    if (node.inputs[i] && !node.inputs[i].known_values()) return std::nullopt;
  }
  Graph graph;
  graph.symbols = node.b.graph().symbols;  // for their ranges
  Builder builder(graph);
  NodeContext inner(node.node, stand_ins, builder, node.opset);
  std::vector<Tensor> outputs;
  Results results;
  try {
    for (const Operand& result : entry.import(inner)) {
      if (!result) {
        results.emplace_back();
        continue;
      }
      for (const Expr& dim : result.shape()) {
        if (!dim.is_constant()) return std::nullopt;
      }
      if (product(result.shape()).constant() > kMostElements) return std::nullopt;
      Graph part = graph;
      part.symbols.clear();
      Builder part_builder(part);
      if (result.owner() == &builder) {
        part.add_output(result.id(), "");
        eliminate_dead_nodes(part);
        outputs = evaluate(part, {});
      } else {
        if (result.constant_tensor() == nullptr) return std::nullopt;
        outputs = {*result.constant_tensor()};
      }
      KnownValues moved;
      for (int64_t i = 0; i < outputs[0].elements(); ++i) moved.push_back(all.at(static_cast<size_t>(outputs[0].get_int64(i))));
      results.push_back(Operand::known(dtype, result.shape(), std::move(moved)));
    }
  } catch (const std::out_of_range&) {
    return std::nullopt;
  } catch (const Error&) {
    // Whatever is wrong is reported by the import over the real operands.
    return std::nullopt;
  }
  return results;
}

}  // namespace mcc::frontend
