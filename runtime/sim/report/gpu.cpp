// The tables behind occupancy and the roofline estimate (Williams, Waterman and Patterson,
// "Roofline", 2009).
#include "runtime/sim/report/gpu.h"

#include <algorithm>

namespace mcc::sim {
namespace {

constexpr Limits kLimits[] = {
    //arch threads  shared/block  shared/SM  threads/SM blocks/SM
    {75, 1024, 65536, 65536, 1024, 16, 65536, 65536},
    {80, 1024, 166912, 167936, 2048, 32, 65536, 65536},
    {86, 1024, 101376, 102400, 1536, 16, 65536, 65536},
    {87, 1024, 166912, 167936, 1536, 16, 65536, 65536},
    {89, 1024, 101376, 102400, 1536, 24, 65536, 65536},
    {90, 1024, 232448, 233472, 2048, 32, 65536, 65536},
    {100, 1024, 232448, 233472, 2048, 32, 65536, 65536},
    {103, 1024, 232448, 233472, 2048, 32, 65536, 65536},
    {110, 1024, 232448, 233472, 1536, 24, 65536, 65536},
    {120, 1024, 101376, 102400, 1536, 24, 65536, 65536},
};

constexpr Gpu kGpus[] = {
    {"a100", 80, 108, 1.41, 1555, 19.5, 9.7, 312, "NVIDIA A100 40GB SXM data sheet, 2021"},
    {"l4", 89, 58, 2.04, 300, 30.3, 0.47, 121, "NVIDIA L4 data sheet, 2023 (half of the sparse figure)"},
    {"rtx4090", 89, 128, 2.52, 1008, 82.6, 1.29, 165.2, "NVIDIA Ada GPU Architecture whitepaper, 2022 (f32 accumulation)"},
    {"h100", 90, 132, 1.98, 3350, 67, 34, 989, "NVIDIA H100 SXM5 data sheet, 2023 (half of the sparse figure)"},
    {"h200", 90, 132, 1.98, 4800, 67, 34, 989, "NVIDIA H200 data sheet, 2024 (half of the sparse figure)"},
    {"b200", 100, 148, 1.965, 8000, 80, 40, 2250, "NVIDIA DGX B200 data sheet, 2024 (per GPU, half of the sparse figure)"},
};

}  // namespace

Limits limits_of(int architecture) {
  Limits best = kLimits[0];
  for (const Limits& row : kLimits) {
    if (row.architecture <= architecture) best = row;
  }
  return best;
}

std::span<const Gpu> gpus() { return kGpus; }

const Gpu* find_gpu(std::string_view name) {
  for (const Gpu& gpu : kGpus) {
    if (gpu.name == name) return &gpu;
  }
  return nullptr;
}

Occupancy occupancy(int architecture, int threads_per_block, int registers_per_thread, int64_t shared_bytes) {
  const Limits limits = limits_of(architecture);
  const int warps = (threads_per_block + 31) / 32;
  // Registers are given out per warp in units of 256; a block reserves 1 KB of shared memory
  // for the system since compute capability 8.0.
  const int per_warp = (std::max(1, registers_per_thread) * 32 + 255) / 256 * 256;
  const int64_t reserved = architecture >= 80 ? 1024 : 0;
  const int by_threads = static_cast<int>(limits.threads_per_sm) / (warps * 32);
  const int by_registers = static_cast<int>(limits.registers_per_sm) / (per_warp * warps);
  const int by_shared = static_cast<int>(static_cast<int64_t>(limits.shared_per_sm) / std::max<int64_t>(1, shared_bytes + reserved));
  Occupancy result;
  result.blocks_per_sm = std::min({by_threads, by_registers, by_shared, static_cast<int>(limits.blocks_per_sm)});
  result.warps_per_sm = result.blocks_per_sm * warps;
  result.fraction = static_cast<double>(result.warps_per_sm) * 32 / limits.threads_per_sm;
  result.limited_by = result.blocks_per_sm == by_threads     ? "threads"
                      : result.blocks_per_sm == by_registers ? "registers"
                      : result.blocks_per_sm == by_shared    ? "shared memory"
                                                             : "blocks";
  return result;
}

Roofline roofline(const Gpu& gpu, const Counters& c, uint64_t blocks, const Occupancy& occupancy) {
  Roofline r;
  // A grid smaller than the machine leaves SMs idle; the last wave counts whole.
  const double used = std::min<double>(static_cast<double>(blocks), gpu.sms) / gpu.sms;
  const double per_wave = static_cast<double>(gpu.sms) * std::max(1, occupancy.blocks_per_sm);
  const double waves = static_cast<double>(blocks) / per_wave;
  const double tail = waves <= 1 ? 1 : static_cast<double>(static_cast<uint64_t>(waves + 0.999999)) / waves;
  const double compute = std::max(used, 1e-9);
  const double cycles_per_us = gpu.clock_ghz * 1e3;
  const double unique = static_cast<double>(c.unique_read_bytes + c.unique_write_bytes);
  const double moved = 32.0 * static_cast<double>(c.global_load_sectors + c.global_store_sectors + c.atomic_sectors);
  r.memory_us = unique / (gpu.memory_gb_s * 1e3);
  // L2 bandwidth is not on data sheets; 64 bytes per SM and cycle is what the L1 can take in.
  r.l2_us = moved / (64.0 * gpu.sms * cycles_per_us * compute);
  r.issue_us = static_cast<double>(c.warp_instructions) * tail / (4.0 * gpu.sms * cycles_per_us * compute);
  r.fp32_us = static_cast<double>(c.flops_fp32 + c.flops_fp16) * tail / (gpu.fp32_tflops * 1e6 * compute) +
              static_cast<double>(c.flops_fp64) * tail / (gpu.fp64_tflops * 1e6 * compute);
  r.tensor_us = static_cast<double>(c.flops_matrix) * tail / (gpu.tensor_f16_tflops * 1e6 * compute);
  r.shared_us = static_cast<double>(c.shared_load_passes + c.shared_store_passes) * tail / (gpu.sms * cycles_per_us * compute);
  struct Row { double us; std::string_view name; };
  const Row rows[] = {{r.memory_us, "memory"}, {r.l2_us, "cache"}, {r.issue_us, "instructions"}, {r.fp32_us, "arithmetic"}, {r.tensor_us, "tensor cores"}, {r.shared_us, "shared memory"}};
  const Row* most = std::max_element(std::begin(rows), std::end(rows), [](const Row& a, const Row& b) { return a.us < b.us; });
  r.bound = most->name;
  r.total_us = most->us + 2.0;
  r.intensity = unique > 0 ? static_cast<double>(c.flops_fp32 + c.flops_fp64 + c.flops_fp16 + c.flops_matrix) / unique : 0;
  return r;
}

}  // namespace mcc::sim
