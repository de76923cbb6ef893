// Attributes of a node: a small sorted list of name → value.
// Invariant: entries are sorted by name, so printing and comparing are deterministic.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/ir/dtype.h"
#include "lib/ir/expr.h"
#include "lib/ir/tensor.h"

namespace mcc {

using TensorPtr = std::shared_ptr<const Tensor>;
using Ints = std::vector<int64_t>;
// Shape (vector<Expr>) holds symbolic lists, Ints plain ones: a list that can be symbolic is
// always stored as Shape even when all its entries are constant.
using AttributeValue =
    std::variant<int64_t, double, std::string, Ints, std::vector<double>, Shape, DType, TensorPtr>;

class Attributes {
 public:
  using Entry = std::pair<std::string, AttributeValue>;

  void set(std::string_view name, AttributeValue value);
  void erase(std::string_view name);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const AttributeValue* find(std::string_view name) const;

  // Typed access; InternalError when the attribute is missing or of another type
  // (the verifier guarantees presence and type for verified graphs).
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Ints& ints(std::string_view name) const;
  const std::vector<double>& reals(std::string_view name) const;
  const Shape& shape(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const TensorPtr& tensor(std::string_view name) const;
  // The value, or `fallback` when absent.
  int64_t integer_or(std::string_view name, int64_t fallback) const;
  std::string text_or(std::string_view name, std::string_view fallback) const;

  const std::vector<Entry>& entries() const { return entries_; }
  // Structural equality; tensors compare by dtype, shape and bytes.
  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  std::vector<Entry> entries_;
};

}  // namespace mcc
