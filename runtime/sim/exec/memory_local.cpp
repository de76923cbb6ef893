// Local memory, kernel parameters, and the .param variables of device functions.
//
// Local memory and function parameters are stored word by word with the lanes side by side, as the
// hardware interleaves them; element (word, lane) is at index word * 32 + lane.
#include "runtime/sim/exec/memory.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

// Reads or writes Size bytes at byte `at` of a lane's column.
template <int Size> MCC_SIM_INLINE u64 read_column(const u32* words, u64 at, int lane) {
  const u32* p = words + (at >> 2) * kLanes + static_cast<u64>(lane);
  if (Size == 8) return static_cast<u64>(p[kLanes]) << 32 | p[0];
  const u32 shifted = p[0] >> (8 * (at & 3u));
  return Size == 4 ? p[0] : Size == 2 ? shifted & 0xffffu : shifted & 0xffu;
}
template <int Size> MCC_SIM_INLINE void write_column(u32* words, u64 at, int lane, u64 value) {
  u32* p = words + (at >> 2) * kLanes + static_cast<u64>(lane);
  if (Size >= 4) {
    p[0] = static_cast<u32>(value);
    if (Size == 8) p[kLanes] = static_cast<u32>(value >> 32);
    return;
  }
  const u32 shift = 8 * (at & 3u), mask = (Size == 2 ? 0xffffu : 0xffu) << shift;
  p[0] = (p[0] & ~mask) | ((static_cast<u32>(value) << shift) & mask);
}
template <int Size> void put(Warp& w, const Inst& in, i32 to, int lane, u64 value) {
  using S = typename SizedInteger<Size>::sign;
  const bool sign = (in.flags & kSignExtend) != 0;
  const u64 x = sign ? static_cast<u64>(static_cast<i64>(static_cast<S>(value))) : value;
  if (Size == 8 || (in.flags & kWideRegister) != 0) result<u64>(w, to)[lane] = x;
  else result<u32>(w, to)[lane] = static_cast<u32>(x);
}

template <int Size, bool Write, bool Checked> void access(Warp& w, const Inst& in) {
  Addresses a;
  addresses(w, in, a);
  if ((in.flags & kFrameRelative) != 0) {
    for (u64& at : a.at) at += w.local_base;
  }
  access_local<Size, Write, Checked>(w, in, a);
}

template <int Size, bool Write> void kernel_parameter(Warp& w, const Inst& in) {
  Addresses a;
  addresses(w, in, a);
  access_parameters<Size, Write>(w, in, a);
}
// The usual case: a constant offset, so all lanes get one value.
template <int Size> void kernel_parameter_at(Warp& w, const Inst& in) {
  const u8* from = w.block->params + in.imm;
  const u8* p[kLanes];
  for (const u8*& pointer : p) pointer = from;
  load_registers<Size>(w, in, p);
}

// in.imm: byte offset in the frame's parameter words
template <int Size, bool Write> void frame_parameter(Warp& w, const Inst& in) {
  u32* words = w.params + static_cast<u64>(w.params_base) * kLanes;
  for (int v = 0; v < in.width; ++v) {
    const i32 operand = element(in, v);
    if (!Write && operand == kConstantBit) continue;
    const u64 at = static_cast<u64>(in.imm) + static_cast<u64>(v * Size);
    for (u32 m = w.mask; m != 0; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      if (Write) write_column<Size>(words, at, lane, register_value<Size>(w, in, operand, lane));
      else put<Size>(w, in, operand, lane, read_column<Size>(words, at, lane));
    }
  }
}

template <int Size, bool Write> Handler pick_local(const Form& form) {
  return form.checked ? &access<Size, Write, true> : &access<Size, Write, false>;
}

}  // namespace

template <int Size, bool Write, bool Checked> void access_local(Warp& w, const Inst& in, const Addresses& a) {
  const u64 total = static_cast<u64>(Size * in.width), bytes = static_cast<u64>(w.local_words) * 4;
  u32 good = 0;
  for (u32 m = w.mask; m != 0; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    const Access where{Space::local, a.at[lane], static_cast<int>(total), Write};
    if (a.at[lane] + total > bytes || a.at[lane] > bytes) {
      report_access(w, in, lane, FindingKind::out_of_bounds, where);
    } else if ((a.at[lane] & (total - 1)) != 0) {
      report_access(w, in, lane, FindingKind::misaligned, where);
    } else {
      good |= u32{1} << lane;
    }
  }
  if (w.counting) count_request(w, in, total * static_cast<u64>(__builtin_popcount(good)) / 32 + 1, total * static_cast<u64>(__builtin_popcount(good)));
  for (u32 m = good; Checked && m != 0; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    bool fresh = false;
    for (u64 at = a.at[lane]; at < a.at[lane] + total; at = (at | 3u) + 1) {
      const u64 end = a.at[lane] + total < (at | 3u) + 1 ? a.at[lane] + total : (at | 3u) + 1;
      const u8 part = static_cast<u8>(((1u << (end - at)) - 1u) << (at & 3u));
      u8& init = w.local_init[(at >> 2) * kLanes + static_cast<u64>(lane)];
      if (Write) init = static_cast<u8>(init | part);
      else fresh = fresh || (init & part) != part;
    }
    if (fresh) report_access(w, in, lane, FindingKind::uninitialised_read, {Space::local, a.at[lane], static_cast<int>(total), false});
  }
  const bool same = good == kAllLanes && is_uniform(a, good);
  for (int v = 0; v < in.width; ++v) {
    const i32 operand = element(in, v);
    if (!Write && operand == kConstantBit) continue;
    if (same && Size == 4 && (in.flags & kWideRegister) == 0) {
      u32* row = w.local + ((a.at[0] >> 2) + static_cast<u64>(v)) * kLanes;
      if (Write) __builtin_memcpy(row, source(w, operand), 4 * kLanes);
      else __builtin_memcpy(w.registers + operand, row, 4 * kLanes);
      continue;
    }
    for (u32 m = good; m != 0; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      const u64 at = a.at[lane] + static_cast<u64>(v * Size);
      if (Write) write_column<Size>(w.local, at, lane, register_value<Size>(w, in, operand, lane));
      else put<Size>(w, in, operand, lane, read_column<Size>(w.local, at, lane));
    }
  }
}

template <int Size, bool Write> void access_parameters(Warp& w, const Inst& in, const Addresses& a) {
  const u64 total = static_cast<u64>(Size * in.width);
  const u8* p[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    p[i] = kZeros;
    if (((w.mask >> i) & 1u) == 0) continue;
    const u64 at = a.at[i] & kWindowMask;
    if (Write || at + total > w.block->param_bytes) {
      report_access(w, in, i, Write ? FindingKind::read_only_write : FindingKind::out_of_bounds, {Space::param, at, static_cast<int>(total), Write});
    } else {
      p[i] = w.block->params + at;
    }
  }
  if (!Write) load_registers<Size>(w, in, p);
}

#define INSTANTIATE(SIZE)                                                                   \
  template void access_local<SIZE, false, false>(Warp&, const Inst&, const Addresses&);     \
  template void access_local<SIZE, false, true>(Warp&, const Inst&, const Addresses&);      \
  template void access_local<SIZE, true, false>(Warp&, const Inst&, const Addresses&);      \
  template void access_local<SIZE, true, true>(Warp&, const Inst&, const Addresses&);       \
  template void access_parameters<SIZE, false>(Warp&, const Inst&, const Addresses&);       \
  template void access_parameters<SIZE, true>(Warp&, const Inst&, const Addresses&);
INSTANTIATE(1) INSTANTIATE(2) INSTANTIATE(4) INSTANTIATE(8)
#undef INSTANTIATE

Handler select_local(const Form& form, int size, bool write) {
  switch (size) {
    case 1: return write ? pick_local<1, true>(form) : pick_local<1, false>(form);
    case 2: return write ? pick_local<2, true>(form) : pick_local<2, false>(form);
    case 4: return write ? pick_local<4, true>(form) : pick_local<4, false>(form);
    case 8: return write ? pick_local<8, true>(form) : pick_local<8, false>(form);
    default: return nullptr;
  }
}
// form.mode: "frame" for .param of device functions, "fixed" for a kernel parameter at a constant
// offset, "" for one at a computed offset
Handler select_parameter(const Form& form, int size, bool write) {
#define ROW(SIZE)                                                                                           \
  case SIZE:                                                                                                \
    if (form.mode == "frame") return write ? &frame_parameter<SIZE, true> : &frame_parameter<SIZE, false>;  \
    if (form.mode == "fixed" && !write) return &kernel_parameter_at<SIZE>;                                  \
    return write ? &kernel_parameter<SIZE, true> : &kernel_parameter<SIZE, false>;
  switch (size) {
    ROW(1) ROW(2) ROW(4) ROW(8)
    default: return nullptr;
  }
#undef ROW
}

Handler select_memory(const Form& form) {
  if (form.op != Op::ld && form.op != Op::st) return nullptr;
  const bool write = form.op == Op::st;
  // .b128 moves as two 64-bit elements.
  const int size = size_of(form.type) == 16 ? 8 : size_of(form.type);
  switch (form.space) {
    case Space::shared: return select_shared(form, size, write);
    case Space::local: return select_local(form, size, write);
    case Space::param: return select_parameter(form, size, write);
    case Space::constant: return write ? nullptr : select_global(form, size, write);
    default: return select_global(form, size, write);
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
