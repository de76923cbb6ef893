// Queues of cp.async: per warp, in order of issue.
#include <algorithm>

#include "runtime/sim/core/state.h"

namespace mcc::sim {
namespace {

AsyncQueue& queue_of(Warp& w) { return *static_cast<AsyncQueue*>(w.async); }

}  // namespace

void queue_copy(Warp& w, const PendingCopy& copy) {
  AsyncQueue& queue = queue_of(w);
  queue.copies.push_back(copy);
  queue.copies.back().group = queue.committed[copy.lane];
}

void close_groups(Warp& w) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) queue_of(w).committed[__builtin_ctz(m)] += 1;
}

bool take_copy(Warp& w, uint32_t keep, bool all, PendingCopy& copy) {
  AsyncQueue& queue = queue_of(w);
  for (size_t i = queue.first; i < queue.copies.size(); ++i) {
    const PendingCopy& candidate = queue.copies[i];
    const bool due = ((w.mask >> candidate.lane) & 1u) != 0 && (all || candidate.group + keep < queue.committed[candidate.lane]);
    if (!due) continue;
    copy = candidate;
    // The others keep their order of issue.
    const auto front = queue.copies.begin() + static_cast<std::ptrdiff_t>(queue.first);
    std::move_backward(front, front + static_cast<std::ptrdiff_t>(i - queue.first),
                       front + static_cast<std::ptrdiff_t>(i - queue.first) + 1);
    if (++queue.first == queue.copies.size()) {
      queue.copies.clear();
      queue.first = 0;
    }
    return true;
  }
  return false;
}

}  // namespace mcc::sim
