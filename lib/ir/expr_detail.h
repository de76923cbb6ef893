// Helpers shared by the files that implement Expr; not for other users.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/ir/expr.h"

namespace mcc::expr_detail {

using Factors = std::vector<std::shared_ptr<const Atom>>;

int64_t add_checked(int64_t a, int64_t b);
int64_t multiply_checked(int64_t a, int64_t b);
int64_t floor_divide(int64_t a, int64_t b);
int compare_atoms(const Atom& a, const Atom& b);
int compare_factors(const Factors& a, const Factors& b);
// Terms must be sorted and distinct; recombines div/mod pairs.
Expr make_sum(int64_t constant, std::vector<Term> terms);
Expr make_atom(AtomKind kind, Expr left, Expr right);
const Atom* as_atom(const Expr& expr);
bool is_single_term(const Expr& expr);
int64_t coefficient_gcd(const Expr& expr);
Expr divide_coefficients(const Expr& expr, int64_t divisor);

struct Division {
  Expr quotient;
  Expr rest;
};
Division divide(const Expr& value, const Expr& divisor);

}  // namespace mcc::expr_detail
