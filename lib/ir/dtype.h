// Element types: one table row per type, used by every layer.
// Invariant: names are those of the IR text form and of the plan manifest.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mcc {

enum class DType : uint8_t {
  f64, f32, f16, bf16,
  f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1,
  i64, i32, i16, i8, i4, i2,
  u64, u32, u16, u8, u4, u2,
  boolean, c64, c128, string,
};

enum class DTypeKind : uint8_t { floating, signed_integer, unsigned_integer, boolean, complex, string };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // "f32", "bool", ...
  DTypeKind kind;
  int bits;  // storage bits of one element; 4- and 2-bit types are packed, low bits first
};

// Never fails: every enumerator has a row.
const DTypeInfo& dtype_info(DType dtype);
// The type with this name, or nullopt.
std::optional<DType> dtype_from_name(std::string_view name);

inline bool is_floating(DType t) { return dtype_info(t).kind == DTypeKind::floating; }
inline bool is_integer(DType t) {
  return dtype_info(t).kind == DTypeKind::signed_integer ||
         dtype_info(t).kind == DTypeKind::unsigned_integer;
}
// Bytes that `count` packed elements take, rounded up to a whole byte.
inline int64_t dtype_bytes(DType t, int64_t count) { return (count * dtype_info(t).bits + 7) / 8; }

}  // namespace mcc
