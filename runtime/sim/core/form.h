// An instruction's operation and suffixes after decoding: what selects its handler.
// Invariant: a selector returns nullptr for every combination that it does not execute exactly;
// the decoder turns that into an error, so no suffix is ever ignored.
#pragma once

#include <string_view>

#include "runtime/sim/core/machine.h"

namespace mcc::sim {

enum class Op : uint16_t {
  none,
  // integer and logic
  add, sub, mul, mad, mul24, mad24, sad, div, rem, abs, neg, min, max, popc, clz, bfind, brev, bfe, bfi, bmsk, szext,
  fns, dp4a, dp2a, and_, or_, xor_, not_, cnot, lop3, shf, shl, shr, prmt, addc, subc, madc,
  // floating
  fma, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh, copysign, testp,
  // comparison, selection
  set, setp, selp, slct,
  // moves and conversions
  mov, mov_special, mov_pack, mov_unpack, cvt, cvt_pack2, cvt_pack_int, cvta, isspacep, mapa, getctarank,
  // memory
  ld, st, atom, red, prefetch, fence, ldmatrix, stmatrix, cp_async, cp_async_commit, cp_async_wait, cp_async_mbarrier,
  mbarrier_init, mbarrier_inval, mbarrier_arrive, mbarrier_arrive_drop, mbarrier_expect, mbarrier_complete,
  mbarrier_test, mbarrier_try, mbarrier_pending,
  // control
  bra, brx, call, call_indirect, call_printf, ret, exit, trap, nop,
  // warps and blocks
  bar_sync, bar_arrive, bar_red, bar_warp, shfl, vote, match, redux, activemask, elect, clock,
  // matrices
  mma, movmatrix,
};

enum class Part : uint8_t { none, lo, hi, wide };
enum class ShuffleMode : uint8_t { up, down, bfly, idx };
enum class VoteMode : uint8_t { all, any, uni, ballot };

struct MmaShape {
  int m = 0, n = 0, k = 0;
};

struct Form {
  Op op = Op::none;
  Type type = Type::none;    // first type suffix: the result's
  Type type2 = Type::none;   // second: the source's
  Type type3 = Type::none;
  Type type4 = Type::none;
  Rounding rounding = Rounding::none;
  bool to_integral = false;  // .rni and friends
  bool ftz = false;
  bool saturate = false;
  bool satfinite = false;
  bool relu = false;
  bool approx = false;
  bool full = false;
  bool nan = false;       // min.NaN
  bool xorsign = false;   // .xorsign.abs
  bool abs = false;
  bool carry_out = false;  // .cc
  bool noftz = false;
  Part part = Part::none;
  Compare compare = Compare::eq;
  Combine combine = Combine::none;
  Space space = Space::generic;
  int vector = 1;
  Order order = Order::weak;
  bool is_volatile = false;
  AtomicOp atomic = AtomicOp::add;
  bool checked = false;
  int dst_bytes = 4;   // width of the destination register, for ld and cvt
  int src_bytes = 4;   // width of the source register, for st and cvt
  int address_bytes = 8;
  bool three = false;  // min/max with three sources
  bool has_combine_predicate = false;
  ShuffleMode shuffle = ShuffleMode::idx;
  VoteMode vote = VoteMode::all;
  MmaShape mma;
  std::string_view mode;  // the one suffix left that is the operation's own (prmt.f4e, testp.finite)
};

}  // namespace mcc::sim
