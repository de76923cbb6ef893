// The table of element types.
#include "lib/ir/dtype.h"

#include <array>

namespace mcc {
namespace {

using K = DTypeKind;
constexpr std::array<DTypeInfo, 25> kTable{{
    {DType::f64, "f64", K::floating, 64},
    {DType::f32, "f32", K::floating, 32},
    {DType::f16, "f16", K::floating, 16},
    {DType::bf16, "bf16", K::floating, 16},
    {DType::f8e4m3fn, "f8e4m3fn", K::floating, 8},
    {DType::f8e4m3fnuz, "f8e4m3fnuz", K::floating, 8},
    {DType::f8e5m2, "f8e5m2", K::floating, 8},
    {DType::f8e5m2fnuz, "f8e5m2fnuz", K::floating, 8},
    {DType::f4e2m1, "f4e2m1", K::floating, 4},
    {DType::i64, "i64", K::signed_integer, 64},
    {DType::i32, "i32", K::signed_integer, 32},
    {DType::i16, "i16", K::signed_integer, 16},
    {DType::i8, "i8", K::signed_integer, 8},
    {DType::i4, "i4", K::signed_integer, 4},
    {DType::i2, "i2", K::signed_integer, 2},
    {DType::u64, "u64", K::unsigned_integer, 64},
    {DType::u32, "u32", K::unsigned_integer, 32},
    {DType::u16, "u16", K::unsigned_integer, 16},
    {DType::u8, "u8", K::unsigned_integer, 8},
    {DType::u4, "u4", K::unsigned_integer, 4},
    {DType::u2, "u2", K::unsigned_integer, 2},
    {DType::boolean, "bool", K::boolean, 8},
    {DType::c64, "c64", K::complex, 64},
    {DType::c128, "c128", K::complex, 128},
    {DType::string, "string", K::string, 0},
}};

}  // namespace

const DTypeInfo& dtype_info(DType dtype) { return kTable[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& row : kTable) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace mcc
