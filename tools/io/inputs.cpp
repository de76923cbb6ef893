// See inputs.h.
#include "tools/io/inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numbers>
#include <optional>
#include <set>

#include "lib/support/error.h"
#include "tools/io/dims.h"
#include "tools/io/files.h"
#include "tools/io/npy.h"

namespace mcc::tools {

namespace {

// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// In (0, 1].
double next_unit(uint64_t& state) {
  return (static_cast<double>(next_random(state) >> 11) + 1) * 0x1p-53;
}

std::optional<int64_t> parse_integer(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::string shape_text(const PlanTensor& input) {
  std::string text = "[";
  for (size_t i = 0; i < input.text.size(); ++i) text += (i ? ", " : "") + input.text[i];
  return text + "]";
}

Tensor from_raw_file(const PlanTensor& input, const std::string& path,
                     const std::map<std::string, int64_t>& dims) {
  const std::string bytes = read_whole_file(path);
  Tensor tensor(input.dtype, shape_at(input, dims));
  if (bytes.size() != tensor.bytes()) {
    throw UsageError("input \"" + input.name + "\" " + shape_text(input) + " needs " +
                     std::to_string(tensor.bytes()) + " bytes, " + path + " has " +
                     std::to_string(bytes.size()) +
                     "; give the sizes of dynamic dimensions with --dim name=size");
  }
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

Tensor from_source(const PlanTensor& input, const std::string& source,
                   const std::map<std::string, int64_t>& dims, uint64_t seed) {
  if (source == "random") return random_tensor(input.dtype, shape_at(input, dims), seed);
  if (source == "zeros") return Tensor(input.dtype, shape_at(input, dims));
  if (std::filesystem::path(source).extension() == ".npy") {
    return to_tensor(read_npy(source), input.dtype, "input \"" + input.name + "\"");
  }
  return from_raw_file(input, source, dims);
}

std::string known_names(const std::vector<PlanTensor>& inputs) {
  std::string names;
  for (const PlanTensor& input : inputs) names += (names.empty() ? "" : ", ") + input.name;
  return names;
}

size_t find_input(const std::vector<PlanTensor>& inputs, const std::string& name) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == name) return i;
  }
  throw UsageError("the model has no input \"" + name + "\"; its inputs are " + known_names(inputs));
}

// Input names may contain '=': the longest known name wins.
std::optional<size_t> named_input(const std::vector<PlanTensor>& inputs, const std::string& source) {
  std::optional<size_t> best;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (source.starts_with(inputs[i].name + "=") &&
        (!best || inputs[i].name.size() > inputs[*best].name.size())) {
      best = i;
    }
  }
  return best;
}

// Generated inputs follow the sizes that given ones have: a dimension's name means one size.
void learn_dims(const PlanTensor& input, const Tensor& tensor,
                std::map<std::string, int64_t>& dims) {
  for (size_t axis = 0; axis < input.text.size() && axis < tensor.shape().size(); ++axis) {
    if (input.minimum[axis] != input.maximum[axis]) {
      dims.emplace(input.text[axis], tensor.shape()[axis]);
    }
  }
}

}  // namespace

std::map<std::string, int64_t> parse_dims(const std::vector<std::string>& dims) {
  std::map<std::string, int64_t> result;
  for (const std::string& text : dims) {
    const size_t equals = text.rfind('=');
    const auto size = equals == std::string::npos ? std::nullopt
                                                  : parse_integer(text.substr(equals + 1));
    if (equals == 0 || !size || *size < 0) {
      throw UsageError("\"" + text + "\" is no dimension: write --dim name=size");
    }
    result[text.substr(0, equals)] = *size;
  }
  return result;
}

Tensor random_tensor(DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  Tensor tensor(dtype, std::move(shape));
  uint64_t state = seed * 0x2545f4914f6cdd1dULL + 1;
  const int64_t count = tensor.elements();
  const DTypeInfo& info = dtype_info(dtype);
  if (info.kind == DTypeKind::string) throw UsageError("string inputs cannot be generated");
  for (int64_t i = 0; i < count; ++i) {
    if (info.kind == DTypeKind::floating || info.kind == DTypeKind::complex) {
      // Box-Muller, one value of each pair.
      const double radius = std::sqrt(-2 * std::log(next_unit(state)));
      tensor.set_double(i, radius * std::cos(2 * std::numbers::pi * next_unit(state)));
    } else if (dtype == DType::u8) {
      tensor.set_int64(i, static_cast<int64_t>(next_random(state) & 255));
    } else if (dtype == DType::i8) {
      tensor.set_int64(i, static_cast<int64_t>(next_random(state) & 255) - 128);
    } else {
      tensor.set_int64(i, static_cast<int64_t>(next_random(state) & 1));
    }
  }
  return tensor;
}

std::vector<Tensor> make_inputs(const std::vector<PlanTensor>& inputs, const InputRequest& request) {
  std::map<std::string, int64_t> dims = parse_dims(request.dims);
  std::set<std::string> known_dims;
  for (const PlanTensor& input : inputs) known_dims.insert(input.text.begin(), input.text.end());
  for (const auto& [name, size] : dims) {
    if (!known_dims.contains(name)) {
      throw UsageError("no input has a dimension named \"" + name + "\"");
    }
  }
  std::vector<std::optional<Tensor>> tensors(inputs.size());
  std::vector<std::string> pending(inputs.size(), "random");
  for (const std::string& source : request.sources) {
    if (const auto input = named_input(inputs, source)) {
      pending[*input] = source.substr(inputs[*input].name.size() + 1);
    } else if (source.ends_with(".npz")) {
      for (auto& [name, array] : read_npz(source)) {
        const size_t i = find_input(inputs, name);
        tensors[i] = to_tensor(std::move(array), inputs[i].dtype, "input \"" + name + "\"");
      }
    } else {
      throw UsageError("\"" + source + "\" is neither an .npz file nor input=source; the inputs are " +
                       known_names(inputs));
    }
  }
  // Arrays first: they fix sizes that generated inputs share.
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool file = pending[i] != "random" && pending[i] != "zeros";
    if (!tensors[i] && file) tensors[i] = from_source(inputs[i], pending[i], dims, 0);
    if (tensors[i]) learn_dims(inputs[i], *tensors[i], dims);
  }
  dims = complete_sizes(inputs, std::move(dims));
  std::vector<Tensor> result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    result.push_back(tensors[i] ? *tensors[i]
                                : from_source(inputs[i], pending[i], dims, request.seed + i));
  }
  return result;
}

}  // namespace mcc::tools
