// Attribute lists.
#include "lib/ir/attribute.h"

#include <algorithm>
#include <cstring>

#include "lib/support/error.h"

namespace mcc {
namespace {

template <typename T>
const T& expect(const AttributeValue* value, std::string_view name) {
  if (value == nullptr) throw InternalError("attribute '" + std::string(name) + "' is missing");
  const T* typed = std::get_if<T>(value);
  if (typed == nullptr) throw InternalError("attribute '" + std::string(name) + "' has another type");
  return *typed;
}

bool equal_tensors(const TensorPtr& a, const TensorPtr& b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  if (a->dtype() != b->dtype() || a->shape() != b->shape() || a->bytes() != b->bytes()) return false;
  if ((a->strings == nullptr) != (b->strings == nullptr)) return false;
  if (a->strings != nullptr) return *a->strings == *b->strings;
  return a->data() == b->data() || a->bytes() == 0 || std::memcmp(a->data(), b->data(), a->bytes()) == 0;
}

bool equal_values(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const TensorPtr* tensor = std::get_if<TensorPtr>(&a)) {
    return equal_tensors(*tensor, std::get<TensorPtr>(b));
  }
  return a == b;
}

}  // namespace

void Attributes::set(std::string_view name, AttributeValue value) {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& entry, std::string_view key) { return entry.first < key; });
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.insert(at, Entry(std::string(name), std::move(value)));
  }
}

void Attributes::erase(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.first == name; });
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

int64_t Attributes::integer(std::string_view name) const { return expect<int64_t>(find(name), name); }
double Attributes::real(std::string_view name) const { return expect<double>(find(name), name); }
const std::string& Attributes::text(std::string_view name) const {
  return expect<std::string>(find(name), name);
}
const Ints& Attributes::ints(std::string_view name) const { return expect<Ints>(find(name), name); }
const std::vector<double>& Attributes::reals(std::string_view name) const {
  return expect<std::vector<double>>(find(name), name);
}
const Shape& Attributes::shape(std::string_view name) const { return expect<Shape>(find(name), name); }
DType Attributes::dtype(std::string_view name) const { return expect<DType>(find(name), name); }
const TensorPtr& Attributes::tensor(std::string_view name) const {
  return expect<TensorPtr>(find(name), name);
}

int64_t Attributes::integer_or(std::string_view name, int64_t fallback) const {
  const AttributeValue* value = find(name);
  return value == nullptr ? fallback : expect<int64_t>(value, name);
}

std::string Attributes::text_or(std::string_view name, std::string_view fallback) const {
  const AttributeValue* value = find(name);
  return value == nullptr ? std::string(fallback) : expect<std::string>(value, name);
}

bool operator==(const Attributes& a, const Attributes& b) {
  return std::equal(a.entries_.begin(), a.entries_.end(), b.entries_.begin(), b.entries_.end(),
                    [](const Attributes::Entry& x, const Attributes::Entry& y) {
                      return x.first == y.first && equal_values(x.second, y.second);
                    });
}

}  // namespace mcc
