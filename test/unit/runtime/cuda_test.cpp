// The cuda device against a mock driver that the test compiles. The driver is loaded once per
// process, so each case runs in a child process of its own: results come back as text.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/cuda/cuda_device.h"
#include "runtime/include/mcc.h"
#include "test/unit/runtime/sample_plan.h"

namespace mcc::runtime {
namespace {

using test::sample_target;

// Runs `body` in a child process with the given environment and returns what it wrote.
template <typename Body>
std::string in_child(const std::vector<std::pair<std::string, std::string>>& environment,
                     Body body) {
  int channel[2];
  EXPECT_EQ(::pipe(channel), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    const std::string text = body();
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t count = ::write(channel[1], text.data() + done, text.size() - done);
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    ::_exit(0);
  }
  ::close(channel[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(channel[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  ::close(channel[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child crashed";
  return text;
}

// Opens the plan on `device`, runs it at the given sizes, and tells how that went.
std::string run_plan(const std::string& path, const std::vector<int64_t>& sizes,
                     const char* device = "cuda", int disable_replay = 0) {
  mcc_plan* plan = nullptr;
  if (mcc_plan_open(path.c_str(), nullptr, &plan) != MCC_OK) return mcc_plan_error(plan);
  mcc_session_options options{sizeof options, device, 1, disable_replay};
  mcc_session* session = nullptr;
  mcc_status status = mcc_session_create(plan, &options, &session);
  std::string text;
  for (size_t n = 0; n < sizes.size() && status == MCC_OK; ++n) {
    const int64_t dims[] = {sizes[n], 16};
    const mcc_shape shape{2, dims};
    status = mcc_session_bind(session, &shape, 1);
    if (status != MCC_OK) break;
    std::vector<float> x(static_cast<size_t>(sizes[n]) * 16), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11) - 5;
    const mcc_input input{x.data(), x.size() * 4};
    const mcc_output output{y.data(), y.size() * 4};
    status = mcc_session_run(session, &input, 1, &output, 1);
    for (size_t i = 0; i < x.size() && status == MCC_OK; ++i) {
      if (y[i] != test::sample_result(x[i], static_cast<int64_t>(i))) return "wrong result";
    }
  }
  text = std::to_string(status) + " " + mcc_session_error(session) + "|" +
         mcc_session_device(session) + "|" + mcc_session_target(session);
  mcc_session_destroy(session);
  mcc_plan_close(plan);
  return text;
}

class Cuda : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new test::TemporaryDirectory;
    const std::string source = std::string(MCC_SOURCE_DIR) + "/test/unit/runtime/mock/mock_libcuda.txt";
    const std::string command = "c++ -std=c++20 -w -O1 -shared -fPIC -x c++ " + source + " -o " +
                                directory_->file("libcuda.so.1");
    ASSERT_EQ(std::system(command.c_str()), 0);
    write_cuda_plan("plan", false);
  }
  static void TearDownTestSuite() { delete directory_; }

  static TargetInfo gpu_target(const Manifest& manifest, TargetKind kind, int capability,
                               uint32_t section, int driver) {
    TargetInfo target = sample_target(manifest, kind,
                                      (kind == TargetKind::cubin ? "sm_" : "compute_") +
                                          std::to_string(capability),
                                      section);
    target.compute_capability = capability;
    target.minimum_driver = driver;
    return target;
  }

  // sm_80 and sm_90 cubins, each kernel in an image of its own for sm_80, and PTX.
  static void write_cuda_plan(const std::string& name, bool with_host, int64_t shared = 0) {
    Manifest manifest = test::sample_manifest();
    manifest.kernels[1].cuda->shared_bytes = shared;
    std::vector<TargetInfo> targets{gpu_target(manifest, TargetKind::cubin, 80, 2, 12000),
                                    gpu_target(manifest, TargetKind::cubin, 90, 4, 12000),
                                    gpu_target(manifest, TargetKind::ptx, 75, 5, 13000)};
    targets[0].sections = {2, 3};
    targets[0].kernels[1].image = 1;
    std::vector<std::string> images{"cubin80a", "cubin80b", "cubin90", "ptx75"};
    if (with_host) {
      targets.push_back(sample_target(manifest, TargetKind::host, "x86-64-v2", 6));
      images.push_back(test::compile_object(test::kSampleSource, *directory_));
    } else {
      for (KernelInfo& kernel : manifest.kernels) kernel.host.reset();
    }
    for (std::string& image : images) image.push_back('\0');
    test::write_plan(directory_->file(name), manifest, targets, images);
  }

  using Environment = std::vector<std::pair<std::string, std::string>>;
  static Environment with_mock(Environment extra = {}) {
    extra.emplace_back("MCC_LIBCUDA", directory_->file("libcuda.so.1"));
    return extra;
  }
  static std::string result(Environment environment, std::vector<int64_t> sizes = {4}) {
    return in_child(with_mock(std::move(environment)),
                    [&] { return run_plan(directory_->file("plan"), sizes); });
  }
  static void expect_contains(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  static int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  }

  static test::TemporaryDirectory* directory_;
};
test::TemporaryDirectory* Cuda::directory_ = nullptr;

TEST_F(Cuda, RunsAndReplaysGraphs) {
  const std::string log = directory_->file("log");
  const std::string text = result({{"MCC_MOCK_LOG", log}}, {4, 4, 8, 4});
  EXPECT_EQ(text, "0 |cuda:0 Mock GPU (sm_80), driver 13.0|sm_80");
  const std::string calls = test::read_file(log);
  // Sizes 4 and 8 are recorded once each; size 4 is recorded again since memory moved.
  EXPECT_EQ(count(calls, "cuGraphInstantiateWithFlags"), 3);
  EXPECT_EQ(count(calls, "cuGraphLaunch"), 4);
  EXPECT_EQ(count(calls, "cuGraphExecDestroy"), 3);
  expect_contains(calls, "cuLaunchKernel k0 grid=4,1,1 block=16,1,1 shared=0 dim=4");
  expect_contains(calls, "cuLaunchKernel k1 grid=8,1,1 block=16,1,1 shared=0 dim=8");
  expect_contains(calls, "cuModuleLoadDataEx cubin80a");
  expect_contains(calls, "cuModuleLoadDataEx cubin80b");
  EXPECT_EQ(count(calls, "cubin90"), 0);
  EXPECT_EQ(count(calls, "cuMemAlloc"), count(calls, "cuMemFree\n"));
  EXPECT_EQ(count(calls, "cuMemHostAlloc"), count(calls, "cuMemFreeHost"));
  EXPECT_EQ(count(calls, "cuModuleUnload"), 2);
  EXPECT_EQ(count(calls, "cuStreamDestroy"), 1);
  EXPECT_EQ(count(calls, "cuDevicePrimaryCtxRelease"), 1);
}

TEST_F(Cuda, LaunchesOneByOneWithoutReplay) {
  const std::string log = directory_->file("log_plain");
  const std::string text = in_child(with_mock({{"MCC_MOCK_LOG", log}}), [&] {
    return run_plan(directory_->file("plan"), {4, 4}, "cuda:0", 1);
  });
  expect_contains(text, "0 |");
  EXPECT_EQ(count(test::read_file(log), "cuGraphLaunch"), 0);
  EXPECT_EQ(count(test::read_file(log), "cuLaunchKernel"), 4);
}

TEST_F(Cuda, ChoosesTheTarget) {
  expect_contains(result({{"MCC_MOCK_SM", "86"}}), "|sm_80");
  expect_contains(result({{"MCC_MOCK_SM", "90"}}), "|sm_90");
  expect_contains(result({{"MCC_MOCK_SM", "75"}}), "|compute_75");
  expect_contains(result({{"MCC_MOCK_SM", "120"}}), "|compute_75");
  // An older driver cannot compile the PTX, but runs the cubins.
  expect_contains(result({{"MCC_MOCK_SM", "86"}, {"MCC_MOCK_DRIVER", "12040"}}), "|sm_80");
  const std::string old = result({{"MCC_MOCK_SM", "120"}, {"MCC_MOCK_DRIVER", "12040"}});
  expect_contains(old, "3 the plan has no code for this GPU, Mock GPU (sm_120)");
  expect_contains(old, "compute_75: it needs driver 13.0 or newer, this one is 12.4");
  expect_contains(old, "--arch sm_120");
}

TEST_F(Cuda, RatesTargets) {
  Manifest manifest = test::sample_manifest();
  TargetInfo target = gpu_target(manifest, TargetKind::cubin, 90, 2, 12000);
  std::string reason;
  EXPECT_GT(rate_target(target, {90, 12000}, reason), 0);
  EXPECT_EQ(rate_target(target, {90, 11080}, reason), 0);
  EXPECT_EQ(rate_target(target, {89, 13000}, reason), 0);
  EXPECT_EQ(rate_target(target, {100, 13000}, reason), 0);
  TargetInfo exact = target;
  exact.exact_architecture = true;
  EXPECT_GT(rate_target(exact, {90, 12000}, reason), rate_target(target, {90, 12000}, reason));
  exact.compute_capability = 100;
  EXPECT_EQ(rate_target(exact, {103, 13000}, reason), 0);
  exact.exact_architecture = false;
  exact.family_architecture = true;
  EXPECT_GT(rate_target(exact, {103, 13000}, reason), 0);
  EXPECT_EQ(rate_target(exact, {120, 13000}, reason), 0);
}

TEST_F(Cuda, ExplainsDriverErrors) {
  expect_contains(result({{"MCC_MOCK_FAIL", "cuInit=100"}}), "3 cannot initialise the CUDA driver");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuInit=100"}}), "CUDA_VISIBLE_DEVICES");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuInit=34"}}), "stub");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuInit=803"}}), "kernel module");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuModuleLoadDataEx=209"}}), "--arch");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuModuleLoadDataEx=222"}}), "update the driver");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuModuleLoadDataEx=218"}}), "mock compiler log");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuModuleGetFunction=500"}}), "find kernel k0");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuMemAlloc=2"}}), "too little free memory");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuLaunchKernel=701"}}), "launch kernel");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuStreamSynchronize=700"}}), "out of bounds");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuStreamEndCapture=901"}}), "record a CUDA graph");
  expect_contains(result({{"MCC_MOCK_FAIL", "cuGraphInstantiateWithFlags=1"}}), "instantiate");
  expect_contains(result({{"MCC_MOCK_HIDE", "cuGraphInstantiateWithFlags"}}), "too old");
  expect_contains(result({{"MCC_MOCK_DEVICES", "0"}}), "there is no GPU number 0");
}

TEST_F(Cuda, SaysInOneLineThatThereIsNoDriver) {
  const std::string text =
      in_child({{"MCC_LIBCUDA", "libcuda-that-does-not-exist.so.1"}},
               [&] { return run_plan(directory_->file("plan"), {4}); });
  expect_contains(text, "3 no CUDA driver: libcuda.so.1 cannot be loaded");
  EXPECT_EQ(count(text, "\n"), 0);
}

TEST_F(Cuda, AutomaticPrefersTheGpuAndFallsBackToTheHost) {
  write_cuda_plan("both", true);
  const std::string path = directory_->file("both");
  const auto automatic = [&] { return run_plan(path, {4}, "auto"); };
  expect_contains(in_child(with_mock(), automatic), "|sm_80");
  expect_contains(in_child(with_mock({{"MCC_MOCK_FAIL", "cuInit=100"}}), automatic), "|x86-64-v2");
  const std::string none = in_child(with_mock({{"MCC_MOCK_FAIL", "cuInit=100"}}), [&] {
    return run_plan(directory_->file("plan"), {4}, "auto");
  });
  expect_contains(none, "3 no device of this machine can run the plan; cuda: ");
  expect_contains(none, "host: the plan has no host code");
}

TEST_F(Cuda, ChecksSharedMemory) {
  write_cuda_plan("shared", false, 100000);
  write_cuda_plan("too_much", false, 200000);
  const std::string log = directory_->file("log_shared");
  expect_contains(in_child(with_mock({{"MCC_MOCK_LOG", log}}),
                           [&] { return run_plan(directory_->file("shared"), {4}); }),
                  "0 |");
  expect_contains(test::read_file(log), "cuFuncSetAttribute 8=100000");
  expect_contains(in_child(with_mock({{"MCC_MOCK_FAIL", "cuFuncSetAttribute=0"}}),
                           [&] { return run_plan(directory_->file("too_much"), {4}); }),
                  "bytes of shared memory");
}

TEST_F(Cuda, ProbeDescribesTheDevice) {
  const auto probe = [] {
    std::string text;
    const bool usable = probe_cuda(text);
    return std::string(usable ? "yes " : "no ") + text;
  };
  EXPECT_EQ(in_child(with_mock(), probe), "yes cuda:0 Mock GPU (sm_80), driver 13.0");
  expect_contains(in_child(with_mock({{"MCC_MOCK_DEVICES", "2"}}), probe), "2 GPUs");
  expect_contains(in_child(with_mock({{"MCC_MOCK_DEVICES", "0"}}), probe), "no the CUDA driver");
}

}  // namespace
}  // namespace mcc::runtime
