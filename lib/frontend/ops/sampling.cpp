// Sampling at fractional positions: a weighted sum of neighbouring pixels ("taps"), each gathered
// through a flat index. Padding rules apply to taps, which for linear interpolation equals applying
// them to positions.
#include "lib/frontend/ops/sampling.h"

#include <cmath>

namespace mcc::frontend {
namespace {

// Keys' kernel with a = -0.75, at distance d >= 0.
Operand cubic_weight(Builder& b, const Operand& d) {
  constexpr double a = -0.75;
  const auto polynomial = [&](double c3, double c2, double c1, double c0) {
    Operand y = b.with_scalar("add", b.with_scalar("mul", d, c3), c2);
    y = b.with_scalar("add", b.map("mul", {y, d}), c1);
    return b.with_scalar("add", b.map("mul", {y, d}), c0);
  };
  const Operand near = polynomial(a + 2, -(a + 3), 0, 1);
  const Operand far = polynomial(a, -5 * a, 8 * a, -4 * a);
  const Operand beyond = b.select(b.with_scalar("lt", d, 2), far, b.scalar(d.dtype(), 0));
  return b.select(b.with_scalar("le", d, 1), near, beyond);
}

struct Tap {
  Operand index;   // i64, inside of the axis
  Operand weight;  // 0 where padding is zero; absent: 1
};

// y in [low, high] with x reflected at both ends as often as needed.
Operand reflected(Builder& b, const Operand& x, const Expr& size, bool align) {
  const double low = align ? 0 : -0.5;
  const Operand span = b.with_scalar("max", b.number(align ? size - 1 : size, x.dtype()), 1);
  const Operand twice = b.with_scalar("mul", span, 2);
  const Operand shifted = b.with_scalar("sub", x, low);
  const Operand turns = b.map("floor", {b.map("div", {shifted, twice})});
  const Operand t = b.map("sub", {shifted, b.map("mul", {turns, twice})});
  return b.with_scalar("add", b.map("min", {t, b.map("sub", {twice, t})}), low);
}

std::vector<Tap> taps_of(Builder& b, const Operand& position, const Expr& size,
                         const Sampling& how) {
  const bool nearest = how.kind == "nearest", cubic = how.kind == "cubic";
  const Operand base = b.map(nearest ? "round" : "floor", {position});
  const Operand zero = b.scalar(position.dtype(), 0);
  const Operand last = b.number(size - 1, position.dtype());
  std::vector<Tap> taps;
  for (int64_t k = cubic ? -1 : 0; k <= (nearest ? 0 : cubic ? 2 : 1); ++k) {
    Operand at = k == 0 ? base : b.with_scalar("add", base, static_cast<double>(k));
    Tap tap;
    if (!nearest) {
      const Operand distance = b.map("abs", {b.map("sub", {position, at})});
      tap.weight = cubic ? cubic_weight(b, distance)
                         : b.map("sub", {b.scalar(position.dtype(), 1), distance});
    }
    if (how.outside == Outside::zeros) {
      const Operand inside = b.map("and", {b.map("ge", {at, zero}), b.map("le", {at, last})});
      const Operand weight = tap.weight ? tap.weight : b.scalar(position.dtype(), 1);
      tap.weight = b.select(inside, weight, zero);
    } else if (how.outside == Outside::reflection) {
      at = reflected(b, at, size, how.align_corners);
    }
    const Operand clamped = b.map("min", {b.map("max", {at, zero}), last});
    tap.index = b.cast(clamped, DType::i64);
    taps.push_back(tap);
  }
  return taps;
}

}  // namespace

Operand sample(Builder& b, const Operand& x, const Operands& positions, const Sampling& how) {
  const size_t axes = positions.size();
  std::vector<std::vector<Tap>> taps;
  for (size_t i = 0; i < axes; ++i) {
    taps.push_back(taps_of(b, positions[i], x.shape()[i + 2], how));
  }
  Expr pixels(1);
  for (size_t i = 0; i < axes; ++i) pixels = pixels * x.shape()[i + 2];
  const Operand flat = b.reshape(x, {x.dim(0), x.dim(1), pixels});
  const Shape out{x.dim(0), x.dim(1), positions[0].dim(1)};
  Operand result;
  std::vector<size_t> choice(axes, 0);
  for (;;) {
    Operand index, weight;
    for (size_t i = 0; i < axes; ++i) {
      const Tap& tap = taps[i][choice[i]];
      const Operand scaled =
          index ? b.map("mul", {index, b.number(x.shape()[i + 2], DType::i64)}) : index;
      index = index ? b.map("add", {scaled, tap.index}) : tap.index;
      if (tap.weight) weight = weight ? b.map("mul", {weight, tap.weight}) : tap.weight;
    }
    Attributes attributes;
    attributes.set("axis", int64_t{2});
    Operand value = b.emit(Op::gather_elements,
                           {flat, b.broadcast_to(b.unsqueeze(index, {1}), out)}, attributes);
    if (weight) value = b.map("mul", {value, b.unsqueeze(b.cast(weight, x.dtype()), {1})});
    result = result ? b.map("add", {result, value}) : value;
    size_t axis = 0;
    while (axis < axes && ++choice[axis] == taps[axis].size()) choice[axis++] = 0;
    if (axis == axes) return result;
  }
}

}  // namespace mcc::frontend
