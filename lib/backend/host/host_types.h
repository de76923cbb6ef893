// Spellings of types and conversions in generated host code; prelude_host.h defines the names.
#pragma once

#include <string>

#include "lib/ir/dtype.h"

namespace mcc::backend {

// The C++ type of one stored element: float, mcc_f16 storage as unsigned short, bool as
// unsigned char.
const char* host_type(DType storage);
// The vector type of a compute type: "mcc_f32x16".
std::string host_vector_type(DType dtype, int lanes);
std::string host_splat(const std::string& scalar, DType dtype, int lanes);
// A stored element as a value of its compute type, and back.
std::string host_from_storage(const std::string& element, DType storage);
std::string host_to_storage(const std::string& value, DType from, DType storage);
// A conversion between compute types, as ONNX Cast does it.
std::string host_cast(const std::string& value, DType from, DType to);

}  // namespace mcc::backend
