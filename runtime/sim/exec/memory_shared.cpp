// Loads and stores of shared memory, with bank conflicts.
#include "runtime/sim/exec/memory.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

template <int Size, bool Write> bool stores_same(const Warp& w, const Inst& in, const u8* p, int lane) {
  for (int v = 0; Write && v < in.width; ++v) {
    const auto x = register_value<Size>(w, in, element(in, v), lane);
    if (__builtin_memcmp(p + v * Size, &x, Size) != 0) return false;
  }
  return Write;
}

template <int Size, bool Write> void check_lane(Warp& w, const Inst& in, int lane, u64 at, u64 total) {
  Block& block = *w.block;
  if (Write) {
    set_initialised(block.shared_init, at, total);
  } else if (!all_initialised(block.shared_init, at, total)) {
    report_access(w, in, lane, FindingKind::uninitialised_read, {Space::shared, at, static_cast<int>(total), false});
  }
  const Horizon<u32> h = shared_horizon(w);
  const int shift = block.granule_shift_shared;
  const bool strong = (in.flags & kStrong) != 0;
  const bool same = Write && stores_same<Size, Write>(w, in, block.shared + at, lane);
  for (u64 c = at >> shift; c <= (at + total - 1) >> shift; ++c) {
    if (Write) touch_write<u32>(w, in, h, block.shared_race[c], lane, strong, at, same);
    else touch_read<u32>(w, in, h, block.shared_race[c], lane, strong, at);
  }
}

template <int Size, bool Write> void copy_adjacent(Warp& w, const Inst& in, u8* host) {
  using T = typename SizedInteger<Size>::type;
  const int width = in.width;
  T* memory = reinterpret_cast<T*>(host);
  for (int v = 0; v < width; ++v) {
    const i32 at = element(in, v);
    if (at == kConstantBit) continue;
    if (Write) {
      const T* from = reinterpret_cast<const T*>(source(w, at));
      MCC_SIM_LANES
      for (int i = 0; i < kLanes; ++i) memory[i * width + v] = from[i];
    } else {
      T* to = reinterpret_cast<T*>(w.registers + at);
      MCC_SIM_LANES
      for (int i = 0; i < kLanes; ++i) to[i] = memory[i * width + v];
    }
  }
}

template <int Size, bool Write, bool Checked> void access(Warp& w, const Inst& in) {
  Addresses a;
  addresses(w, in, a);
  access_shared<Size, Write, Checked>(w, in, a);
}

template <int Size, bool Write> Handler pick(const Form& form) {
  return form.checked ? &access<Size, Write, true> : &access<Size, Write, false>;
}

}  // namespace

template <int Size, bool Write, bool Checked> void access_shared(Warp& w, const Inst& in, const Addresses& a) {
  Block& block = *w.block;
  const u64 total = static_cast<u64>(Size * in.width), all = total * kLanes;
  const bool wide = Size == 8 || (in.flags & kWideRegister) != 0;
  const u32 mask = w.mask;
  if (mask == kAllLanes && Size >= 4 && (Size == 8 || !wide) && is_contiguous(a, total)) {
    const u64 at = a.at[0];
    bool quick = at + all <= block.shared_bytes && (at & (total - 1)) == 0 && (in.flags & kStrong) == 0;
    if (Checked && quick) {
      if (!Write) quick = all_initialised(block.shared_init, at, all);
      const int shift = block.granule_shift_shared, lane_shift = log2_of(static_cast<u32>(total)) - shift;
      quick = quick && lane_shift >= 0 && touch_range<Write, u32>(w, shared_horizon(w), block.shared_race + (at >> shift), lane_shift);
      if (Write && quick) set_initialised(block.shared_init, at, all);
    }
    if (quick) {
      if (w.counting) count_request(w, in, total <= 4 ? 1 : total / 4, all);
      copy_adjacent<Size, Write>(w, in, block.shared + at);
      return;
    }
  }
  const u64 limit = block.shared_bytes >= total ? block.shared_bytes - total : 0;
  const u32 fits = block.shared_bytes < total ? 0u : collect([&](int i) { return a.at[i] <= limit && (a.at[i] & (total - 1)) == 0; });
  const u32 good = mask & fits;
  for (u32 bad = mask & ~fits; bad != 0; bad &= bad - 1) {
    const int lane = __builtin_ctz(bad);
    const FindingKind kind = block.shared_bytes < total || a.at[lane] > limit ? FindingKind::out_of_bounds : FindingKind::misaligned;
    report_access(w, in, lane, kind, {Space::shared, a.at[lane], static_cast<int>(total), Write});
  }
  if (good == 0) {
    if (!Write) {
      const u8* nothing[kLanes];
      for (const u8*& pointer : nothing) pointer = kZeros;
      load_registers<Size>(w, in, nothing);
    }
    return;
  }
  const bool uniform = is_uniform(a, good);
  if (Checked) {
    if ((in.flags & kStrong) != 0) strong_access(w, in, kSharedBase | a.at[first_lane(good)], !Write, Write, static_cast<Order>(in.flags2));
    if (uniform && !Write) {
      // One word, many readers: the second lane makes the cell "several lanes", the rest change nothing.
      check_lane<Size, Write>(w, in, first_lane(good), a.at[first_lane(good)], total);
      const u32 rest = good & (good - 1);
      if (rest != 0) check_lane<Size, Write>(w, in, first_lane(rest), a.at[first_lane(rest)], total);
    } else {
      const u32 judged =
          Write && uniform && stores_one_value<Size>(w, in, a, good) ? good & (0 - good) : good;
      for (u32 m = judged; m != 0; m &= m - 1) {
        const int lane = __builtin_ctz(m);
        check_lane<Size, Write>(w, in, lane, a.at[lane], total);
      }
    }
  }
  if (w.counting) {
    const u64 passes = uniform ? 1 : bank_passes(a.at, good, static_cast<int>(total));
    count_request(w, in, passes, total * static_cast<u64>(__builtin_popcount(good)));
  }
  u8* p[kLanes];
  for (int i = 0; i < kLanes; ++i) p[i] = ((good >> i) & 1u) != 0 ? block.shared + a.at[i] : const_cast<u8*>(kZeros);
  if (Write) {
    w.mask = good;
    store_registers<Size>(w, in, p);
    w.mask = mask;
  } else {
    load_registers<Size>(w, in, p);
  }
}

#define INSTANTIATE(SIZE)                                                                    \
  template void access_shared<SIZE, false, false>(Warp&, const Inst&, const Addresses&);     \
  template void access_shared<SIZE, false, true>(Warp&, const Inst&, const Addresses&);      \
  template void access_shared<SIZE, true, false>(Warp&, const Inst&, const Addresses&);      \
  template void access_shared<SIZE, true, true>(Warp&, const Inst&, const Addresses&);
INSTANTIATE(1) INSTANTIATE(2) INSTANTIATE(4) INSTANTIATE(8)
#undef INSTANTIATE

Handler select_shared(const Form& form, int size, bool write) {
  switch (size) {
    case 1: return write ? pick<1, true>(form) : pick<1, false>(form);
    case 2: return write ? pick<2, true>(form) : pick<2, false>(form);
    case 4: return write ? pick<4, true>(form) : pick<4, false>(form);
    case 8: return write ? pick<8, true>(form) : pick<8, false>(form);
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
