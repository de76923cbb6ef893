// Dimensions that several inputs share get sizes that fit together.
#include "tools/io/dims.h"

#include <gtest/gtest.h>

namespace mcc::tools {
namespace {

TEST(Dims, EvaluatesSumsAndProducts) {
  const DimSizes sizes = {{"past", 3}, {"time", 5}, {"odd name.0", 7}};
  EXPECT_EQ(evaluate_dim("224", sizes), 224);
  EXPECT_EQ(evaluate_dim("past", sizes), 3);
  EXPECT_EQ(evaluate_dim("past + time", sizes), 8);
  EXPECT_EQ(evaluate_dim("2 * time + past + 1", sizes), 14);
  EXPECT_EQ(evaluate_dim("2*time + -1", sizes), 9);
  EXPECT_EQ(evaluate_dim("odd name.0", sizes), 7);
  EXPECT_EQ(evaluate_dim("past + absent", sizes), std::nullopt);
  EXPECT_EQ(evaluate_dim("floordiv(past, 2)", sizes), std::nullopt);
  EXPECT_EQ(evaluate_dim("", sizes), std::nullopt);
  EXPECT_EQ(evaluate_dim("9223372036854775807 + 1", sizes), std::nullopt);
}

TEST(Dims, SmallestSizesFitTogether) {
  const PlanTensor mask{"mask", DType::f32, {1}, {100}, {"past + time"}};
  const PlanTensor cache{"cache", DType::f32, {0, 8}, {50, 8}, {"past", "8"}};
  const PlanTensor tokens{"tokens", DType::f32, {1}, {50}, {"time"}};
  const DimSizes sizes = complete_sizes({mask, cache, tokens}, {});
  EXPECT_EQ(shape_at(mask, sizes), std::vector<int64_t>{2});
  EXPECT_EQ(shape_at(cache, sizes), (std::vector<int64_t>{1, 8}));
  EXPECT_EQ(shape_at(mask, complete_sizes({mask, cache, tokens}, {{"past", 9}})),
            std::vector<int64_t>{10});
}

}  // namespace
}  // namespace mcc::tools
