// atom and red on global, shared and generic addresses: PTX ISA 9.7.13. Lanes go one by one, in the
// order that the schedule gives, each with a host atomic, since blocks run on several host threads.
#include "runtime/sim/exec/half_ops.h"
#include "runtime/sim/exec/memory.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

template <class T, AtomicOp Kind> MCC_SIM_INLINE T combine(T old, T x, T y) {
  switch (Kind) {
    case AtomicOp::add: return static_cast<T>(old + x);
    case AtomicOp::min: return x < old ? x : old;
    case AtomicOp::max: return x > old ? x : old;
    case AtomicOp::exch: return x;
    case AtomicOp::cas: return old == x ? y : old;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (Kind) {
      case AtomicOp::and_: return old & x;
      case AtomicOp::or_: return old | x;
      case AtomicOp::xor_: return old ^ x;
      case AtomicOp::inc: return old >= x ? T{0} : static_cast<T>(old + 1);
      case AtomicOp::dec: return old == 0 || old > x ? x : static_cast<T>(old - 1);
      default: break;
    }
  }
  return old;
}

// in.flags bit 0: .f16/.bf16 pairs use Brain; the bits of both halves change together.
template <bool Brain, int Halves> MCC_SIM_INLINE u32 add_halves(u32 old, u32 x) {
  u32 r = 0;
  for (int k = 0; k < Halves; ++k) {
    const float sum = widen<Brain>(static_cast<u16>(old >> (16 * k))) + widen<Brain>(static_cast<u16>(x >> (16 * k)));
    r |= static_cast<u32>(narrow<Brain>(sum)) << (16 * k);
  }
  return r;
}
struct PlainF16 { using type = u16; static u16 f(u16 a, u16 b) { return static_cast<u16>(add_halves<false, 1>(a, b)); } };
struct PlainBf16 { using type = u16; static u16 f(u16 a, u16 b) { return static_cast<u16>(add_halves<true, 1>(a, b)); } };
struct PairF16 { using type = u32; static u32 f(u32 a, u32 b) { return add_halves<false, 2>(a, b); } };
struct PairBf16 { using type = u32; static u32 f(u32 a, u32 b) { return add_halves<true, 2>(a, b); } };

// The host location of a lane, or null after a report. Marks it initialised and checks races.
template <bool Checked> u8* locate(Warp& w, const Inst& in, Space space, int lane, u64 address, u64 bytes) {
  Block& block = *w.block;
  if (space == Space::generic && address >> kWindowShift == 1) {
    space = Space::shared;
    address &= kWindowMask;
  }
  const auto order = static_cast<Order>(in.flags2);
  if (space == Space::shared) {
    const bool outside = address + bytes > block.shared_bytes;
    if (outside || (address & (bytes - 1)) != 0) {
      report_access(w, in, lane, outside ? FindingKind::out_of_bounds : FindingKind::misaligned, {Space::shared, address, static_cast<int>(bytes), true});
      return nullptr;
    }
    if (Checked) {
      if (!all_initialised(block.shared_init, address, bytes)) {
        report_access(w, in, lane, FindingKind::uninitialised_read, {Space::shared, address, static_cast<int>(bytes), false});
        set_initialised(block.shared_init, address, bytes);
      }
      strong_access(w, in, kSharedBase | address, true, true, order);
      const Horizon<u32> h = shared_horizon(w);
      const int shift = block.granule_shift_shared;
      for (u64 c = address >> shift; c <= (address + bytes - 1) >> shift; ++c) touch_write<u32>(w, in, h, block.shared_race[c], lane, true, address, false);
    }
    return block.shared + address;
  }
  const Window* window = window_of(block, address);
  const u64 offset = address & kWindowMask;
  const bool outside = window == nullptr || offset + bytes > window->bytes;
  if (outside || (offset & (bytes - 1)) != 0 || window->writable == 0) {
    const FindingKind kind = outside ? FindingKind::out_of_bounds : (offset & (bytes - 1)) != 0 ? FindingKind::misaligned : FindingKind::read_only_write;
    report_access(w, in, lane, kind, {Space::global, address, static_cast<int>(bytes), true});
    return nullptr;
  }
  if (Checked) {
    if (window->init != nullptr && !all_initialised(window->init, offset, bytes)) {
      report_access(w, in, lane, FindingKind::uninitialised_read, {Space::global, address, static_cast<int>(bytes), false});
      set_initialised(window->init, offset, bytes);
    }
    strong_access(w, in, address, true, true, order);
    if (window->race != nullptr) {
      const Horizon<u64> h = global_horizon(w);
      const int shift = block.granule_shift_global;
      for (u64 c = offset >> shift; c <= (offset + bytes - 1) >> shift; ++c) touch_write<u64>(w, in, h, window->race[c], lane, true, address, false);
    }
  }
  if (w.counting) {
    touch_sectors(*window, offset, bytes, true);
    touch_sectors(*window, offset, bytes, false);
  }
  return window->host + offset;
}

// `update(pointer, lane)` performs the operation and returns the old value.
template <class S, bool Checked, class F> MCC_SIM_INLINE void each_lane(Warp& w, const Inst& in, bool keep, F update) {
  Addresses a;
  addresses(w, in, a);
  const auto space = static_cast<Space>(in.width);
  alignas(64) Storage<S> old[kLanes] = {};
  u64 sector[kLanes];
  u32 done = 0;
  for (int k = 0; k < kLanes; ++k) {
    const int lane = w.block->lane_order[k];
    if (((w.mask >> lane) & 1u) == 0) continue;
    u8* p = locate<Checked>(w, in, space, lane, a.at[lane], sizeof(S));
    if (p == nullptr) continue;
    old[lane] = pack<S>(update(p, lane));
    sector[lane] = a.at[lane] >> 5;
    done |= u32{1} << lane;
  }
  if (w.counting && done != 0) count_request(w, in, count_distinct(sector, done), sizeof(S) * static_cast<u64>(__builtin_popcount(done)));
  if (keep) fill<S>(w, in.dst, [&](int i) { return unpack<S>(old[i]); });
}

// T: arithmetic type; S: the unsigned integer of its size that the host exchanges.
template <class T, AtomicOp Kind, bool Checked> void perform(Warp& w, const Inst& in) {
  using S = Storage<T>;
  const Storage<T>* b = lanes<T>(w, in.b);
  const Storage<T>* c = Kind == AtomicOp::cas ? lanes<T>(w, in.c) : b;
  each_lane<S, Checked>(w, in, in.dst != kConstantBit, [=](u8* p, int lane) {
    S* location = reinterpret_cast<S*>(p);
    S old = __atomic_load_n(location, __ATOMIC_RELAXED);
    while (true) {
      const S next = __builtin_bit_cast(S, combine<T, Kind>(__builtin_bit_cast(T, old), unpack<T>(b[lane]), unpack<T>(c[lane])));
      if (__atomic_compare_exchange_n(location, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return old;
    }
  });
}
// In global memory atomic sums of singles flush subnormals; in shared memory they do not.
template <bool Checked>
void add_single(Warp& w, const Inst& in) {
  const u32* b = lanes<u32>(w, in.b);
  const u8 *shared = w.block->shared, *end = shared + w.block->shared_bytes;
  each_lane<u32, Checked>(w, in, in.dst != kConstantBit, [=](u8* p, int lane) {
    const bool keep = p >= shared && p < end;
    const auto operand = [=](u32 bits) {
      return keep ? from_bits<float>(bits) : flush(from_bits<float>(bits));
    };
    u32* location = reinterpret_cast<u32*>(p);
    u32 old = __atomic_load_n(location, __ATOMIC_RELAXED);
    while (true) {
      const float sum = canonical(operand(old) + operand(b[lane]));
      if (__atomic_compare_exchange_n(location, &old, bits_of(keep ? sum : flush(sum)), false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return old;
    }
  });
}
template <class H, bool Checked> void perform_half(Warp& w, const Inst& in) {
  using S = typename H::type;
  const u32* b = lanes<u32>(w, in.b);
  each_lane<S, Checked>(w, in, in.dst != kConstantBit, [=](u8* p, int lane) {
    S* location = reinterpret_cast<S*>(p);
    S old = __atomic_load_n(location, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(location, &old, H::f(old, static_cast<S>(b[lane])), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    return old;
  });
}
template <bool Checked> void compare_swap_16(Warp& w, const Inst& in) {
  const u32* b = lanes<u32>(w, in.b);
  const u32* c = lanes<u32>(w, in.c);
  each_lane<u16, Checked>(w, in, in.dst != kConstantBit, [=](u8* p, int lane) {
    u16 expected = static_cast<u16>(b[lane]);
    __atomic_compare_exchange_n(reinterpret_cast<u16*>(p), &expected, static_cast<u16>(c[lane]), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    return expected;
  });
}

template <class T, bool Checked> Handler pick_integer(AtomicOp op) {
#define ROW(NAME) case AtomicOp::NAME: return &perform<T, AtomicOp::NAME, Checked>;
  switch (op) {
    ROW(and_) ROW(or_) ROW(xor_) ROW(add) ROW(inc) ROW(dec) ROW(min) ROW(max) ROW(exch) ROW(cas)
  }
#undef ROW
  return nullptr;
}
template <bool Checked> Handler pick(const Form& form) {
  const AtomicOp op = form.atomic;
  switch (form.type) {
    case Type::u32: case Type::b32: return pick_integer<u32, Checked>(op);
    case Type::s32: return pick_integer<i32, Checked>(op);
    case Type::u64: case Type::b64: return pick_integer<u64, Checked>(op);
    case Type::s64: return pick_integer<i64, Checked>(op);
    case Type::f32:
      return op == AtomicOp::add ? &add_single<Checked> : nullptr;
    case Type::f64: return op == AtomicOp::add ? &perform<double, AtomicOp::add, Checked> : nullptr;
    case Type::f16: return op == AtomicOp::add ? &perform_half<PlainF16, Checked> : nullptr;
    case Type::bf16: return op == AtomicOp::add ? &perform_half<PlainBf16, Checked> : nullptr;
    case Type::f16x2: return op == AtomicOp::add ? &perform_half<PairF16, Checked> : nullptr;
    case Type::bf16x2: return op == AtomicOp::add ? &perform_half<PairBf16, Checked> : nullptr;
    case Type::b16: case Type::u16: return op == AtomicOp::cas ? &compare_swap_16<Checked> : nullptr;
    default: return nullptr;
  }
}

}  // namespace

Handler select_atomic(const Form& form) {
  if (form.op != Op::atom && form.op != Op::red) return nullptr;
  if (form.space != Space::global && form.space != Space::shared && form.space != Space::generic) return nullptr;
  if (form.vector != 1) return nullptr;
  return form.checked ? pick<true>(form) : pick<false>(form);
}

}  // namespace mcc::sim::MCC_SIM_ISA
