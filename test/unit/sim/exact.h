// Exact floating-point arithmetic for references: numbers are integers times powers of two, rounded
// once to a format, in any mode. Slow, simple and independent of the host's floating-point unit.
#pragma once

#include <cstdint>
#include <vector>

namespace mcc::sim::test {

__extension__ typedef unsigned __int128 Magnitude;

enum class Mode { rn, rz, rm, rp, rna };  // rna: ties away from zero
constexpr Mode kModes[] = {Mode::rn, Mode::rz, Mode::rm, Mode::rp};
const char* mode_name(Mode mode);

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool infinities = true;  // false: e4m3, whose largest exponent holds numbers
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  uint64_t sign() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  uint64_t largest() const { return infinities ? infinity() - 1 : sign() - 2; }
  uint64_t nan() const { return sign() - 1; }  // the canonical one: all ones but the sign
  bool is_nan(uint64_t bits) const {
    return (bits & (sign() - 1)) > (infinities ? infinity() : sign() - 2);
  }
  bool is_subnormal(uint64_t bits) const {
    return (bits & infinity()) == 0 && (bits & (sign() - 1)) != 0;
  }
  uint64_t flushed(uint64_t bits) const { return is_subnormal(bits) ? bits & sign() : bits; }
};
constexpr Format kF16{5, 10}, kBf16{8, 7}, kTf32{8, 10}, kF32{8, 23}, kF64{11, 52},
    kE4m3{4, 3, false}, kE5m2{5, 2};

// (-1)^minus * m * 2^e, plus something smaller than one unit of m when `more`.
struct Number {
  enum Kind { finite, infinite, nan } kind = finite;
  bool minus = false;
  Magnitude m = 0;
  int e = 0;
  bool more = false;
  bool is_zero() const { return kind == finite && m == 0 && !more; }
};

Number decode(const Format& format, uint64_t bits);
// `clamp`: overflow and infinities become the largest number (.satfinite).
uint64_t encode(const Format& format, const Number& x, Mode mode, bool clamp = false);
__extension__ typedef __int128 Integer;
// The same, with results flushed to zero that stay below the least normal number after rounding to
// the format's precision with no limit to the exponent.
uint64_t encode_flushed(const Format& format, const Number& x, Mode mode);
Number from_integer(Integer value);

Number negated(Number x);
Number sum(const Number& a, const Number& b,
           Mode mode);  // the mode gives the sign of an exact zero
Number product(const Number& a, const Number& b);
Number quotient(const Number& a, const Number& b);
Number square_root(const Number& a);
int compare(const Number& a, const Number& b);  // -1, 0, 1; neither may be NaN
Integer to_integer(const Number& x, Mode mode, Integer low, Integer high);  // not for NaN

// Both signs of zero, subnormals, limits, neighbours of one, large integers, infinities, NaN (quiet
// and signalling), and some pseudo-random encodings.
std::vector<uint64_t> special_values(const Format& format, int random);

}  // namespace mcc::sim::test
