// Block primitives of CUB, as the toolkit ships them: code of another style than ours, with
// shuffles, warp-synchronous steps, vote and match instructions, and padded shared memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "test/unit/sim_programs/program.h"

namespace mcc::sim::test {
namespace {

// The toolkit's include directory; empty when there is no toolkit with CUB.
std::string toolkit_include() {
  const char* home = std::getenv("CUDA_HOME");
  for (const std::string& root :
       {std::string(home != nullptr ? home : ""), std::string("/usr/local/cuda")}) {
    if (!root.empty() &&
        std::filesystem::exists(root + "/include/cccl/cub/block/block_reduce.cuh")) {
      return root + "/include";
    }
  }
  return {};
}

std::vector<uint32_t> numbers(size_t count, uint32_t below) {
  std::vector<uint32_t> values(count);
  uint32_t state = 99;
  for (uint32_t& value : values) {
    state = state * 1664525 + 1013904223;
    value = (state >> 4) % below;
  }
  return values;
}

class Cub : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_is_installed()) GTEST_SKIP() << "no NVRTC here (see mcc doctor)";
    if (toolkit_include().empty())
      GTEST_SKIP() << "no CUDA toolkit with CUB here; the wheels lack it";
  }
  static void check(const std::string& header, const std::string& body, std::vector<uint32_t> input,
                    std::vector<uint32_t> expected, uint32_t threads) {
    Program program;
    program.source = "#include <cub/block/" + header +
                     ">\nextern \"C\" __global__ void k(const unsigned* in, unsigned* out) {\n" +
                     "const unsigned t = threadIdx.x;\n" + body + "}\n";
    program.grid = {1};
    program.block = {threads};
    program.input = std::move(input);
    program.expected = std::move(expected);
    const std::string include = toolkit_include();
    const std::string ptx = compile(program.source, {"-I" + include, "-I" + include + "/cccl"});
    const Outcome outcome = run(program, ptx, 2);
    EXPECT_TRUE(outcome.report.clean()) << outcome.report.text();
    EXPECT_EQ(outcome.output, program.expected);
  }
};

TEST_F(Cub, BlockReduce) {
  const std::vector<uint32_t> input = numbers(1024, 1u << 20);
  const uint32_t sum = std::accumulate(input.begin(), input.end(), 0u);
  for (const char* algorithm : {"BLOCK_REDUCE_WARP_REDUCTIONS", "BLOCK_REDUCE_RAKING",
                                "BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY"}) {
    SCOPED_TRACE(algorithm);
    check("block_reduce.cuh",
          std::string("using R = cub::BlockReduce<unsigned, 256, cub::") + algorithm + R"(>;
      __shared__ typename R::TempStorage s;
      unsigned items[4];
      for (int i = 0; i < 4; ++i) items[i] = in[t * 4 + i];
      const unsigned sum = R(s).Sum(items);
      if (t == 0) out[0] = sum;)",
          input, {sum}, 256);
  }
}

TEST_F(Cub, BlockScan) {
  const std::vector<uint32_t> input = numbers(512, 1u << 20);
  std::vector<uint32_t> expected(512);
  std::exclusive_scan(input.begin(), input.end(), expected.begin(), 0u);
  for (const char* algorithm :
       {"BLOCK_SCAN_WARP_SCANS", "BLOCK_SCAN_RAKING", "BLOCK_SCAN_RAKING_MEMOIZE"}) {
    SCOPED_TRACE(algorithm);
    check("block_scan.cuh",
          std::string("using S = cub::BlockScan<unsigned, 128, cub::") + algorithm + R"(>;
      __shared__ typename S::TempStorage s;
      unsigned items[4];
      for (int i = 0; i < 4; ++i) items[i] = in[t * 4 + i];
      S(s).ExclusiveSum(items, items);
      for (int i = 0; i < 4; ++i) out[t * 4 + i] = items[i];)",
          input, expected, 128);
  }
}

TEST_F(Cub, BlockRadixSort) {
  const std::vector<uint32_t> input = numbers(512, 1u << 28);
  std::vector<uint32_t> expected = input;
  std::sort(expected.begin(), expected.end());
  check("block_radix_sort.cuh", R"(
      using S = cub::BlockRadixSort<unsigned, 128, 4>;
      __shared__ typename S::TempStorage s;
      unsigned items[4];
      for (int i = 0; i < 4; ++i) items[i] = in[t * 4 + i];
      S(s).Sort(items);
      for (int i = 0; i < 4; ++i) out[t * 4 + i] = items[i];)",
        input, expected, 128);
}

}  // namespace
}  // namespace mcc::sim::test
