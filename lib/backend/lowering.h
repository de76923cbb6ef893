// From a fused group (a graph node with a body of maps, views and at most one anchor) to loop-IR
// values: the element of any value at symbolic indices.
//
// Invariant: `element` never emits memory traffic of its own: views become index arithmetic, maps
// become applications, values from outside become loads from parameters.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/backend/loop_ir.h"
#include "lib/backend/target.h"
#include "lib/ir/view_index.h"
#include "lib/ir/graph.h"

namespace mcc::backend {

// What a schedule gets: the group's body and its surroundings. Borrowed references stay valid for
// the duration of scheduling.
struct Group {
  const Graph* body = nullptr;   // inputs = kernel inputs, outputs = kernel outputs, in order
  const Graph* outer = nullptr;  // for symbols and ranges
  std::vector<bool> constant_input;  // per body input: it is a weight of the plan
  std::vector<TensorPtr> constants;  // its tensor (may be null for non-constants)
  std::string schedule;          // attribute of the fused node
};


// Row-major linear index of `indices` in `shape`.
Expr linear_index(const Indices& indices, const Shape& shape);
// The inverse; simplified with the loop ranges known to `lowering`.
Indices delinearize(const Expr& linear, const Shape& shape);

class GroupLowering {
 public:
  // Fills kernel.buffers, dims and ranges from the group.
  GroupLowering(const Group& group, LoopKernel& kernel);

  // A fresh loop variable "<prefix><n>" with range [0, extent).
  std::string new_variable(const std::string& prefix, const Expr& extent);
  // Declares the half-open range [0, extent) of an existing variable.
  void declare(const std::string& variable, const Expr& extent);

  // Value of a body value at indices (one per axis of its shape). Anchors must be defined first
  // by pin(); asking for an unpinned anchor output is an InternalError.
  ScalarPtr element(ValueId value, const Indices& indices);
  // Simplifies an index expression with everything known about variables.
  Expr simplified(const Expr& expr) const;

  // The single anchor of the body (a node that is neither map nor view nor source), or nullptr.
  const Node* anchor() const { return anchor_; }

  // Defines the anchor's output at `indices` as `value` and carries it forward through the body to
  // the group's outputs (maps applied, bijective views mapped forward): emits one store per group
  // output that depends on the anchor. Call it once per generated copy of the epilogue.
  // `anchor_output`: which output of the anchor (arg: topk has two).
  Block finish(const Indices& indices, const ScalarPtr& value, int anchor_output = 0);
  // The same without stores: index and value of each group output.
  struct Result {
    int buffer;
    DType storage;
    Expr index;
    ScalarPtr value;
  };
  std::vector<Result> results(const Indices& indices, const ScalarPtr& value, int anchor_output = 0);

  // For groups without an anchor: stores of output `number` at indices of its own shape.
  StmtPtr store_output(int number, const Indices& indices);

  // If body value `value` is a group input (possibly through reshape-only views), its parameter
  // number, else -1. Schedules use it to ask for packed weights.
  int direct_parameter(ValueId value) const;

  const Graph& body() const { return *group_.body; }
  const Group& group() const { return group_; }
  const Ranges& ranges() const { return kernel_.ranges; }
  LoopKernel& kernel() { return kernel_; }

 private:
  ScalarPtr compute(ValueId value, const Indices& indices);
  ScalarPtr compute_node(const Node& node, const Indices& indices);
  std::string indirect_symbol(ScalarPtr value, const Expr& dimension);

  const Group& group_;
  LoopKernel& kernel_;
  const Node* anchor_ = nullptr;
  std::vector<int32_t> producers_;
  std::map<ValueId, int> parameter_of_;
  std::map<std::pair<ValueId, Indices>, ScalarPtr> memo_;
  std::map<ValueId, ScalarPtr> pinned_;
  std::map<std::string, Expr, std::less<>> upper_bounds_;
  int next_variable_ = 0;
};

// The schedules: one file each in lib/backend/schedules/, joined by the table in schedule.cpp.
// A schedule turns a group into a kernel for one target; it may choose packings for constant
// inputs, which must not depend on the target.
using ScheduleFunction = LoopKernel (*)(const Group& group, const Target& target);
struct ScheduleInfo {
  std::string_view name;  // the `schedule` attribute: "pointwise", "contraction", ...
  ScheduleFunction host;
  ScheduleFunction cuda;
};
const ScheduleInfo& find_schedule(std::string_view name);  // InternalError when unknown

// The printers.
std::string print_cuda(const LoopKernel& kernel);                       // one __global__ function
std::string print_host(const LoopKernel& kernel, const Target& target); // one extern "C" function

}  // namespace mcc::backend
