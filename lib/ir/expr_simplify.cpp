// Range analysis, simplification and evaluation of symbolic expressions.
#include <algorithm>
#include <numeric>

#include "lib/ir/expr.h"
#include "lib/ir/expr_detail.h"
#include "lib/support/error.h"

namespace mcc {

using namespace expr_detail;  // NOLINT(google-build-using-namespace): the implementation's helpers

namespace {

constexpr int64_t kInfinity = Range::kUnbounded;
__extension__ using Wide = __int128;

int64_t saturate(Wide value) {
  if (value >= kInfinity) return kInfinity;
  if (value <= -kInfinity) return -kInfinity;
  return static_cast<int64_t>(value);
}

int64_t saturated_add(int64_t a, int64_t b) {
  // A bound that is unknown stays unknown.
  if (a >= kInfinity || b >= kInfinity) return kInfinity;
  if (a <= -kInfinity || b <= -kInfinity) return -kInfinity;
  return saturate(static_cast<Wide>(a) + b);
}

int64_t saturated_multiply(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return saturate(static_cast<Wide>(a) * b);
}

Range multiply(const Range& a, const Range& b) {
  const int64_t corners[] = {saturated_multiply(a.low, b.low), saturated_multiply(a.low, b.high),
                             saturated_multiply(a.high, b.low), saturated_multiply(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

int64_t divide_bound(int64_t a, int64_t b) {
  if (a >= kInfinity || a <= -kInfinity) return a;
  if (b >= kInfinity) return a < 0 ? -1 : 0;
  return floor_divide(a, b);
}

Range atom_bounds(const Atom& atom, const Ranges& ranges) {
  if (atom.kind == AtomKind::symbol) {
    auto found = ranges.find(atom.name);
    return found == ranges.end() ? Range{} : found->second;
  }
  const Range left = bounds(atom.left, ranges);
  const Range right = bounds(atom.right, ranges);
  switch (atom.kind) {
    case AtomKind::floordiv: {
      const int64_t smallest = std::max<int64_t>(right.low, 1);  // divisors are positive by contract
      const int64_t largest = std::max(right.high, smallest);
      return {left.low >= 0 ? divide_bound(left.low, largest) : divide_bound(left.low, smallest),
              left.high >= 0 ? divide_bound(left.high, smallest) : divide_bound(left.high, largest)};
    }
    case AtomKind::mod: {
      const int64_t high = right.high >= kInfinity ? kInfinity : std::max<int64_t>(right.high - 1, 0);
      return {0, left.low >= 0 ? std::min(high, left.high) : high};
    }
    case AtomKind::min: return {std::min(left.low, right.low), std::min(left.high, right.high)};
    case AtomKind::max: return {std::max(left.low, right.low), std::max(left.high, right.high)};
    case AtomKind::symbol: break;
  }
  return {};
}

class Simplifier {
 public:
  Simplifier(const Ranges& ranges, const SymbolicBounds& upper_bounds)
      : ranges_(ranges), upper_bounds_(upper_bounds) {}

  Expr run(const Expr& expr) const {
    if (!has_operators(expr)) return expr;
    Expr sum = expr.node().constant;
    for (const Term& term : expr.node().terms) {
      Expr value = term.coefficient;
      for (const auto& factor : term.factors) {
        value = value * (factor->kind == AtomKind::symbol ? make_sum(0, {Term{1, {factor}}}) : atom(*factor));
      }
      sum = sum + value;
    }
    return sum;
  }

 private:
  static bool has_operators(const Expr& expr) {
    for (const Term& term : expr.node().terms) {
      for (const auto& factor : term.factors) {
        if (factor->kind != AtomKind::symbol) return true;
      }
    }
    return false;
  }

  bool nonnegative(const Expr& expr) const { return provably_nonnegative(expr, ranges_, upper_bounds_); }
  bool within(const Expr& expr, const Expr& limit) const {
    return nonnegative(expr) && nonnegative(limit - 1 - expr);
  }

  Expr atom(const Atom& atom) const {
    const Expr left = run(atom.left);
    const Expr right = run(atom.right);
    switch (atom.kind) {
      case AtomKind::floordiv: return quotient(left, right);
      case AtomKind::mod: return remainder(left, right);
      case AtomKind::min:
        if (nonnegative(right - left)) return left;
        if (nonnegative(left - right)) return right;
        return min(left, right);
      case AtomKind::max:
        if (nonnegative(right - left)) return right;
        if (nonnegative(left - right)) return left;
        return max(left, right);
      case AtomKind::symbol: break;
    }
    throw InternalError("an atom of unknown kind");
  }

  // Splits off the part of `value` that never reaches the granularity `g` of the rest: value =
  // g * x + small with 0 <= small < g.
  std::optional<Expr> small_part(const Expr& value, int64_t granularity) const {
    if (granularity <= 1) return std::nullopt;
    std::vector<Term> small;
    for (const Term& term : value.node().terms) {
      if (term.coefficient % granularity != 0) small.push_back(term);
    }
    const int64_t whole = floor_divide(value.node().constant, granularity) * granularity;
    Expr part = make_sum(value.node().constant - whole, std::move(small));
    if (part.is_constant(0) || !within(part, granularity)) return std::nullopt;
    return part;
  }

  // A divisor of `b` and of some coefficient of `a` below which the rest of `a` stays.
  std::optional<Expr> negligible(const Expr& a, const Expr& b) const {
    if (!b.is_constant()) return std::nullopt;
    for (const Term& term : a.node().terms) {
      const int64_t granularity = std::gcd(std::gcd(term.coefficient, b.constant()), b.constant());
      if (std::optional<Expr> part = small_part(a, granularity)) return part;
    }
    return std::nullopt;
  }

  Expr quotient(const Expr& left, const Expr& right) const {
    const Expr result = floordiv(left, right);
    const Atom* rest = last_operator(result, AtomKind::floordiv);
    if (rest == nullptr) return result;
    const Expr plain = make_atom(AtomKind::floordiv, rest->left, rest->right);
    const Expr other = result - plain;
    if (within(rest->left, rest->right)) return other;
    if (std::optional<Expr> part = negligible(rest->left, rest->right)) {
      return other + run(floordiv(rest->left - *part, rest->right));
    }
    return result;
  }

  Expr remainder(const Expr& left, const Expr& right) const {
    const Expr result = mod(left, right);
    const Atom* rest = last_operator(result, AtomKind::mod);
    if (rest == nullptr || !(result == make_atom(AtomKind::mod, rest->left, rest->right))) {
      // A scaled remainder g * (x mod d): try the inner one.
      const ExprNode& node = result.node();
      if (rest != nullptr && node.constant == 0 && node.terms.size() == 1 &&
          node.terms[0].factors.size() == 1 && within(rest->left, rest->right)) {
        return rest->left * Expr(node.terms[0].coefficient);
      }
      return result;
    }
    if (within(rest->left, rest->right)) return rest->left;
    if (std::optional<Expr> part = negligible(rest->left, rest->right)) {
      return *part + run(mod(rest->left - *part, rest->right));
    }
    return result;
  }

  // The operator atom of this kind that stands alone with coefficient 1 in `expr` (or in its only
  // term), else nullptr.
  static const Atom* last_operator(const Expr& expr, AtomKind kind) {
    for (const Term& term : expr.node().terms) {
      if (term.factors.size() == 1 && term.factors[0]->kind == kind &&
          (term.coefficient == 1 || expr.node().terms.size() == 1)) {
        return term.factors[0].get();
      }
    }
    return nullptr;
  }

  const Ranges& ranges_;
  const SymbolicBounds& upper_bounds_;
};

void collect_symbols(const Expr& expr, std::set<std::string>& names) {
  for (const Term& term : expr.node().terms) {
    for (const auto& factor : term.factors) {
      if (factor->kind == AtomKind::symbol) {
        names.insert(factor->name);
      } else {
        collect_symbols(factor->left, names);
        collect_symbols(factor->right, names);
      }
    }
  }
}

bool mentions(const Expr& expr, std::string_view symbol) {
  for (const Term& term : expr.node().terms) {
    for (const auto& factor : term.factors) {
      const bool found = factor->kind == AtomKind::symbol
                             ? factor->name == symbol
                             : mentions(factor->left, symbol) || mentions(factor->right, symbol);
      if (found) return true;
    }
  }
  return false;
}

// The value of an operator atom over its operands; `Value` is Expr or int64_t.
Expr apply_operator(AtomKind kind, const Expr& left, const Expr& right) {
  switch (kind) {
    case AtomKind::floordiv: return floordiv(left, right);
    case AtomKind::mod: return mod(left, right);
    case AtomKind::min: return min(left, right);
    case AtomKind::max: return max(left, right);
    case AtomKind::symbol: break;
  }
  throw InternalError("an atom of unknown kind");
}

int64_t evaluate_atom(const Atom& atom, const Bindings& bindings) {
  if (atom.kind == AtomKind::symbol) {
    auto found = bindings.find(atom.name);
    if (found == bindings.end()) throw UsageError("symbol '" + atom.name + "' has no value");
    return found->second;
  }
  const int64_t left = atom.left.evaluate(bindings);
  const int64_t right = atom.right.evaluate(bindings);
  const bool divides = atom.kind == AtomKind::floordiv || atom.kind == AtomKind::mod;
  if (divides && right <= 0) throw UsageError("a dimension is divided by a number below 1");
  switch (atom.kind) {
    case AtomKind::floordiv: return floor_divide(left, right);
    case AtomKind::mod: return left - floor_divide(left, right) * right;
    case AtomKind::min: return std::min(left, right);
    default: return std::max(left, right);
  }
}

}  // namespace

Range bounds(const Expr& expr, const Ranges& ranges) {
  Range sum{expr.node().constant, expr.node().constant};
  for (const Term& term : expr.node().terms) {
    Range value{term.coefficient, term.coefficient};
    for (const auto& factor : term.factors) value = multiply(value, atom_bounds(*factor, ranges));
    sum = {saturated_add(sum.low, value.low), saturated_add(sum.high, value.high)};
  }
  return sum;
}

bool provably_nonnegative(const Expr& expr, const Ranges& ranges, const SymbolicBounds& upper_bounds) {
  if (bounds(expr, ranges).low >= 0) return true;
  // Put each loop variable at the end of its range where the expression is smallest.
  Expr smallest = expr;
  bool changed = false;
  for (const std::string& name : expr.symbols()) {
    auto upper = upper_bounds.find(name);
    if (upper == upper_bounds.end()) continue;
    std::optional<Linear> linear = linear_in(smallest, name);
    if (!linear) continue;
    const Range slope = bounds(linear->coefficient, ranges);
    if (slope.low >= 0) {
      smallest = linear->rest;
    } else if (slope.high <= 0) {
      smallest = linear->rest + linear->coefficient * (upper->second - 1);
    } else {
      continue;
    }
    changed = true;
  }
  return changed && bounds(smallest, ranges).low >= 0;
}

bool provably_less_equal(const Expr& a, const Expr& b, const Ranges& ranges) {
  return bounds(b - a, ranges).low >= 0;
}

Expr simplify(const Expr& expr, const Ranges& ranges) {
  static const SymbolicBounds kNone;
  return Simplifier(ranges, kNone).run(expr);
}

Expr simplify(const Expr& expr, const Ranges& ranges, const SymbolicBounds& upper_bounds) {
  return Simplifier(ranges, upper_bounds).run(expr);
}

std::optional<Linear> linear_in(const Expr& expr, std::string_view symbol) {
  Linear linear{0, expr.node().constant};
  for (const Term& term : expr.node().terms) {
    Term others{term.coefficient, {}};
    int power = 0;
    for (const auto& factor : term.factors) {
      if (factor->kind == AtomKind::symbol && factor->name == symbol) {
        ++power;
        continue;
      }
      if (factor->kind != AtomKind::symbol &&
          (mentions(factor->left, symbol) || mentions(factor->right, symbol))) {
        return std::nullopt;
      }
      others.factors.push_back(factor);
    }
    if (power > 1) return std::nullopt;
    Expr part = make_sum(0, {others});
    (power == 1 ? linear.coefficient : linear.rest) =
        (power == 1 ? linear.coefficient : linear.rest) + part;
  }
  return linear;
}

std::set<std::string> Expr::symbols() const {
  std::set<std::string> names;
  collect_symbols(*this, names);
  return names;
}

Expr Expr::substitute(const std::map<std::string, Expr, std::less<>>& replacements) const {
  Expr sum = node_->constant;
  for (const Term& term : node_->terms) {
    Expr value = term.coefficient;
    for (const auto& factor : term.factors) {
      if (factor->kind == AtomKind::symbol) {
        auto found = replacements.find(factor->name);
        value = value * (found == replacements.end() ? make_sum(0, {Term{1, {factor}}}) : found->second);
      } else {
        value = value * apply_operator(factor->kind, factor->left.substitute(replacements),
                                       factor->right.substitute(replacements));
      }
    }
    sum = sum + value;
  }
  return sum;
}

int64_t Expr::evaluate(const Bindings& bindings) const {
  int64_t sum = node_->constant;
  for (const Term& term : node_->terms) {
    int64_t value = term.coefficient;
    for (const auto& factor : term.factors) value = multiply_checked(value, evaluate_atom(*factor, bindings));
    sum = add_checked(sum, value);
  }
  return sum;
}

}  // namespace mcc
