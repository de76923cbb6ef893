// C API: sessions.
#include <algorithm>

#include "runtime/api/benchmark.h"
#include "runtime/api/handles.h"

namespace mcc::runtime::api {

namespace {

void require(bool condition, const char* message) {
  if (!condition) fail_usage(message);
}

std::vector<HostInput> convert_inputs(const mcc_input* inputs, int count) {
  require(count >= 0 && (count == 0 || inputs != nullptr), "no inputs were given");
  std::vector<HostInput> result;
  for (int i = 0; i < count; ++i) {
    result.push_back({static_cast<const std::byte*>(inputs[i].data), inputs[i].bytes});
  }
  return result;
}

std::vector<HostOutput> convert_outputs(const mcc_output* outputs, int count) {
  require(count >= 0 && (count == 0 || outputs != nullptr), "no outputs were given");
  std::vector<HostOutput> result;
  for (int i = 0; i < count; ++i) {
    result.push_back({static_cast<std::byte*>(outputs[i].data), outputs[i].bytes});
  }
  return result;
}

// Runs `body` with the session's Session; a handle whose creation failed is a usage error.
template <typename Body>
mcc_status with_session(const mcc_session* session, Body&& body) noexcept {
  if (session == nullptr) return MCC_ERROR_USAGE;
  return guarded(session->error, [&] {
    if (session->session == nullptr) fail_usage("the session could not be created");
    body(*session->session);
  });
}

void create(mcc_plan* plan, const mcc_session_options* options, mcc_session& session) {
  require(plan->shared != nullptr, "the plan could not be opened");
  SessionOptions session_options;
  std::string device = "auto";
  if (options != nullptr) {
    require(options->struct_size == sizeof *options,
            "mcc_session_options has another size: the program was compiled for another version "
            "of mcc.h");
    if (options->device != nullptr && *options->device != '\0') device = options->device;
    session_options.threads = options->threads;
    session_options.disable_replay = options->disable_replay != 0;
  }
  session.shared = plan->shared;
  session.session =
      std::make_unique<Session>(session.shared->executable(device), session_options);
  const Executable& executable = session.session->executable();
  session.description = executable.device->description();
  if (executable.device->uses_host_memory()) {
    session.description += ", " + std::to_string(session.session->threads()) + " thread(s)";
  }
}

}  // namespace
}  // namespace mcc::runtime::api

namespace api = mcc::runtime::api;
using mcc::runtime::Session;

extern "C" {

mcc_status mcc_session_create(mcc_plan* plan, const mcc_session_options* options,
                              mcc_session** session) {
  if (session == nullptr || plan == nullptr) return MCC_ERROR_USAGE;
  *session = new (std::nothrow) mcc_session();
  if (*session == nullptr) return MCC_ERROR_ENVIRONMENT;
  return api::guarded((*session)->error, [&] { api::create(plan, options, **session); });
}

void mcc_session_destroy(mcc_session* session) { delete session; }

const char* mcc_session_error(const mcc_session* session) {
  return session != nullptr ? session->error.c_str() : "no session handle";
}

const char* mcc_session_device(const mcc_session* session) {
  return session != nullptr ? session->description.c_str() : "";
}

const char* mcc_session_target(const mcc_session* session) {
  if (session == nullptr || session->session == nullptr) return "";
  return session->session->executable().target->name.c_str();
}

mcc_status mcc_session_bind(mcc_session* session, const mcc_shape* shapes, int count) {
  return api::with_session(session, [&](Session& s) {
    s.bind(api::convert_shapes(shapes, count));
  });
}

mcc_status mcc_session_output_shape(const mcc_session* session, int index, int64_t* dims,
                                    int* rank) {
  return api::with_session(session, [&](const Session& s) {
    const auto& shapes = s.binding().output_shapes;
    api::require(index >= 0 && static_cast<size_t>(index) < shapes.size(),
                 "there is no output with that index");
    api::require(dims != nullptr && rank != nullptr, "no place for the shape was given");
    const mcc::runtime::Dims& shape = shapes[static_cast<size_t>(index)];
    std::copy(shape.begin(), shape.end(), dims);
    *rank = static_cast<int>(shape.size());
  });
}

mcc_status mcc_session_arena(const mcc_session* session, int64_t* bytes,
                             int64_t* lower_bound_bytes) {
  return api::with_session(session, [&](const Session& s) {
    int64_t planned = 0;
    int64_t bound = 0;
    for (const mcc::runtime::ArenaPlan& arena : s.binding().arenas) {
      planned += arena.bytes;
      bound += arena.lower_bound_bytes;
    }
    if (bytes != nullptr) *bytes = planned;
    if (lower_bound_bytes != nullptr) *lower_bound_bytes = bound;
  });
}

mcc_status mcc_session_run(mcc_session* session, const mcc_input* inputs, int input_count,
                           const mcc_output* outputs, int output_count) {
  return api::with_session(session, [&](Session& s) {
    s.run(api::convert_inputs(inputs, input_count), api::convert_outputs(outputs, output_count));
  });
}

mcc_status mcc_session_read_output(const mcc_session* session, int index, void* data,
                                   size_t bytes) {
  return api::with_session(session, [&](const Session& s) {
    api::require(index >= 0, "there is no output with that index");
    s.read_output(static_cast<size_t>(index), {static_cast<std::byte*>(data), bytes});
  });
}

mcc_status mcc_session_timings(const mcc_session* session, mcc_timings* timings) {
  return api::with_session(session, [&](const Session& s) {
    api::require(timings != nullptr, "no place for the timings was given");
    const mcc::runtime::SessionTimings& t = s.timings();
    *timings = {s.executable().load_ms, t.bind_ms, t.first_run_ms, t.last_run_ms,
                t.last_device_ms};
  });
}

mcc_status mcc_session_bench(mcc_session* session, const mcc_input* inputs, int input_count,
                             const mcc_output* outputs, int output_count,
                             const mcc_bench_options* options, mcc_bench_result* result) {
  return api::with_session(session, [&](Session& s) {
    api::require(options != nullptr && result != nullptr, "no bench options were given");
    api::require(options->struct_size == sizeof *options,
                 "mcc_bench_options has another size: the program was compiled for another version "
                 "of mcc.h");
    *result = api::benchmark(s, api::convert_inputs(inputs, input_count),
                             api::convert_outputs(outputs, output_count), *options);
  });
}

mcc_status mcc_session_observe(mcc_session* session, mcc_observer observer, void* user) {
  return api::with_session(session, [&](Session& s) {
    if (observer == nullptr) {
      s.observe(nullptr);
      return;
    }
    const mcc::runtime::Manifest& manifest = s.executable().plan->manifest();
    s.observe([&manifest, observer, user](const mcc::runtime::Observation& seen) {
      const auto& step = manifest.program[static_cast<size_t>(seen.instruction)];
      const auto& buffer = manifest.buffers[static_cast<size_t>(seen.buffer)];
      mcc_observation observation{};
      observation.instruction = seen.instruction;
      observation.kernel = step.kernel < 0
                               ? nullptr
                               : manifest.kernels[static_cast<size_t>(step.kernel)].name.c_str();
      observation.buffer = seen.buffer;
      observation.ordinal = seen.ordinal;
      observation.name = buffer.origin.c_str();
      observation.dtype = buffer.dtype;
      observation.rank = seen.has_shape ? static_cast<int>(seen.dims.size()) : -1;
      observation.dims = seen.dims.data();
      observation.data = seen.data.data();
      observation.bytes = seen.data.size();
      return observer(&observation, user) == 0;
    });
  });
}

mcc_status mcc_session_profile(mcc_session* session, const mcc_input* inputs, int input_count,
                               const mcc_output* outputs, int output_count,
                               mcc_kernel_time* times, int capacity, int* count) {
  return api::with_session(session, [&](Session& s) {
    api::require(count != nullptr && capacity >= 0 && (capacity == 0 || times != nullptr),
                 "no place for the times was given");
    const std::vector<double> measured =
        s.profile(api::convert_inputs(inputs, input_count),
                  api::convert_outputs(outputs, output_count));
    const mcc::runtime::Manifest& manifest = s.executable().plan->manifest();
    *count = static_cast<int>(measured.size());
    for (size_t i = 0; i < measured.size() && i < static_cast<size_t>(capacity); ++i) {
      const int kernel = manifest.program[i].kernel;
      times[i] = {kernel < 0 ? "copy" : manifest.kernels[static_cast<size_t>(kernel)].name.c_str(),
                  static_cast<int>(i), measured[i]};
    }
  });
}

mcc_status mcc_session_report(mcc_session* session, const char** json) {
  return api::with_session(session, [&](const Session& s) {
    api::require(json != nullptr, "no place for the report was given");
    session->report = s.report();
    *json = session->report.c_str();
  });
}

}  // extern "C"
