// The canonical view of a `contract` node: batch, rows (M), columns (N) and depth (K), each a list
// of axes, with the index mappings between them and the operands.
#pragma once

#include "lib/backend/lowering.h"

namespace mcc::backend {

struct ContractionView {
  explicit ContractionView(const Graph& body, const Node& contract);

  ValueId lhs = kNoValue;
  ValueId rhs = kNoValue;
  Shape batch, rows, columns, depth;  // dims of the four groups of axes
  Expr batch_count, m, n, k;          // their products

  // Indices of an element of the operands and the output; each group's indices are given in the
  // group's own axis order.
  Indices lhs_indices(const Indices& b, const Indices& r, const Indices& d) const;
  Indices rhs_indices(const Indices& b, const Indices& d, const Indices& c) const;
  static Indices output_indices(const Indices& b, const Indices& r, const Indices& c);

  // Axes of the operands in the order [batch, rows, depth] and [batch, depth, columns].
  std::vector<int64_t> lhs_batch, lhs_rows, lhs_depth;
  std::vector<int64_t> rhs_batch, rhs_depth, rhs_columns;
};

// Asks for the constant `value` (a parameter of the group that nothing else in the body reads) to
// be stored in panels: `permutation` brings its axes to [batch, depth, columns]. Returns the
// parameter's number, or -1 when it is not such a constant.
int request_panels(GroupLowering& lowering, ValueId value, const std::vector<int64_t>& batch,
                   const std::vector<int64_t>& depth, const std::vector<int64_t>& columns,
                   int64_t panel_width);

// Width of all panels, in elements.
constexpr int64_t kPanelWidth = 64;

}  // namespace mcc::backend
