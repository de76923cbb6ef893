// Greedy offset assignment over several orderings, improved by reordering what ended up on top.
//
// Placing by decreasing size with best fit is "Greedy by Size for Offset Calculation" (Pisarchyk &
// Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). The improvement loop is
// squeaky-wheel optimization (Joslin & Clements, 1999): the blocks that reach the peak move to the
// front of the order and everything is placed again.
#include "runtime/plan/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "runtime/plan/format.h"
#include "runtime/support/checked.h"

namespace mcc::runtime {

namespace {

constexpr int kImprovementRounds = 48;
// Above this many blocks the quadratic placement is run with fewer orderings.
constexpr size_t kManyBlocks = 3000;

// Requests that share one place: a chain of in-place takeovers, or a single request.
struct Block {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct Placement {
  std::vector<int64_t> offsets;  // per block
  int64_t peak = 0;
};

// Which in-place wishes are granted.
enum class InPlace { never, equal_sizes, always };

bool wish_is_sound(std::span<const ArenaRequest> requests, size_t i) {
  const int source = requests[i].inplace_of;
  if (source < 0 || static_cast<size_t>(source) >= requests.size()) return false;
  const ArenaRequest& from = requests[static_cast<size_t>(source)];
  return from.last == requests[i].first && from.first < requests[i].first &&
         from.bytes > 0 && requests[i].bytes > 0;
}

// One block per chain; block_of[i] = -1 for empty requests. A source serves one taker only: the
// first that asks.
std::vector<Block> build_blocks(std::span<const ArenaRequest> requests,
                                const std::vector<int64_t>& sizes, InPlace policy,
                                std::vector<int>& block_of) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].first < requests[b].first; });
  std::vector<Block> blocks;
  std::vector<bool> taken(requests.size(), false);
  block_of.assign(requests.size(), -1);
  for (size_t i : order) {
    if (sizes[i] == 0) continue;
    const bool wish = policy != InPlace::never && wish_is_sound(requests, i);
    const auto source = wish ? static_cast<size_t>(requests[i].inplace_of) : size_t{0};
    if (wish && !taken[source] && (policy == InPlace::always || sizes[source] == sizes[i])) {
      taken[source] = true;
      block_of[i] = block_of[source];
      Block& block = blocks[static_cast<size_t>(block_of[i])];
      block.bytes = std::max(block.bytes, sizes[i]);
      block.last = std::max(block.last, requests[i].last);
    } else {
      block_of[i] = static_cast<int>(blocks.size());
      blocks.push_back({sizes[i], requests[i].first, requests[i].last});
    }
  }
  return blocks;
}

// Places blocks in the given order, each at the lowest offset of the smallest sufficient gap
// between the already placed blocks that are live at the same time.
Placement place(const std::vector<Block>& blocks, const std::vector<size_t>& order) {
  Placement result;
  result.offsets.assign(blocks.size(), 0);
  std::vector<size_t> by_offset;  // placed blocks, ascending offset
  by_offset.reserve(blocks.size());
  for (size_t i : order) {
    const Block& block = blocks[i];
    int64_t best_offset = -1;
    int64_t best_gap = std::numeric_limits<int64_t>::max();
    int64_t end = 0;  // highest end of the conflicting blocks passed so far
    for (size_t j : by_offset) {
      const Block& other = blocks[j];
      if (other.last < block.first || block.last < other.first) continue;
      const int64_t gap = result.offsets[j] - end;
      if (gap >= block.bytes && gap < best_gap) {
        best_gap = gap;
        best_offset = end;
      }
      end = std::max(end, result.offsets[j] + other.bytes);
    }
    const int64_t offset = best_offset >= 0 ? best_offset : end;
    result.offsets[i] = offset;
    result.peak = std::max(result.peak, checked_add(offset, block.bytes));
    const auto position =
        std::upper_bound(by_offset.begin(), by_offset.end(), offset, [&](int64_t value, size_t j) {
          return value < result.offsets[j];
        });
    by_offset.insert(position, i);
  }
  return result;
}

std::vector<std::vector<size_t>> orderings(const std::vector<Block>& blocks) {
  std::vector<size_t> natural(blocks.size());
  std::iota(natural.begin(), natural.end(), size_t{0});
  const auto sorted = [&](auto key) {
    std::vector<size_t> order = natural;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(blocks[a]) > key(blocks[b]); });
    return order;
  };
  std::vector<std::vector<size_t>> result;
  result.push_back(sorted([](const Block& b) { return std::tuple(b.bytes, b.last - b.first); }));
  if (blocks.size() > kManyBlocks) return result;
  result.push_back(sorted([](const Block& b) {
    return std::tuple(static_cast<double>(b.bytes) * (b.last - b.first + 1), b.bytes);
  }));
  result.push_back(sorted([](const Block& b) { return std::tuple(b.last - b.first, b.bytes); }));
  result.push_back(sorted([](const Block& b) { return std::tuple(-b.first, b.bytes); }));
  result.push_back(sorted([](const Block& b) { return std::tuple(b.last, b.bytes); }));
  return result;
}

Placement best_placement(const std::vector<Block>& blocks, int64_t target) {
  Placement best;
  best.peak = std::numeric_limits<int64_t>::max();
  const int rounds = blocks.size() > kManyBlocks ? 2 : kImprovementRounds;
  for (std::vector<size_t>& order : orderings(blocks)) {
    for (int round = 0; round < rounds; ++round) {
      Placement current = place(blocks, order);
      const int64_t peak = current.peak;
      // Everything that reaches the peak was placed too late.
      const auto reaches = [&](size_t i) { return current.offsets[i] + blocks[i].bytes == peak; };
      std::vector<size_t> next = order;
      std::stable_partition(next.begin(), next.end(), reaches);
      if (peak < best.peak) best = std::move(current);
      if (best.peak <= target || next == order) break;
      order = std::move(next);
    }
    if (best.peak <= target) break;
  }
  return best;
}

// max over instructions of the live bytes, with each sound in-place pair counted as the larger.
int64_t lower_bound(std::span<const ArenaRequest> requests, const std::vector<int64_t>& sizes) {
  int instructions = 0;
  for (const ArenaRequest& request : requests) instructions = std::max(instructions, request.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(instructions) + 1, 0);
  std::vector<int64_t> shared(static_cast<size_t>(instructions) + 1, 0);
  std::vector<bool> taken(requests.size(), false);
  for (size_t i = 0; i < requests.size(); ++i) {
    if (sizes[i] == 0) continue;
    change[static_cast<size_t>(requests[i].first)] += sizes[i];
    change[static_cast<size_t>(requests[i].last) + 1] -= sizes[i];
    if (!wish_is_sound(requests, i)) continue;
    const auto source = static_cast<size_t>(requests[i].inplace_of);
    if (taken[source]) continue;
    taken[source] = true;
    shared[static_cast<size_t>(requests[i].first)] += std::min(sizes[i], sizes[source]);
  }
  int64_t live = 0;
  int64_t bound = 0;
  for (size_t t = 0; t < change.size(); ++t) {
    live += change[t];
    bound = std::max(bound, live - shared[t]);
  }
  return bound;
}

}  // namespace

ArenaPlan plan_arena(std::span<const ArenaRequest> requests) {
  ArenaPlan plan;
  std::vector<int64_t> sizes(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].bytes < 0) fail_usage("a buffer has a negative size");
    if (requests[i].first < 0 || requests[i].last < requests[i].first) {
      fail_internal("a buffer in the arena has no lifetime");
    }
    sizes[i] = align_up(requests[i].bytes, kBufferAlignment);
    plan.sum_bytes = checked_add(plan.sum_bytes, sizes[i]);
  }
  plan.lower_bound_bytes = lower_bound(requests, sizes);
  plan.offsets.assign(requests.size(), 0);
  plan.bytes = std::numeric_limits<int64_t>::max();
  for (InPlace policy : {InPlace::always, InPlace::equal_sizes, InPlace::never}) {
    std::vector<int> block_of;
    const std::vector<Block> blocks = build_blocks(requests, sizes, policy, block_of);
    if (blocks.empty()) {
      plan.bytes = 0;
      break;
    }
    const Placement placement = best_placement(blocks, plan.lower_bound_bytes);
    if (placement.peak >= plan.bytes) continue;
    plan.bytes = placement.peak;
    for (size_t i = 0; i < requests.size(); ++i) {
      plan.offsets[i] =
          block_of[i] < 0 ? 0 : placement.offsets[static_cast<size_t>(block_of[i])];
    }
    if (plan.bytes <= plan.lower_bound_bytes) break;
  }
  return plan;
}

ArenaPlan plan_arena(const Manifest& manifest, std::span<const int64_t> symbols) {
  std::vector<int64_t> bytes;
  for (const BufferInfo& buffer : manifest.buffers) {
    bytes.push_back(buffer.kind == BufferKind::arena ? buffer.bytes.evaluate(symbols) : 0);
  }
  return plan_arena(manifest, bytes, 0, manifest.program.size());
}

ArenaPlan plan_arena(const Manifest& manifest, std::span<const int64_t> bytes, size_t begin,
                     size_t end) {
  std::vector<ArenaRequest> requests;
  std::vector<size_t> buffers;
  std::vector<int> request_of(manifest.buffers.size(), -1);
  for (size_t i = 0; i < manifest.buffers.size(); ++i) {
    const BufferInfo& buffer = manifest.buffers[i];
    if (buffer.kind != BufferKind::arena || buffer.first < static_cast<int>(begin) ||
        buffer.first >= static_cast<int>(end)) {
      continue;  // elsewhere, or never used
    }
    request_of[i] = static_cast<int>(requests.size());
    requests.push_back({bytes[i], buffer.first, buffer.last, -1});
    buffers.push_back(i);
  }
  for (size_t r = 0; r < requests.size(); ++r) {
    const int source = manifest.buffers[buffers[r]].inplace_of;
    if (source >= 0) requests[r].inplace_of = request_of[static_cast<size_t>(source)];
  }
  ArenaPlan plan = plan_arena(requests);
  std::vector<int64_t> offsets(manifest.buffers.size(), -1);
  for (size_t r = 0; r < requests.size(); ++r) offsets[buffers[r]] = plan.offsets[r];
  plan.offsets = std::move(offsets);
  return plan;
}

}  // namespace mcc::runtime
