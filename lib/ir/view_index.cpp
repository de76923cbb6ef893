// Index arithmetic of views.
#include "lib/ir/view_index.h"

#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

// Splits [from) and [to) into the shortest leading groups of equal element count.
struct AxisGroup {
  size_t from_begin, from_end, to_begin, to_end;
};

std::vector<AxisGroup> match_axes(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  size_t i = 0;
  size_t j = 0;
  while (i < from.size() || j < to.size()) {
    AxisGroup group{i, i, j, j};
    Expr left = 1;
    Expr right = 1;
    // Take one axis from each side, then keep extending both alternately until the products agree;
    // at the latest the whole remainders agree.
    if (i < from.size()) left = from[i++];
    if (j < to.size()) right = to[j++];
    while (!(left == right)) {
      const bool left_constant_smaller = left.is_constant() && right.is_constant() &&
                                         left.constant() < right.constant();
      const bool right_divides = !left_constant_smaller && j < to.size() &&
                                 exact_division(left, right).has_value();
      if (i < from.size() && !right_divides) {
        left = left * from[i++];
      } else if (j < to.size()) {
        right = right * to[j++];
      } else if (i < from.size()) {
        left = left * from[i++];
      } else {
        break;
      }
    }
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

bool adds_only_units(const Node& view, const Shape& input_shape) {
  const Shape& shape = view.attributes.shape("shape");
  const Ints& axes = view.attributes.ints("axes");
  std::vector<bool> mapped(shape.size(), false);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const auto target = static_cast<size_t>(axes[axis]);
    mapped[target] = true;
    if (!(input_shape[axis] == shape[target])) return false;
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!mapped[axis] && !shape[axis].is_constant(1)) return false;
  }
  return true;
}

}  // namespace

Indices reshape_indices(const Indices& indices, const Shape& from, const Shape& to) {
  Indices result(to.size(), Expr(0));
  for (const AxisGroup& group : match_axes(from, to)) {
    Expr linear = 0;
    for (size_t axis = group.from_begin; axis < group.from_end; ++axis) {
      if (from[axis].is_constant(1)) continue;
      linear = linear * from[axis] + indices[axis];
    }
    // The leading non-unit target axis needs no modulo: the linear index is within the group.
    std::vector<size_t> axes;
    for (size_t axis = group.to_begin; axis < group.to_end; ++axis) {
      if (!to[axis].is_constant(1)) axes.push_back(axis);
    }
    for (size_t k = axes.size(); k-- > 0;) {
      if (k == 0) {
        result[axes[k]] = linear;
      } else {
        result[axes[k]] = mod(linear, to[axes[k]]);
        linear = floordiv(linear, to[axes[k]]);
      }
    }
  }
  return result;
}

std::optional<Indices> view_source_indices(const Node& view, const Indices& indices,
                                           const Shape& input_shape) {
  switch (view.op) {
    case Op::reshape:
      return reshape_indices(indices, view.attributes.shape("shape"), input_shape);
    case Op::transpose: {
      const Ints& perm = view.attributes.ints("perm");
      Indices at(perm.size());
      for (size_t axis = 0; axis < perm.size(); ++axis) {
        at[static_cast<size_t>(perm[axis])] = indices[axis];
      }
      return at;
    }
    case Op::broadcast: {
      const Shape& shape = view.attributes.shape("shape");
      const Ints& axes = view.attributes.ints("axes");
      Indices at(input_shape.size(), Expr(0));
      for (size_t axis = 0; axis < axes.size(); ++axis) {
        const auto target = static_cast<size_t>(axes[axis]);
        if (!input_shape[axis].is_constant(1) || shape[target].is_constant(1)) {
          at[axis] = indices[target];
        }
      }
      return at;
    }
    case Op::slice: {
      const Shape& starts = view.attributes.shape("starts");
      const Ints& steps = view.attributes.ints("steps");
      Indices at(indices.size());
      for (size_t axis = 0; axis < indices.size(); ++axis) {
        at[axis] = starts[axis] + indices[axis] * Expr(steps[axis]);
      }
      return at;
    }
    default:
      return std::nullopt;
  }
}

bool is_bijective_view(const Node& view, const Shape& input_shape) {
  return view.op == Op::reshape || view.op == Op::transpose ||
         (view.op == Op::broadcast && adds_only_units(view, input_shape));
}

std::optional<Indices> view_target_indices(const Node& view, const Indices& indices,
                                           const Shape& input_shape) {
  if (!is_bijective_view(view, input_shape)) return std::nullopt;
  if (view.op == Op::reshape) {
    return reshape_indices(indices, input_shape, view.attributes.shape("shape"));
  }
  if (view.op == Op::transpose) {
    const Ints& perm = view.attributes.ints("perm");
    Indices to(perm.size());
    for (size_t axis = 0; axis < perm.size(); ++axis) {
      to[axis] = indices[static_cast<size_t>(perm[axis])];
    }
    return to;
  }
  Indices to(view.attributes.shape("shape").size(), Expr(0));
  const Ints& axes = view.attributes.ints("axes");
  for (size_t axis = 0; axis < axes.size(); ++axis) to[static_cast<size_t>(axes[axis])] = indices[axis];
  return to;
}

PaddedIndex pad_index(const Node& pad, const Indices& indices, const Shape& input_shape) {
  const Shape& low = pad.attributes.shape("low");
  const std::string& mode = pad.attributes.text("mode");
  PaddedIndex padded;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    const Expr& dim = input_shape[axis];
    const Expr at = indices[axis] - low[axis];
    if (mode == "constant") {
      padded.indices.push_back(at);
      padded.guard.push_back(at);
      padded.guard.push_back(dim - 1 - at);
    } else if (mode == "edge") {
      padded.indices.push_back(max(Expr(0), min(at, dim - 1)));
    } else if (mode == "reflect") {
      // One reflection at each border: |i| on the low side, 2(d-1) - i on the high side.
      const Expr folded = max(at, -at);
      padded.indices.push_back(min(folded, Expr(2) * (dim - 1) - folded));
    } else if (mode == "wrap") {
      padded.indices.push_back(mod(at, dim));
    } else {
      throw InternalError("pad mode '" + mode + "' is unknown");
    }
  }
  return padded;
}

}  // namespace mcc
