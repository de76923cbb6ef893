// The arena planner: no conflicting overlaps ever, and peaks close to the lower bound.
#include "runtime/plan/arena.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/support/error.h"

namespace mcc::runtime {
namespace {

void expect_sound(const std::vector<ArenaRequest>& requests, const ArenaPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_LE(plan.offsets[i] + requests[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      const ArenaRequest& a = requests[i];
      const ArenaRequest& b = requests[j];
      if (a.bytes == 0 || b.bytes == 0 || a.last < b.first || b.last < a.first) continue;
      const bool in_place = plan.offsets[i] == plan.offsets[j] &&
                            ((a.inplace_of == static_cast<int>(j) && b.last == a.first) ||
                             (b.inplace_of == static_cast<int>(i) && a.last == b.first));
      const bool apart = plan.offsets[i] + a.bytes <= plan.offsets[j] ||
                         plan.offsets[j] + b.bytes <= plan.offsets[i];
      EXPECT_TRUE(in_place || apart) << i << " and " << j;
    }
  }
  EXPECT_GE(plan.bytes, plan.lower_bound_bytes);
}

TEST(Arena, ChainOfLayersNeedsTwoBuffers) {
  const std::vector<ArenaRequest> requests{{1000, 0, 1}, {2000, 1, 2}, {3000, 2, 3}, {100, 3, 4}};
  const ArenaPlan plan = plan_arena(requests);
  expect_sound(requests, plan);
  EXPECT_EQ(plan.bytes, 2048 - 0 + 3008);  // 2000 and 3000 are live together, rounded to 64
  EXPECT_EQ(plan.lower_bound_bytes, plan.bytes);
  EXPECT_EQ(plan.sum_bytes, 1024 + 2048 + 3008 + 128);
}

TEST(Arena, TakesOverInPlace) {
  const std::vector<ArenaRequest> requests{{4096, 0, 1}, {4096, 1, 2, 0}, {4096, 2, 3, 1}};
  const ArenaPlan plan = plan_arena(requests);
  expect_sound(requests, plan);
  EXPECT_EQ(plan.bytes, 4096);
  EXPECT_EQ(plan.lower_bound_bytes, 4096);
}

TEST(Arena, IgnoresUnsoundInPlaceWishes) {
  // Request 0 is still needed at instruction 2; two takers want request 3.
  const std::vector<ArenaRequest> requests{{64, 0, 2}, {64, 1, 2, 0}, {64, 5, 6, 3}, {64, 3, 5},
                                           {64, 5, 6, 3}, {64, 7, 7, 99}};
  expect_sound(requests, plan_arena(requests));
}

TEST(Arena, EmptyAndZeroSized) {
  EXPECT_EQ(plan_arena(std::vector<ArenaRequest>{}).bytes, 0);
  EXPECT_EQ(plan_arena(std::vector<ArenaRequest>{{0, 0, 0}}).bytes, 0);
  EXPECT_THROW(plan_arena(std::vector<ArenaRequest>{{-1, 0, 0}}), Error);
  EXPECT_THROW(plan_arena(std::vector<ArenaRequest>{{INT64_MAX, 0, 0}}), Error);
}

// Activation sizes and lifetimes of ResNet-50 (batch 1): blocks of three convolutions with a
// residual, the projection shortcuts at the stage starts.
std::vector<ArenaRequest> resnet_like() {
  std::vector<ArenaRequest> requests;
  int step = 0;
  int64_t pixels = 56 * 56;
  int64_t channels = 64;
  int previous = 0;
  requests.push_back({4 * 112 * 112 * 64, 0, 1});
  requests.push_back({4 * pixels * 64, 1, 1});
  previous = 1;
  step = 2;
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < 3 + stage % 2; ++block) {
      const int64_t in_pixels = pixels;
      if (block == 0 && stage > 0) pixels /= 4;
      int shortcut = previous;
      requests[static_cast<size_t>(previous)].last = step;
      if (block == 0) {
        shortcut = static_cast<int>(requests.size());
        requests.push_back({4 * pixels * channels * 4, step, step});
        ++step;
        requests[static_cast<size_t>(previous)].last = step;
      }
      const int a = static_cast<int>(requests.size());
      requests.push_back({4 * in_pixels * channels, step, step + 1});
      requests.push_back({4 * pixels * channels, step + 1, step + 2});
      requests.push_back({4 * pixels * channels * 4, step + 2, step + 3, shortcut});
      requests[static_cast<size_t>(shortcut)].last = step + 2;
      previous = a + 2;
      step += 3;
    }
    channels *= 2;
  }
  return requests;
}

TEST(Arena, ReachesTheLowerBoundOnResidualNetworks) {
  const std::vector<ArenaRequest> requests = resnet_like();
  const ArenaPlan plan = plan_arena(requests);
  expect_sound(requests, plan);
  EXPECT_LE(static_cast<double>(plan.bytes), 1.02 * static_cast<double>(plan.lower_bound_bytes));
}

TEST(Arena, TransformerBlocks) {
  const int64_t hidden = 4 * 128 * 768;
  std::vector<ArenaRequest> requests{{hidden, 0, 4}};
  int residual = 0;
  for (int step = 1; step < 12 * 8; step += 8) {
    const auto add = [&](int64_t bytes, int first, int last, int from = -1) {
      requests.push_back({bytes, first, last, from});
      return static_cast<int>(requests.size()) - 1;
    };
    requests[static_cast<size_t>(residual)].last = step + 4;
    add(hidden, step, step + 3);
    add(hidden, step + 1, step + 3);
    add(hidden, step + 2, step + 3);
    add(hidden, step + 3, step + 4);
    const int normalized = add(hidden, step + 4, step + 7, residual);
    add(4 * hidden, step + 5, step + 6);
    add(hidden, step + 6, step + 7);
    residual = add(hidden, step + 7, step + 8, normalized);
  }
  const ArenaPlan plan = plan_arena(requests);
  expect_sound(requests, plan);
  EXPECT_LE(static_cast<double>(plan.bytes), 1.02 * static_cast<double>(plan.lower_bound_bytes));
}

TEST(Arena, RandomProgramsStaySoundAndNearTheBound) {
  double worst = 1;
  double total = 0;
  constexpr int kSeeds = 40;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random(seed);
    const auto uniform = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    std::vector<ArenaRequest> requests;
    for (int i = 0; i < 120; ++i) {
      const int reach = uniform(0, 9) == 0 ? uniform(5, 40) : uniform(1, 3);
      ArenaRequest request{int64_t{64} << uniform(0, 10), i, i + reach};
      if (i > 0 && requests.back().last == i && uniform(0, 1) == 0) request.inplace_of = i - 1;
      requests.push_back(request);
    }
    const ArenaPlan plan = plan_arena(requests);
    expect_sound(requests, plan);
    const double ratio =
        static_cast<double>(plan.bytes) / static_cast<double>(plan.lower_bound_bytes);
    worst = std::max(worst, ratio);
    total += ratio;
  }
  EXPECT_LE(worst, 1.2);
  EXPECT_LE(total / kSeeds, 1.02);
  RecordProperty("worst_ratio", std::to_string(worst));
  std::printf("arena ratio: worst %.4f, mean %.4f\n", worst, total / kSeeds);
}

TEST(Arena, IsDeterministic) {
  const std::vector<ArenaRequest> requests = resnet_like();
  EXPECT_EQ(plan_arena(requests).offsets, plan_arena(requests).offsets);
}

}  // namespace
}  // namespace mcc::runtime
