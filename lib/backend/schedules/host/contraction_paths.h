// What the paths of the host contraction schedule share.
#pragma once

#include "lib/backend/schedules/common/contraction_view.h"
#include "lib/backend/schedules/host/tile_engine.h"

namespace mcc::backend {

class HostContraction {
 public:
  HostContraction(const Group& group, const Target& target);
  LoopKernel run();

 private:
  // Constant right operands in panels, or computed ones of a known moderate depth, packed at once
  // (contraction_tiled.cpp).
  void tiled();
  // Any depth: computed right operands are packed block by block, partial sums in scratch
  // (contraction_blocked.cpp).
  void blocked();
  // Any type: a vector over columns around the depth loop (contraction_plain.cpp).
  void plain();

  // Work items: batches x panels x row blocks, the blocks innermost so that a thread keeps its
  // panel in the cache, the panels of a batch together so that they share the left operand.
  struct Item {
    Indices batch;
    Expr panel, block;
  };
  Item item(const Expr& blocks);
  // Element of a right operand in panels, as f32; `column` is relative to the panel.
  ScalarPtr panel_element(const Item& at, const Expr& depth, const Expr& column);
  // Element of the right operand; constants are read from their panel.
  ScalarPtr right(const Indices& b, const Expr& depth, const Expr& column);
  // Element of the left operand as f32.
  ScalarPtr left(const Indices& b, const Expr& row, const Expr& depth);
  // The epilogue and the stores of one element.
  Block finish(const Indices& b, const Expr& row, const Expr& column, const ScalarPtr& value);
  // Copies rows [first, first + count) of the depth of one panel of the right operand into the
  // scratch memory "panel", zero beyond the last column. `most` bounds `count`.
  Block pack(const Indices& b, const Expr& panel, const Expr& first, const Expr& count, int64_t most);
  Expr panels() const { return ceildiv(view_.n, kPanelWidth); }

  void finish_kernel(Block body);

  const Target& target_;
  LoopKernel kernel_;
  GroupLowering lowering_;
  const Node& node_;
  ContractionView view_;
  TileShape shape_;
  int panel_parameter_ = -1;
  std::string item_variable_;
};

}  // namespace mcc::backend
