// See plan_handle.h.
#include "tools/io/plan_handle.h"

#include <algorithm>

#include "lib/support/error.h"

namespace mcc::tools {

namespace {

static_assert(static_cast<int>(DType::f64) == MCC_F64 && static_cast<int>(DType::f4e2m1) == MCC_F4E2M1 &&
              static_cast<int>(DType::i64) == MCC_I64 && static_cast<int>(DType::u2) == MCC_U2 &&
              static_cast<int>(DType::boolean) == MCC_BOOL && static_cast<int>(DType::c128) == MCC_C128);

std::vector<PlanTensor> describe(const mcc_plan* plan, int count,
                                 mcc_status (*get)(const mcc_plan*, int, mcc_tensor_info*)) {
  std::vector<PlanTensor> tensors;
  for (int i = 0; i < count; ++i) {
    mcc_tensor_info info{};
    check_status(get(plan, i, &info), "a plan does not describe one of its own tensors");
    PlanTensor tensor{info.name, to_dtype(info.dtype), {}, {}, {}};
    tensor.minimum.assign(info.minimum, info.minimum + info.rank);
    tensor.maximum.assign(info.maximum, info.maximum + info.rank);
    tensor.text.assign(info.text, info.text + info.rank);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<mcc_input> input_views(const std::vector<Tensor>& tensors) {
  std::vector<mcc_input> views;
  for (const Tensor& tensor : tensors) views.push_back({tensor.data(), tensor.bytes()});
  return views;
}

int count_of(const std::vector<Tensor>& tensors) { return static_cast<int>(tensors.size()); }

}  // namespace

void check_status(mcc_status status, const char* message) {
  switch (status) {
    case MCC_OK: return;
    case MCC_ERROR_MODEL: throw ModelError(message);
    case MCC_ERROR_USAGE: throw UsageError(message);
    case MCC_ERROR_ENVIRONMENT: throw EnvironmentError(message);
    case MCC_ERROR_INTERNAL: break;
  }
  throw InternalError(message);
}

DType to_dtype(mcc_dtype dtype) { return static_cast<DType>(dtype); }

PlanHandle::PlanHandle(const std::string& path) {
  const mcc_status status = mcc_plan_open(path.c_str(), nullptr, &plan_);
  if (status != MCC_OK) {
    const std::string message = mcc_plan_error(plan_);
    mcc_plan_close(plan_);
    check_status(status, message.c_str());
  }
  inputs_ = describe(plan_, mcc_plan_input_count(plan_), mcc_plan_input);
  outputs_ = describe(plan_, mcc_plan_output_count(plan_), mcc_plan_output);
}

SessionHandle::SessionHandle(const PlanHandle& plan, const SessionRequest& request) {
  const mcc_session_options options{sizeof options, request.device.c_str(), request.threads,
                                    request.disable_replay ? 1 : 0};
  const mcc_status status = mcc_session_create(plan.get(), &options, &session_);
  if (status != MCC_OK) {
    const std::string message = mcc_session_error(session_);
    mcc_session_destroy(session_);
    check_status(status, message.c_str());
  }
}

std::vector<Tensor> SessionHandle::bind(const PlanHandle& plan, const std::vector<Tensor>& inputs) {
  std::vector<mcc_shape> shapes;
  for (const Tensor& input : inputs) {
    shapes.push_back({static_cast<int>(input.rank()), input.shape().data()});
  }
  check(mcc_session_bind(session_, shapes.data(), static_cast<int>(shapes.size())));
  std::vector<Tensor> outputs;
  unsized_.clear();
  for (size_t i = 0; i < plan.outputs().size(); ++i) {
    std::vector<int64_t> shape = output_shape(i);
    unsized_.push_back(std::find(shape.begin(), shape.end(), -1) != shape.end());
    if (unsized_.back()) std::replace(shape.begin(), shape.end(), int64_t{-1}, int64_t{0});
    outputs.emplace_back(plan.outputs()[i].dtype, std::move(shape));
  }
  return outputs;
}

std::vector<int64_t> SessionHandle::output_shape(size_t index) const {
  int64_t dims[MCC_MAX_RANK];
  int rank = 0;
  check(mcc_session_output_shape(session_, static_cast<int>(index), dims, &rank));
  return {dims, dims + rank};
}

std::vector<mcc_output> SessionHandle::output_views(std::vector<Tensor>& tensors) const {
  std::vector<mcc_output> views;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (unsized_[i]) {
      views.push_back({nullptr, 0});
    } else {
      views.push_back({tensors[i].mutable_data(), tensors[i].bytes()});
    }
  }
  return views;
}

void SessionHandle::run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const std::vector<mcc_input> in = input_views(inputs);
  const std::vector<mcc_output> out = output_views(outputs);
  check(mcc_session_run(session_, in.data(), count_of(inputs), out.data(), count_of(outputs)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!unsized_[i]) continue;
    outputs[i] = Tensor(outputs[i].dtype(), output_shape(i));
    check(mcc_session_read_output(session_, static_cast<int>(i), outputs[i].mutable_data(),
                                  outputs[i].bytes()));
  }
}

mcc_bench_result SessionHandle::bench(const std::vector<Tensor>& inputs,
                                      std::vector<Tensor>& outputs,
                                      const mcc_bench_options& options) {
  const std::vector<mcc_input> in = input_views(inputs);
  const std::vector<mcc_output> out = output_views(outputs);
  mcc_bench_result result{};
  check(mcc_session_bench(session_, in.data(), count_of(inputs), out.data(), count_of(outputs),
                          &options, &result));
  return result;
}

std::vector<mcc_kernel_time> SessionHandle::profile(const std::vector<Tensor>& inputs,
                                                    std::vector<Tensor>& outputs) {
  const std::vector<mcc_input> in = input_views(inputs);
  const std::vector<mcc_output> out = output_views(outputs);
  std::vector<mcc_kernel_time> times;
  int count = 0;
  // The first call only counts.
  for (int round = 0; round < 2; ++round) {
    times.resize(static_cast<size_t>(count));
    check(mcc_session_profile(session_, in.data(), count_of(inputs), out.data(), count_of(outputs),
                              times.data(), count, &count));
  }
  return times;
}

mcc_timings SessionHandle::timings() const {
  mcc_timings timings{};
  check(mcc_session_timings(session_, &timings));
  return timings;
}

}  // namespace mcc::tools
