// What generated CUDA text needs to run as host C++: the test harness puts this file before the
// prelude and the kernels and compiles the whole with the system compiler (cuda_emulation.cpp).
//
// The threads of a block are fibres that switch at barriers and shuffles only. Every block starts
// with poisoned shared memory; a barrier or shuffle that not all threads reach at the same place is
// an error. Running the threads of a block in both orders shows most missing barriers.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __device__
#define __global__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static __attribute__((section("mcc_shared")))
#define __CUDA_ARCH__ 800

struct mcc_dim3 { int x, y, z; };
static mcc_dim3 threadIdx, blockIdx, blockDim, gridDim;
struct float2 { float x, y; } __attribute__((aligned(8)));
struct float4 { float x, y, z, w; } __attribute__((aligned(16)));
struct int2 { int x, y; } __attribute__((aligned(8)));
struct int4 { int x, y, z, w; } __attribute__((aligned(16)));
struct uint2 { unsigned x, y; } __attribute__((aligned(8)));
struct uint4 { unsigned x, y, z, w; } __attribute__((aligned(16)));

inline float __int_as_float(int bits) { float x; memcpy(&x, &bits, 4); return x; }
inline double __longlong_as_double(long long bits) { double x; memcpy(&x, &bits, 8); return x; }
inline float rsqrtf(float x) { return 1.0F / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }

// The instructions of the prelude's assembly, which the harness replaces by these calls.
inline int mcc_emulated_dot4(int a, int b, int c, bool a_unsigned) {
  for (int i = 0; i < 4; ++i) {
    const int x = (a >> (8 * i)) & 0xff, y = static_cast<signed char>((b >> (8 * i)) & 0xff);
    c += (a_unsigned ? x : static_cast<signed char>(x)) * y;
  }
  return c;
}
inline float mcc_emulated_f16_to_f32(unsigned short bits) {
  _Float16 h;
  memcpy(&h, &bits, 2);
  return static_cast<float>(h);
}
inline unsigned short mcc_emulated_f32_to_f16(float x) {
  const _Float16 h = static_cast<_Float16>(x);
  unsigned short bits;
  memcpy(&bits, &h, 2);
  return bits;
}
inline unsigned short mcc_emulated_f32_to_bf16(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  if (x != x) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// ---- Fibres
enum class mcc_state { ready, barrier, shuffle, done };
struct mcc_fibre {
  ucontext_t context;
  mcc_state state;
  int place;  // line of the barrier or shuffle
  long long slot;
};
static constexpr int mcc_most_threads = 1024;
static constexpr size_t mcc_stack_bytes = 128 << 10;
static mcc_fibre mcc_fibres[mcc_most_threads];
static ucontext_t mcc_scheduler;
static char* mcc_stacks;
static int mcc_current, mcc_threads;
static void (*mcc_entry)(void**, const long long*);
static void** mcc_buffers;
static const long long* mcc_dims;
extern "C" char __start_mcc_shared[] __attribute__((weak));
extern "C" char __stop_mcc_shared[] __attribute__((weak));

static void mcc_yield(mcc_state state, int place) {
  mcc_fibre& self = mcc_fibres[mcc_current];
  self.state = state;
  self.place = place;
  swapcontext(&self.context, &mcc_scheduler);
}
#define __syncthreads() mcc_yield(mcc_state::barrier, __LINE__)

template <class T> T mcc_shuffle(T value, int from, int place) {
  const int self = mcc_current;
  mcc_fibres[self].slot = 0;
  memcpy(&mcc_fibres[self].slot, &value, sizeof value);
  mcc_yield(mcc_state::shuffle, place);
  memcpy(&value, &mcc_fibres[(self & ~31) + (from & 31)].slot, sizeof value);
  mcc_yield(mcc_state::shuffle, place);
  return value;
}
#define __shfl_xor_sync(mask, value, offset) mcc_shuffle(value, (mcc_current & 31) ^ (offset), __LINE__)
#define __shfl_sync(mask, value, lane) mcc_shuffle(value, lane, __LINE__)
template <class T> T mcc_shuffle_up(T value, int offset, int place) {
  const int lane = mcc_current & 31;
  return mcc_shuffle(value, lane >= offset ? lane - offset : lane, place);
}
#define __shfl_up_sync(mask, value, offset) mcc_shuffle_up(value, offset, __LINE__)

template <class T> T atomicAdd(T* p, T x) { const T old = *p; *p = old + x; return old; }
template <class T> T atomicMin(T* p, T x) { const T old = *p; *p = x < old ? x : old; return old; }
template <class T> T atomicMax(T* p, T x) { const T old = *p; *p = x > old ? x : old; return old; }
template <class T> T atomicCAS(T* p, T expected, T x) { const T old = *p; if (old == expected) *p = x; return old; }

static void mcc_thread() {
  mcc_entry(mcc_buffers, mcc_dims);
  mcc_fibres[mcc_current].state = mcc_state::done;
  setcontext(&mcc_scheduler);
}

static void mcc_resume(int thread) {
  mcc_current = thread;
  threadIdx.x = thread % blockDim.x;
  threadIdx.y = thread / blockDim.x % blockDim.y;
  threadIdx.z = thread / blockDim.x / blockDim.y;
  swapcontext(&mcc_scheduler, &mcc_fibres[thread].context);
}

// Releases the threads [first, last) if all of them wait in `state` at one place.
static bool mcc_release(int first, int last, mcc_state state) {
  for (int i = first; i < last; ++i) {
    if (mcc_fibres[i].state != state || mcc_fibres[i].place != mcc_fibres[first].place) return false;
  }
  for (int i = first; i < last; ++i) mcc_fibres[i].state = mcc_state::ready;
  return true;
}

static const char* mcc_block(bool reverse) {
  for (int i = 0; i < mcc_threads; ++i) {
    mcc_fibre& fibre = mcc_fibres[i];
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = mcc_stacks + static_cast<size_t>(i) * mcc_stack_bytes;
    fibre.context.uc_stack.ss_size = mcc_stack_bytes;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, mcc_thread, 0);
    fibre.state = mcc_state::ready;
  }
  if (__start_mcc_shared != nullptr) {
    memset(__start_mcc_shared, 0xff, static_cast<size_t>(__stop_mcc_shared - __start_mcc_shared));
  }
  for (;;) {
    int done = 0;
    for (int i = 0; i < mcc_threads; ++i) {
      const int thread = reverse ? mcc_threads - 1 - i : i;
      if (mcc_fibres[thread].state == mcc_state::ready) mcc_resume(thread);
      if (mcc_fibres[thread].state == mcc_state::done) ++done;
    }
    if (done == mcc_threads) return nullptr;
    bool released = mcc_release(0, mcc_threads, mcc_state::barrier);
    for (int warp = 0; warp < mcc_threads; warp += 32) {
      const int last = warp + 32 < mcc_threads ? warp + 32 : mcc_threads;
      if (last - warp == 32 && mcc_release(warp, last, mcc_state::shuffle)) released = true;
    }
    if (!released) return "not all threads reach a barrier or shuffle";
  }
}

// nullptr, or what went wrong. `shape`: grid x, y, z, block x, y, z.
extern "C" const char* mcc_emulate(void (*entry)(void**, const long long*), void** buffers,
                                   const long long* dims, const int* shape, int reverse) {
  if (mcc_stacks == nullptr) mcc_stacks = static_cast<char*>(malloc(mcc_most_threads * mcc_stack_bytes));
  mcc_entry = entry;
  mcc_buffers = buffers;
  mcc_dims = dims;
  gridDim = {shape[0], shape[1], shape[2]};
  blockDim = {shape[3], shape[4], shape[5]};
  mcc_threads = blockDim.x * blockDim.y * blockDim.z;
  if (mcc_threads > mcc_most_threads) return "a block of more than 1024 threads";
  for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z) {
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y) {
      for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
        if (const char* error = mcc_block(reverse != 0)) return error;
      }
    }
  }
  return nullptr;
}
