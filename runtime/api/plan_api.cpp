// C API: plans, types and devices.
#include <algorithm>
#include <cstring>

#include "runtime/api/handles.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/expression_range.h"

namespace mcc::runtime::api {

namespace {

std::vector<TensorText> describe(const Manifest& manifest, const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> names;
  std::vector<ValueRange> ranges;
  for (const SymbolInfo& symbol : manifest.symbols) {
    names.push_back(symbol.label.empty() ? symbol.name : symbol.label);
    const bool unbounded = symbol.maximum >= kUnboundedSymbol;
    ranges.push_back({symbol.minimum, unbounded ? INT64_MAX : symbol.maximum});
  }
  std::vector<TensorText> result(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    TensorText& text = result[i];
    text.name = tensors[i].name;
    text.dtype = tensors[i].dtype;
    for (const Expression& dim : tensors[i].shape) {
      const ValueRange range = range_of(dim, ranges);
      text.minimum.push_back(std::max<int64_t>(range.low, 0));
      text.maximum.push_back(range.high);
      text.text.push_back(dim.text(names));
    }
    for (const std::string& dim : text.text) text.text_pointers.push_back(dim.c_str());
  }
  return result;
}

std::string describe_json(const Plan& plan) {
  static constexpr const char* kKinds[] = {"unknown", "manifest", "image", "weights", "sources"};
  std::string json(plan.manifest_text());
  json.erase(json.find_last_of('}'));
  json += ",\n\"file\": {\"bytes\": " + std::to_string(plan.file_bytes()) + ", \"sections\": [";
  for (const SectionEntry& section : plan.sections()) {
    const char* kind = section.kind < std::size(kKinds) ? kKinds[section.kind] : kKinds[0];
    json += section.id > 1 ? ", " : "";
    json += "{\"id\": " + std::to_string(section.id) + ", \"kind\": \"" + kind +
            "\", \"offset\": " + std::to_string(section.offset) +
            ", \"bytes\": " + std::to_string(section.size) + "}";
  }
  return json + "]}\n}\n";
}

mcc_status tensor_info(const std::vector<TensorText>& tensors, int index, mcc_tensor_info* info) {
  if (info == nullptr || index < 0 || static_cast<size_t>(index) >= tensors.size()) {
    return MCC_ERROR_USAGE;
  }
  const TensorText& text = tensors[static_cast<size_t>(index)];
  *info = {text.name.c_str(),    text.dtype,          static_cast<int>(text.text.size()),
           text.minimum.data(),  text.maximum.data(), text.text_pointers.data()};
  return MCC_OK;
}

}  // namespace

std::shared_ptr<const Executable> SharedPlan::executable(const std::string& device) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const Executable>& slot = executables_[device];
  std::shared_ptr<const Executable> existing = slot.lock();
  if (existing == nullptr) {
    existing = Executable::load(plan, device);
    slot = existing;
  }
  return existing;
}

std::vector<Dims> convert_shapes(const mcc_shape* shapes, int count) {
  if (count < 0 || (count > 0 && shapes == nullptr)) fail_usage("no shapes were given");
  std::vector<Dims> result;
  for (int i = 0; i < count; ++i) {
    const mcc_shape& shape = shapes[i];
    if (shape.rank < 0 || shape.rank > MCC_MAX_RANK || (shape.rank > 0 && shape.dims == nullptr)) {
      fail_usage("shape number " + std::to_string(i) + " has an invalid rank");
    }
    result.emplace_back(shape.dims, shape.dims + shape.rank);
  }
  return result;
}

void copy_text(const std::string& text, char* target, size_t size) {
  if (target == nullptr || size == 0) return;
  const size_t count = std::min(size - 1, text.size());
  std::memcpy(target, text.data(), count);
  target[count] = '\0';
}

}  // namespace mcc::runtime::api

namespace api = mcc::runtime::api;

extern "C" {

const char* mcc_version(void) { return MCC_VERSION; }

const char* mcc_dtype_name(mcc_dtype dtype) {
  try {
    return mcc::runtime::dtype_row(dtype).name.data();  // rows are string literals
  } catch (const mcc::runtime::Error&) {
    return nullptr;
  }
}

int mcc_dtype_bits(mcc_dtype dtype) {
  try {
    return mcc::runtime::dtype_row(dtype).bits;
  } catch (const mcc::runtime::Error&) {
    return 0;
  }
}

mcc_status mcc_plan_open(const char* path, const mcc_plan_options* options, mcc_plan** plan) {
  if (path == nullptr || plan == nullptr) return MCC_ERROR_USAGE;
  *plan = new (std::nothrow) mcc_plan();
  if (*plan == nullptr) return MCC_ERROR_ENVIRONMENT;
  return api::guarded((*plan)->error, [&] {
    mcc::runtime::PlanOptions plan_options;
    if (options != nullptr) {
      if (options->struct_size != sizeof *options) {
        mcc::runtime::fail_usage("mcc_plan_options has another size: the program was compiled "
                                 "for another version of mcc.h");
      }
      plan_options.verify_weights = options->skip_weights_digest == 0;
    }
    auto shared = std::make_shared<api::SharedPlan>();
    shared->plan = mcc::runtime::Plan::open(path, plan_options);
    const mcc::runtime::Manifest& manifest = shared->plan->manifest();
    shared->inputs = api::describe(manifest, manifest.inputs);
    shared->outputs = api::describe(manifest, manifest.outputs);
    shared->json = api::describe_json(*shared->plan);
    (*plan)->shared = std::move(shared);
  });
}

void mcc_plan_close(mcc_plan* plan) { delete plan; }

const char* mcc_plan_error(const mcc_plan* plan) {
  return plan != nullptr ? plan->error.c_str() : "no plan handle";
}

const char* mcc_plan_json(const mcc_plan* plan) {
  return plan != nullptr && plan->shared ? plan->shared->json.c_str() : "";
}

const char* mcc_plan_model_name(const mcc_plan* plan) {
  return plan != nullptr && plan->shared ? plan->shared->plan->manifest().model_name.c_str() : "";
}

int mcc_plan_input_count(const mcc_plan* plan) {
  return plan != nullptr && plan->shared ? static_cast<int>(plan->shared->inputs.size()) : 0;
}

int mcc_plan_output_count(const mcc_plan* plan) {
  return plan != nullptr && plan->shared ? static_cast<int>(plan->shared->outputs.size()) : 0;
}

mcc_status mcc_plan_input(const mcc_plan* plan, int index, mcc_tensor_info* info) {
  if (plan == nullptr || !plan->shared) return MCC_ERROR_USAGE;
  return api::tensor_info(plan->shared->inputs, index, info);
}

mcc_status mcc_plan_output(const mcc_plan* plan, int index, mcc_tensor_info* info) {
  if (plan == nullptr || !plan->shared) return MCC_ERROR_USAGE;
  return api::tensor_info(plan->shared->outputs, index, info);
}

mcc_status mcc_plan_memory(const mcc_plan* plan, const mcc_shape* shapes, int count,
                           mcc_memory* memory, char* error, size_t error_size) {
  if (plan == nullptr || !plan->shared || memory == nullptr) return MCC_ERROR_USAGE;
  std::string message;
  const mcc_status status = api::guarded(message, [&] {
    const mcc::runtime::Plan& opened = *plan->shared->plan;
    const mcc::runtime::PhaseTable phases = mcc::runtime::split_phases(opened.manifest());
    const auto binding = mcc::runtime::bind_shapes(opened.manifest(), phases, nullptr,
                                                   api::convert_shapes(shapes, count));
    *memory = {-1, -1, -1, static_cast<int64_t>(opened.weights().size())};
    if (phases.is_static()) {
      const mcc::runtime::ArenaPlan& arena = binding->arenas[0];
      memory->arena_bytes = arena.bytes;
      memory->arena_lower_bound_bytes = arena.lower_bound_bytes;
      memory->arena_sum_bytes = arena.sum_bytes;
    }
  });
  api::copy_text(message, error, error_size);
  return status;
}

int mcc_device_count(void) { return static_cast<int>(mcc::runtime::device_kinds().size()); }

const char* mcc_device_name(int index) {
  if (index < 0 || index >= mcc_device_count()) return nullptr;
  return mcc::runtime::device_kinds()[static_cast<size_t>(index)].name.data();
}

int mcc_device_probe(int index, char* text, size_t size) {
  api::copy_text("", text, size);
  if (index < 0 || index >= mcc_device_count()) return 0;
  std::string found;
  std::string error;
  bool usable = false;
  (void)api::guarded(error, [&] {
    usable = mcc::runtime::device_kinds()[static_cast<size_t>(index)].probe(found);
  });
  api::copy_text(found, text, size);
  return usable ? 1 : 0;
}

}  // extern "C"
