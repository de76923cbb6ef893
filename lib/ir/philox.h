// The counter-based random numbers of the `random` operator.
// Philox4x32-10: J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
// Invariant: element i of a tensor depends on (seed, i) only, so every device and every schedule
// draws the same numbers; the preludes hold the same function.
#pragma once

#include <array>
#include <cstdint>

namespace mcc {

inline std::array<uint32_t, 4> philox(uint64_t seed, uint64_t index) {
  std::array<uint32_t, 4> counter{static_cast<uint32_t>(index),
                                  static_cast<uint32_t>(index >> 32), 0, 0};
  uint32_t key0 = static_cast<uint32_t>(seed);
  uint32_t key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key0,
               static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key1,
               static_cast<uint32_t>(first)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// The upper 24 bits as a number in [0, 1): exact in f32.
inline float unit_interval(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24F; }

}  // namespace mcc
