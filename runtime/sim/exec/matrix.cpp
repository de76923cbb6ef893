// Matrix fragments: ldmatrix, stmatrix, movmatrix and mma.sync. PTX ISA 9.7.14.
//
// Lane l has row group g = l / 4 and place t = l % 4. With p elements per 32-bit register, register
// r of A holds row g (+ 8 for odd r when there are 16 rows), columns (r / 2) * 4p + t * p ...; B the
// same with its columns as rows; C and D hold columns 2t and 2t + 1 of rows g and g + 8. Products are
// summed exactly enough (double precision) and rounded once: PTX leaves order and rounding open.
#include "runtime/sim/exec/access.h"
#include "runtime/sim/exec/half_ops.h"
#include "runtime/sim/exec/small_float.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

struct F16 { static constexpr int kBits = 16; static double get(u32 x) { return static_cast<double>(f16_to_float(static_cast<u16>(x))); } };
struct Bf16 { static constexpr int kBits = 16; static double get(u32 x) { return static_cast<double>(bf16_to_float(static_cast<u16>(x))); } };
// The hardware ignores the lower 13 bits of a tf32 operand.
struct Tf32 { static constexpr int kBits = 32; static double get(u32 x) { return static_cast<double>(__builtin_bit_cast(float, x & 0xffffe000u)); } };
struct E4m3 { static constexpr int kBits = 8; static double get(u32 x) { return small_to_double(format_of(Type::e4m3), x & 0xffu); } };
struct E5m2 { static constexpr int kBits = 8; static double get(u32 x) { return small_to_double(format_of(Type::e5m2), x & 0xffu); } };
struct S8 { static constexpr int kBits = 8; static i32 get(u32 x) { return static_cast<i8>(x); } };
struct U8 { static constexpr int kBits = 8; static i32 get(u32 x) { return static_cast<u8>(x); } };
struct S4 { static constexpr int kBits = 4; static i32 get(u32 x) { return static_cast<i32>(x << 28) >> 28; } };
struct U4 { static constexpr int kBits = 4; static i32 get(u32 x) { return static_cast<i32>(x & 15u); } };

// in.flags rows (8 or 16), in.width depth k, in.list: D, A, B, C registers in this order.
struct Operands {
  const i32 *d, *a, *b, *c;
  int na, nb, nc;
};
MCC_SIM_INLINE Operands split(const Inst& in, int per_register, int accumulators) {
  Operands o;
  const int groups = in.width / (4 * per_register), halves = in.flags / 8;
  o.na = groups * halves;
  o.nb = groups;
  o.nc = accumulators;
  o.d = in.list;
  o.a = o.d + o.nc;
  o.b = o.a + o.na;
  o.c = o.b + o.nb;
  return o;
}

template <class E, class V, int Depth>
MCC_SIM_INLINE void gather_a(const Warp& w, const Inst& in, const Operands& o, V (&m)[16][Depth]) {
  constexpr int p = 32 / E::kBits;
  const int halves = in.flags / 8;
  for (int r = 0; r < o.na; ++r) {
    const u32* x = lanes<u32>(w, o.a[r]);
    for (int l = 0; l < kLanes; ++l) {
      for (int j = 0; j < p; ++j) m[l / 4 + 8 * (r % halves)][r / halves * 4 * p + l % 4 * p + j] = E::get(x[l] >> (E::kBits * j % 32));
    }
  }
}
template <class E, class V, int Depth>
MCC_SIM_INLINE void gather_b(const Warp& w, const Operands& o, V (&m)[8][Depth]) {
  constexpr int p = 32 / E::kBits;
  for (int r = 0; r < o.nb; ++r) {
    const u32* x = lanes<u32>(w, o.b[r]);
    for (int l = 0; l < kLanes; ++l) {
      for (int j = 0; j < p; ++j) m[l / 4][r * 4 * p + l % 4 * p + j] = E::get(x[l] >> (E::kBits * j % 32));
    }
  }
}

// Half: C and D are pairs of f16; else f32.
template <class E, class F, bool Half> void multiply_float(Warp& w, const Inst& in) {
  constexpr int depth = 32;
  const Operands o = split(in, 32 / E::kBits, in.flags / 8 * (Half ? 1 : 2));
  alignas(64) double a[16][depth], b[8][depth], sum[16][8];
  gather_a<E>(w, in, o, a);
  gather_b<F>(w, o, b);
  const int k = in.width;
  for (int l = 0; l < kLanes; ++l) {
    for (int h = 0; h < in.flags / 8; ++h) {
      for (int j = 0; j < 2; ++j) {
        const float c = Half ? f16_to_float(static_cast<u16>(lanes<u32>(w, o.c[h])[l] >> (16 * j))) : __builtin_bit_cast(float, lanes<u32>(w, o.c[2 * h + j])[l]);
        sum[l / 4 + 8 * h][l % 4 * 2 + j] = static_cast<double>(c);
      }
    }
  }
  for (int i = 0; i < in.flags; ++i) {
    for (int n = 0; n < 8; ++n) {
      double s = 0;
      for (int q = 0; q < k; ++q) s += a[i][q] * b[n][q];
      sum[i][n] += s;
    }
  }
  for (int h = 0; h < in.flags / 8; ++h) {
    if (Half) {
      fill<u32>(w, o.d[h], [&](int l) {
        const u32 low = round_to_small(format_of(Type::f16), sum[l / 4 + 8 * h][l % 4 * 2], Rounding::rn, false);
        const u32 high = round_to_small(format_of(Type::f16), sum[l / 4 + 8 * h][l % 4 * 2 + 1], Rounding::rn, false);
        return low | high << 16;
      });
    } else {
      for (int j = 0; j < 2; ++j) fill<float>(w, o.d[2 * h + j], [&](int l) { return canonical(static_cast<float>(sum[l / 4 + 8 * h][l % 4 * 2 + j])); });
    }
  }
}

// in.flags2: 1 = .satfinite
template <class E, class F> void multiply_integer(Warp& w, const Inst& in) {
  constexpr int depth = 64;
  const Operands o = split(in, 32 / E::kBits, in.flags / 8 * 2);
  alignas(64) i32 a[16][depth], b[8][depth];
  gather_a<E>(w, in, o, a);
  gather_b<F>(w, o, b);
  i32 product[16][8];
  for (int i = 0; i < in.flags; ++i) {
    for (int n = 0; n < 8; ++n) {
      i32 s = 0;
      for (int q = 0; q < in.width; ++q) s += a[i][q] * b[n][q];
      product[i][n] = s;
    }
  }
  const bool clamp = in.flags2 != 0;
  for (int h = 0; h < in.flags / 8; ++h) {
    for (int j = 0; j < 2; ++j) {
      const u32* c = lanes<u32>(w, o.c[2 * h + j]);
      fill<i32>(w, o.d[2 * h + j], [&](int l) {
        const i64 s = static_cast<i64>(static_cast<i32>(c[l])) + product[l / 4 + 8 * h][l % 4 * 2 + j];
        return static_cast<i32>(clamp ? (s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s) : s);
      });
    }
  }
}

void multiply_double(Warp& w, const Inst& in) {
  const int halves = in.flags / 8, groups = in.width / 4, nc = 2 * halves;
  const i32 *d = in.list, *ra = d + nc, *rb = ra + groups * halves, *rc = rb + groups;
  double a[16][16], b[8][16];
  for (int r = 0; r < groups * halves; ++r) {
    for (int l = 0; l < kLanes; ++l) a[l / 4 + 8 * (r % halves)][r / halves * 4 + l % 4] = __builtin_bit_cast(double, lanes<u64>(w, ra[r])[l]);
  }
  for (int r = 0; r < groups; ++r) {
    for (int l = 0; l < kLanes; ++l) b[l / 4][r * 4 + l % 4] = __builtin_bit_cast(double, lanes<u64>(w, rb[r])[l]);
  }
  for (int h = 0; h < halves; ++h) {
    for (int j = 0; j < 2; ++j) {
      const u64* c = lanes<u64>(w, rc[2 * h + j]);
      fill<double>(w, d[2 * h + j], [&](int l) {
        double s = __builtin_bit_cast(double, c[l]);
        for (int q = 0; q < in.width; ++q) s = __builtin_fma(a[l / 4 + 8 * h][q], b[l % 4 * 2 + j][q], s);
        return s;
      });
    }
  }
}

// One 16-byte row per lane of the first 8 * in.width lanes. Returns false after a report.
template <bool Checked, bool Write> bool row_at(Warp& w, const Inst& in, int lane, u64 address) {
  Block& block = *w.block;
  const bool outside = address + 16 > block.shared_bytes;
  if (outside || (address & 15u) != 0) {
    report_access(w, in, lane, outside ? FindingKind::out_of_bounds : FindingKind::misaligned, {Space::shared, address, 16, Write});
    return false;
  }
  if (!Checked) return true;
  if (Write) set_initialised(block.shared_init, address, 16);
  else if (!all_initialised(block.shared_init, address, 16)) report_access(w, in, lane, FindingKind::uninitialised_read, {Space::shared, address, 16, false});
  const Horizon<u32> h = shared_horizon(w);
  for (u64 c = address >> block.granule_shift_shared; c <= (address + 15) >> block.granule_shift_shared; ++c) {
    if (Write) touch_write<u32>(w, in, h, block.shared_race[c], lane, false, address, false);
    else touch_read<u32>(w, in, h, block.shared_race[c], lane, false, address);
  }
  return true;
}
bool whole_warp(Warp& w, const Inst& in) {
  if (w.mask == kAllLanes) return true;
  report_warp(w, in, FindingKind::divergent_barrier, "an instruction on matrices needs all 32 lanes of the warp");
  return false;
}
template <bool Checked, bool Write> void rows(Warp& w, const Inst& in, Addresses& a, bool (&ok)[kLanes]) {
  addresses(w, in, a);
  if ((in.flags & kAddress32) == 0 && a.at[0] >> kWindowShift == 1) {
    for (u64& at : a.at) at &= kWindowMask;
  }
  const int count = 8 * in.width;
  for (int l = 0; l < count; ++l) ok[l] = row_at<Checked, Write>(w, in, l, a.at[l]);
  if (w.counting) count_request(w, in, bank_passes(a.at, count == 32 ? kAllLanes : (u32{1} << count) - 1, 16), static_cast<u64>(16 * count));
}
u16 half_at(const Warp& w, u64 address) {
  u16 x;
  __builtin_memcpy(&x, w.block->shared + address, 2);
  return x;
}

// in.flags2: 1 = .trans
template <bool Checked> void load_matrix(Warp& w, const Inst& in) {
  if (!whole_warp(w, in)) return;
  Addresses a;
  bool ok[kLanes] = {};
  rows<Checked, false>(w, in, a, ok);
  const bool transposed = in.flags2 != 0;
  for (int k = 0; k < in.width; ++k) {
    alignas(64) u32 t[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      t[l] = 0;
      for (int j = 0; j < 2; ++j) {
        const int row = transposed ? l % 4 * 2 + j : l / 4, column = transposed ? l / 4 : l % 4 * 2 + j;
        if (ok[8 * k + row]) t[l] |= static_cast<u32>(half_at(w, a.at[8 * k + row] + static_cast<u64>(2 * column))) << (16 * j);
      }
    }
    fill<u32>(w, in.list[k], [&](int l) { return t[l]; });
  }
}
template <bool Checked> void store_matrix(Warp& w, const Inst& in) {
  if (!whole_warp(w, in)) return;
  Addresses a;
  bool ok[kLanes] = {};
  rows<Checked, true>(w, in, a, ok);
  const bool transposed = in.flags2 != 0;
  for (int k = 0; k < in.width; ++k) {
    const u32* x = lanes<u32>(w, in.list[k]);
    for (int l = 0; l < kLanes; ++l) {
      for (int j = 0; j < 2; ++j) {
        const int row = transposed ? l % 4 * 2 + j : l / 4, column = transposed ? l / 4 : l % 4 * 2 + j;
        const auto half = static_cast<u16>(x[l] >> (16 * j));
        if (ok[8 * k + row]) __builtin_memcpy(w.block->shared + a.at[8 * k + row] + 2 * column, &half, 2);
      }
    }
  }
}
void transpose_matrix(Warp& w, const Inst& in) {
  if (!whole_warp(w, in)) return;
  const u32* x = lanes<u32>(w, in.a);
  alignas(64) u32 t[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    t[l] = 0;
    for (int j = 0; j < 2; ++j) {
      const int row = l % 4 * 2 + j, column = l / 4;  // of the source
      t[l] |= ((x[row * 4 + column / 2] >> (16 * (column % 2))) & 0xffffu) << (16 * j);
    }
  }
  fill<u32>(w, in.dst, [&](int l) { return t[l]; });
}

template <void (*Handle)(Warp&, const Inst&)> void guarded(Warp& w, const Inst& in) {
  if (whole_warp(w, in)) Handle(w, in);
}

template <class E> Handler pick_integer(Type b) {
  if constexpr (E::kBits == 8) return b == Type::s8 ? &guarded<multiply_integer<E, S8>> : b == Type::u8 ? &guarded<multiply_integer<E, U8>> : nullptr;
  else return b == Type::s4 ? &guarded<multiply_integer<E, S4>> : b == Type::u4 ? &guarded<multiply_integer<E, U4>> : nullptr;
}

// Types in form: D, A, B, C.
Handler pick_mma(const Form& form) {
  const MmaShape& s = form.mma;
  if (s.n != 8 || (s.m != 8 && s.m != 16)) return nullptr;
  const bool half = form.type == Type::f16 && form.type4 == Type::f16;
  const bool single = form.type == Type::f32 && form.type4 == Type::f32;
  const auto deep = [&](int a, int b) { return s.m == 16 && (s.k == a || s.k == b); };
  switch (form.type2) {
    case Type::f16:
      if (form.type3 != Type::f16 || !deep(8, 16)) return nullptr;
      return half ? &guarded<multiply_float<F16, F16, true>> : single ? &guarded<multiply_float<F16, F16, false>> : nullptr;
    case Type::bf16: return form.type3 == Type::bf16 && single && deep(8, 16) ? &guarded<multiply_float<Bf16, Bf16, false>> : nullptr;
    case Type::tf32: return form.type3 == Type::tf32 && single && deep(4, 8) ? &guarded<multiply_float<Tf32, Tf32, false>> : nullptr;
    case Type::e4m3:
      if (!deep(16, 32)) return nullptr;
      if (form.type3 == Type::e4m3) return half ? &guarded<multiply_float<E4m3, E4m3, true>> : single ? &guarded<multiply_float<E4m3, E4m3, false>> : nullptr;
      return form.type3 != Type::e5m2 ? nullptr : half ? &guarded<multiply_float<E4m3, E5m2, true>> : single ? &guarded<multiply_float<E4m3, E5m2, false>> : nullptr;
    case Type::e5m2:
      if (!deep(16, 32)) return nullptr;
      if (form.type3 == Type::e5m2) return half ? &guarded<multiply_float<E5m2, E5m2, true>> : single ? &guarded<multiply_float<E5m2, E5m2, false>> : nullptr;
      return form.type3 != Type::e4m3 ? nullptr : half ? &guarded<multiply_float<E5m2, E4m3, true>> : single ? &guarded<multiply_float<E5m2, E4m3, false>> : nullptr;
    case Type::f64:
      if (form.type != Type::f64 || form.type3 != Type::f64 || form.type4 != Type::f64) return nullptr;
      return (s.m == 8 && s.k == 4) || (s.m == 16 && (s.k == 4 || s.k == 8 || s.k == 16)) ? &guarded<multiply_double> : nullptr;
    default: break;
  }
  if (form.type != Type::s32 || form.type4 != Type::s32) return nullptr;
  const bool bytes = s.m == 8 ? s.k == 16 : s.k == 16 || s.k == 32, nibbles = s.m == 8 ? s.k == 32 : s.k == 32 || s.k == 64;
  if (form.type2 == Type::s8 && bytes) return pick_integer<S8>(form.type3);
  if (form.type2 == Type::u8 && bytes) return pick_integer<U8>(form.type3);
  if (form.type2 == Type::s4 && nibbles) return pick_integer<S4>(form.type3);
  return form.type2 == Type::u4 && nibbles ? pick_integer<U4>(form.type3) : nullptr;
}

}  // namespace

Handler select_matrix(const Form& form) {
  switch (form.op) {
    case Op::mma: return pick_mma(form);
    case Op::ldmatrix: return form.checked ? &load_matrix<true> : &load_matrix<false>;
    case Op::stmatrix: return form.checked ? &store_matrix<true> : &store_matrix<false>;
    case Op::movmatrix: return &transpose_matrix;
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
