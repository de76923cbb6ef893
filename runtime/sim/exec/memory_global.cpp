// Loads and stores of global and constant memory, and generic addresses: PTX ISA 9.7.9.
#include "runtime/sim/exec/access.h"
#include "runtime/sim/exec/memory.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

template <bool Write>
void check_races(Warp& w, const Inst& in, const Window& window, u64 offset, u64 bytes, int lane, u64 address, bool same) {
  const Horizon<u64> h = global_horizon(w);
  const int shift = w.block->granule_shift_global;
  const bool strong = (in.flags & kStrong) != 0;
  for (u64 c = offset >> shift; c <= (offset + bytes - 1) >> shift; ++c) {
    if (Write) touch_write<u64>(w, in, h, window.race[c], lane, strong, address, same);
    else touch_read<u64>(w, in, h, window.race[c], lane, strong, address);
  }
}

// One lane at a time, any window: finds the host pointer or reports and returns null.
template <bool Write> u8* resolve_lane(Warp& w, const Inst& in, int lane, u64 address, u64 bytes) {
  const Window* window = window_of(*w.block, address);
  const u64 offset = address & kWindowMask;
  const Access access{Space::global, address, static_cast<int>(bytes), Write};
  if (window == nullptr || offset + bytes > window->bytes) {
    report_access(w, in, lane, FindingKind::out_of_bounds, access);
    return nullptr;
  }
  if ((offset & (bytes - 1)) != 0) {
    report_access(w, in, lane, FindingKind::misaligned, access);
    return nullptr;
  }
  if (Write && window->writable == 0) {
    report_access(w, in, lane, FindingKind::read_only_write, access);
    return nullptr;
  }
  return window->host + offset;
}

template <int Size, bool Write>
bool stores_same(const Warp& w, const Inst& in, const u8* p, int lane) {
  for (int v = 0; Write && v < in.width; ++v) {
    const auto x = register_value<Size>(w, in, element(in, v), lane);
    if (__builtin_memcmp(p + v * Size, &x, Size) != 0) return false;
  }
  return Write;
}

template <int Size, bool Write, bool Checked> void scattered(Warp& w, const Inst& in, const Addresses& a) {
  const u64 total = static_cast<u64>(Size * in.width);
  alignas(64) u8* p[kLanes];
  alignas(64) u64 sector[kLanes];
  const u32 mask = w.mask;
  const Window* first = window_of(*w.block, a.at[first_lane(mask)]);
  // Usually all lanes are inside one window: one vector comparison instead of 32 look-ups.
  u64 wrong = 1;
  if (first != nullptr && (!Write || first->writable != 0) && first->bytes >= total) {
    const u64 base = a.at[first_lane(mask)] & ~kWindowMask, limit = first->bytes - total;
    u64 bad = 0;
    MCC_SIM_LANES
    for (int i = 0; i < kLanes; ++i) {
      const u64 offset = a.at[i] - base;
      bad |= ((mask >> i) & 1u) != 0 && (offset > limit || (offset & (total - 1)) != 0) ? u64{1} : u64{0};
    }
    wrong = bad;
    if (wrong == 0) {
      MCC_SIM_LANES
      for (int i = 0; i < kLanes; ++i) {
        p[i] = ((mask >> i) & 1u) != 0 ? first->host + (a.at[i] - base) : const_cast<u8*>(kZeros);
      }
    }
  }
  u32 good = mask;
  if (wrong != 0) {
    for (int i = 0; i < kLanes; ++i) {
      p[i] = const_cast<u8*>(kZeros);
      if (((mask >> i) & 1u) == 0) continue;
      u8* host = resolve_lane<Write>(w, in, i, a.at[i], total);
      if (host != nullptr) p[i] = host;
      else good &= ~(u32{1} << i);
    }
  }
  if (Checked) {
    // Strong reads join what the last strong write published, before their own accesses are judged.
    if ((in.flags & kStrong) != 0) {
      for (u32 m = good; m != 0; m &= m - 1) {
        strong_access(w, in, a.at[__builtin_ctz(m)], !Write, Write, static_cast<Order>(in.flags2));
      }
    }
    const u32 judged =
        Write && good != 0 && stores_one_value<Size>(w, in, a, good) ? good & (0 - good) : good;
    for (u32 m = judged; m != 0; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      const Window* window = wrong == 0 ? first : window_of(*w.block, a.at[lane]);
      const u64 offset = a.at[lane] & kWindowMask;
      if (window->init != nullptr) {
        if (Write) set_initialised(window->init, offset, total);
        else if (!all_initialised(window->init, offset, total)) {
          report_access(w, in, lane, FindingKind::uninitialised_read, {Space::global, a.at[lane], static_cast<int>(total), false});
        }
      }
      if (window->race != nullptr) {
        check_races<Write>(w, in, *window, offset, total, lane, a.at[lane], Write && stores_same<Size, Write>(w, in, p[lane], lane));
      }
    }
  }
  if (w.counting && good != 0) {
    // Lanes that failed repeat a good one, so that they count nothing.
    const u64 fill_in = a.at[first_lane(good)] >> 5;
    for (int i = 0; i < kLanes; ++i) sector[i] = ((good >> i) & 1u) != 0 ? a.at[i] >> 5 : fill_in;
    u64 sectors = count_distinct(sector, good);
    for (u32 m = good; m != 0; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      const Window* window = wrong == 0 ? first : window_of(*w.block, a.at[lane]);
      touch_sectors(*window, a.at[lane] & kWindowMask, total, Write);
    }
    count_request(w, in, sectors, total * static_cast<u64>(__builtin_popcount(good)));
  }
  if (Write) {
    const u32 saved = w.mask;
    w.mask = good;
    store_registers<Size>(w, in, p);
    w.mask = saved;
  } else {
    load_registers<Size>(w, in, p);
  }
}

// 32 adjacent elements in one window.
template <int Size, bool Write, bool Checked> bool adjacent(Warp& w, const Inst& in, const Addresses& a) {
  const u64 total = static_cast<u64>(Size * in.width), all = total * kLanes;
  const Window* window = window_of(*w.block, a.at[0]);
  const u64 offset = a.at[0] & kWindowMask;
  if (window == nullptr || offset + all > window->bytes || (offset & (total - 1)) != 0) return false;
  if (Write && window->writable == 0) return false;
  if (Checked) {
    if ((in.flags & kStrong) != 0) return false;
    if (!Write && window->init != nullptr && !all_initialised(window->init, offset, all)) return false;
    if (window->race != nullptr) {
      const int shift = w.block->granule_shift_global, lane_shift = log2_of(static_cast<u32>(total)) - shift;
      if (lane_shift < 0 || !touch_range<Write, u64>(w, global_horizon(w), window->race + (offset >> shift), lane_shift)) return false;
    }
    if (Write && window->init != nullptr) set_initialised(window->init, offset, all);
  }
  if (w.counting) count_request(w, in, touch_sectors(*window, offset, all, Write), all);
  u8* host = window->host + offset;
  using T = typename SizedInteger<Size>::type;
  const bool wide = Size == 8 || (in.flags & kWideRegister) != 0;
  if (Size >= 4 && (Size == 8 || !wide)) {
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
    return true;
  }
  u8* p[kLanes];
  for (int i = 0; i < kLanes; ++i) p[i] = host + static_cast<u64>(i) * total;
  if (Write) store_registers<Size>(w, in, p);
  else load_registers<Size>(w, in, p);
  return true;
}

template <int Size, bool Write, bool Checked, bool Generic> void access(Warp& w, const Inst& in) {
  Addresses a;
  addresses(w, in, a);
  if (Generic) {
    // Lanes may point to different spaces: each space takes its lanes.
    u32 shared = 0, local = 0, param = 0;
    const u64 window = a.at[first_lane(w.mask)] >> kWindowShift;
    const u32 same = collect([&](int i) { return a.at[i] >> kWindowShift == window; });
    if (window < kFirstWindow || (same & w.mask) != w.mask) {
      shared = collect([&](int i) { return a.at[i] >> kWindowShift == 1; }) & w.mask;
      local = collect([&](int i) { return a.at[i] >> kWindowShift == 2; }) & w.mask;
      param = collect([&](int i) { return a.at[i] >> kWindowShift == 3; }) & w.mask;
    }
    if ((shared | local | param) != 0) {
      const u32 all = w.mask;
      Addresses inner;
      for (int i = 0; i < kLanes; ++i) inner.at[i] = a.at[i] & kWindowMask;
      w.mask = shared;
      if (shared != 0) access_shared<Size, Write, Checked>(w, in, inner);
      w.mask = local;
      if (local != 0) access_local<Size, Write, Checked>(w, in, inner);
      w.mask = param;
      if (param != 0) access_parameters<Size, Write>(w, in, inner);
      w.mask = all & ~(shared | local | param);
      if (w.mask != 0) scattered<Size, Write, Checked>(w, in, a);
      w.mask = all;
      return;
    }
  }
  const u64 total = static_cast<u64>(Size * in.width);
  if (w.mask == kAllLanes && is_contiguous(a, total) && adjacent<Size, Write, Checked>(w, in, a)) return;
  scattered<Size, Write, Checked>(w, in, a);
}

template <int Size, bool Write> Handler pick(const Form& form) {
  if (form.space == Space::generic) return form.checked ? &access<Size, Write, true, true> : &access<Size, Write, false, true>;
  return form.checked ? &access<Size, Write, true, false> : &access<Size, Write, false, false>;
}

}  // namespace

alignas(64) const u8 kZeros[64] = {};

Handler select_global(const Form& form, int size, bool write) {
  switch (size) {
    case 1: return write ? pick<1, true>(form) : pick<1, false>(form);
    case 2: return write ? pick<2, true>(form) : pick<2, false>(form);
    case 4: return write ? pick<4, true>(form) : pick<4, false>(form);
    case 8: return write ? pick<8, true>(form) : pick<8, false>(form);
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
