// The table of element types.
#include "runtime/plan/dtype.h"

#include <array>

#include "runtime/support/checked.h"

namespace mcc::runtime {

namespace {

// In the order of mcc_dtype, which dtype_row relies on.
constexpr std::array<DTypeRow, 24> kRows{{
    {MCC_F64, "f64", 64},
    {MCC_F32, "f32", 32},
    {MCC_F16, "f16", 16},
    {MCC_BF16, "bf16", 16},
    {MCC_F8E4M3FN, "f8e4m3fn", 8},
    {MCC_F8E4M3FNUZ, "f8e4m3fnuz", 8},
    {MCC_F8E5M2, "f8e5m2", 8},
    {MCC_F8E5M2FNUZ, "f8e5m2fnuz", 8},
    {MCC_F4E2M1, "f4e2m1", 4},
    {MCC_I64, "i64", 64},
    {MCC_I32, "i32", 32},
    {MCC_I16, "i16", 16},
    {MCC_I8, "i8", 8},
    {MCC_I4, "i4", 4},
    {MCC_I2, "i2", 2},
    {MCC_U64, "u64", 64},
    {MCC_U32, "u32", 32},
    {MCC_U16, "u16", 16},
    {MCC_U8, "u8", 8},
    {MCC_U4, "u4", 4},
    {MCC_U2, "u2", 2},
    {MCC_BOOL, "bool", 8},
    {MCC_C64, "c64", 64},
    {MCC_C128, "c128", 128},
}};

}  // namespace

std::optional<DTypeRow> find_dtype(std::string_view name) {
  for (const DTypeRow& row : kRows) {
    if (row.name == name) return row;
  }
  return std::nullopt;
}

const DTypeRow& dtype_row(mcc_dtype code) {
  const auto index = static_cast<size_t>(code);
  if (index >= kRows.size()) fail_usage("unknown element type " + std::to_string(index));
  return kRows[index];
}

int64_t dtype_bytes(mcc_dtype code, int64_t elements) {
  return checked_add(checked_multiply(elements, dtype_row(code).bits), 7) / 8;
}

}  // namespace mcc::runtime
