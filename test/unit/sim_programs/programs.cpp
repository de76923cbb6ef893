// The programs and what they must give, computed here by plain loops.
#include <cstring>

#include "test/unit/sim_programs/program.h"

namespace mcc::sim::test {
namespace {

// Pseudo-random numbers below 1000: sums stay exact, and neighbours differ.
std::vector<uint32_t> numbers(size_t count) {
  std::vector<uint32_t> values(count);
  uint32_t state = 12345;
  for (uint32_t& value : values) {
    state = state * 1664525 + 1013904223;
    value = (state >> 8) % 1000;
  }
  return values;
}

Program block_sum() {
  Program p{"block_sum", R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  __shared__ unsigned s[256];
  const unsigned t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (unsigned step = 128; step > 0; step /= 2) {
    if (t < step) s[t] += s[t + step];
    __syncthreads();
  }
  if (t == 37) out[blockIdx.x] = s[0];
})", {4}, {256}, numbers(1024), std::vector<uint32_t>(4)};
  for (size_t i = 0; i < p.input.size(); ++i) p.expected[i / 256] += p.input[i];
  return p;
}

Program block_scan() {
  Program p{"block_scan", R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  __shared__ unsigned s[128];
  const unsigned t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
#pragma unroll 1
  for (unsigned step = 1; step < 128; step *= 2) {
    const unsigned before = t >= step ? s[t - step] : 0;
    __syncthreads();
    s[t] += before;
    __syncthreads();
  }
  out[blockIdx.x * 128 + t] = s[127 - t];
})", {2}, {128}, numbers(256), std::vector<uint32_t>(256)};
  for (size_t block = 0; block < 2; ++block) {
    uint32_t sum = 0;
    for (size_t i = 0; i < 128; ++i) {
      sum += p.input[block * 128 + i];
      p.expected[block * 128 + 127 - i] = sum;
    }
  }
  return p;
}

Program transpose() {
  Program p{"transpose", R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[32][33];
  for (int j = threadIdx.y; j < 32; j += 8) tile[j][threadIdx.x] = in[(blockIdx.y * 32 + j) * 64 + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8) out[(blockIdx.x * 32 + j) * 64 + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][j];
})", {2, 2}, {32, 8}, numbers(4096), std::vector<uint32_t>(4096)};
  for (size_t i = 0; i < 64; ++i) {
    for (size_t j = 0; j < 64; ++j) p.expected[j * 64 + i] = p.input[i * 64 + j];
  }
  return p;
}

// in: two 32x32 matrices of integers.
Program matmul() {
  Program p{"matmul", R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  __shared__ unsigned a[16][16], b[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  unsigned sum = 0;
#pragma unroll 1
  for (int i = 0; i < 32; i += 16) {
    a[y][x] = in[row * 32 + i + x];
    b[y][x] = in[1024 + (i + y) * 32 + column];
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += a[y][j] * b[j][x];
    __syncthreads();
  }
  out[row * 32 + column] = sum;
})", {2, 2}, {16, 16}, numbers(2048), std::vector<uint32_t>(1024)};
  for (size_t i = 0; i < 32; ++i) {
    for (size_t j = 0; j < 32; ++j) {
      for (size_t n = 0; n < 32; ++n)
        p.expected[i * 32 + j] += p.input[i * 32 + n] * p.input[1024 + n * 32 + j];
    }
  }
  return p;
}

// Four chunks through two stages of shared memory; each thread reads what its neighbour copied.
Program pipeline() {
  Program p{"pipeline", R"(
__device__ void copy(unsigned* to, const unsigned* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)) : "memory");
}
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  __shared__ unsigned stage[2][64];
  const int t = threadIdx.x;
  copy(&stage[0][t], in + t);
  asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    if (i < 3) copy(&stage[(i + 1) % 2][t], in + (i + 1) * 64 + t);
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    out[i * 64 + t] = stage[i % 2][63 - t] + 1;
    __syncthreads();
  }
})", {1}, {64}, numbers(256), std::vector<uint32_t>(256)};
  for (size_t i = 0; i < 256; ++i) p.expected[i] = p.input[i / 64 * 64 + 63 - i % 64] + 1;
  return p;
}

Program histogram() {
  Program p{"histogram", R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  __shared__ unsigned bins[64];
  const int t = threadIdx.x;
  if (t < 64) bins[t] = 0;
  __syncthreads();
  for (int i = t; i < 512; i += 128) atomicAdd(&bins[in[i] % 64], 1u);
  __syncthreads();
  if (t < 64) out[t] = bins[63 - t];
})", {1}, {128}, numbers(512), std::vector<uint32_t>(64)};
  for (uint32_t value : p.input) ++p.expected[63 - value % 64];
  return p;
}

Program warp_maximum() {
  Program p{"warp_maximum", R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  __shared__ unsigned warps[8];
  const unsigned t = threadIdx.x;
  unsigned value = in[blockIdx.x * 256 + t];
  for (int step = 16; step > 0; step /= 2) value = max(value, __shfl_xor_sync(~0u, value, step));
  if (t % 32 == 0) warps[t / 32] = value;
  __syncthreads();
  if (t < 32) {
    value = t < 8 ? warps[t] : 0;
    for (int step = 4; step > 0; step /= 2) value = max(value, __shfl_down_sync(~0u, value, step));
    if (t == 0) out[blockIdx.x] = value;
  }
})", {3}, {256}, numbers(768), std::vector<uint32_t>(3)};
  for (size_t i = 0; i < p.input.size(); ++i)
    p.expected[i / 256] = std::max(p.expected[i / 256], p.input[i]);
  return p;
}

// Ring of 256 elements, each the weighted sum of itself and its neighbours.
Program stencil() {
  Program p{"stencil", R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  __shared__ unsigned s[66];
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t + 1] = in[i];
  if (t == 0) s[0] = in[(i + 255) % 256];
  if (t == 63) s[65] = in[(i + 1) % 256];
  __syncthreads();
  out[i] = s[t] + 3 * s[t + 1] + 7 * s[t + 2];
})", {4}, {64}, numbers(256), std::vector<uint32_t>(256)};
  for (size_t i = 0; i < 256; ++i) {
    p.expected[i] = p.input[(i + 255) % 256] + 3 * p.input[i] + 7 * p.input[(i + 1) % 256];
  }
  return p;
}

}  // namespace

std::vector<Program> programs() {
  return {block_sum(), block_scan(), transpose(),    matmul(),
          pipeline(),  histogram(),  warp_maximum(), stencil()};
}

}  // namespace mcc::sim::test
