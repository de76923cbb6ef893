// Spellings of the manifest's enumerations, shared by its writer and its parser.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "runtime/plan/manifest.h"

namespace mcc::runtime {

template <typename T, size_t count>
struct NameTable {
  std::array<std::string_view, count> names;  // in the order of the enumerators

  constexpr std::string_view name(T value) const { return names[static_cast<size_t>(value)]; }
  std::optional<T> find(std::string_view text) const {
    for (size_t i = 0; i < count; ++i) {
      if (names[i] == text) return static_cast<T>(i);
    }
    return std::nullopt;
  }
};

constexpr NameTable<BufferKind, 5> kBufferKinds{{"input", "output", "weight", "arena", "alias"}};
constexpr NameTable<TargetKind, 3> kTargetKinds{{"host", "cubin", "ptx"}};

}  // namespace mcc::runtime
