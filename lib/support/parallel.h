// Splits a range over short-lived threads.
// Invariant: the pieces depend on `count` and `grain` only through their boundaries, never the
// results: a piece must write to places that no other piece touches.
#pragma once

#include <cstdint>
#include <functional>

namespace mcc {

// Calls body(begin, end) on disjoint pieces that cover [0, count). Pieces start at multiples of
// `grain` (at least 1), so small ranges run on the calling thread. The first exception that a
// piece throws is thrown again here.
void parallel_for(int64_t count, int64_t grain,
                  const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace mcc
