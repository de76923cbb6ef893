// See thread_pool.h.
#include "runtime/host/thread_pool.h"

#include <sched.h>

#include <algorithm>

namespace mcc::runtime {

namespace {

// About 20 to 60 microseconds, longer than the gap between two launches of a program.
constexpr int kSpinRounds = 1500;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

template <typename Condition>
bool spin_until(Condition condition) {
  for (int i = 0; i < kSpinRounds; ++i) {
    if (condition()) return true;
    pause();
  }
  return condition();
}

uint32_t job_of(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
uint32_t remaining_of(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

}  // namespace

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  workers_.reserve(static_cast<size_t>(std::max(threads, 1) - 1));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { worker_loop(i); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_available_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t count, int64_t grain, Work work, void* context) {
  if (count <= 0) return;
  if (workers_.empty() || count <= grain) {
    work(context, 0, count, 0);
    return;
  }
  // Unit counts must fit 32 bits.
  int64_t unit = std::max<int64_t>(grain, 1);
  while ((count - 1) / unit + 1 > INT32_MAX) unit *= 2;
  const auto units = static_cast<uint32_t>((count - 1) / unit + 1);
  work_.store(work, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  count_.store(count, std::memory_order_relaxed);
  unit_.store(unit, std::memory_order_relaxed);
  units_.store(units, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  const uint64_t job = job_of(ticket_.load(std::memory_order_relaxed)) + uint64_t{1};
  // Sequentially consistent against `sleepers_`: either this thread sees the sleeper, or the
  // worker that is about to sleep sees the new job.
  ticket_.store((job << 32) | units, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    { const std::lock_guard lock(mutex_); }
    work_available_.notify_all();
  }
  take_pieces(0);
  const auto done = [&] { return finished_.load(std::memory_order_acquire) == units; };
  if (spin_until(done)) return;
  std::unique_lock lock(mutex_);
  caller_sleeps_.store(true, std::memory_order_seq_cst);
  work_finished_.wait(lock, [&] { return finished_.load(std::memory_order_seq_cst) == units; });
  caller_sleeps_.store(false, std::memory_order_relaxed);
}

// Why reading the job's fields without a lock is right: they change only while the lower half of
// the ticket is 0, and a job number never repeats (within 2^32 jobs). If the compare-and-swap from
// a ticket with work left succeeds, the job was still unfinished, so the fields read between the
// load and the swap belong to it. If they were being replaced meanwhile, the swap fails.
void ThreadPool::take_pieces(int thread) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  const uint32_t threads = static_cast<uint32_t>(workers_.size()) + 1;
  while (remaining_of(ticket) > 0) {
    const uint32_t remaining = remaining_of(ticket);
    const Work work = work_.load(std::memory_order_relaxed);
    void* const context = context_.load(std::memory_order_relaxed);
    const int64_t count = count_.load(std::memory_order_relaxed);
    const int64_t unit = unit_.load(std::memory_order_relaxed);
    const uint32_t units = units_.load(std::memory_order_relaxed);
    const uint32_t piece = std::max(1u, remaining / (2 * threads));
    if (!ticket_.compare_exchange_weak(ticket, ticket - piece, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      continue;
    }
    const int64_t begin = int64_t{units - remaining} * unit;
    const int64_t end = std::min(count, begin + int64_t{piece} * unit);
    work(context, begin, end, thread);
    const uint32_t finished = finished_.fetch_add(piece, std::memory_order_seq_cst) + piece;
    if (finished == units && caller_sleeps_.load(std::memory_order_seq_cst)) {
      { const std::lock_guard lock(mutex_); }
      work_finished_.notify_one();
    }
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void ThreadPool::worker_loop(int thread) {
  uint32_t seen = 0;
  while (true) {
    const auto news = [&] {
      return job_of(ticket_.load(std::memory_order_seq_cst)) != seen ||
             stop_.load(std::memory_order_relaxed);
    };
    if (!spin_until(news)) {
      std::unique_lock lock(mutex_);
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      work_available_.wait(lock, news);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
    }
    if (stop_.load(std::memory_order_relaxed)) return;
    seen = job_of(ticket_.load(std::memory_order_acquire));
    take_pieces(thread);
  }
}

}  // namespace mcc::runtime
