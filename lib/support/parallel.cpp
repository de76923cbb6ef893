// parallel_for over std::thread: pieces are handed out by an atomic counter.
#include "lib/support/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace mcc {

void parallel_for(int64_t count, int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t pieces = (count + grain - 1) / grain;
  const auto hardware = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const int64_t workers = std::min(pieces, hardware);
  if (workers == 1) {
    body(0, count);
    return;
  }
  // A few pieces a worker even out unequal costs; grain stays the smallest unit.
  const int64_t step = grain * std::max<int64_t>(1, pieces / (workers * 4));
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (int64_t begin = next.fetch_add(step); begin < count; begin = next.fetch_add(step)) {
        body(begin, std::min(begin + step, count));
      }
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mcc
