// Index arithmetic of views: from an output element to the input element it shows, and, for views
// that only rename elements, the other way round.
#pragma once

#include <optional>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc {

using Indices = std::vector<Expr>;

// reshape, transpose, broadcast, slice: the input indices of the output element at `indices`;
// nullopt for any other operator.
std::optional<Indices> view_source_indices(const Node& view, const Indices& indices,
                                           const Shape& input_shape);

// reshape, transpose, and broadcasts that only add dimensions of size 1: the output indices of the
// input element at `indices`; nullopt for views that are not one-to-one.
std::optional<Indices> view_target_indices(const Node& view, const Indices& indices,
                                           const Shape& input_shape);
// Whether view_target_indices() would succeed for this node.
bool is_bijective_view(const Node& view, const Shape& input_shape);

// pad: input indices and, in constant mode, the conditions (each >= 0) under which they are inside.
struct PaddedIndex {
  Indices indices;
  std::vector<Expr> guard;
};
PaddedIndex pad_index(const Node& pad, const Indices& indices, const Shape& input_shape);

// Indices under the shape `to` of the element at `indices` under `from`, for shapes of equal
// element count. Axes are matched in groups of equal size, so that untouched axes stay plain.
Indices reshape_indices(const Indices& indices, const Shape& from, const Shape& to);

}  // namespace mcc
