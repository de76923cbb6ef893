// Joins the operator families into one table indexed by Op.
#include "lib/ir/op.h"

#include <array>

#include "lib/ir/ops/families.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

constexpr size_t kOpCount = static_cast<size_t>(Op::fused) + 1;
using Table = std::array<OpInfo, kOpCount>;

Table join_families() {
  Table table;
  for (std::span<const OpInfo> (*family)() : {
           ops::source_ops, ops::map_ops, ops::view_ops, ops::gather_ops, ops::scatter_ops,
           ops::reduce_ops, ops::window_ops, ops::contract_ops, ops::conv_ops,
           ops::normalize_ops, ops::attention_ops, ops::sort_ops, ops::data_dependent_ops,
           ops::nms_ops, ops::recurrent_ops, ops::control_ops}) {
    for (const OpInfo& row : family()) {
      OpInfo& slot = table[static_cast<size_t>(row.op)];
      check_internal(slot.infer == nullptr, "an operator has two rows");
      slot = row;
    }
  }
  for (const OpInfo& row : table) check_internal(row.infer != nullptr, "an operator has no row");
  return table;
}

const Table& table() {
  static const Table joined = join_families();
  return joined;
}

}  // namespace

const OpInfo& op_info(Op op) {
  check_internal(static_cast<size_t>(op) < kOpCount, "an operator number is out of range");
  return table()[static_cast<size_t>(op)];
}

const OpInfo* find_op(std::string_view name) {
  for (const OpInfo& row : table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::span<const OpInfo> all_ops() { return table(); }

}  // namespace mcc
