// Helpers of shape and type inference.
// Invariant: everything that does not fit is a ModelError whose sentence starts with the
// operator's name; attributes are checked for presence and type here, so inference never trips
// over a graph that was read from text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/op.h"

namespace mcc::ops {

// Throws ModelError "<operator>: <sentence>".
[[noreturn]] void refuse(const Node& node, const std::string& sentence);

// Attributes; ModelError when missing or of another type.
int64_t integer_of(const Node& node, std::string_view name);
double real_of(const Node& node, std::string_view name);
const std::string& text_of(const Node& node, std::string_view name);
const Ints& ints_of(const Node& node, std::string_view name);
const Shape& shape_of(const Node& node, std::string_view name);
DType dtype_of(const Node& node, std::string_view name);
// A list attribute of exactly `size` entries.
const Ints& ints_of(const Node& node, std::string_view name, size_t size);
const Shape& shape_of(const Node& node, std::string_view name, size_t size);
// A text attribute that is one of `allowed`.
const std::string& choice_of(const Node& node, std::string_view name,
                             std::initializer_list<std::string_view> allowed);
// An axis in [0, rank).
size_t axis_of(const Node& node, std::string_view name, size_t rank);
// A strictly increasing list of axes in [0, rank).
const Ints& sorted_axes_of(const Node& node, std::string_view name, size_t rank);

// The common value of two dimensions that must agree: equal or possibly equal ones are accepted
// and the constant one is preferred. `what` completes "... must agree: <what>".
Expr merge_dims(const Node& node, const Expr& a, const Expr& b, std::string_view what);
Shape merge_shapes(const Node& node, const Shape& a, const Shape& b, std::string_view what);
void require_same_dtype(const Node& node, DType a, DType b, std::string_view what);
void require_rank(const Node& node, const TensorType& type, size_t rank, std::string_view what);
// i32 or i64.
void require_index_dtype(const Node& node, const TensorType& type);
// Exactly one element is possible.
void require_single(const Node& node, const TensorType& type, std::string_view what);

// Whether two expressions differ for certain (both constant, or a constant non-zero distance).
bool provably_different(const Expr& a, const Expr& b);
std::string type_text(const TensorType& type);  // "f32[s0, 3]"

// Evaluators work out their output's shape by themselves and hold it against the inferred one:
// InternalError when they differ, for inference is wrong then.
void expect_shape(const Node& node, const Tensor& output, const std::vector<int64_t>& shape);
// How many windows of `reach` elements fit into `padded` elements at steps of `stride`.
int64_t count_windows(int64_t padded, int64_t reach, int64_t stride);

// Rows of a family as a span over a static array.
template <size_t N>
std::span<const OpInfo> rows(const OpInfo (&table)[N]) {
  return {table, N};
}

}  // namespace mcc::ops
