// Typed access to untrusted JSON: each failure names the path, as in
// "plan manifest: buffers[3].bytes: expected an integer".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/error.h"

namespace mcc::runtime {

// Objects are ordered: the manifest is written in a fixed, readable order.
using Json = nlohmann::ordered_json;

// A borrowed view of one JSON value and its path.
class JsonReader {
 public:
  JsonReader(const Json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const Json& value() const { return *value_; }
  [[noreturn]] void fail(const std::string& problem) const {
    fail_model("plan manifest: " + (path_.empty() ? std::string("root") : path_) + ": " + problem);
  }

  bool has(std::string_view key) const {
    return value_->is_object() && value_->find(std::string(key)) != value_->end();
  }
  JsonReader at(std::string_view key) const {
    if (!value_->is_object()) fail("expected an object");
    const auto found = value_->find(std::string(key));
    if (found == value_->end()) fail("\"" + std::string(key) + "\" is missing");
    return {*found, path_.empty() ? std::string(key) : path_ + "." + std::string(key)};
  }
  // The elements of an array.
  std::vector<JsonReader> items() const {
    if (!value_->is_array()) fail("expected an array");
    std::vector<JsonReader> result;
    result.reserve(value_->size());
    for (size_t i = 0; i < value_->size(); ++i) {
      result.emplace_back((*value_)[i], path_ + "[" + std::to_string(i) + "]");
    }
    return result;
  }
  int64_t integer(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const {
    if (!value_->is_number_integer()) fail("expected an integer");
    if (value_->is_number_unsigned() &&
        value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
      fail("the integer is too large");
    }
    const auto number = value_->get<int64_t>();
    if (number < low || number > high) {
      fail(std::to_string(number) + " is not within " + std::to_string(low) + ".." +
           std::to_string(high));
    }
    return number;
  }
  int small(int low, int high) const { return static_cast<int>(integer(low, high)); }
  bool boolean() const {
    if (!value_->is_boolean()) fail("expected true or false");
    return value_->get<bool>();
  }
  const std::string& text() const {
    if (!value_->is_string()) fail("expected a string");
    return value_->get_ref<const std::string&>();
  }

 private:
  const Json* value_;
  std::string path_;
};

}  // namespace mcc::runtime
