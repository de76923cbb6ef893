// PTX fundamental types and the modifiers of instructions, as the decoder and the executor see them.
//
// Invariant: every enumerator below is the meaning of exactly one PTX suffix; code never compares
// suffix strings after decoding.
#pragma once

#include <cstdint>
#include <string_view>

namespace mcc::sim {

enum class Type : uint8_t {
  none, pred, b8, b16, b32, b64, b128, u4, s4, u8, u16, u32, u64, s8, s16, s32, s64,
  f16, f16x2, bf16, bf16x2, tf32, f32, f32x2, f64, e4m3, e5m2, e4m3x2, e5m2x2,
};

// Bytes a value of the type occupies in memory; 0 for predicates and sub-byte types.
constexpr int size_of(Type type) {
  switch (type) {
    case Type::b8: case Type::u8: case Type::s8: case Type::e4m3: case Type::e5m2: return 1;
    case Type::b16: case Type::u16: case Type::s16: case Type::f16: case Type::bf16:
    case Type::e4m3x2: case Type::e5m2x2: return 2;
    case Type::b32: case Type::u32: case Type::s32: case Type::f32: case Type::f16x2:
    case Type::bf16x2: case Type::tf32: return 4;
    case Type::b64: case Type::u64: case Type::s64: case Type::f64: case Type::f32x2: return 8;
    case Type::b128: return 16;
    default: return 0;
  }
}

constexpr bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64 || type == Type::s4;
}
constexpr bool is_unsigned(Type type) {
  return type == Type::u8 || type == Type::u16 || type == Type::u32 || type == Type::u64 || type == Type::u4;
}
constexpr bool is_bits(Type type) {
  return type == Type::b8 || type == Type::b16 || type == Type::b32 || type == Type::b64 || type == Type::b128;
}
constexpr bool is_integer(Type type) { return is_signed(type) || is_unsigned(type); }
constexpr bool is_float(Type type) {
  return type == Type::f16 || type == Type::bf16 || type == Type::f32 || type == Type::f64 || type == Type::f16x2 ||
         type == Type::bf16x2 || type == Type::tf32 || type == Type::f32x2;
}

// Type::none when the text names no type.
Type type_from_name(std::string_view name);
const char* type_name(Type type);

enum class Space : uint8_t { generic, global, shared, local, param, constant };
enum class Rounding : uint8_t { none, rn, rz, rm, rp, rna, rs };
enum class Compare : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class Combine : uint8_t { none, and_, or_, xor_ };
// How much ordering a memory operation asks for; anything but weak counts as a strong operation
// in the PTX memory model, and strong operations do not race with each other.
enum class Order : uint8_t { weak, relaxed, acquire, release, acq_rel };

enum class AtomicOp : uint8_t { and_, or_, xor_, add, inc, dec, min, max, exch, cas };

}  // namespace mcc::sim
