// Symbolic integer expressions: dimensions, index arithmetic and loop bounds share this one class.
//
// Invariants: every Expr is in canonical form (a sum of integer-weighted products of atoms, terms
// in a fixed order), so structurally equal expressions compare equal and print alike on every run.
// An atom is a symbol or one of floordiv, mod, min, max. Division and modulo round towards minus
// infinity (floor), and divisors are positive by contract. Arithmetic overflow of a constant
// throws ModelError: sizes beyond 2^63 cannot be addressed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mcc {

struct ExprNode;

// Inclusive bounds of a value. kUnbounded marks a missing upper bound (-kUnbounded: lower).
struct Range {
  static constexpr int64_t kUnbounded = int64_t{1} << 62;
  int64_t low = -kUnbounded;
  int64_t high = kUnbounded;
};
// Ranges of symbols; a symbol without an entry is unbounded on both sides.
using Ranges = std::map<std::string, Range, std::less<>>;
// Values of symbols.
using Bindings = std::map<std::string, int64_t, std::less<>>;

class Expr {
 public:
  Expr();                // 0
  Expr(int64_t value);   // NOLINT(google-explicit-constructor): literals are expressions
  Expr(int value) : Expr(static_cast<int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  static Expr symbol(std::string_view name);

  bool is_constant() const;
  // The value of a constant expression; InternalError otherwise.
  int64_t constant() const;
  bool is_constant(int64_t value) const { return is_constant() && constant() == value; }
  // The name of a plain symbol, or nullopt.
  std::optional<std::string> as_symbol() const;

  // Human-readable infix form, parsed back by parse(): "2*s0 + floordiv(s1 + 3, 2)".
  std::string str() const;
  // Parses str()'s form (+, -, *, parentheses, floordiv, mod, min, max); UsageError when malformed.
  static Expr parse(std::string_view text);

  // Names of all symbols that occur.
  std::set<std::string> symbols() const;
  // Replaces symbols; those without an entry stay.
  Expr substitute(const std::map<std::string, Expr, std::less<>>& replacements) const;
  // The value under `bindings`; UsageError naming the symbol if one is missing, or on overflow.
  int64_t evaluate(const Bindings& bindings) const;

  // Total order and equality are structural on the canonical form.
  static int compare(const Expr& a, const Expr& b);
  friend bool operator==(const Expr& a, const Expr& b) { return compare(a, b) == 0; }
  friend bool operator<(const Expr& a, const Expr& b) { return compare(a, b) < 0; }

  const ExprNode& node() const { return *node_; }
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

 private:
  std::shared_ptr<const ExprNode> node_;
};

// One canonical sum. A constant has no terms; a plain atom is one term with coefficient 1.
enum class AtomKind : uint8_t { symbol, floordiv, mod, min, max };
struct Atom {
  AtomKind kind = AtomKind::symbol;
  std::string name;  // symbol only
  Expr left, right;  // operands of the other kinds
};
struct Term {
  int64_t coefficient = 1;
  std::vector<std::shared_ptr<const Atom>> factors;  // sorted; repeated for powers; never empty
};
struct ExprNode {
  int64_t constant = 0;
  std::vector<Term> terms;  // sorted by factors, coefficients non-zero
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator*(const Expr& a, const Expr& b);
Expr floordiv(const Expr& a, const Expr& b);
Expr ceildiv(const Expr& a, const Expr& b);
Expr mod(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);

// a / b when the division is exact for all symbol values (as can be proven), else nullopt.
std::optional<Expr> exact_division(const Expr& a, const Expr& b);

// Bounds of an expression given its symbols' ranges (interval arithmetic; sound, not always tight).
Range bounds(const Expr& expr, const Ranges& ranges);

// Rewrites div/mod/min/max that the ranges decide: x // d = 0 and x mod d = x when 0 <= x < d,
// (d*q + r) // d = q + r // d, d*(x // d) + x mod d = x, min/max of ordered operands.
Expr simplify(const Expr& expr, const Ranges& ranges);
// The same with symbolic exclusive upper bounds of symbols whose lower bound is 0 (loop variables
// with symbolic extents): proves (i*B + j) // B = i for j < B.
using SymbolicBounds = std::map<std::string, Expr, std::less<>>;
Expr simplify(const Expr& expr, const Ranges& ranges, const SymbolicBounds& upper_bounds);
// True only when expr >= 0 is proven.
bool provably_nonnegative(const Expr& expr, const Ranges& ranges, const SymbolicBounds& upper_bounds);

// True only when proven for all values in range.
bool provably_equal(const Expr& a, const Expr& b);
bool provably_less_equal(const Expr& a, const Expr& b, const Ranges& ranges);

// A linear view in one symbol: expr = coefficient * symbol + rest, with neither part using it.
// nullopt when the symbol occurs inside a div/mod/min/max or in a product with itself.
struct Linear {
  Expr coefficient;
  Expr rest;
};
std::optional<Linear> linear_in(const Expr& expr, std::string_view symbol);

using Shape = std::vector<Expr>;
Expr product(const Shape& shape);
std::string shape_text(const Shape& shape);  // "[s0, 3, 224]"

}  // namespace mcc
