// The table of scalar functions that `map` applies: one row is everything a function needs.
// Adding a function means adding one row in scalar_function.cpp.
// Invariant: floating functions have IEEE semantics for NaN and infinity unless the row says so;
// integer arithmetic wraps; integer div truncates (floor variants are functions of their own).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lib/ir/dtype.h"

namespace mcc {

enum class ResultRule : uint8_t {
  same,     // the type of the (last) operands
  boolean,  // bool
  cast,     // attribute `to`
};

struct ScalarFunction {
  std::string_view name;
  int arity;
  ResultRule result;
  bool accepts_float, accepts_integer, accepts_boolean;
  // Source spelling with $0 $1 $2 for operands (already parenthesised or names), $T for the C
  // type of the (last) operands and $R for that of the result (bitcast and cast only). `cuda` may
  // call device functions of the embedded prelude (lib/backend/skeletons/prelude.cu), `host` those
  // of prelude_host.h; both preludes define the functions named here for f32 and f64; integer
  // operands use `integer` when it is not empty, bool operands never do. Host spellings hold for
  // GCC vector-extension operands too (see prelude_host.h).
  std::string_view cuda;
  std::string_view host;
  std::string_view integer;
  // Evaluators of the reference; the integer one is used for integer and bool operands.
  double (*evaluate)(const double* operands);
  int64_t (*evaluate_integer)(const int64_t* operands);
  // Cost in flops per element for fusion decisions (1 = an add, 20 = exp).
  int cost;
  // For u64 operands, whose upper half does not fit int64_t, where signedness matters.
  int64_t (*evaluate_unsigned)(const uint64_t* operands) = nullptr;
};

const ScalarFunction* find_scalar_function(std::string_view name);
std::span<const ScalarFunction> all_scalar_functions();

// Functions (names):
//   add sub mul div mod fmod floordiv min max pow neg abs sign
//   floor ceil round trunc sqrt rsqrt reciprocal
//   exp log log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf
//   sigmoid gelu (erf form) gelu_tanh silu mish softplus relu
//   lt le gt ge eq ne isnan isinf_pos isinf_neg          results are bool
//   and or xor not                                       bool (logical) and integers (bitwise)
//   shl shr                                              shifts by the width or more give 0
//   select (cond, a, b)                                  cond is bool, a and b share a type
//   fma (a, b, c)                                        a*b + c with one rounding
//   dot4 dot4_us (a, b, c)                               i32 words of four packed 8-bit integers:
//                                                        c + sum a[i]*b[i]; dot4_us: a unsigned
//   cast bitcast                                         attribute `to`
// mod takes the divisor's sign (floor), fmod and integer div the dividend's (truncation); integer
// division by 0 gives 0. round rounds half to even. gelu, silu, relu, sigmoid... exist as rows
// because algebraic simplification recognises their expanded forms.

}  // namespace mcc
