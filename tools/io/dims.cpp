// See dims.h.
#include "tools/io/dims.h"

#include <algorithm>
#include <charconv>

namespace mcc::tools {

namespace {

int64_t smallest(const PlanTensor& input, size_t axis) {
  return std::min(std::max<int64_t>(input.minimum[axis], 1), input.maximum[axis]);
}

// A name or a number; a name may hold anything but what separates terms and factors.
std::optional<int64_t> evaluate_factor(std::string_view text, const DimSizes& sizes) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  const auto found = sizes.find(std::string(text));
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

// Folds the pieces between separators; nothing when a piece has no value or the result overflows.
template <typename Evaluate, typename Combine>
std::optional<int64_t> fold(std::string_view text, std::string_view separator, Evaluate evaluate,
                            Combine overflows) {
  std::optional<int64_t> result;
  while (true) {
    const size_t end = text.find(separator);
    const std::optional<int64_t> value = evaluate(text.substr(0, end));
    if (!value) return std::nullopt;
    int64_t combined = *value;
    if (result && overflows(*result, *value, &combined)) return std::nullopt;
    result = combined;
    if (end == std::string_view::npos) return result;
    text.remove_prefix(end + separator.size());
  }
}

}  // namespace

std::optional<int64_t> evaluate_dim(std::string_view text, const DimSizes& sizes) {
  if (const auto whole = evaluate_factor(text, sizes)) return whole;
  const auto add = [](int64_t a, int64_t b, int64_t* sum) {
    return __builtin_add_overflow(a, b, sum);
  };
  const auto multiply = [](int64_t a, int64_t b, int64_t* product) {
    return __builtin_mul_overflow(a, b, product);
  };
  const auto factor = [&](std::string_view piece) { return evaluate_factor(piece, sizes); };
  const auto term = [&](std::string_view piece) { return fold(piece, "*", factor, multiply); };
  // Without the spaces around "*", so that pieces are bare names and numbers.
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool before = i + 1 < text.size() && text[i + 1] == '*';
    const bool after = !plain.empty() && plain.back() == '*';
    if (text[i] != ' ' || (!before && !after)) plain.push_back(text[i]);
  }
  return fold(plain, " + ", term, add);
}

DimSizes complete_sizes(const std::vector<PlanTensor>& inputs, DimSizes given) {
  for (const PlanTensor& input : inputs) {
    for (size_t axis = 0; axis < input.text.size(); ++axis) {
      const bool compound = input.text[axis].find_first_of("+*-(") != std::string::npos;
      if (input.minimum[axis] != input.maximum[axis] && !compound) {
        given.emplace(input.text[axis], smallest(input, axis));
      }
    }
  }
  return given;
}

std::vector<int64_t> shape_at(const PlanTensor& input, const DimSizes& sizes) {
  std::vector<int64_t> shape;
  for (size_t axis = 0; axis < input.text.size(); ++axis) {
    shape.push_back(evaluate_dim(input.text[axis], sizes).value_or(smallest(input, axis)));
  }
  return shape;
}

}  // namespace mcc::tools
