// GPUs by name: peak rates for the roofline estimate, and limits by architecture.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/sim/sim.h"

namespace mcc::sim {

// Limits of a compute capability (CUDA C++ Programming Guide, table "Technical Specifications per
// Compute Capability").
struct Limits {
  int architecture = 80;
  uint32_t threads_per_block = 1024;
  uint32_t shared_per_block = 0;   // bytes, with opt-in
  uint32_t shared_per_sm = 0;
  uint32_t threads_per_sm = 0;
  uint32_t blocks_per_sm = 0;
  uint32_t registers_per_block = 65536;
  uint32_t registers_per_sm = 65536;
};
// The nearest known architecture at or below the given one.
Limits limits_of(int architecture);

// Peak rates of a product, dense, at boost clock, from its public data sheet.
struct Gpu {
  std::string_view name;
  int architecture = 80;
  int sms = 0;
  double clock_ghz = 0;
  double memory_gb_s = 0;
  double fp32_tflops = 0;
  double fp64_tflops = 0;
  double tensor_f16_tflops = 0;
  std::string_view source;
};
std::span<const Gpu> gpus();
const Gpu* find_gpu(std::string_view name);  // null when unknown

struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  double fraction = 0;             // of the warps that an SM can hold
  std::string_view limited_by;     // "registers", "shared memory", "threads", "blocks"
};
Occupancy occupancy(int architecture, int threads_per_block, int registers_per_thread, int64_t shared_bytes);

// Lower bound of the kernel's time by the busiest resource; an estimate, never a measurement.
struct Roofline {
  double memory_us = 0;      // unique bytes over memory bandwidth
  double issue_us = 0;       // warp instructions over four schedulers per SM
  double fp32_us = 0;
  double tensor_us = 0;
  double shared_us = 0;      // passes over the banks, one a cycle and SM
  double l2_us = 0;          // sectors moved, at 64 bytes per cycle and SM
  double total_us = 0;       // the largest, plus the launch overhead of 2 us
  std::string_view bound;    // which one it is
  double intensity = 0;      // flops per unique byte
};
Roofline roofline(const Gpu& gpu, const Counters& counters, uint64_t blocks, const Occupancy& occupancy);

}  // namespace mcc::sim
