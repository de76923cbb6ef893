// Sizes that the program computes: phases, memory, outputs of unknown size.
#include <gtest/gtest.h>

#include "runtime/include/mcc.h"
#include "runtime/session/phases.h"
#include "test/unit/runtime/sample_plan.h"

namespace mcc::runtime {
namespace {

using Op = ExpressionOp;

// count = number of positive x; kept = the positive x; y = each kept value twice.
Manifest compacting_manifest() {
  Manifest m;
  m.producer = "mcc test";
  m.model_name = "compact";
  const Expression s0 = Expression::symbol(0);
  const auto times = [](int64_t symbol, int64_t factor) {
    return Expression({{Op::symbol, symbol}, {Op::constant, factor}, {Op::multiply, 0}});
  };
  m.inputs = {{"x", MCC_F32, {s0}}};
  m.outputs = {{"y", MCC_F32, {Expression::symbol(2)}}, {"count", MCC_I64, {1}}};
  SymbolInfo size{"s0", "size", 0, 1000, {}};
  size.source.input = 0;
  SymbolInfo count{"s1", "count", 0, 100, {}};
  count.source.kind = SymbolSource::Kind::buffer;
  count.source.buffer = 1;
  SymbolInfo doubled{"s2", "doubled", 0, kUnboundedSymbol, {}};
  doubled.source.kind = SymbolSource::Kind::expression;
  doubled.source.expression = times(1, 2);
  m.symbols = {size, count, doubled};
  const auto buffer = [&](BufferKind kind, mcc_dtype dtype, Expression bytes, int index) {
    BufferInfo info;
    info.kind = kind;
    info.dtype = dtype;
    info.bytes = std::move(bytes);
    info.index = index;
    m.buffers.push_back(info);
  };
  buffer(BufferKind::input, MCC_F32, times(0, 4), 0);
  buffer(BufferKind::output, MCC_I64, 8, 1);
  buffer(BufferKind::arena, MCC_F32, times(1, 4), -1);
  buffer(BufferKind::output, MCC_F32, times(2, 4), 0);
  m.arena.is_static = false;
  const auto kernel = [&](const char* name, Expression parallel) {
    KernelInfo info;
    info.name = name;
    info.host = HostLaunch{std::move(parallel), 1, 0};
    m.kernels.push_back(info);
  };
  kernel("k0", 1);
  kernel("k1", 1);
  kernel("k2", Expression::symbol(2));
  const auto launch = [&](int k, std::vector<int> buffers, std::vector<Expression> dims) {
    Instruction step;
    step.kernel = k;
    step.buffers = std::move(buffers);
    step.dims = std::move(dims);
    m.program.push_back(step);
  };
  launch(0, {0, 1}, {s0});
  launch(1, {0, 2}, {s0, Expression::symbol(1)});
  launch(2, {2, 3}, {});
  derive_lifetimes(m);
  return m;
}

constexpr const char* kSource = R"(
extern "C" void k0(void* const* b, const long* d, long, long, void*) {
  long n = 0;
  for (long i = 0; i < d[0]; ++i) n += ((const float*)b[0])[i] > 0;
  *(long*)b[1] = n;
}
extern "C" void k1(void* const* b, const long* d, long, long, void*) {
  long n = 0;
  for (long i = 0; i < d[0]; ++i) {
    const float x = ((const float*)b[0])[i];
    if (x > 0 && n < d[1]) ((float*)b[1])[n++] = x;
  }
}
extern "C" void k2(void* const* b, const long*, long begin, long end, void*) {
  for (long i = begin; i < end; ++i) ((float*)b[1])[i] = ((const float*)b[0])[i / 2];
}
)";

class DataDependent : public ::testing::Test {
 protected:
  void SetUp() override {
    const Manifest manifest = compacting_manifest();
    test::write_plan(directory_.file("plan"), manifest,
                     {test::sample_target(manifest, TargetKind::host, "x86-64-v2", 2)},
                     {test::compile_object(kSource, directory_)});
    ASSERT_EQ(mcc_plan_open(directory_.file("plan").c_str(), nullptr, &plan_), MCC_OK)
        << mcc_plan_error(plan_);
    mcc_session_options options{sizeof options, "host", 2, 0};
    ASSERT_EQ(mcc_session_create(plan_, &options, &session_), MCC_OK)
        << mcc_session_error(session_);
  }
  void TearDown() override {
    mcc_session_destroy(session_);
    mcc_plan_close(plan_);
  }

  // Runs on x; y is fetched afterwards. Returns the status of the run.
  mcc_status run(const std::vector<float>& x) {
    const auto size = static_cast<int64_t>(x.size());
    const mcc_shape shape{1, &size};
    EXPECT_EQ(mcc_session_bind(session_, &shape, 1), MCC_OK) << mcc_session_error(session_);
    int64_t dims[MCC_MAX_RANK];
    int rank = 0;
    EXPECT_EQ(mcc_session_output_shape(session_, 0, dims, &rank), MCC_OK);
    const mcc_input input{x.data(), x.size() * 4};
    const mcc_output outputs[] = {{nullptr, 0}, {&count_, 8}};
    const mcc_status status = mcc_session_run(session_, &input, 1, outputs, 2);
    if (status != MCC_OK) return status;
    EXPECT_EQ(mcc_session_output_shape(session_, 0, dims, &rank), MCC_OK);
    EXPECT_EQ(rank, 1);
    y_.assign(static_cast<size_t>(dims[0]), -1);
    EXPECT_EQ(mcc_session_read_output(session_, 0, y_.data(), y_.size() * 4), MCC_OK)
        << mcc_session_error(session_);
    return MCC_OK;
  }

  test::TemporaryDirectory directory_;
  mcc_plan* plan_ = nullptr;
  mcc_session* session_ = nullptr;
  int64_t count_ = 0;
  std::vector<float> y_;
};

TEST_F(DataDependent, SizesFollowTheData) {
  ASSERT_EQ(run({1, -1, 2, 0, 3}), MCC_OK) << mcc_session_error(session_);
  EXPECT_EQ(count_, 3);
  EXPECT_EQ(y_, (std::vector<float>{1, 1, 2, 2, 3, 3}));
  ASSERT_EQ(run({-1, -1, 7}), MCC_OK);
  EXPECT_EQ(y_, (std::vector<float>{7, 7}));
  ASSERT_EQ(run({-1}), MCC_OK);
  EXPECT_TRUE(y_.empty());
  ASSERT_EQ(run({}), MCC_OK) << mcc_session_error(session_);
  std::vector<float> many(100, 5.0f);
  ASSERT_EQ(run(many), MCC_OK);
  EXPECT_EQ(y_, std::vector<float>(200, 5.0f));
}

TEST_F(DataDependent, WritesIntoLargeEnoughMemoryDirectly) {
  ASSERT_EQ(run({1, 2}), MCC_OK);
  std::vector<float> x{4, -4, 5};
  const int64_t size = 3;
  const mcc_shape shape{1, &size};
  ASSERT_EQ(mcc_session_bind(session_, &shape, 1), MCC_OK);
  std::vector<float> y(10, -1);
  const mcc_input input{x.data(), 12};
  const mcc_output outputs[] = {{y.data(), 40}, {&count_, 8}};
  ASSERT_EQ(mcc_session_run(session_, &input, 1, outputs, 2), MCC_OK);
  EXPECT_EQ(y[3], 5);
  EXPECT_EQ(y[4], -1);
  const mcc_output small[] = {{y.data(), 8}, {&count_, 8}};
  EXPECT_EQ(mcc_session_run(session_, &input, 1, small, 2), MCC_ERROR_USAGE);
  EXPECT_NE(std::string(mcc_session_error(session_)).find("needs 16"), std::string::npos);
}

TEST_F(DataDependent, SizesOutsideTheirRangeAreRefused) {
  EXPECT_EQ(run(std::vector<float>(101, 1.0f)), MCC_ERROR_USAGE);
  EXPECT_NE(std::string(mcc_session_error(session_)).find("\"count\" is 101"), std::string::npos)
      << mcc_session_error(session_);
  EXPECT_EQ(run({1}), MCC_OK);
}

TEST_F(DataDependent, MemoryIsUnknownBeforehand) {
  const int64_t size = 3;
  const mcc_shape shape{1, &size};
  mcc_memory memory{};
  ASSERT_EQ(mcc_plan_memory(plan_, &shape, 1, &memory, nullptr, 0), MCC_OK);
  EXPECT_EQ(memory.arena_bytes, -1);
}

TEST(Phases, AreSplitWhereSizesBecomeKnown) {
  const Manifest manifest = compacting_manifest();
  const PhaseTable table = split_phases(manifest);
  ASSERT_EQ(table.phases.size(), 2u);
  EXPECT_EQ(table.phases[0].end, 1u);
  EXPECT_TRUE(table.phases[0].symbols.empty());
  EXPECT_EQ(table.phases[1].begin, 1u);
  EXPECT_EQ(table.phases[1].symbols, (std::vector<int>{1, 2}));
  EXPECT_EQ(table.phase_of(manifest.outputs[0].shape[0]), 1);
  EXPECT_EQ(table.phase_of(manifest.inputs[0].shape[0]), -1);
  EXPECT_TRUE(split_phases(test::sample_manifest()).is_static());
}

}  // namespace
}  // namespace mcc::runtime
