// See arithmetic.h.
#include "lib/optimizer/rewrite/arithmetic.h"

#include <algorithm>
#include <cmath>

namespace mcc {
namespace {

class Collector {
 public:
  Collector(const PatternScope& scope, int splits, ValueId atom)
      : scope_(scope), splits_(splits), atom_(atom) {}

  void collect(ValueId value) {
    if (value == atom_) return product_.factors.push_back(value);
    if (const std::optional<double> scalar = scope_.splat(value)) {
      product_.scalar *= *scalar;
      return;
    }
    if (const Node* node = scope_.map_of(value, "mul")) {
      const bool scales = scope_.splat(node->inputs[0]) || scope_.splat(node->inputs[1]);
      if (scales || splits_-- > 0) {
        collect(node->inputs[0]);
        return collect(node->inputs[1]);
      }
    } else if (const Node* negation = scope_.map_of(value, "neg")) {
      product_.scalar = -product_.scalar;
      return collect(negation->inputs[0]);
    } else if (const Node* division = scope_.map_of(value, "div")) {
      const std::optional<double> divisor = scope_.splat(division->inputs[1]);
      if (divisor && *divisor != 0) {
        product_.scalar /= *divisor;
        return collect(division->inputs[0]);
      }
    }
    product_.factors.push_back(value);
  }

  Product take() {
    std::sort(product_.factors.begin(), product_.factors.end());
    return std::move(product_);
  }

 private:
  const PatternScope& scope_;
  int splits_;
  const ValueId atom_;
  Product product_;
};

}  // namespace

Product product_of(ValueId value, const PatternScope& scope, int splits, ValueId atom) {
  Collector collector(scope, splits, atom);
  collector.collect(value);
  return collector.take();
}

std::optional<Shifted> shifted(ValueId value, const PatternScope& scope) {
  const Node* sum = scope.map_of(value, "add");
  if (sum == nullptr) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    if (const std::optional<double> scalar = scope.splat(sum->inputs[1 - i])) {
      return Shifted{sum->inputs[i], *scalar};
    }
  }
  return std::nullopt;
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-3 * std::fabs(b); }

ValueId below_unit_reshapes(ValueId value, const PatternScope& scope) {
  while (const Node* node = scope.producer(value, Op::reshape)) {
    if (without_units(scope.shape(node->inputs[0])) != without_units(scope.shape(value))) break;
    value = node->inputs[0];
  }
  return value;
}

std::optional<Spread> spread(ValueId value, const PatternScope& scope) {
  const Node* node = scope.producer(value, Op::broadcast);
  if (node == nullptr) return std::nullopt;
  Spread result{node->inputs[0], {}};
  for (int64_t axis : non_unit_axes(scope.shape(node->inputs[0]))) {
    result.axes.push_back(node->attributes.ints("axes")[static_cast<size_t>(axis)]);
  }
  return result;
}

std::optional<Reduced> reduced(ValueId value, std::string_view function, const PatternScope& scope) {
  const Node* node = scope.producer(below_unit_reshapes(value, scope), Op::reduce);
  if (node == nullptr || node->attributes.text("fn") != function) return std::nullopt;
  return Reduced{node->inputs[0], node->attributes.ints("axes")};
}

std::optional<Reduced> mean(ValueId value, const PatternScope& scope) {
  const Product product = product_of(below_unit_reshapes(value, scope), scope, 0);
  if (product.factors.size() != 1) return std::nullopt;
  std::optional<Reduced> sum = reduced(product.factors[0], "sum", scope);
  if (!sum) return std::nullopt;
  Expr count = 1;
  for (int64_t axis : sum->axes) count = count * scope.shape(sum->source)[static_cast<size_t>(axis)];
  if (!count.is_constant() || count.constant() < 1) return std::nullopt;
  // Exact enough that neighbouring counts stay apart.
  const double error = product.scalar * static_cast<double>(count.constant()) - 1;
  if (std::fabs(error) > 0.25 / static_cast<double>(count.constant())) return std::nullopt;
  return sum;
}

bool spreads_over(const Ints& axes, const Shape& shape, const Ints& reduced) {
  Ints kept;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const bool folded = std::find(reduced.begin(), reduced.end(), axis) != reduced.end();
    if (!folded && !shape[i].is_constant(1)) kept.push_back(axis);
  }
  return kept == axes;
}

}  // namespace mcc
