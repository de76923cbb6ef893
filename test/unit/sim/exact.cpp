// Exact floating-point arithmetic for references.
#include "test/unit/sim/exact.h"

#include <algorithm>

namespace mcc::sim::test {
namespace {

int bit_length(Magnitude m) {
  int n = 0;
  for (; m != 0; m >>= 1) ++n;
  return n;
}

void shift_right(Number& x, int n) {
  if (n <= 0) return;
  x.more = x.more || (n >= 128 ? x.m != 0 : (x.m & ((Magnitude{1} << n) - 1)) != 0);
  x.m = n >= 128 ? 0 : x.m >> n;
  x.e += n;
}

// Moves the top bit to position `bits` - 1.
void widen(Number& x, int bits) {
  const int shift = bits - bit_length(x.m);
  if (shift < 0) return shift_right(x, -shift);
  x.m <<= shift;
  x.e -= shift;
}

Number not_a_number() {
  Number x;
  x.kind = Number::nan;
  return x;
}
Number infinite(bool minus) {
  Number x;
  x.kind = Number::infinite;
  x.minus = minus;
  return x;
}
Number zero(bool minus) {
  Number x;
  x.minus = minus;
  return x;
}

}  // namespace

const char* mode_name(Mode mode) {
  constexpr const char* kNames[] = {"rn", "rz", "rm", "rp", "rna"};
  return kNames[static_cast<int>(mode)];
}

Number decode(const Format& format, uint64_t bits) {
  Number x;
  x.minus = (bits & format.sign()) != 0;
  if (format.is_nan(bits)) {
    x.kind = Number::nan;
    return x;
  }
  const auto exponent = static_cast<int>((bits & format.infinity()) >> format.mantissa_bits);
  if (format.infinities && (bits & (format.sign() - 1)) == format.infinity()) {
    x.kind = Number::infinite;
    return x;
  }
  x.m = bits & ((uint64_t{1} << format.mantissa_bits) - 1);
  if (exponent != 0) x.m |= Magnitude{1} << format.mantissa_bits;
  x.e = std::max(exponent, 1) - format.bias() - format.mantissa_bits;
  return x;
}

uint64_t encode(const Format& format, const Number& number, Mode mode, bool clamp) {
  if (number.kind == Number::nan) return format.nan();
  const uint64_t sign = number.minus ? format.sign() : 0;
  const uint64_t overflow = clamp               ? format.largest()
                            : format.infinities ? format.infinity()
                                                : format.nan();
  if (number.kind == Number::infinite) return sign | overflow;
  if (number.is_zero()) return sign;
  // Two extra bits below the format's last place: a half, and whether anything is below it.
  Number x = number;
  const int least =
      1 - format.bias() - format.mantissa_bits;  // exponent of the last place of subnormals
  if (x.m != 0) widen(x, 127);
  const int place = std::max(least, x.e + 127 - 1 - format.mantissa_bits);
  shift_right(x, place - 1 - x.e);
  const bool half = (x.m & 1) != 0, odd = (x.m & 2) != 0, inexact = half || x.more;
  Magnitude kept = x.m >> 1;
  switch (mode) {
    case Mode::rn:
      kept += half && (x.more || odd) ? 1 : 0;
      break;
    case Mode::rz:
      break;
    case Mode::rm:
      kept += x.minus && inexact ? 1 : 0;
      break;
    case Mode::rp:
      kept += !x.minus && inexact ? 1 : 0;
      break;
    case Mode::rna:
      kept += half ? 1 : 0;
      break;
  }
  int e = place;
  if (kept >> (format.mantissa_bits + 1) != 0) {
    kept >>= 1;
    ++e;
  }
  const bool normal = kept >> format.mantissa_bits != 0;
  const int exponent = normal ? e + format.mantissa_bits + format.bias() : 0;
  const uint64_t mantissa =
      static_cast<uint64_t>(kept) & ((uint64_t{1} << format.mantissa_bits) - 1);
  const int most = (1 << format.exponent_bits) - (format.infinities ? 2 : 1);
  const bool over = exponent > most || (static_cast<uint64_t>(exponent) << format.mantissa_bits |
                                        mantissa) > format.largest();
  if (!over) return sign | static_cast<uint64_t>(exponent) << format.mantissa_bits | mantissa;
  const bool inward =
      mode == Mode::rz || (mode == Mode::rm && !x.minus) || (mode == Mode::rp && x.minus);
  return sign | (inward ? format.largest() : overflow);
}

uint64_t encode_flushed(const Format& format, const Number& x, Mode mode) {
  const Format unlimited{format.exponent_bits + 3, format.mantissa_bits};
  const uint64_t least = static_cast<uint64_t>(unlimited.bias() + 1 - format.bias())
                         << format.mantissa_bits;
  if (x.kind == Number::finite && (encode(unlimited, x, mode) & ~unlimited.sign()) < least)
    return x.minus ? format.sign() : 0;
  return encode(format, x, mode);
}

Number from_integer(Integer value) {
  Number x;
  x.minus = value < 0;
  x.m = value < 0 ? Magnitude{0} - static_cast<Magnitude>(value) : static_cast<Magnitude>(value);
  return x;
}

Number negated(Number x) {
  x.minus = !x.minus;
  return x;
}

Number sum(const Number& left, const Number& right, Mode mode) {
  if (left.kind == Number::nan || right.kind == Number::nan) return not_a_number();
  if (left.kind == Number::infinite || right.kind == Number::infinite) {
    if (left.kind == right.kind && left.minus != right.minus) return not_a_number();
    return left.kind == Number::infinite ? left : right;
  }
  if (left.is_zero() && right.is_zero())
    return zero(left.minus == right.minus ? left.minus : mode == Mode::rm);
  if (left.is_zero()) return right;
  if (right.is_zero()) return left;
  // Top bits at 124: room for a carry, and more than enough below for what is shifted out.
  Number a = left, b = right;
  widen(a, 124);
  widen(b, 124);
  if (a.e < b.e || (a.e == b.e && a.m < b.m)) std::swap(a, b);
  shift_right(b, a.e - b.e);
  Number r = a;
  r.more = b.more;
  if (a.minus == b.minus) {
    r.m = a.m + b.m;
  } else {
    r.m = a.m - b.m - (b.more ? 1 : 0);
    if (r.m == 0 && !r.more) return zero(mode == Mode::rm);
  }
  return r;
}

Number product(const Number& a, const Number& b) {
  const bool minus = a.minus != b.minus;
  if (a.kind == Number::nan || b.kind == Number::nan) return not_a_number();
  if (a.kind == Number::infinite || b.kind == Number::infinite)
    return a.is_zero() || b.is_zero() ? not_a_number() : infinite(minus);
  Number r;
  r.minus = minus;
  r.m = a.m * b.m;
  r.e = a.e + b.e;
  return r;
}

Number quotient(const Number& a, const Number& b) {
  const bool minus = a.minus != b.minus;
  if (a.kind == Number::nan || b.kind == Number::nan) return not_a_number();
  if (a.kind == Number::infinite)
    return b.kind == Number::infinite ? not_a_number() : infinite(minus);
  if (b.kind == Number::infinite) return zero(minus);
  if (b.is_zero()) return a.is_zero() ? not_a_number() : infinite(minus);
  if (a.is_zero()) return zero(minus);
  Number r = a;
  widen(r, 126);
  r.minus = minus;
  r.more = r.m % b.m != 0;
  r.m /= b.m;
  r.e -= b.e;
  return r;
}

Number square_root(const Number& a) {
  if (a.kind == Number::nan || a.is_zero()) return a;
  if (a.minus) return not_a_number();
  if (a.kind == Number::infinite) return a;
  Number r = a;
  widen(r, 126);
  if ((r.e & 1) != 0) {
    r.m >>= 1;  // the low bits are zeros
    r.e += 1;
  }
  Magnitude root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const Magnitude next = root | (Magnitude{1} << bit);
    if (next * next <= r.m) root = next;
  }
  r.more = root * root != r.m;
  r.m = root;
  r.e /= 2;
  return r;
}

Integer to_integer(const Number& x, Mode mode, Integer low, Integer high) {
  if (x.kind == Number::infinite) return x.minus ? low : high;
  Number y = x;
  if (y.m != 0) widen(y, 124);
  if (y.e > 0) return y.minus ? low : high;
  shift_right(y, -1 - y.e);
  const bool half = (y.m & 1) != 0, odd = (y.m & 2) != 0, inexact = half || y.more;
  Integer r = static_cast<Integer>(y.m >> 1);
  const bool up = mode == Mode::rn   ? half && (y.more || odd)
                  : mode == Mode::rm ? y.minus && inexact
                  : mode == Mode::rp ? !y.minus && inexact
                                     : mode == Mode::rna && half;
  r += up ? 1 : 0;
  r = y.minus ? -r : r;
  return r < low ? low : r > high ? high : r;
}

std::vector<uint64_t> special_values(const Format& f, int random) {
  const uint64_t one = static_cast<uint64_t>(f.bias()) << f.mantissa_bits,
                 step = uint64_t{1} << f.mantissa_bits;
  std::vector<uint64_t> list = {
      0,
      1,
      2,
      3,
      step - 1,
      step,
      step + 1,
      one,
      one + 1,
      one - 1,
      one + step,
      one - step,
      one + step / 2,
      one + step / 2 + 1,
      one + (static_cast<uint64_t>(f.mantissa_bits) << f.mantissa_bits),
      one + (static_cast<uint64_t>(f.mantissa_bits + 1) << f.mantissa_bits) + 1,
      f.largest(),
      f.largest() - 1,
      f.infinity(),
      f.nan(),
      f.infinity() + 1,
      one / 2,
      one + one / 2,
      one + step * 5 / 3};
  uint64_t state = 88172645463325252ull;
  for (int i = 0; i < random; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    list.push_back(state & (f.sign() - 1));
  }
  const size_t count = list.size();
  for (size_t i = 0; i < count; ++i) list.push_back(list[i] | f.sign());
  return list;
}

int compare(const Number& a, const Number& b) {
  if (a.is_zero() && b.is_zero()) return 0;
  const auto side = [](const Number& x) { return x.is_zero() ? 0 : x.minus ? -1 : 1; };
  if (side(a) != side(b)) return side(a) < side(b) ? -1 : 1;
  int larger = 0;  // of magnitudes
  if (a.kind != b.kind) {
    larger = a.kind == Number::infinite ? 1 : -1;
  } else if (a.kind == Number::finite) {
    Number x = a, y = b;
    widen(x, 127);
    widen(y, 127);
    larger = x.e != y.e ? (x.e < y.e ? -1 : 1) : x.m == y.m ? 0 : x.m < y.m ? -1 : 1;
  }
  return a.minus ? -larger : larger;
}

}  // namespace mcc::sim::test
