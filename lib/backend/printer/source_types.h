// Spellings of types and conversions in generated code; prelude_host.h and prelude.cu define
// the names alike.
#pragma once

#include <string>

#include "lib/ir/dtype.h"

namespace mcc::backend {

// The C++ type of one stored element: float, mcc_f16 storage as unsigned short, bool as
// unsigned char.
const char* source_type(DType storage);
// The vector of a compute type, "mcc_vector<float, 16>"; of bool: a mask of 32-bit lanes.
std::string source_vector_type(DType dtype, int lanes);
std::string source_splat(const std::string& scalar, DType dtype, int lanes);
// A stored element as a value of its compute type, and back.
std::string source_from_storage(const std::string& element, DType storage);
std::string source_to_storage(const std::string& value, DType from, DType storage);
// The vector of stored elements.
std::string source_storage_vector_type(DType storage, int lanes);
// The same conversions for vectors.
std::string source_vector_from_storage(const std::string& elements, DType storage, int lanes);
std::string source_vector_to_storage(const std::string& value, DType from, DType storage, int lanes);
std::string source_vector_cast(const std::string& value, DType from, DType to, int lanes);
// A conversion between compute types, as ONNX Cast does it.
std::string source_cast(const std::string& value, DType from, DType to);

}  // namespace mcc::backend
