// The objects behind the C API's opaque handles, and the guard that turns exceptions into statuses.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "runtime/include/mcc.h"
#include "runtime/session/session.h"
#include "runtime/support/error.h"

namespace mcc::runtime::api {

// A signature entry in the form that mcc_tensor_info points into.
struct TensorText {
  std::string name;
  mcc_dtype dtype = MCC_F32;
  std::vector<int64_t> minimum;
  std::vector<int64_t> maximum;
  std::vector<std::string> text;
  std::vector<const char*> text_pointers;
};

// What sessions keep alive of a plan, also after mcc_plan_close.
struct SharedPlan {
  std::shared_ptr<const Plan> plan;
  std::vector<TensorText> inputs;
  std::vector<TensorText> outputs;
  std::string json;

  // The executable of a device, loaded once per device and plan. Thread-safe.
  std::shared_ptr<const Executable> executable(const std::string& device);

 private:
  std::mutex mutex_;
  // Weak: code and weights leave a device with the last session that uses them.
  std::map<std::string, std::weak_ptr<const Executable>> executables_;
};

// Shapes from the C API; Error(usage) when malformed.
std::vector<Dims> convert_shapes(const mcc_shape* shapes, int count);

// Copies `text` into `target` of `size` bytes, cut to fit and always terminated. `target` may be
// null.
void copy_text(const std::string& text, char* target, size_t size);

// Runs `body`; an exception becomes a status and a message.
template <typename Body>
mcc_status guarded(std::string& error, Body&& body) noexcept {
  try {
    error.clear();
    body();
    return MCC_OK;
  } catch (const Error& failure) {
    error = failure.what();
    return static_cast<mcc_status>(failure.status());
  } catch (const std::bad_alloc&) {
    error = "out of memory";
    return MCC_ERROR_ENVIRONMENT;
  } catch (const std::exception& failure) {
    error = std::string("internal error: ") + failure.what();
    return MCC_ERROR_INTERNAL;
  }
}

}  // namespace mcc::runtime::api

struct mcc_plan {
  std::shared_ptr<mcc::runtime::api::SharedPlan> shared;  // null after a failed open
  std::string error;
};

struct mcc_session {
  std::shared_ptr<mcc::runtime::api::SharedPlan> shared;
  std::unique_ptr<mcc::runtime::Session> session;  // null after a failed creation
  std::string description;
  std::string report;
  mutable std::string error;
};
