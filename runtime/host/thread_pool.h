// A pool of threads for ranges of work.
//
// Properties that matter for short kernels on busy machines:
//  - workers spin for some microseconds between launches, then block; the caller does too when it
//    waits for the last piece;
//  - pieces are claimed, never assigned: a worker that the system has descheduled takes nothing,
//    and the caller can finish alone. Nobody waits for a worker to "arrive";
//  - pieces shrink as work runs out (guided self-scheduling, Polychronopoulos & Kuck, 1987).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace mcc::runtime {

// Processors that this process may run on.
int usable_processors();

class ThreadPool {
 public:
  // `threads` includes the calling thread; at least 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Computes [begin, end); `thread` is 0 for the caller, 1.. for workers. Must not throw.
  using Work = void (*)(void* context, int64_t begin, int64_t end, int thread);
  // Calls `work` on disjoint pieces that cover [0, count), each a multiple of `grain` (but for the
  // end), and returns when all are done. One caller at a time.
  void run(int64_t count, int64_t grain, Work work, void* context);

 private:
  void worker_loop(int thread);
  void take_pieces(int thread);

  // The current job. Written by run() while no piece is left; a thread that reads it while the
  // next job is being written fails to claim (see take_pieces).
  std::atomic<Work> work_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> unit_{1};    // items per unit
  std::atomic<uint32_t> units_{0};  // in the job
  // Upper half: number of the job; lower half: units not yet claimed.
  std::atomic<uint64_t> ticket_{0};
  std::atomic<uint32_t> finished_{0};  // units
  std::atomic<int> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable work_available_;
  std::condition_variable work_finished_;
  std::vector<std::thread> workers_;
};

}  // namespace mcc::runtime
