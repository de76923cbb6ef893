// Addresses of a warp's memory instruction, resolved to host memory, with bounds, alignment,
// initialisation and race checks, and sector counts.
//
// Invariants: after resolution every lane has a host pointer that can be read (or written) for the
// access's size; lanes that are off or failed a check point to a scratch page, so the copying loops
// need no masks. in.width is the number of elements, in.imm the byte offset.
#pragma once

#include "runtime/sim/exec/race.h"

namespace mcc::sim::MCC_SIM_ISA {

// in.flags of loads and stores
constexpr u32 kWideRegister = 1;   // 64-bit lanes
constexpr u32 kSignExtend = 2;
constexpr u32 kFrameRelative = 4;  // the address is a local variable of the frame
constexpr u32 kStrong = 8;         // volatile, relaxed, acquire, release
constexpr u32 kAddress32 = 16;
// in.flags2: Order of the operation

struct Addresses {
  alignas(64) u64 at[kLanes];
};

extern const u8 kZeros[64];

MCC_SIM_INLINE void addresses(const Warp& w, const Inst& in, Addresses& out) {
  const u64 offset = static_cast<u64>(in.imm);
  if ((in.flags & kAddress32) != 0) {
    const u32* a = lanes<u32>(w, in.a);
    MCC_SIM_LANES
    for (int i = 0; i < kLanes; ++i) out.at[i] = static_cast<u32>(a[i] + static_cast<u32>(offset));
  } else {
    const u64* a = lanes<u64>(w, in.a);
    MCC_SIM_LANES
    for (int i = 0; i < kLanes; ++i) out.at[i] = a[i] + offset;
  }
}
MCC_SIM_INLINE int first_lane(u32 mask) { return __builtin_ctz(mask); }

MCC_SIM_INLINE bool is_contiguous(const Addresses& a, u64 stride) {
  const u64 base = a.at[0];
  u64 wrong = 0;
  MCC_SIM_LANES
  for (int i = 0; i < kLanes; ++i) wrong |= a.at[i] ^ (base + static_cast<u64>(i) * stride);
  return wrong == 0;
}
MCC_SIM_INLINE bool is_uniform(const Addresses& a, u32 mask) {
  const u64 base = a.at[first_lane(mask)];
  u64 wrong = 0;
  MCC_SIM_LANES
  for (int i = 0; i < kLanes; ++i) wrong |= ((mask >> i) & 1u) != 0 ? a.at[i] ^ base : 0u;
  return wrong == 0;
}

MCC_SIM_INLINE void count_request(Warp& w, const Inst& in, u64 units, u64 bytes) {
  InstStats& s = w.stats[in.index];
  s.requests += 1;
  s.sectors += units;
  s.bytes += bytes;
}

// Distinct values of key[lane] over active lanes, for keys that mostly ascend.
MCC_SIM_INLINE u64 count_distinct(const u64* key, u32 mask) {
  u64 seen[kLanes];
  int n = 0;
  for (u32 m = mask; m != 0; m &= m - 1) {
    const u64 k = key[__builtin_ctz(m)];
    int at = n - 1;
    while (at >= 0 && seen[at] != k) --at;
    if (at < 0) seen[n++] = k;
  }
  return static_cast<u64>(n);
}

// Bytes [offset, offset + count) of the window are all initialised. One shadow byte per word.
MCC_SIM_INLINE bool all_initialised(const u8* init, u64 offset, u64 count) {
  const u64 first = offset >> 2, last = (offset + count - 1) >> 2;
  if (((offset | count) & 3u) == 0) {
    if (count == 4 * kLanes) {
      u32 wrong = 0;
      MCC_SIM_LANES
      for (int i = 0; i < kLanes; ++i) wrong |= static_cast<u32>(init[first + static_cast<u64>(i)] ^ 0x0fu);
      return wrong == 0;
    }
    u32 wrong = 0;
    for (u64 i = first; i <= last; ++i) wrong |= static_cast<u32>(init[i] ^ 0x0fu);
    return wrong == 0;
  }
  for (u64 i = first; i <= last; ++i) {
    u32 need = 0x0fu;
    if (i == first) need &= 0x0fu << (offset & 3u);
    if (i == last) need &= 0x0fu >> (3u - ((offset + count - 1) & 3u));
    if ((init[i] & need) != need || (init[i] & (need << 4)) != 0) return false;
  }
  return true;
}
MCC_SIM_INLINE void set_initialised(u8* init, u64 offset, u64 count) {
  const u64 first = offset >> 2, last = (offset + count - 1) >> 2;
  if (((offset | count) & 3u) == 0) {
    if (count == 4 * kLanes) {
      MCC_SIM_LANES
      for (int i = 0; i < kLanes; ++i) init[first + static_cast<u64>(i)] = 0x0f;
      return;
    }
    for (u64 i = first; i <= last; ++i) init[i] = 0x0f;
    return;
  }
  for (u64 i = first; i <= last; ++i) {
    u32 part = 0x0fu;
    if (i == first) part &= 0x0fu << (offset & 3u);
    if (i == last) part &= 0x0fu >> (3u - ((offset + count - 1) & 3u));
    // Neighbouring bytes may be written by a block on another host thread.
    if (part == 0x0fu) init[i] = 0x0f;
    else __atomic_fetch_or(&init[i], static_cast<u8>(part), __ATOMIC_RELAXED);
  }
}

MCC_SIM_INLINE const Window* window_of(const Block& block, u64 address) {
  const u64 index = address >> kWindowShift;
  if (index >= block.window_count) return nullptr;
  const Window* window = block.windows + index;
  return window->host == nullptr ? nullptr : window;
}

MCC_SIM_INLINE int log2_of(u32 n) { return 31 - __builtin_clz(n); }

// Marks the 32-byte sectors of [offset, offset + bytes) as touched in this launch.
MCC_SIM_INLINE u64 touch_sectors(const Window& window, u64 offset, u64 bytes, bool write) {
  const u64 first = (offset + window.sector_phase) >> 5, last = (offset + window.sector_phase + bytes - 1) >> 5;
  u8* sectors = write ? window.write_sectors : window.read_sectors;
  if (sectors != nullptr) {
    for (u64 i = first; i <= last; ++i) sectors[i] = 1;
  }
  return last - first + 1;
}

// Banks: 32 of 4 bytes. Wide accesses go in groups of lanes that move 128 bytes at a time. The
// number of passes is, over groups, the largest number of different words in one bank.
inline __attribute__((noinline)) u64 bank_passes(const u64* address, u32 mask, int bytes) {
  const int group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  u64 passes = 0;
  for (int from = 0; from < kLanes; from += group) {
    u32 words[kLanes][8];
    u8 count[kLanes] = {};
    u32 most = 0;
    for (int i = from; i < from + group; ++i) {
      if (((mask >> i) & 1u) == 0) continue;
      const int n = bytes <= 4 ? 1 : bytes / 4;
      for (int k = 0; k < n; ++k) {
        const u32 word = static_cast<u32>(address[i] >> 2) + static_cast<u32>(k), bank = word & 31u;
        u32 at = 0;
        const u32 have = count[bank] < 8 ? count[bank] : 8u;
        while (at < have && words[bank][at] != word) ++at;
        if (at < have) continue;
        if (count[bank] < 8) words[bank][count[bank]] = word;
        count[bank] = static_cast<u8>(count[bank] + 1);
        if (count[bank] > most) most = count[bank];
      }
    }
    passes += most;
  }
  return passes;
}

// Registers of a vector access.
MCC_SIM_INLINE i32 element(const Inst& in, int v) { return in.width == 1 ? in.dst : in.list[v]; }

template <int Size> struct SizedInteger;
template <> struct SizedInteger<1> { using type = u8; using sign = i8; };
template <> struct SizedInteger<2> { using type = u16; using sign = i16; };
template <> struct SizedInteger<4> { using type = u32; using sign = i32; };
template <> struct SizedInteger<8> { using type = u64; using sign = i64; };

template <int Size> MCC_SIM_INLINE typename SizedInteger<Size>::type read_memory(const u8* p) {
  typename SizedInteger<Size>::type x;
  __builtin_memcpy(&x, p, Size);
  return x;
}

// Loads element by element through one pointer per lane. Size 8 fills 64-bit lanes.
template <int Size> MCC_SIM_INLINE void load_registers(Warp& w, const Inst& in, const u8* const* p) {
  using T = typename SizedInteger<Size>::type;
  using S = typename SizedInteger<Size>::sign;
  for (int v = 0; v < in.width; ++v) {
    const i32 to = element(in, v);
    if (to == kConstantBit) continue;  // sink
    const int at = v * Size;
    if (Size == 8 || (in.flags & kWideRegister) != 0) {
      if ((in.flags & kSignExtend) != 0) fill<u64>(w, to, [=](int i) { return static_cast<u64>(static_cast<i64>(static_cast<S>(read_memory<Size>(p[i] + at)))); });
      else fill<u64>(w, to, [=](int i) { return static_cast<u64>(read_memory<Size>(p[i] + at)); });
    } else if (Size < 4 && (in.flags & kSignExtend) != 0) {
      fill<u32>(w, to, [=](int i) { return static_cast<u32>(static_cast<i32>(static_cast<S>(read_memory<Size>(p[i] + at)))); });
    } else {
      fill<u32>(w, to, [=](int i) { return static_cast<u32>(static_cast<T>(read_memory<Size>(p[i] + at))); });
    }
  }
}
template <int Size> MCC_SIM_INLINE typename SizedInteger<Size>::type register_value(const Warp& w, const Inst& in, i32 operand, int lane) {
  using T = typename SizedInteger<Size>::type;
  if (Size == 8 || (in.flags & kWideRegister) != 0) return static_cast<T>(lanes<u64>(w, operand)[lane]);
  return static_cast<T>(lanes<u32>(w, operand)[lane]);
}
template <int Size> MCC_SIM_INLINE void store_registers(const Warp& w, const Inst& in, u8* const* p) {
  for (int v = 0; v < in.width; ++v) {
    const i32 from = element(in, v);
    for (u32 m = w.mask; m != 0; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      const auto x = register_value<Size>(w, in, from, lane);
      __builtin_memcpy(p[lane] + v * Size, &x, Size);
    }
  }
}

// One place and one value for all lanes: whoever comes last, memory is the same.
template <int Size>
bool stores_one_value(const Warp& w, const Inst& in, const Addresses& a, u32 mask) {
  if (!is_uniform(a, mask)) return false;
  for (int v = 0; v < in.width; ++v) {
    const auto first = register_value<Size>(w, in, element(in, v), first_lane(mask));
    for (u32 m = mask & (mask - 1); m != 0; m &= m - 1) {
      if (register_value<Size>(w, in, element(in, v), first_lane(m)) != first) return false;
    }
  }
  return true;
}

}  // namespace mcc::sim::MCC_SIM_ISA
