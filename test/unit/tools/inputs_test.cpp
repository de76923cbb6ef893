// Inputs of a run from archives, files and generators; comparison of tensors.
#include "tools/io/inputs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lib/support/error.h"
#include "test/unit/runtime/test_files.h"
#include "tools/io/compare.h"
#include "tools/io/files.h"
#include "tools/io/npy.h"
#include "tools/io/report.h"

namespace mcc::tools {
namespace {

using runtime::test::TemporaryDirectory;
using Dims = std::vector<int64_t>;

std::vector<PlanTensor> signature() {
  return {{"ids", DType::i64, {1, 1}, {64, 512}, {"batch", "time"}},
          {"mask", DType::i64, {1, 1}, {64, 512}, {"batch", "time"}},
          {"image", DType::f32, {1, 3}, {64, 3}, {"batch", "3"}}};
}

TEST(Inputs, GenerateWithSmallestOrGivenSizes) {
  std::vector<Tensor> inputs = make_inputs(signature(), {});
  EXPECT_EQ(inputs[0].shape(), (Dims{1, 1}));
  inputs = make_inputs(signature(), {{"image=zeros"}, {"batch=2", "time=7"}, 5});
  EXPECT_EQ(inputs[0].shape(), (Dims{2, 7}));
  EXPECT_EQ(inputs[2].shape(), (Dims{2, 3}));
  EXPECT_EQ(inputs[2].get_double(0), 0);
  for (int64_t i = 0; i < inputs[0].elements(); ++i) EXPECT_LE(inputs[0].get_int64(i), 1);
  // The same seed gives the same values, another one others.
  const Tensor a = random_tensor(DType::f32, {10}, 5);
  EXPECT_EQ(a.get_double(3), random_tensor(DType::f32, {10}, 5).get_double(3));
  EXPECT_NE(a.get_double(3), random_tensor(DType::f32, {10}, 6).get_double(3));
}

TEST(Inputs, ArraysFixTheSizesOfGeneratedOnes) {
  const TemporaryDirectory directory;
  write_npz(directory.file("in.npz"), {{"ids", random_tensor(DType::i64, {3, 9}, 0)}});
  const std::vector<Tensor> inputs = make_inputs(signature(), {{directory.file("in.npz")}, {}, 0});
  EXPECT_EQ(inputs[0].shape(), (Dims{3, 9}));
  EXPECT_EQ(inputs[1].shape(), (Dims{3, 9}));
  EXPECT_EQ(inputs[2].shape(), (Dims{3, 3}));
}

TEST(Inputs, ReadRawFiles) {
  const TemporaryDirectory directory;
  write_whole_file(directory.file("image.raw"), std::string(24, '\0'));
  const std::string source = "image=" + directory.file("image.raw");
  EXPECT_EQ(make_inputs(signature(), {{source}, {"batch=2"}, 0})[2].shape(), (Dims{2, 3}));
  EXPECT_THROW(make_inputs(signature(), {{source}, {}, 0}), UsageError);
}

TEST(Inputs, ExplainWhatIsWrong) {
  const TemporaryDirectory directory;
  write_npz(directory.file("wrong.npz"), {{"nothing", random_tensor(DType::i64, {3}, 0)}});
  write_npz(directory.file("type.npz"), {{"ids", random_tensor(DType::f32, {3, 9}, 0)}});
  for (const InputRequest& request :
       {InputRequest{{directory.file("wrong.npz")}, {}, 0}, {{directory.file("type.npz")}, {}, 0},
        {{"nothing=zeros"}, {}, 0}, {{}, {"width=3"}, 0}, {{}, {"batch"}, 0}, {{}, {"batch=x"}, 0},
        {{}, {"batch=-1"}, 0}}) {
    EXPECT_THROW(make_inputs(signature(), request), UsageError);
  }
  EXPECT_THROW(make_inputs(signature(), {{"ids=/nonexistent.npy"}, {}, 0}), EnvironmentError);
}

TEST(Compare, MeasuresTheLargestDifference) {
  Tensor a(DType::f32, {3});
  Tensor b(DType::f32, {3});
  a.set_double(1, 4);
  b.set_double(1, 5);
  const Difference difference = compare(a, b);
  EXPECT_EQ(difference.index, 1);
  EXPECT_EQ(difference.max_abs, 1);
  EXPECT_EQ(difference.relative, 0.25);
  b.set_double(2, std::nan(""));
  EXPECT_TRUE(std::isinf(compare(a, b).relative));
  a.set_double(2, std::nan(""));
  EXPECT_EQ(compare(a, b).max_abs, 1);
  Tensor c(DType::i64, {1});
  Tensor d(DType::i64, {1});
  c.set_int64(0, (int64_t{1} << 60) + 1);
  d.set_int64(0, int64_t{1} << 60);
  EXPECT_GT(compare(c, d).max_abs, 0);
}

TEST(Report, FormatsSizes) {
  EXPECT_EQ(bytes_text(812), "812 bytes");
  EXPECT_EQ(bytes_text(5227000), "5.23 MB");
  EXPECT_EQ(bytes_text(999999), "1 MB");
  EXPECT_EQ(dims_text({1, 3}), "[1, 3]");
}

}  // namespace
}  // namespace mcc::tools
