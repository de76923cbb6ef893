// RAII and exceptions over the C API, which is all that the command line uses of the runtime.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/tensor.h"
#include "runtime/include/mcc.h"

namespace mcc::tools {

// Throws the mcc::Error type that belongs to the status; returns for MCC_OK.
void check_status(mcc_status status, const char* message);

// The C API's element types and ours have the same order.
DType to_dtype(mcc_dtype dtype);

struct PlanTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> minimum;  // per axis
  std::vector<int64_t> maximum;
  std::vector<std::string> text;  // "batch", "2 * time + 1", "224"
};

class PlanHandle {
 public:
  // Errors as mcc_plan_open.
  explicit PlanHandle(const std::string& path);
  ~PlanHandle() { mcc_plan_close(plan_); }
  PlanHandle(const PlanHandle&) = delete;
  PlanHandle& operator=(const PlanHandle&) = delete;

  mcc_plan* get() const { return plan_; }
  const std::vector<PlanTensor>& inputs() const { return inputs_; }
  const std::vector<PlanTensor>& outputs() const { return outputs_; }

 private:
  mcc_plan* plan_ = nullptr;
  std::vector<PlanTensor> inputs_;
  std::vector<PlanTensor> outputs_;
};

struct SessionRequest {
  std::string device = "auto";
  int threads = 0;
  bool disable_replay = false;
};

class SessionHandle {
 public:
  SessionHandle(const PlanHandle& plan, const SessionRequest& request);
  ~SessionHandle() { mcc_session_destroy(session_); }
  SessionHandle(const SessionHandle&) = delete;
  SessionHandle& operator=(const SessionHandle&) = delete;

  mcc_session* get() const { return session_; }
  // Binds the shapes of the inputs and allocates outputs of the resulting shapes. Outputs whose
  // size depends on data are empty until run() has filled them.
  std::vector<Tensor> bind(const PlanHandle& plan, const std::vector<Tensor>& inputs);
  void run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  mcc_bench_result bench(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
                         const mcc_bench_options& options);
  std::vector<mcc_kernel_time> profile(const std::vector<Tensor>& inputs,
                                       std::vector<Tensor>& outputs);
  mcc_timings timings() const;
  void check(mcc_status status) const { check_status(status, mcc_session_error(session_)); }

 private:
  std::vector<int64_t> output_shape(size_t index) const;  // -1 for unknown axes
  std::vector<mcc_output> output_views(std::vector<Tensor>& tensors) const;

  mcc_session* session_ = nullptr;
  std::vector<bool> unsized_;  // outputs whose size depends on data
};

}  // namespace mcc::tools
