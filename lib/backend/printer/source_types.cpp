// Spellings of types and conversions in generated code.
#include "lib/backend/printer/source_types.h"

#include "lib/backend/loop_ir.h"
#include "lib/support/error.h"

namespace mcc::backend {

const char* source_type(DType storage) {
  switch (storage) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::f16:
    case DType::bf16:
    case DType::u16: return "mcc_u16";
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::u8:
    case DType::boolean: return "mcc_u8";
    case DType::i8: return "mcc_i8";
    case DType::i16: return "mcc_i16";
    case DType::i32: return "mcc_i32";
    case DType::u32: return "mcc_u32";
    case DType::i64: return "mcc_i64";
    case DType::u64: return "mcc_u64";
    default:
      throw ModelError("kernels cannot compute with elements of type " + std::string(dtype_info(storage).name));
  }
}

std::string source_storage_vector_type(DType storage, int lanes) {
  return "mcc_vector<" + std::string(source_type(storage)) + ", " + std::to_string(lanes) + ">";
}

std::string source_vector_type(DType dtype, int lanes) {
  return source_storage_vector_type(dtype == DType::boolean ? DType::i32 : dtype, lanes);
}

std::string source_splat(const std::string& scalar, DType dtype, int lanes) {
  const std::string element = dtype == DType::boolean ? "-(mcc_i32)(" + scalar + ")" : scalar;
  return "mcc_splat<" + source_vector_type(dtype, lanes) + ">(" + element + ")";
}

std::string source_vector_from_storage(const std::string& elements, DType storage, int lanes) {
  if (storage == DType::boolean) {
    return "mcc_convert<" + source_vector_type(storage, lanes) + ">(" + elements + " != 0)";
  }
  if (compute_type(storage) == storage) return elements;
  return "mcc_" + std::string(dtype_info(storage).name) + "_to_f32(" + elements + ")";
}

std::string source_vector_to_storage(const std::string& value, DType from, DType storage, int lanes) {
  if (storage == DType::boolean) {
    return "mcc_convert<" + source_storage_vector_type(storage, lanes) + ">(-" +
           source_vector_cast(value, from, storage, lanes) + ")";
  }
  if (compute_type(storage) == storage) return source_vector_cast(value, from, storage, lanes);
  return "mcc_f32_to_" + std::string(dtype_info(storage).name) + "(" +
         source_vector_cast(value, from, DType::f32, lanes) + ")";
}

std::string source_vector_cast(const std::string& value, DType from, DType to, int lanes) {
  if (from == to) return value;
  const std::string type = source_vector_type(to, lanes);
  if (to == DType::boolean) {
    const std::string zero = source_vector_type(from, lanes) + "{}";
    return "mcc_convert<" + type + ">(" + value + " != " + zero + ")";
  }
  if (compute_type(to) != to) {
    return source_vector_from_storage(source_vector_to_storage(value, from, to, lanes), to, lanes);
  }
  if (from == DType::boolean) return "mcc_convert<" + type + ">(-" + value + ")";
  const char* function = is_floating(from) && is_integer(to) ? "mcc_truncate<" : "mcc_convert<";
  return function + type + ">(" + value + ")";
}

std::string source_from_storage(const std::string& element, DType storage) {
  if (storage == DType::boolean) return "(" + element + " != 0)";
  if (compute_type(storage) == storage) return element;
  return "mcc_" + std::string(dtype_info(storage).name) + "_to_f32(" + element + ")";
}

std::string source_to_storage(const std::string& value, DType from, DType storage) {
  if (compute_type(storage) != storage) {
    const std::string wide = from == DType::f32 ? value : "(float)(" + value + ")";
    return "mcc_f32_to_" + std::string(dtype_info(storage).name) + "(" + wide + ")";
  }
  return from == storage && storage != DType::boolean ? value : source_cast(value, from, storage);
}

std::string source_cast(const std::string& value, DType from, DType to) {
  if (from == to) return value;
  if (to == DType::boolean) return "(" + value + " != 0)";
  if (compute_type(to) != to) {
    // A cast to a narrow float rounds to it: values stay in f32 afterwards.
    return source_from_storage(source_to_storage(value, from, to), to);
  }
  const std::string type = source_type(to);
  if (is_floating(from) && is_integer(to)) return "mcc_truncate<" + type + ">(" + value + ")";
  return "(" + type + ")(" + value + ")";
}

}  // namespace mcc::backend
