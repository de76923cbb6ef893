// Evaluation of map: numbers in chunks through double or int64_t, texts and complex numbers element
// by element.
#include "lib/ir/ops/map_evaluate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>

#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/infer.h"
#include "lib/ir/scalar_function.h"
#include "lib/support/parallel.h"

namespace mcc::ops {
namespace {

constexpr int64_t kChunk = 1024;  // even, so that chunks of packed types do not share a byte

using Inputs = std::span<const Tensor>;

// Applies apply(values of each operand, results) to [begin, end) in chunks.
template <typename T, typename Apply>
void in_chunks(Inputs inputs, int64_t begin, int64_t end, const Apply& apply) {
  std::vector<std::vector<T>> operands(inputs.size(), std::vector<T>(kChunk));
  std::vector<T> results(kChunk);
  for (int64_t first = begin; first < end; first += kChunk) {
    const auto count = static_cast<size_t>(std::min(kChunk, end - first));
    for (size_t i = 0; i < inputs.size(); ++i) {
      load_elements(inputs[i], first, std::span<T>(operands[i].data(), count));
    }
    apply(operands, std::span<T>(results.data(), count), first);
  }
}

void map_reals(const ScalarFunction& function, Inputs inputs, Tensor& out) {
  parallel_for(out.elements(), 16 * kChunk, [&](int64_t begin, int64_t end) {
    in_chunks<double>(inputs, begin, end, [&](const auto& operands, auto results, int64_t first) {
      double arguments[3] = {};
      for (size_t i = 0; i < results.size(); ++i) {
        for (size_t a = 0; a < operands.size(); ++a) arguments[a] = operands[a][i];
        results[i] = function.evaluate(arguments);
      }
      store_elements(out, first, std::span<const double>(results));
    });
  });
}

void map_integers(const ScalarFunction& function, Inputs inputs, Tensor& out) {
  const bool is_unsigned =
      inputs.back().dtype() == DType::u64 && function.evaluate_unsigned != nullptr;
  // Logical functions are bitwise ones on 0 and 1.
  const int64_t mask = inputs.back().dtype() == DType::boolean ? 1 : -1;
  parallel_for(out.elements(), 16 * kChunk, [&](int64_t begin, int64_t end) {
    in_chunks<int64_t>(inputs, begin, end, [&](const auto& operands, auto results, int64_t first) {
      int64_t arguments[3] = {};
      for (size_t i = 0; i < results.size(); ++i) {
        for (size_t a = 0; a < operands.size(); ++a) arguments[a] = operands[a][i];
        results[i] =
            mask &
            (is_unsigned ? function.evaluate_unsigned(reinterpret_cast<const uint64_t*>(arguments))
                         : function.evaluate_integer(arguments));
      }
      store_elements(out, first, std::span<const int64_t>(results));
    });
  });
}

void map_select(Inputs inputs, Tensor& out) {
  for (int64_t i = 0; i < out.elements(); ++i) {
    copy_elements(inputs[inputs[0].get_int64(i) != 0 ? 1 : 2], i, out, i, 1);
  }
}

// Equality of texts and complex numbers.
void map_equality(bool equal, Inputs inputs, Tensor& out) {
  uint8_t* results = out.mutable_as<uint8_t>();
  for (int64_t i = 0; i < out.elements(); ++i) {
    bool same = false;
    if (inputs[0].dtype() == DType::string) {
      same = (*inputs[0].strings)[static_cast<size_t>(i)] ==
             (*inputs[1].strings)[static_cast<size_t>(i)];
    } else if (inputs[0].dtype() == DType::c64) {
      same = inputs[0].as<std::complex<float>>()[i] == inputs[1].as<std::complex<float>>()[i];
    } else {
      same = inputs[0].as<std::complex<double>>()[i] == inputs[1].as<std::complex<double>>()[i];
    }
    results[i] = same == equal ? 1 : 0;
  }
}

void cast_to_text(const Tensor& in, Tensor& out) {
  for (int64_t i = 0; i < out.elements(); ++i) {
    std::string& text = (*out.strings)[static_cast<size_t>(i)];
    if (is_floating(in.dtype())) {
      text = number_text(in.get_double(i), in.dtype() != DType::f64);
    } else if (in.dtype() == DType::boolean) {
      text = in.get_int64(i) != 0 ? "True" : "False";
    } else if (in.dtype() == DType::u64) {
      text = std::to_string(in.as<uint64_t>()[i]);
    } else {
      text = std::to_string(in.get_int64(i));
    }
  }
}

void cast_from_text(const Node& node, const Tensor& in, Tensor& out) {
  for (int64_t i = 0; i < out.elements(); ++i) {
    const std::string& text = (*in.strings)[static_cast<size_t>(i)];
    int64_t integer = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, integer);
    if (is_integer(out.dtype()) && parsed.ec == std::errc() && parsed.ptr == end) {
      store_elements(out, i, std::span<const int64_t>(&integer, 1));
    } else {
      const double value = text_number(node, text);
      store_elements(out, i, std::span<const double>(&value, 1));
    }
  }
}

std::complex<double> complex_at(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::c64) return tensor.as<std::complex<float>>()[index];
  if (tensor.dtype() == DType::c128) return tensor.as<std::complex<double>>()[index];
  return tensor.get_double(index);
}

void cast_complex(const Tensor& in, Tensor& out) {
  for (int64_t i = 0; i < out.elements(); ++i) {
    const std::complex<double> value = complex_at(in, i);
    if (out.dtype() == DType::c64) {
      out.mutable_as<std::complex<float>>()[i] = std::complex<float>(value);
    } else if (out.dtype() == DType::c128) {
      out.mutable_as<std::complex<double>>()[i] = value;
    } else {
      const double real = value.real();
      store_elements(out, i, std::span<const double>(&real, 1));
    }
  }
}

void map_cast(const Node& node, const Tensor& in, Tensor& out) {
  const DTypeKind from = dtype_info(in.dtype()).kind, to = dtype_info(out.dtype()).kind;
  if (in.dtype() == out.dtype()) {
    copy_elements(in, 0, out, 0, in.elements());
  } else if (to == DTypeKind::string) {
    cast_to_text(in, out);
  } else if (from == DTypeKind::string) {
    cast_from_text(node, in, out);
  } else if (from == DTypeKind::complex || to == DTypeKind::complex) {
    cast_complex(in, out);
  } else {
    const bool saturate = node.attributes.integer_or("saturate", 1) != 0;
    parallel_for(out.elements(), 16 * kChunk, [&](int64_t begin, int64_t end) {
      // u64 becomes floating through its own unsigned value.
      if (is_floating(in.dtype()) || (in.dtype() == DType::u64 && is_floating(out.dtype()))) {
        in_chunks<double>(
            {&in, 1}, begin, end, [&](const auto& operands, auto results, int64_t first) {
              store_elements(out, first,
                             std::span<const double>(operands[0].data(), results.size()), saturate);
            });
      } else {
        in_chunks<int64_t>(
            {&in, 1}, begin, end, [&](const auto& operands, auto results, int64_t first) {
              store_elements(out, first,
                             std::span<const int64_t>(operands[0].data(), results.size()));
            });
      }
    });
  }
}

}  // namespace

std::string number_text(double value, bool is_float32) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const double magnitude = std::fabs(value);
  const bool plain = value == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto written =
      is_float32 ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value), format)
                 : std::to_chars(buffer, buffer + sizeof buffer, value, format);
  std::string text(buffer, written.ptr);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

double text_number(const Node& node, const std::string& text) {
  std::string lower;
  for (char c : text) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const char* begin = lower.data() + (!lower.empty() && lower[0] == '+' ? 1 : 0);
  const char* end = lower.data() + lower.size();
  double value = 0;
  const auto parsed = std::from_chars(begin, end, value);
  if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end) {
    refuse(node, "a text element is not a number.");
  }
  if (parsed.ec == std::errc::result_out_of_range) value = std::strtod(begin, nullptr);
  return value;
}

void evaluate_map(const Node& node, const EvaluationContext&, std::span<const Tensor> inputs,
                  std::span<Tensor> outputs) {
  const std::string& name = node.attributes.text("fn");
  const ScalarFunction* function = find_scalar_function(name);
  Tensor& out = outputs[0];
  for (const Tensor& input : inputs) {
    if (input.elements() != out.elements()) {
      refuse(node, "the operands of '" + name + "' have different sizes.");
    }
  }
  const DTypeKind kind = dtype_info(inputs.back().dtype()).kind;
  if (name == "select") {
    map_select(inputs, out);
  } else if (name == "cast") {
    map_cast(node, inputs[0], out);
  } else if (name == "bitcast") {
    std::memcpy(out.mutable_data(), inputs[0].data(), inputs[0].bytes());
  } else if (kind == DTypeKind::string || kind == DTypeKind::complex) {
    map_equality(name == "eq", inputs, out);
  } else if (kind == DTypeKind::floating) {
    map_reals(*function, inputs, out);
  } else {
    map_integers(*function, inputs, out);
  }
}

}  // namespace mcc::ops
