// Reading arithmetic: products and sums with scalars, statistics that were reduced and spread again.
#pragma once

#include <optional>
#include <vector>

#include "lib/optimizer/rewrite/patterns.h"

namespace mcc {

// value = scalar * factors[0] * factors[1] * ...: trees of mul, neg and division by scalars,
// whatever their order. At most `splits` products of two values are taken apart, and `atom` never:
// a factor may be a product itself. Factors are sorted by id.
struct Product {
  double scalar = 1;
  std::vector<ValueId> factors;
};
Product product_of(ValueId value, const PatternScope& scope, int splits, ValueId atom = kNoValue);

// value = term + scalar, in either order; nullopt if it is no such sum.
struct Shifted {
  ValueId term = kNoValue;
  double scalar = 0;
};
std::optional<Shifted> shifted(ValueId value, const PatternScope& scope);

// Equality of constants that went through 16-bit types.
bool close(double a, double b);

// The value below reshapes that only add or drop dimensions of size 1.
ValueId below_unit_reshapes(ValueId value, const PatternScope& scope);

// A smaller value repeated to a full shape: `axes` are the axes of the full shape that the value's
// dimensions lie on, those of size 1 left out.
struct Spread {
  ValueId source = kNoValue;
  Ints axes;
};
std::optional<Spread> spread(ValueId value, const PatternScope& scope);

// source reduced over `axes`.
struct Reduced {
  ValueId source = kNoValue;
  Ints axes;
};
std::optional<Reduced> reduced(ValueId value, std::string_view function, const PatternScope& scope);
// The mean as a sum times 1/count, for a constant count.
std::optional<Reduced> mean(ValueId value, const PatternScope& scope);

// Whether a value spread along `axes` of `shape` is constant exactly along the axes `reduced`.
bool spreads_over(const Ints& axes, const Shape& shape, const Ints& reduced);

}  // namespace mcc
