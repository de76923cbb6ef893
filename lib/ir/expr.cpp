// Construction and comparison of symbolic integer expressions.
#include "lib/ir/expr.h"

#include <algorithm>
#include <numeric>

#include "lib/ir/expr_detail.h"
#include "lib/support/error.h"

namespace mcc {
namespace expr_detail {

int64_t add_checked(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) throw ModelError("a dimension overflows 64 bits");
  return result;
}

int64_t multiply_checked(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw ModelError("a dimension overflows 64 bits");
  return result;
}

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int compare_atoms(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == AtomKind::symbol) return a.name.compare(b.name);
  if (const int left = Expr::compare(a.left, b.left); left != 0) return left;
  return Expr::compare(a.right, b.right);
}

int compare_factors(const Factors& a, const Factors& b) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    if (const int order = compare_atoms(*a[i], *b[i]); order != 0) return order;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

namespace {

bool factors_less(const Factors& a, const Factors& b) { return compare_factors(a, b) < 0; }

void sort_factors(Factors& factors) {
  std::sort(factors.begin(), factors.end(),
            [](const auto& a, const auto& b) { return compare_atoms(*a, *b) < 0; });
}

void add_term(std::vector<Term>& terms, Term term) {
  auto at = std::lower_bound(terms.begin(), terms.end(), term, [](const Term& a, const Term& b) {
    return factors_less(a.factors, b.factors);
  });
  if (at != terms.end() && compare_factors(at->factors, term.factors) == 0) {
    at->coefficient = add_checked(at->coefficient, term.coefficient);
    if (at->coefficient == 0) terms.erase(at);
    return;
  }
  if (term.coefficient != 0) terms.insert(at, std::move(term));
}

// d*(x // d) + x mod d = x, also scaled by a common factor. Returns true after one rewrite.
bool recombine(int64_t& constant, std::vector<Term>& terms) {
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t f = 0; f < terms[i].factors.size(); ++f) {
      const std::shared_ptr<const Atom> modulo = terms[i].factors[f];
      if (modulo->kind != AtomKind::mod) continue;
      Factors others = terms[i].factors;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(f));
      const Expr quotient = floordiv(modulo->left, modulo->right);
      if (quotient.node().constant != 0 || quotient.node().terms.size() != 1) continue;
      const Term& quotient_term = quotient.node().terms[0];
      const ExprNode& divisor = modulo->right.node();
      const bool constant_divisor = divisor.terms.empty();
      if (!constant_divisor && (divisor.constant != 0 || divisor.terms.size() != 1)) continue;
      Factors wanted = others;
      wanted.insert(wanted.end(), quotient_term.factors.begin(), quotient_term.factors.end());
      int64_t scale = constant_divisor ? divisor.constant : divisor.terms[0].coefficient;
      if (!constant_divisor) {
        wanted.insert(wanted.end(), divisor.terms[0].factors.begin(), divisor.terms[0].factors.end());
      }
      sort_factors(wanted);
      scale = multiply_checked(scale, quotient_term.coefficient);
      const int64_t coefficient = terms[i].coefficient;
      auto partner = std::find_if(terms.begin(), terms.end(), [&](const Term& term) {
        return term.coefficient == multiply_checked(coefficient, scale) &&
               compare_factors(term.factors, wanted) == 0;
      });
      if (partner == terms.end()) continue;
      const size_t j = static_cast<size_t>(partner - terms.begin());
      const Expr whole = modulo->left;
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
      Expr replacement = whole * make_sum(0, {Term{coefficient, others}});
      if (others.empty()) replacement = whole * Expr(coefficient);
      constant = add_checked(constant, replacement.node().constant);
      for (const Term& term : replacement.node().terms) add_term(terms, term);
      return true;
    }
  }
  return false;
}

}  // namespace

Expr make_sum(int64_t constant, std::vector<Term> terms) {
  // A term without factors is a constant.
  std::erase_if(terms, [&](const Term& term) {
    if (!term.factors.empty()) return false;
    constant = add_checked(constant, term.coefficient);
    return true;
  });
  while (recombine(constant, terms)) {
  }
  auto node = std::make_shared<ExprNode>();
  node->constant = constant;
  node->terms = std::move(terms);
  return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
}

Expr make_atom(AtomKind kind, Expr left, Expr right) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->left = std::move(left);
  atom->right = std::move(right);
  return make_sum(0, {Term{1, {std::move(atom)}}});
}

// The single atom that `expr` consists of, or nullptr.
const Atom* as_atom(const Expr& expr) {
  const ExprNode& node = expr.node();
  const bool plain = node.constant == 0 && node.terms.size() == 1 && node.terms[0].coefficient == 1 &&
                     node.terms[0].factors.size() == 1;
  return plain ? node.terms[0].factors[0].get() : nullptr;
}

// term / divisor when the divisor's factors all occur in it and the coefficients divide.
std::optional<Term> divide_term(const Term& term, const Term& divisor) {
  if (term.coefficient % divisor.coefficient != 0) return std::nullopt;
  Term quotient{term.coefficient / divisor.coefficient, {}};
  size_t next = 0;
  for (const auto& factor : term.factors) {
    if (next < divisor.factors.size() && compare_atoms(*factor, *divisor.factors[next]) == 0) {
      ++next;
    } else {
      quotient.factors.push_back(factor);
    }
  }
  if (next != divisor.factors.size()) return std::nullopt;
  return quotient;
}

// Splits value = divisor * quotient + rest; `divisor` is one term or a constant.
Division divide(const Expr& value, const Expr& divisor) {
  const ExprNode& node = value.node();
  Term by{divisor.node().constant, {}};
  if (!divisor.is_constant()) by = divisor.node().terms[0];
  Division division;
  std::vector<Term> quotient;
  std::vector<Term> rest;
  for (const Term& term : node.terms) {
    if (std::optional<Term> part = divide_term(term, by)) {
      add_term(quotient, std::move(*part));
    } else {
      rest.push_back(term);
    }
  }
  int64_t quotient_constant = 0;
  int64_t rest_constant = node.constant;
  for (auto it = quotient.begin(); it != quotient.end(); ++it) {
    if (!it->factors.empty()) continue;
    quotient_constant = it->coefficient;
    quotient.erase(it);
    break;
  }
  if (divisor.is_constant()) {
    const int64_t whole = floor_divide(node.constant, by.coefficient);
    quotient_constant = add_checked(quotient_constant, whole);
    rest_constant = node.constant - whole * by.coefficient;
  }
  division.quotient = make_sum(quotient_constant, std::move(quotient));
  division.rest = make_sum(rest_constant, std::move(rest));
  return division;
}

bool is_single_term(const Expr& expr) {
  const ExprNode& node = expr.node();
  return node.terms.empty() || (node.constant == 0 && node.terms.size() == 1);
}

int64_t coefficient_gcd(const Expr& expr) {
  int64_t divisor = 0;
  for (const Term& term : expr.node().terms) divisor = std::gcd(divisor, term.coefficient);
  return divisor;
}

// Every coefficient divided by a common divisor; the constant is floored.
Expr divide_coefficients(const Expr& expr, int64_t divisor) {
  std::vector<Term> terms = expr.node().terms;
  for (Term& term : terms) term.coefficient /= divisor;
  return make_sum(floor_divide(expr.node().constant, divisor), std::move(terms));
}

}  // namespace expr_detail

using namespace expr_detail;  // NOLINT(google-build-using-namespace): the implementation's helpers

Expr::Expr() : Expr(int64_t{0}) {}

Expr::Expr(int64_t value) {
  auto node = std::make_shared<ExprNode>();
  node->constant = value;
  node_ = std::move(node);
}

Expr Expr::symbol(std::string_view name) {
  auto atom = std::make_shared<Atom>();
  atom->name = std::string(name);
  return make_sum(0, {Term{1, {std::move(atom)}}});
}

bool Expr::is_constant() const { return node_->terms.empty(); }

int64_t Expr::constant() const {
  check_internal(is_constant(), "a symbolic expression was used as a constant");
  return node_->constant;
}

std::optional<std::string> Expr::as_symbol() const {
  const Atom* atom = as_atom(*this);
  if (atom == nullptr || atom->kind != AtomKind::symbol) return std::nullopt;
  return atom->name;
}

int Expr::compare(const Expr& a, const Expr& b) {
  if (a.node_ == b.node_) return 0;
  const ExprNode& left = *a.node_;
  const ExprNode& right = *b.node_;
  const size_t common = std::min(left.terms.size(), right.terms.size());
  for (size_t i = 0; i < common; ++i) {
    if (const int order = compare_factors(left.terms[i].factors, right.terms[i].factors); order != 0) {
      return order;
    }
    if (left.terms[i].coefficient != right.terms[i].coefficient) {
      return left.terms[i].coefficient < right.terms[i].coefficient ? -1 : 1;
    }
  }
  if (left.terms.size() != right.terms.size()) return left.terms.size() < right.terms.size() ? -1 : 1;
  if (left.constant == right.constant) return 0;
  return left.constant < right.constant ? -1 : 1;
}

Expr operator+(const Expr& a, const Expr& b) {
  if (a.is_constant(0)) return b;
  if (b.is_constant(0)) return a;
  std::vector<Term> terms = a.node().terms;
  for (const Term& term : b.node().terms) add_term(terms, term);
  return make_sum(add_checked(a.node().constant, b.node().constant), std::move(terms));
}

Expr operator-(const Expr& a, const Expr& b) { return a + b * Expr(-1); }
Expr operator-(const Expr& a) { return a * Expr(-1); }

Expr operator*(const Expr& a, const Expr& b) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  const ExprNode& left = a.node();
  const ExprNode& right = b.node();
  std::vector<Term> terms;
  for (const Term& x : left.terms) {
    for (const Term& y : right.terms) {
      Term term{multiply_checked(x.coefficient, y.coefficient), x.factors};
      term.factors.insert(term.factors.end(), y.factors.begin(), y.factors.end());
      sort_factors(term.factors);
      add_term(terms, std::move(term));
    }
    if (right.constant != 0) {
      add_term(terms, {multiply_checked(x.coefficient, right.constant), x.factors});
    }
  }
  if (left.constant != 0) {
    for (const Term& y : right.terms) {
      add_term(terms, {multiply_checked(y.coefficient, left.constant), y.factors});
    }
  }
  return make_sum(multiply_checked(left.constant, right.constant), std::move(terms));
}

Expr floordiv(const Expr& a, const Expr& b) {
  if (b.is_constant()) {
    if (b.constant() <= 0) throw ModelError("division of a dimension by a number below 1");
    if (b.constant() == 1) return a;
    if (a.is_constant()) return floor_divide(a.constant(), b.constant());
  }
  if (a.is_constant(0)) return 0;
  if (a == b) return 1;
  if (std::optional<Expr> exact = exact_division(a, b)) return *exact;
  if (!is_single_term(b)) return make_atom(AtomKind::floordiv, a, b);
  const Division division = divide(a, b);
  if (!division.quotient.is_constant(0)) return division.quotient + floordiv(division.rest, b);
  // (y // d) // b = y // (d * b)
  if (const Atom* atom = as_atom(a); atom != nullptr && atom->kind == AtomKind::floordiv) {
    return floordiv(atom->left, atom->right * b);
  }
  // (g*x + c) // (g*d) = (x + c // g) // d
  if (b.is_constant() && !a.is_constant()) {
    const int64_t common = std::gcd(coefficient_gcd(a), b.constant());
    if (common > 1) return floordiv(divide_coefficients(a, common), b.constant() / common);
  }
  return make_atom(AtomKind::floordiv, a, b);
}

Expr ceildiv(const Expr& a, const Expr& b) { return floordiv(a + b - 1, b); }

Expr mod(const Expr& a, const Expr& b) {
  if (b.is_constant()) {
    if (b.constant() <= 0) throw ModelError("a dimension modulo a number below 1");
    if (b.constant() == 1) return 0;
    if (a.is_constant()) return a.constant() - floor_divide(a.constant(), b.constant()) * b.constant();
  }
  if (a.is_constant(0) || a == b) return 0;
  if (exact_division(a, b).has_value()) return 0;
  if (!is_single_term(b)) return make_atom(AtomKind::mod, a, b);
  const Division division = divide(a, b);
  if (!division.quotient.is_constant(0)) return mod(division.rest, b);
  if (const Atom* atom = as_atom(a); atom != nullptr && atom->kind == AtomKind::mod &&
                                     exact_division(atom->right, b).has_value()) {
    return mod(atom->left, b);
  }
  // (g*x) mod (g*d) = g * (x mod d)
  if (b.is_constant() && !a.is_constant()) {
    const int64_t common =
        std::gcd(std::gcd(coefficient_gcd(a), a.node().constant), b.constant());
    if (common > 1) return mod(divide_coefficients(a, common), b.constant() / common) * Expr(common);
  }
  return make_atom(AtomKind::mod, a, b);
}

namespace {

Expr extreme(AtomKind kind, const Expr& a, const Expr& b) {
  const Expr difference = a - b;
  if (difference.is_constant()) {
    const bool a_smaller = difference.constant() <= 0;
    return a_smaller == (kind == AtomKind::min) ? a : b;
  }
  return a < b ? make_atom(kind, a, b) : make_atom(kind, b, a);
}

}  // namespace

Expr min(const Expr& a, const Expr& b) { return extreme(AtomKind::min, a, b); }
Expr max(const Expr& a, const Expr& b) { return extreme(AtomKind::max, a, b); }

std::optional<Expr> exact_division(const Expr& a, const Expr& b) {
  if (b.is_constant(0)) return std::nullopt;
  if (a.is_constant(0)) return Expr(0);
  if (is_single_term(b)) {
    const Division division = divide(a, b);
    if (division.rest.is_constant(0)) return division.quotient;
    return std::nullopt;
  }
  // Polynomial long division by the leading term (the last in canonical order).
  Expr rest = a;
  Expr quotient = 0;
  const Term& leading = b.node().terms.back();
  for (size_t step = 0; step < 16 && !rest.is_constant(0); ++step) {
    if (rest.node().terms.empty()) return std::nullopt;
    std::optional<Term> part = divide_term(rest.node().terms.back(), leading);
    if (!part) return std::nullopt;
    const Expr piece = part->factors.empty() ? Expr(part->coefficient) : make_sum(0, {*part});
    quotient = quotient + piece;
    rest = rest - piece * b;
  }
  if (!rest.is_constant(0)) return std::nullopt;
  return quotient;
}

bool provably_equal(const Expr& a, const Expr& b) { return (a - b).is_constant(0); }

Expr product(const Shape& shape) {
  Expr result = 1;
  for (const Expr& dim : shape) result = result * dim;
  return result;
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + shape[i].str();
  return text + "]";
}

}  // namespace mcc
