// The device `sim` through the C API: a hand-made plan with right and wrong kernels.
#include "runtime/sim_device/sim_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/include/mcc.h"
#include "test/unit/runtime/sample_plan.h"

namespace mcc::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two kernels over buffers a, b -> c with one thread per element. The bodies get the element's
// number in %r4, its byte offset in %rd4 and the buffers' addresses in %rd1 to %rd3.
std::string kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name +
         "(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 rows)\n"
         "{\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<10>;\n.reg .f32 %f<10>;\n.reg .b64 %rd<10>;\n"
         "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\n"
         "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
         "shl.b32 %r3, %r1, 4;\nadd.s32 %r4, %r3, %r2;\nmul.wide.s32 %rd4, %r4, 4;\n" +
         body + "ret;\n}\n";
}

const char* const kMultiply =
    "add.s64 %rd5, %rd1, %rd4;\nld.global.f32 %f1, [%rd5];\n"
    "mul.wide.s32 %rd6, %r2, 4;\nadd.s64 %rd6, %rd2, %rd6;\nld.global.f32 %f2, [%rd6];\n"
    "mul.f32 %f3, %f1, %f2;\nadd.s64 %rd7, %rd3, %rd4;\nst.global.f32 [%rd7], %f3;\n";
const char* const kReluAdd =
    "add.s64 %rd5, %rd1, %rd4;\nld.global.f32 %f1, [%rd5];\nmax.f32 %f1, %f1, 0f00000000;\n"
    "add.s64 %rd6, %rd2, %rd4;\nld.global.f32 %f2, [%rd6];\nadd.f32 %f3, %f1, %f2;\n"
    "add.s64 %rd7, %rd3, %rd4;\nst.global.f32 [%rd7], %f3;\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.substr(0, at) + to + text.substr(at + from.size());
}

class SimDevice : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_device_kind(sim_device_kind()); }

  void open(const std::string& first, const std::string& second) {
    const Manifest manifest = test::sample_manifest();
    TargetInfo target = test::sample_target(manifest, TargetKind::ptx, "compute_80", 2);
    target.compute_capability = 80;
    target.minimum_driver = 12000;
    test::write_plan(directory_.file("plan"), manifest, {target},
                     {".version 8.0\n.target sm_80\n.address_size 64\n" + kernel("k0", first) +
                      kernel("k1", second)});
    ASSERT_EQ(mcc_plan_open(directory_.file("plan").c_str(), nullptr, &plan_), MCC_OK)
        << mcc_plan_error(plan_);
  }
  mcc_status create(const char* device) {
    mcc_session_destroy(session_);
    mcc_session_options options{sizeof options, device, 1, 0};
    return mcc_session_create(plan_, &options, &session_);
  }
  // Runs `rows` rows of 16 elements; the outputs are in y_.
  mcc_status run(int64_t rows) {
    const int64_t dims[] = {rows, 16};
    const mcc_shape shape{2, dims};
    const mcc_status bound = mcc_session_bind(session_, &shape, 1);
    if (bound != MCC_OK) return bound;
    x_.resize(static_cast<size_t>(rows) * 16);
    y_.assign(x_.size(), -1000);
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 97) - 40;
    const mcc_input input{x_.data(), x_.size() * 4};
    const mcc_output output{y_.data(), y_.size() * 4};
    return mcc_session_run(session_, &input, 1, &output, 1);
  }
  void expect_finding(const char* what, const char* kernel_name, const char* buffer) {
    ASSERT_EQ(create("sim"), MCC_OK) << mcc_session_error(session_);
    EXPECT_EQ(run(3), MCC_ERROR_INTERNAL);
    EXPECT_THAT(mcc_session_error(session_),
                AllOf(HasSubstr(what), HasSubstr(std::string("kernel ") + kernel_name),
                      HasSubstr(buffer), HasSubstr(std::string("node_") + kernel_name)));
  }
  void TearDown() override {
    mcc_session_destroy(session_);
    mcc_plan_close(plan_);
  }

  test::TemporaryDirectory directory_;
  mcc_plan* plan_ = nullptr;
  mcc_session* session_ = nullptr;
  std::vector<float> x_, y_;
};

TEST_F(SimDevice, RunsThePlanAndReportsEachLaunch) {
  open(kMultiply, kReluAdd);
  ASSERT_EQ(create("sim:sm_80,orders=2"), MCC_OK) << mcc_session_error(session_);
  EXPECT_STREQ(mcc_session_target(session_), "compute_80");
  for (int64_t rows : {5, 64, 1}) {
    ASSERT_EQ(run(rows), MCC_OK) << mcc_session_error(session_);
    for (size_t i = 0; i < y_.size(); ++i) {
      ASSERT_EQ(y_[i], test::sample_result(x_[i], static_cast<int64_t>(i))) << i;
    }
    const char* text = nullptr;
    ASSERT_EQ(mcc_session_report(session_, &text), MCC_OK);
    const nlohmann::json report = nlohmann::json::parse(text);
    ASSERT_EQ(report.size(), 2u);
    EXPECT_EQ(report[1]["kernel"], "k1");
    EXPECT_EQ(report[1]["instruction"], 1);
    EXPECT_EQ(report[1]["grid"], nlohmann::json({rows, 1, 1}));
    const nlohmann::json& counters = report[1]["counters"];
    EXPECT_EQ(counters["global"]["store_bytes"], rows * 64);
    EXPECT_EQ(counters["global"]["load_sectors"], rows * 4);
    EXPECT_EQ(counters["global"]["coalescing"], 1.0);
    EXPECT_EQ(report[1]["buffers"][0]["name"], "hidden");
    EXPECT_GT(report[1]["estimates"]["h100"]["total_us"], 0);
  }
}

TEST_F(SimDevice, WithoutChecksAndCounters) {
  open(kMultiply, kReluAdd);
  ASSERT_EQ(create("sim:80,checks=0,counters=0"), MCC_OK) << mcc_session_error(session_);
  ASSERT_EQ(run(4), MCC_OK) << mcc_session_error(session_);
  EXPECT_EQ(y_[20], test::sample_result(x_[20], 20));
}

TEST_F(SimDevice, FindsReadsBehindABuffer) {
  open(kMultiply, replaced(kReluAdd, "[%rd6]", "[%rd6+4]"));
  expect_finding("out-of-bounds", "k1", "");
}

TEST_F(SimDevice, FindsWritesToInputs) {
  open(replaced(kMultiply, "add.s64 %rd7, %rd3", "add.s64 %rd7, %rd1"), kReluAdd);
  expect_finding("read-only-write", "k0", "");
}

TEST_F(SimDevice, FindsReadsOfWhatNoKernelWrote) {
  open(replaced(kMultiply, "st.global", "setp.ne.s32 %p1, %r4, 17;\n@%p1 st.global"), kReluAdd);
  expect_finding("uninitialised-read", "k1", "hidden");
}

TEST_F(SimDevice, FindsStaleMemoryOfAnEarlierRun) {
  // Writes all rows but the second one, except when it has one row only.
  open(kMultiply, replaced(kReluAdd, "st.global",
                           "ld.param.u32 %r5, [rows];\nsetp.ne.s32 %p1, %r5, 3;\n"
                           "setp.ne.or.s32 %p1, %r4, 17, %p1;\n@%p1 st.global"));
  ASSERT_EQ(create("sim"), MCC_OK) << mcc_session_error(session_);
  ASSERT_EQ(run(4), MCC_OK) << mcc_session_error(session_);
  EXPECT_EQ(run(3), MCC_ERROR_INTERNAL);
  EXPECT_THAT(mcc_session_error(session_), HasSubstr("no kernel wrote byte 68"));
}

TEST_F(SimDevice, RefusesWhatItCannotRun) {
  open(kMultiply, kReluAdd);
  EXPECT_EQ(create("sim:90"), MCC_ERROR_ENVIRONMENT);
  EXPECT_THAT(mcc_session_error(session_),
              AllOf(HasSubstr("only compute_80"), HasSubstr("--sim-arch sm_90")));
  EXPECT_EQ(create("sim:"), MCC_ERROR_USAGE);
  EXPECT_EQ(create("sim:fast"), MCC_ERROR_USAGE);
  EXPECT_THAT(mcc_session_error(session_), HasSubstr("\"fast\" is no option"));
  mcc_plan_close(plan_);
  plan_ = nullptr;
  mcc_session_destroy(session_);
  session_ = nullptr;
  open("frobnicate.b32 %r1, %r2;\n", kReluAdd);
  EXPECT_EQ(create("sim"), MCC_ERROR_INTERNAL);
  EXPECT_THAT(mcc_session_error(session_), HasSubstr("frobnicate"));
}

}  // namespace
}  // namespace mcc::runtime
