// What the schedules of reduce, arg_reduce, softmax and normalize share: which axes are reduced and
// the stages of the computation. A schedule supplies the loops over the reduced axes and the way
// partial results of lanes or threads are joined.
#pragma once

#include <functional>

#include "lib/backend/lowering.h"

namespace mcc::backend {

class ReductionStages {
 public:
  virtual ~ReductionStages() = default;

 protected:
  explicit ReductionStages(const Group& group);

  using ValueAt = std::function<ScalarPtr(const Indices&)>;
  using BlockAt = std::function<Block(const Indices&)>;
  // Loops over the reduced axes (this lane's or thread's part of them) around body(indices of the
  // input element); kept axes come from at_.
  virtual Block over_reduced(const BlockAt& body) = 0;
  // Defines register `name` for folding, runs `body`, which accumulates into the register whose
  // name it is given, and joins partial results so that `name` holds the total everywhere.
  virtual void fold_into(Block& block, const std::string& name, const std::string& reduction, DType dtype,
                         const std::function<Block(const std::string& partial)>& body) = 0;
  // Defines a register that is computed once per row.
  virtual void define_row(Block& block, const std::string& name, const ScalarPtr& value) = 0;
  // Wraps what only one lane or thread of a row may do (the store of a row's single result).
  virtual Block once_per_row(Block block) = 0;

  // The input's element; schedules may keep elements that are costly to compute.
  virtual ScalarPtr element(const Indices& at) { return lowering_.element(input_, at); }

  // The statements of the whole operator for the row at_.
  Block stages();

  bool is_reduced(size_t axis) const;
  bool reduces_suffix() const { return reduced_.front() + reduced_.size() == shape_.size(); }
  Shape kept_dims() const;
  Shape reduced_dims() const;
  Indices kept_indices() const;

  LoopKernel kernel_;
  GroupLowering lowering_;
  const Node& node_;
  ValueId input_;
  Shape shape_;
  DType type_;
  std::vector<size_t> reduced_, kept_;
  Indices at_;

 private:
  void fold(Block& block, const std::string& name, const std::string& reduction, DType dtype, const ValueAt& value);
  Block store_all(const ValueAt& value);
  Block reduce();
  Block arg_reduce();
  Block softmax();
  Block normalize();
};

}  // namespace mcc::backend
