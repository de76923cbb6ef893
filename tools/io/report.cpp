// See report.h.
#include "tools/io/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace mcc::tools {

std::string bytes_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.3g %s", value, kUnits[unit]);
  return text;
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

void print_json(const Json& json) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

std::string summary_text(const Tensor& tensor) {
  const int64_t count = tensor.elements();
  if (count == 0) return "no elements";
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = tensor.get_double(i);
    if (std::isnan(value)) {
      ++nans;
      continue;
    }
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  char text[160];
  std::snprintf(text, sizeof text, "min %.6g, max %.6g, mean %.6g", low, high,
                sum / static_cast<double>(std::max<int64_t>(count - nans, 1)));
  return nans == 0 ? text : text + (", " + std::to_string(nans) + " NaN");
}

}  // namespace mcc::tools
