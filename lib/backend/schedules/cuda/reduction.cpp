// CUDA schedule of reduce, arg_reduce, softmax and normalize.
//
// Rows along the innermost axis are walked by a warp (short rows) or a block (long ones), whose
// threads read neighbouring elements; when the innermost axis is kept, or for arg_reduce, each
// thread walks a row of its own and neighbouring threads read neighbouring elements that way.
#include <algorithm>

#include "lib/backend/schedules/common/reduction_terms.h"
#include "lib/backend/schedules/common/reduction_view.h"
#include "lib/backend/schedules/cuda/cuda_schedules.h"
#include "lib/backend/schedules/cuda/launch.h"
#include "lib/ir/op.h"

namespace mcc::backend {
namespace {

constexpr int64_t kWarpRowLimit = 1024;
constexpr int kWarp = 32;

class CudaReduction : public ReductionStages {
 public:
  explicit CudaReduction(const Group& group) : ReductionStages(group) {
    const bool along_rows = is_reduced(shape_.size() - 1) && node_.op != Op::arg_reduce;
    const Expr length = product(reduced_dims());
    const Range range = bounds(length, kernel_.ranges);
    if (!along_rows) {
      threads_ = 1;
    } else {
      threads_ = range.high <= kWarpRowLimit ? kWarp : kThreadsPerBlock;
    }
  }

  LoopKernel run() {
    if (threads_ == 1) {
      kernel_.body = one_thread_per_element(lowering_, kept_dims(), [&](const Indices& kept) {
        for (size_t i = 0; i < kept_.size(); ++i) at_[kept_[i]] = kept[i];
        return stages();
      });
      return std::move(kernel_);
    }
    // Whole warps or blocks take a row: the guard is the same for all threads that reduce together.
    const Expr rows = product(kept_dims());
    const int rows_per_block = kThreadsPerBlock / threads_;
    kernel_.grid[0] = ceildiv(rows, rows_per_block);
    kernel_.block[0] = threads_;
    kernel_.block[1] = rows_per_block;
    const std::string grid = lowering_.new_variable("p", kernel_.grid[0]);
    const std::string row_in_block = lowering_.new_variable("y", rows_per_block);
    thread_ = lowering_.new_variable("t", threads_);
    const Expr row = rows_per_block == 1 ? Expr::symbol(grid)
                                         : Expr::symbol(grid) * Expr(rows_per_block) + Expr::symbol(row_in_block);
    const Indices kept = delinearize(row, kept_dims());
    for (size_t i = 0; i < kept_.size(); ++i) at_[kept_[i]] = lowering_.simplified(kept[i]);
    Block body = stages();
    if (rows_per_block > 1 && !exact_division(rows, rows_per_block)) {
      body = {make_if({rows - 1 - row}, std::move(body))};
    }
    body = {make_loop(thread_, threads_, LoopTag::block_x, std::move(body))};
    if (rows_per_block > 1) body = {make_loop(row_in_block, rows_per_block, LoopTag::block_y, std::move(body))};
    kernel_.body = {make_loop(grid, kernel_.grid[0], LoopTag::grid_x, std::move(body))};
    return std::move(kernel_);
  }

 private:
  Block over_reduced(const BlockAt& body) override {
    const Shape dims = reduced_dims();
    const Expr length = product(dims);
    Indices at = at_;
    if (threads_ == 1) {
      std::vector<std::string> loops;
      for (size_t axis : reduced_) {
        loops.push_back(lowering_.new_variable("r", shape_[axis]));
        at[axis] = Expr::symbol(loops.back());
      }
      Block block = body(at);
      for (size_t i = loops.size(); i-- > 0;) {
        block = {make_loop(loops[i], shape_[reduced_[i]], LoopTag::serial, std::move(block))};
      }
      return block;
    }
    const Expr steps = ceildiv(length, threads_);
    const std::string step = lowering_.new_variable("r", steps);
    const Expr position = Expr::symbol(step) * Expr(threads_) + Expr::symbol(thread_);
    const Indices indices = delinearize(position, dims);
    for (size_t i = 0; i < reduced_.size(); ++i) at[reduced_[i]] = lowering_.simplified(indices[i]);
    Block block = body(at);
    if (!exact_division(length, threads_)) block = {make_if({length - 1 - position}, std::move(block))};
    return {make_loop(step, steps, LoopTag::serial, std::move(block))};
  }

  void fold_into(Block& block, const std::string& name, const std::string& reduction, DType dtype,
                 const std::function<Block(const std::string&)>& body) override {
    block.push_back(make_define(name, neutral_element(reduction, dtype)));
    Block loops = body(name);
    block.insert(block.end(), loops.begin(), loops.end());
    if (threads_ == 1) return;
    const StmtKind kind = threads_ == kWarp ? StmtKind::warp_reduce : StmtKind::block_reduce;
    block.push_back(make_reduce(kind, name, fold_function(reduction), threads_));
  }

  void define_row(Block& block, const std::string& name, const ScalarPtr& value) override {
    block.push_back(make_define(name, value));
  }

  Block once_per_row(Block block) override {
    if (threads_ == 1) return block;
    return {make_if({-Expr::symbol(thread_)}, std::move(block))};
  }

  int threads_ = 1;
  std::string thread_;
};

}  // namespace

LoopKernel cuda_reduction(const Group& group, const Target&) { return CudaReduction(group).run(); }

}  // namespace mcc::backend
