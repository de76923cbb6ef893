// The C API end to end on the host device.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/host/thread_pool.h"
#include "runtime/include/mcc.h"
#include "test/unit/runtime/sample_plan.h"

namespace mcc::runtime {
namespace {

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = test::write_host_plan(directory_);
    ASSERT_EQ(mcc_plan_open(path_.c_str(), nullptr, &plan_), MCC_OK) << mcc_plan_error(plan_);
  }
  void TearDown() override { mcc_plan_close(plan_); }

  mcc_session* session(int threads = 2, const char* device = "host") {
    mcc_session_options options{sizeof options, device, threads, 0};
    mcc_session* created = nullptr;
    EXPECT_EQ(mcc_session_create(plan_, &options, &created), MCC_OK) << mcc_session_error(created);
    return created;
  }
  static mcc_status bind(mcc_session* session, int64_t rows, int64_t columns = 16) {
    const int64_t dims[] = {rows, columns};
    const mcc_shape shape{2, dims};
    return mcc_session_bind(session, &shape, 1);
  }
  // Runs on rows x 16 elements, `shift` floats away from aligned memory, and checks the result.
  static void run_and_check(mcc_session* session, int64_t rows, size_t shift = 0) {
    ASSERT_EQ(bind(session, rows), MCC_OK) << mcc_session_error(session);
    const auto count = static_cast<size_t>(rows) * 16;
    std::vector<float> x(count + 32), y(count + 32, -1000);
    const auto aligned = [&](std::vector<float>& v) {
      void* p = v.data();
      size_t space = v.size() * 4;
      return static_cast<float*>(std::align(64, count * 4, p, space)) + shift;
    };
    float* in = aligned(x);
    float* out = aligned(y);
    for (size_t i = 0; i < count; ++i) in[i] = static_cast<float>(i % 97) - 40;
    const mcc_input input{in, count * 4};
    const mcc_output output{out, count * 4};
    ASSERT_EQ(mcc_session_run(session, &input, 1, &output, 1), MCC_OK)
        << mcc_session_error(session);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(out[i], test::sample_result(in[i], static_cast<int64_t>(i))) << i;
    }
  }

  test::TemporaryDirectory directory_;
  std::string path_;
  mcc_plan* plan_ = nullptr;
};

TEST_F(CApi, DescribesThePlan) {
  EXPECT_STREQ(mcc_plan_model_name(plan_), "sample");
  ASSERT_EQ(mcc_plan_input_count(plan_), 1);
  ASSERT_EQ(mcc_plan_output_count(plan_), 1);
  mcc_tensor_info info;
  ASSERT_EQ(mcc_plan_input(plan_, 0, &info), MCC_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, MCC_F32);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.minimum[0], 1);
  EXPECT_EQ(info.maximum[0], 64);
  EXPECT_STREQ(info.text[0], "batch");
  EXPECT_EQ(info.minimum[1], 16);
  EXPECT_EQ(mcc_plan_output(plan_, 1, &info), MCC_ERROR_USAGE);
  const auto json = nlohmann::json::parse(mcc_plan_json(plan_));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["file"]["sections"].size(), 3u);
  EXPECT_STREQ(mcc_dtype_name(MCC_BF16), "bf16");
  EXPECT_EQ(mcc_dtype_bits(MCC_I4), 4);
  EXPECT_EQ(mcc_dtype_name(static_cast<mcc_dtype>(99)), nullptr);
}

TEST_F(CApi, ComputesMemoryWithoutADevice) {
  const int64_t dims[] = {10, 16};
  mcc_shape shape{2, dims};
  mcc_memory memory{};
  char error[200];
  ASSERT_EQ(mcc_plan_memory(plan_, &shape, 1, &memory, error, sizeof error), MCC_OK) << error;
  EXPECT_EQ(memory.arena_bytes, 640);
  EXPECT_EQ(memory.arena_sum_bytes, 640);
  EXPECT_EQ(memory.weights_bytes, 64);
  EXPECT_STREQ(error, "");
  shape.rank = 1;
  EXPECT_EQ(mcc_plan_memory(plan_, &shape, 1, &memory, error, 20), MCC_ERROR_USAGE);
  EXPECT_EQ(std::string(error).size(), 19u);
  EXPECT_EQ(mcc_plan_memory(plan_, &shape, 1, &memory, nullptr, 0), MCC_ERROR_USAGE);
}

TEST_F(CApi, RunsAtSeveralSizesAndAlignments) {
  mcc_session* s = session();
  for (int64_t rows : {1, 64, 7, 64, 3}) {
    run_and_check(s, rows);
    run_and_check(s, rows, 1);
  }
  int64_t dims[MCC_MAX_RANK];
  int rank = 0;
  ASSERT_EQ(mcc_session_output_shape(s, 0, dims, &rank), MCC_OK);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(dims[0], 3);
  int64_t bytes = 0, bound = 0;
  ASSERT_EQ(mcc_session_arena(s, &bytes, &bound), MCC_OK);
  EXPECT_EQ(bytes, 3 * 64);
  EXPECT_EQ(bound, 3 * 64);
  EXPECT_NE(std::string(mcc_session_device(s)).find("2 thread(s)"), std::string::npos);
  EXPECT_STREQ(mcc_session_target(s), "x86-64-v2");
  mcc_session_destroy(s);
}

TEST_F(CApi, ExplainsWrongShapesAndSizes) {
  mcc_session* s = session(1);
  const mcc_input none{nullptr, 0};
  const mcc_output no_output{nullptr, 0};
  EXPECT_EQ(mcc_session_run(s, &none, 1, &no_output, 1), MCC_ERROR_USAGE);
  EXPECT_NE(std::string(mcc_session_error(s)).find("bind"), std::string::npos);
  EXPECT_EQ(bind(s, 65), MCC_ERROR_USAGE);
  EXPECT_NE(std::string(mcc_session_error(s)).find("\"batch\" is 65, but must be between 1 and 64"),
            std::string::npos)
      << mcc_session_error(s);
  EXPECT_EQ(bind(s, 0), MCC_ERROR_USAGE);
  EXPECT_EQ(bind(s, -1), MCC_ERROR_USAGE);
  EXPECT_EQ(bind(s, 2, 15), MCC_ERROR_USAGE);
  EXPECT_NE(std::string(mcc_session_error(s)).find("axis 1 must be 16"), std::string::npos);
  const mcc_shape scalar{0, nullptr};
  EXPECT_EQ(mcc_session_bind(s, &scalar, 1), MCC_ERROR_USAGE);
  EXPECT_EQ(mcc_session_bind(s, nullptr, 0), MCC_ERROR_USAGE);
  ASSERT_EQ(bind(s, 2), MCC_OK);
  std::vector<float> x(32), y(32);
  const mcc_input short_input{x.data(), 100};
  const mcc_output good_output{y.data(), 128};
  EXPECT_EQ(mcc_session_run(s, &short_input, 1, &good_output, 1), MCC_ERROR_USAGE);
  EXPECT_NE(std::string(mcc_session_error(s)).find("has 100 bytes, its shape needs 128"),
            std::string::npos);
  const mcc_input good_input{x.data(), 128};
  const mcc_output short_output{y.data(), 127};
  EXPECT_EQ(mcc_session_run(s, &good_input, 1, &short_output, 1), MCC_ERROR_USAGE);
  EXPECT_EQ(mcc_session_run(s, &good_input, 1, nullptr, 0), MCC_ERROR_USAGE);
  EXPECT_EQ(mcc_session_run(s, &good_input, 1, &good_output, 1), MCC_OK);
  EXPECT_STREQ(mcc_session_error(s), "");
  mcc_session_destroy(s);
}

TEST_F(CApi, FailedHandlesExplainThemselves) {
  mcc_plan* plan = nullptr;
  EXPECT_EQ(mcc_plan_open("/nonexistent", nullptr, &plan), MCC_ERROR_ENVIRONMENT);
  ASSERT_NE(plan, nullptr);
  EXPECT_NE(std::string(mcc_plan_error(plan)).find("/nonexistent"), std::string::npos);
  mcc_session* s = nullptr;
  EXPECT_EQ(mcc_session_create(plan, nullptr, &s), MCC_ERROR_USAGE);
  EXPECT_EQ(mcc_session_bind(s, nullptr, 0), MCC_ERROR_USAGE);
  mcc_session_destroy(s);
  mcc_plan_close(plan);
  for (const char* device : {"toaster", "host:x", "host:1", "cuda:-1"}) {
    mcc_session_options options{sizeof options, device, 1, 0};
    EXPECT_EQ(mcc_session_create(plan_, &options, &s), MCC_ERROR_USAGE) << device;
    EXPECT_NE(std::string(mcc_session_error(s)), "");
    mcc_session_destroy(s);
  }
  mcc_session_options options{sizeof options, "host", -3, 0};
  EXPECT_EQ(mcc_session_create(plan_, &options, &s), MCC_ERROR_USAGE);
  mcc_session_destroy(s);
  options.struct_size = 1;
  EXPECT_EQ(mcc_session_create(plan_, &options, &s), MCC_ERROR_USAGE);
  mcc_session_destroy(s);
  mcc_session_destroy(nullptr);
  mcc_plan_close(nullptr);
}

TEST_F(CApi, SessionsOutliveThePlanHandle) {
  mcc_session* s = session();
  mcc_plan_close(plan_);
  plan_ = nullptr;
  run_and_check(s, 5);
  mcc_session_destroy(s);
}

TEST_F(CApi, ManySessionsInThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      mcc_session* s = session(1 + t % 2);
      for (int64_t i = 0; i < 20; ++i) run_and_check(s, 1 + (i * 13 + t) % 64, static_cast<size_t>(i % 2));
      mcc_session_destroy(s);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CApi, ObservesIntermediates) {
  mcc_session* s = session();
  struct Seen {
    std::vector<std::string> kernels;
    std::vector<float> hidden;
  } seen;
  const auto observer = [](const mcc_observation* o, void* user) {
    auto* record = static_cast<Seen*>(user);
    record->kernels.push_back(o->kernel);
    if (std::string(o->name) == "hidden") {
      EXPECT_EQ(o->rank, 2);
      EXPECT_EQ(o->dims[0], 2);
      const auto* data = static_cast<const float*>(o->data);
      record->hidden.assign(data, data + o->bytes / 4);
    }
    return 0;
  };
  ASSERT_EQ(mcc_session_observe(s, observer, &seen), MCC_OK);
  run_and_check(s, 2);
  EXPECT_EQ(seen.kernels, (std::vector<std::string>{"k0", "k1"}));
  ASSERT_EQ(seen.hidden.size(), 32u);
  EXPECT_EQ(seen.hidden[0], -40 * -8.0f);
  ASSERT_EQ(mcc_session_observe(s, nullptr, nullptr), MCC_OK);
  run_and_check(s, 2);
  EXPECT_EQ(seen.kernels.size(), 2u);
  mcc_session_destroy(s);
}

TEST_F(CApi, BenchesAndProfiles) {
  mcc_session* s = session();
  ASSERT_EQ(bind(s, 64), MCC_OK);
  std::vector<float> x(1024), y(1024);
  const mcc_input input{x.data(), 4096};
  const mcc_output output{y.data(), 4096};
  mcc_bench_options options{sizeof options, 1, 0, 25};
  mcc_bench_result result{};
  ASSERT_EQ(mcc_session_bench(s, &input, 1, &output, 1, &options, &result), MCC_OK);
  EXPECT_EQ(result.iterations, 25);
  EXPECT_GT(result.minimum_ms, 0);
  EXPECT_LE(result.minimum_ms, result.median_ms);
  EXPECT_LE(result.median_ms, result.p90_ms);
  EXPECT_LE(result.p90_ms, result.p99_ms);
  EXPECT_GT(result.throughput_per_s, 0);
  mcc_kernel_time times[2];
  int count = 0;
  ASSERT_EQ(mcc_session_profile(s, &input, 1, &output, 1, times, 2, &count), MCC_OK);
  EXPECT_EQ(count, 2);
  EXPECT_STREQ(times[1].kernel, "k1");
  EXPECT_GE(times[0].milliseconds, 0);
  mcc_timings timings{};
  ASSERT_EQ(mcc_session_timings(s, &timings), MCC_OK);
  EXPECT_GT(timings.load_ms, 0);
  EXPECT_GT(timings.first_run_ms, 0);
  mcc_session_destroy(s);
}

TEST(HostDevice, RefusesImagesForOtherProcessors) {
  const test::TemporaryDirectory directory;
  const Manifest manifest = test::sample_manifest();
  test::write_plan(directory.file("plan"), manifest,
                   {test::sample_target(manifest, TargetKind::host, "x86-64-v9", 2)}, {"x"});
  test::write_plan(directory.file("broken"), manifest,
                   {test::sample_target(manifest, TargetKind::host, "x86-64-v2", 2)}, {"x"});
  test::write_plan(directory.file("missing"), manifest,
                   {test::sample_target(manifest, TargetKind::host, "x86-64-v2", 2)},
                   {test::compile_object("extern \"C\" void k0() {}", directory)});
  const auto failure = [&](const char* name) {
    mcc_plan* plan = nullptr;
    EXPECT_EQ(mcc_plan_open(directory.file(name).c_str(), nullptr, &plan), MCC_OK);
    mcc_session_options options{sizeof options, "host", 1, 0};
    mcc_session* s = nullptr;
    const mcc_status status = mcc_session_create(plan, &options, &s);
    std::string text = std::to_string(status) + " " + mcc_session_error(s);
    mcc_session_destroy(s);
    mcc_plan_close(plan);
    return text;
  };
  EXPECT_NE(failure("plan").find("3 the plan's host code is for x86-64-v9"), std::string::npos);
  EXPECT_NE(failure("broken").find("3 the plan's host code cannot be loaded"), std::string::npos);
  EXPECT_NE(failure("missing").find("1 the plan's host code lacks kernel k1"), std::string::npos);
}

TEST(ThreadPool, CoversEveryItemOnce) {
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int round = 0; round < 300; ++round) {
      const int64_t count = (round * 37) % 501;
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      pool.run(count, 1 + round % 7,
               [](void* context, int64_t begin, int64_t end, int thread) {
                 EXPECT_GE(thread, 0);
                 auto& all = *static_cast<std::vector<std::atomic<int>>*>(context);
                 for (int64_t i = begin; i < end; ++i) ++all[static_cast<size_t>(i)];
               },
               &hits);
      for (const auto& hit : hits) ASSERT_EQ(hit, 1);
      if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

TEST(ThreadPool, HandlesHugeCounts) {
  ThreadPool pool(2);
  std::atomic<int64_t> total{0};
  pool.run(int64_t{1} << 40, 1,
           [](void* context, int64_t begin, int64_t end, int) {
             static_cast<std::atomic<int64_t>*>(context)->fetch_add(end - begin);
           },
           &total);
  EXPECT_EQ(total, int64_t{1} << 40);
}

}  // namespace
}  // namespace mcc::runtime
