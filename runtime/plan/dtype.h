// Element types as the plan names them (the same names as lib/ir/dtype.h): name, bits, and the
// code used in the C API.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/include/mcc.h"

namespace mcc::runtime {

struct DTypeRow {
  mcc_dtype code;
  std::string_view name;
  int bits;  // of one element; 4- and 2-bit elements are packed, low bits first
};

std::optional<DTypeRow> find_dtype(std::string_view name);
// Never fails for a value of the enumeration; Error(usage) otherwise.
const DTypeRow& dtype_row(mcc_dtype code);
// Bytes of `elements` elements (>= 0), rounded up; Error(usage) on overflow.
int64_t dtype_bytes(mcc_dtype code, int64_t elements);

}  // namespace mcc::runtime
