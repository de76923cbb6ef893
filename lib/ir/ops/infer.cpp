// Attribute access and dimension checks shared by the operators' inference functions.
#include "lib/ir/ops/infer.h"

#include <algorithm>

#include "lib/support/error.h"

namespace mcc::ops {
namespace {

template <typename T>
const T& attribute_of(const Node& node, std::string_view name, const char* kind) {
  const AttributeValue* value = node.attributes.find(name);
  if (value == nullptr) refuse(node, "the attribute '" + std::string(name) + "' is missing.");
  const T* typed = std::get_if<T>(value);
  if (typed == nullptr) {
    refuse(node, "the attribute '" + std::string(name) + "' must be " + kind + ".");
  }
  return *typed;
}

}  // namespace

void refuse(const Node& node, const std::string& sentence) {
  throw ModelError(std::string(op_info(node.op).name) + ": " + sentence);
}

int64_t integer_of(const Node& node, std::string_view name) {
  return attribute_of<int64_t>(node, name, "an integer");
}
double real_of(const Node& node, std::string_view name) {
  return attribute_of<double>(node, name, "a real number");
}
const std::string& text_of(const Node& node, std::string_view name) {
  return attribute_of<std::string>(node, name, "a text");
}
const Ints& ints_of(const Node& node, std::string_view name) {
  return attribute_of<Ints>(node, name, "a list of integers");
}
const Shape& shape_of(const Node& node, std::string_view name) {
  return attribute_of<Shape>(node, name, "a list of dimensions");
}
DType dtype_of(const Node& node, std::string_view name) {
  return attribute_of<DType>(node, name, "an element type");
}

const Ints& ints_of(const Node& node, std::string_view name, size_t size) {
  const Ints& list = ints_of(node, name);
  if (list.size() != size) {
    refuse(node, "the attribute '" + std::string(name) + "' has " + std::to_string(list.size()) +
                     " entries where " + std::to_string(size) + " are needed.");
  }
  return list;
}

const Shape& shape_of(const Node& node, std::string_view name, size_t size) {
  const Shape& list = shape_of(node, name);
  if (list.size() != size) {
    refuse(node, "the attribute '" + std::string(name) + "' has " + std::to_string(list.size()) +
                     " entries where " + std::to_string(size) + " are needed.");
  }
  return list;
}

const std::string& choice_of(const Node& node, std::string_view name,
                             std::initializer_list<std::string_view> allowed) {
  const std::string& value = text_of(node, name);
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    std::string list;
    for (std::string_view choice : allowed) {
      list += list.empty() ? "" : ", ";
      list += choice;
    }
    refuse(node, "the attribute '" + std::string(name) + "' is '" + value +
                     "' but must be one of: " + list + ".");
  }
  return value;
}

size_t axis_of(const Node& node, std::string_view name, size_t rank) {
  const int64_t axis = integer_of(node, name);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) {
    refuse(node, "axis " + std::to_string(axis) + " is outside of a tensor of rank " +
                     std::to_string(rank) + ".");
  }
  return static_cast<size_t>(axis);
}

const Ints& sorted_axes_of(const Node& node, std::string_view name, size_t rank) {
  const Ints& axes = ints_of(node, name);
  int64_t previous = -1;
  for (int64_t axis : axes) {
    if (axis <= previous || axis >= static_cast<int64_t>(rank)) {
      refuse(node, "'" + std::string(name) + "' must be increasing axes of a tensor of rank " +
                       std::to_string(rank) + ", but axis " + std::to_string(axis) +
                       " breaks that.");
    }
    previous = axis;
  }
  return axes;
}

bool provably_different(const Expr& a, const Expr& b) {
  if (a == b) return false;
  const Expr distance = a - b;
  return distance.is_constant() && distance.constant() != 0;
}

Expr merge_dims(const Node& node, const Expr& a, const Expr& b, std::string_view what) {
  if (provably_different(a, b)) {
    refuse(node,
           std::string(what) + " must agree, but they are " + a.str() + " and " + b.str() + ".");
  }
  return b.is_constant() ? b : a;
}

Shape merge_shapes(const Node& node, const Shape& a, const Shape& b, std::string_view what) {
  if (a.size() != b.size()) {
    refuse(node, std::string(what) + " must have the same rank, but they are " + shape_text(a) +
                     " and " + shape_text(b) + ".");
  }
  Shape merged;
  for (size_t i = 0; i < a.size(); ++i) {
    if (provably_different(a[i], b[i])) {
      refuse(node, std::string(what) + " must have the same shape, but they are " + shape_text(a) +
                       " and " + shape_text(b) + ".");
    }
    merged.push_back(b[i].is_constant() ? b[i] : a[i]);
  }
  return merged;
}

void require_same_dtype(const Node& node, DType a, DType b, std::string_view what) {
  if (a != b) {
    refuse(node, std::string(what) + " must have the same element type, but they are " +
                     std::string(dtype_info(a).name) + " and " + std::string(dtype_info(b).name) +
                     ".");
  }
}

void require_rank(const Node& node, const TensorType& type, size_t rank, std::string_view what) {
  if (type.shape.size() != rank) {
    refuse(node, std::string(what) + " must have rank " + std::to_string(rank) +
                     ", but its type is " + type_text(type) + ".");
  }
}

void require_index_dtype(const Node& node, const TensorType& type) {
  if (type.dtype != DType::i64 && type.dtype != DType::i32) {
    refuse(node, "the indices must be i32 or i64, but their type is " + type_text(type) + ".");
  }
}

void require_single(const Node& node, const TensorType& type, std::string_view what) {
  if (provably_different(product(type.shape), 1)) {
    refuse(node, std::string(what) + " must have exactly one element, but its type is " +
                     type_text(type) + ".");
  }
}

void expect_shape(const Node& node, const Tensor& output, const std::vector<int64_t>& shape) {
  if (output.shape() == shape) return;
  const auto text = [](const std::vector<int64_t>& dims) {
    return shape_text(Shape(dims.begin(), dims.end()));
  };
  throw InternalError(std::string(op_info(node.op).name) + ": inference says " +
                      text(output.shape()) + ", but the result is " + text(shape) + ".");
}

int64_t count_windows(int64_t padded, int64_t reach, int64_t stride) {
  int64_t count = 0;
  for (int64_t start = 0; start + reach <= padded; start += stride) ++count;
  return count;
}

std::string type_text(const TensorType& type) {
  return std::string(dtype_info(type.dtype).name) + shape_text(type.shape);
}

}  // namespace mcc::ops
