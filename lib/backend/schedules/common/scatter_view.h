// The common view of scatter_elements and scatter_nd: updates in row-major order, each with the
// output element that it changes.
#pragma once

#include "lib/backend/lowering.h"

namespace mcc::backend {

struct ScatterView {
  explicit ScatterView(GroupLowering& group_lowering);

  // The statements of update number `number` (linear over the updates) for the owner of the output
  // elements [first, first + count): indices that point outside of the data are skipped.
  Block update(const Expr& number, const Expr& first, const Expr& count);
  // output[position] = data[position] for a linear position.
  Block copy(const Expr& position);

  Expr updates, elements;  // how many

 private:
  Expr target(Block& block, Guard& inside, const Indices& at);
  Expr index(Block& block, Guard& inside, const Indices& at, const Expr& size);

  GroupLowering& lowering_;
  const Node& node_;
  int output_ = 0;
};

}  // namespace mcc::backend
