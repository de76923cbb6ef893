// Names of PTX types.
#include "runtime/sim/core/types.h"

namespace mcc::sim {
namespace {

struct TypeName {
  std::string_view name;
  Type type;
};

constexpr TypeName kTypes[] = {
    {"pred", Type::pred}, {"b8", Type::b8}, {"b16", Type::b16}, {"b32", Type::b32}, {"b64", Type::b64},
    {"b128", Type::b128}, {"u4", Type::u4}, {"s4", Type::s4}, {"u8", Type::u8}, {"u16", Type::u16},
    {"u32", Type::u32}, {"u64", Type::u64}, {"s8", Type::s8}, {"s16", Type::s16}, {"s32", Type::s32},
    {"s64", Type::s64}, {"f16", Type::f16}, {"f16x2", Type::f16x2}, {"bf16", Type::bf16},
    {"bf16x2", Type::bf16x2}, {"tf32", Type::tf32}, {"f32", Type::f32}, {"f32x2", Type::f32x2},
    {"f64", Type::f64}, {"e4m3", Type::e4m3}, {"e5m2", Type::e5m2}, {"e4m3x2", Type::e4m3x2},
    {"e5m2x2", Type::e5m2x2},
};

}  // namespace

Type type_from_name(std::string_view name) {
  for (const TypeName& row : kTypes) {
    if (row.name == name) return row.type;
  }
  return Type::none;
}

const char* type_name(Type type) {
  for (const TypeName& row : kTypes) {
    if (row.type == type) return row.name.data();
  }
  return "none";
}

}  // namespace mcc::sim
