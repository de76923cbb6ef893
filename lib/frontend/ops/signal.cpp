// Fourier transforms and mel filters. Transforms are contractions with a matrix of roots of unity:
// exact for any length, and a matrix product on every device.
#include <cmath>
#include <numbers>

#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

// cos or sin of 2 pi k n / length for k < rows, n < columns, in the given type. k * n is reduced
// modulo the length first, so that large products keep their precision.
Operand trigonometric(Builder& b, const char* fn, const Expr& rows, const Expr& columns,
                      const Expr& length, DType dtype) {
  const Shape shape{rows, columns};
  const Operand turns =
      b.map("mod", {b.map("mul", {b.iota(shape, 0, DType::i64), b.iota(shape, 1, DType::i64)}),
                    b.number(length, DType::i64)});
  const Operand angle =
      b.map("div", {b.with_scalar("mul", b.cast(turns, DType::f64), 2 * std::numbers::pi),
                    b.number(length, DType::f64)});
  return b.cast(b.map(fn, {angle}), dtype);
}

// The transform of `count` samples along `axis` of x [.., n, .., 1 or 2] to `rows` frequencies.
Operand transform(Builder& b, const Operand& x, int64_t axis, const Expr& count, const Expr& rows,
                  bool inverse) {
  const int64_t last = x.rank() - 1;
  const Operand cosine = trigonometric(b, "cos", rows, count, count, x.dtype());
  const Operand sine = trigonometric(b, "sin", rows, count, count, x.dtype());
  const auto part = [&](int64_t index) { return b.squeeze(b.slice_axis(x, last, index, 1), {last}); };
  const auto apply = [&](const Operand& matrix, const Operand& signal) {
    const Operand product = b.contract(signal, matrix, {}, {}, {axis}, {1});
    return b.move_axis(product, product.rank() - 1, axis);
  };
  const Operand real = part(0);
  Operand out_real = apply(cosine, real);
  Operand out_imaginary = apply(sine, real);  // of exp(+i): negated for the forward direction
  if (!inverse) out_imaginary = b.map("neg", {out_imaginary});
  if (x.dim(last).is_constant(2)) {
    const Operand imaginary = part(1);
    const Operand mixed = apply(sine, imaginary);
    out_real = b.map(inverse ? "sub" : "add", {out_real, mixed});
    out_imaginary = b.map("add", {out_imaginary, apply(cosine, imaginary)});
  }
  if (inverse) {
    const Operand scale = b.number(count, x.dtype());
    out_real = b.map("div", {out_real, scale});
    out_imaginary = b.map("div", {out_imaginary, scale});
  }
  return b.concat({b.unsqueeze(out_real, {last}), b.unsqueeze(out_imaginary, {last})}, last);
}

// Zero-padded or cut to `length` along `axis`.
Operand fitted(Builder& b, const Operand& x, int64_t axis, const Expr& length) {
  if (x.dim(axis) == length) return x;
  const Expr missing = b.simplified(max(length - x.dim(axis), Expr(0)));
  Shape low(x.shape().size(), Expr(0)), high = low;
  high[static_cast<size_t>(axis)] = missing;
  return b.slice_axis(b.pad(x, low, high, "constant"), axis, 0, length);
}

void dft(NodeContext& c, int64_t axis) {
  Builder& b = c.b;
  Operand x = c.in(0);
  const bool inverse = c.integer("inverse", 0) != 0, onesided = c.integer("onesided", 0) != 0;
  axis = normalized_axis(axis, x.rank());
  if (inverse && onesided) {
    // From n/2 + 1 frequencies to real samples: the others are the conjugates.
    const Expr length = c.has(1) ? b.expressions(b.reshape(c.in(1), {}))[0]
                                 : (x.dim(axis) - 1) * Expr(2);
    const int64_t last = x.rank() - 1;
    const Expr mirrored = b.simplified(length - x.dim(axis));
    // Frequencies length - k for k = half..length-1, that is mirrored .. 1.
    Operand tail = b.slice_axis(x, axis, mirrored, mirrored, -1);
    Tensor signs(x.dtype(), {2});
    signs.set_double(0, 1);
    signs.set_double(1, -1);
    tail = b.map("mul", {tail, b.along_axis(b.constant(std::move(signs)), last, x.rank())});
    const Operand full = transform(b, b.concat({x, tail}, axis), axis, length, length, true);
    return c.out(b.slice_axis(full, last, 0, 1));
  }
  const Expr length = c.has(1) ? b.expressions(b.reshape(c.in(1), {}))[0] : x.dim(axis);
  x = fitted(b, x, axis, length);
  const Expr rows = onesided ? b.simplified(floordiv(length, 2) + 1) : length;
  c.out(transform(b, x, axis, length, rows, inverse));
}
void import_dft_17(NodeContext& c) { dft(c, c.integer("axis", 1)); }
void import_dft(NodeContext& c) {
  dft(c, c.has(2) ? c.constant_ints(2, "the axis").at(0) : -2);
}

// Frames of the signal [B, L, 1 or 2], windowed, transformed: [B, frames, frequencies, 2].
void import_stft(NodeContext& c) {
  Builder& b = c.b;
  Operand signal = c.in(0);
  if (signal.rank() == 2) signal = b.unsqueeze(signal, {2});
  const int64_t step = c.constant_ints(1, "the frame step").at(0);
  Expr length;
  if (c.has(3)) {
    length = b.expressions(b.reshape(c.in(3), {}))[0];
  } else if (c.has(2)) {
    length = c.in(2).dim(0);
  } else {
    throw ModelError("either a window or a frame length is needed.");
  }
  if (step < 1) throw ModelError("the frame step must be positive.");
  const Expr frames = b.simplified(floordiv(signal.dim(1) - length, step) + 1);
  const Shape grid{frames, length};
  const Operand start = b.with_scalar("mul", b.iota(grid, 0, DType::i64), static_cast<double>(step));
  const Operand index = b.map("add", {start, b.iota(grid, 1, DType::i64)});
  Operand framed = b.gather(signal, index, 1);  // [B, frames, length, parts]
  if (c.has(2)) framed = b.map("mul", {framed, b.along_axis(c.in(2), 2, 4)});
  const bool onesided = c.integer("onesided", 1) != 0;
  const Expr rows = onesided ? b.simplified(floordiv(length, 2) + 1) : length;
  c.out(transform(b, framed, 2, length, rows, false));
}

// Triangular filters on the mel scale; all inputs are numbers known at compile time.
void import_mel_weight_matrix(NodeContext& c) {
  const int64_t bins = c.constant_ints(0, "the number of mel bins").at(0);
  const int64_t length = c.constant_ints(1, "the transform's length").at(0);
  const int64_t rate = c.constant_ints(2, "the sample rate").at(0);
  const double low = c.constant_real(3, "the lower edge"), high = c.constant_real(4, "the upper edge");
  if (bins < 1 || length < 1 || rate < 1 || bins > 65536 || length > (1 << 24)) {
    throw ModelError("the sizes must be positive and of sensible magnitude.");
  }
  const int64_t spectrum = length / 2 + 1;
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low_mel = to_mel(low);
  const double step = (to_mel(high) - low_mel) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double mel = static_cast<double>(i) * step + low_mel;
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  Tensor matrix(c.dtype_attribute("output_datatype", DType::f32), {spectrum, bins});
  const auto set = [&](int64_t row, int64_t column, double value) {
    if (row >= 0 && row < spectrum) matrix.set_double(row * bins + column, value);
  };
  for (int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t lower = edges[at], center = edges[at + 1], upper = edges[at + 2];
    if (center == lower) set(center, i, 1);
    for (int64_t k = lower; k < center + (center == lower ? 0 : 1); ++k) {
      set(k, i, static_cast<double>(k - lower) / static_cast<double>(center - lower));
    }
    for (int64_t k = center; k < upper; ++k) {
      set(k, i, static_cast<double>(upper - k) / static_cast<double>(upper - center));
    }
  }
  c.out(c.b.constant(std::move(matrix)));
}

const OperatorEntry kEntries[] = {
    {"", "DFT", 17, import_dft_17},
    {"", "DFT", 20, import_dft},
    {"", "MelWeightMatrix", 17, import_mel_weight_matrix},
    {"", "STFT", 17, import_stft},
};

}  // namespace

std::span<const OperatorEntry> signal_entries() { return kEntries; }

}  // namespace mcc::frontend
