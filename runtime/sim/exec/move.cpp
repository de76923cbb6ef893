// Moves: mov, special registers, packing and unpacking of vectors, address space conversion.
#include "runtime/sim/exec/lanes.h"

namespace mcc::sim::MCC_SIM_ISA {
namespace {

template <class T> void move(Warp& w, const Inst& in) {
  map1<T, T>(w, in, [](T a) { return a; });
}
void move_predicate(Warp& w, const Inst& in) {
  set_predicate(w, in.pdst, predicate(w, in.pa, (in.negate & 1) != 0));
}
void move_wide(Warp& w, const Inst& in) {  // .b128: two 64-bit planes
  for (int half = 0; half < 2; ++half) {
    const u64* a = lanes<u64>(w, in.a + 256 * half);
    fill<u64>(w, in.dst + 256 * half, [=](int i) { return a[i]; });
  }
}
// in.imm: index of the special register; in.flags: 1 the destination has 64 bits
void move_special(Warp& w, const Inst& in) {
  const u32* from = w.special + in.imm * kLanes;
  if (in.flags != 0) fill<u64>(w, in.dst, [=](int i) { return static_cast<u64>(from[i]); });
  else fill<u32>(w, in.dst, [=](int i) { return from[i]; });
}
// The address of a local variable: in.imm in the frame.
void move_frame_address(Warp& w, const Inst& in) {
  const u64 address = static_cast<u64>(in.imm) + w.local_base;
  if (in.flags != 0) fill<u64>(w, in.dst, [=](int) { return address; });
  else fill<u32>(w, in.dst, [=](int) { return static_cast<u32>(address); });
}
// Time that advances with the warp's instructions: deterministic, unlike a real clock.
void read_clock(Warp& w, const Inst& in) {
  const u64 now = w.executed;
  if (in.flags != 0) fill<u64>(w, in.dst, [=](int) { return now; });
  else fill<u32>(w, in.dst, [=](int) { return static_cast<u32>(now); });
}
void read_activemask(Warp& w, const Inst& in) {
  const u32 mask = w.mask;
  fill<u32>(w, in.dst, [=](int) { return mask; });
}

// mov.b64 d, {a, b}: in.width elements of in.flags bytes; in.flags2: bytes of the whole.
u64 element_value(const Warp& w, i32 operand, int bytes, int lane) {
  return bytes == 8 ? lanes<u64>(w, operand)[lane] : lanes<u32>(w, operand)[lane] & (bytes == 4 ? 0xffffffffu : bytes == 2 ? 0xffffu : 0xffu);
}
void pack_vector(Warp& w, const Inst& in) {
  const int bytes = in.flags;
  if (bytes == 4 && in.width == 2) {
    const u32* low = lanes<u32>(w, in.list[0]);
    const u32* high = lanes<u32>(w, in.list[1]);
    return fill<u64>(w, in.dst, [=](int i) { return static_cast<u64>(high[i]) << 32 | low[i]; });
  }
  if (bytes == 2 && in.width == 2) {
    const u32* low = lanes<u32>(w, in.list[0]);
    const u32* high = lanes<u32>(w, in.list[1]);
    return fill<u32>(w, in.dst, [=](int i) { return high[i] << 16 | (low[i] & 0xffffu); });
  }
  if (in.flags2 == 16) {
    for (int half = 0; half < 2; ++half) {
      alignas(64) u64 t[kLanes];
      const int count = 8 / bytes;
      for (int i = 0; i < kLanes; ++i) {
        t[i] = 0;
        for (int k = 0; k < count; ++k) t[i] |= element_value(w, in.list[half * count + k], bytes, i) << (8 * bytes * k);
      }
      fill<u64>(w, in.dst + 256 * half, [&](int i) { return t[i]; });
    }
    return;
  }
  alignas(64) u64 t[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    t[i] = 0;
    for (int k = 0; k < in.width; ++k) t[i] |= element_value(w, in.list[k], bytes, i) << (8 * bytes * k);
  }
  if (in.flags2 == 8) fill<u64>(w, in.dst, [&](int i) { return t[i]; });
  else fill<u32>(w, in.dst, [&](int i) { return static_cast<u32>(t[i]); });
}
void unpack_vector(Warp& w, const Inst& in) {
  const int bytes = in.flags;
  alignas(64) u64 t[2][kLanes];
  for (int i = 0; i < kLanes; ++i) {
    t[0][i] = in.flags2 >= 8 ? lanes<u64>(w, in.a)[i] : lanes<u32>(w, in.a)[i];
    t[1][i] = in.flags2 == 16 ? lanes<u64>(w, in.a + 256)[i] : 0;
  }
  for (int k = 0; k < in.width; ++k) {
    if (in.list[k] == kConstantBit) continue;
    const u64* from = t[k * bytes / 8];
    const int shift = 8 * (k * bytes % 8);
    if (bytes == 8) fill<u64>(w, in.list[k], [=](int i) { return from[i]; });
    else {
      const u32 mask = bytes == 4 ? 0xffffffffu : bytes == 2 ? 0xffffu : 0xffu;
      fill<u32>(w, in.list[k], [=](int i) { return static_cast<u32>(from[i] >> shift) & mask; });
    }
  }
}

// in.imm: what to add (modulo 2^64)
void convert_address(Warp& w, const Inst& in) {
  const auto delta = static_cast<u64>(in.imm);
  map1<u64, u64>(w, in, [=](u64 a) { return a + delta; });
}
// in.imm: window number, 0 for "any mapped global window"
void is_in_space(Warp& w, const Inst& in) {
  const u64* a = lanes<u64>(w, in.a);
  const auto window = static_cast<u64>(in.imm);
  set_predicate(w, in.pdst, collect([=](int i) {
    const u64 n = a[i] >> kWindowShift;
    return window == 0 ? n == 0 || n >= kFirstWindow : n == window;
  }));
}
void nothing(Warp&, const Inst&) {}

}  // namespace

Handler select_move(const Form& form) {
  switch (form.op) {
    case Op::mov:
      if (form.type == Type::pred) return &move_predicate;
      switch (size_of(form.type)) {
        case 1: case 2: case 4: return &move<u32>;
        case 8: return &move<u64>;
        case 16: return &move_wide;
        default: return nullptr;
      }
    case Op::mov_special: return form.mode == "frame" ? &move_frame_address : &move_special;
    case Op::mov_pack: return &pack_vector;
    case Op::mov_unpack: return &unpack_vector;
    case Op::cvta: return &convert_address;
    case Op::isspacep: return &is_in_space;
    case Op::clock: return &read_clock;
    case Op::activemask: return &read_activemask;
    case Op::mapa: return size_of(form.type) == 8 ? &move<u64> : &move<u32>;
    case Op::prefetch: case Op::nop: return &nothing;
    default: return nullptr;
  }
}

}  // namespace mcc::sim::MCC_SIM_ISA
