// Host schedule of reduce, arg_reduce, softmax and normalize.
//
// If the innermost axis is reduced, a row is a vector loop with partial results per lane, folded at
// its end; otherwise the innermost kept axis is the vector and the reduced axes are serial loops
// inside of it.
#include <algorithm>

#include "lib/backend/schedules/common/reduction_terms.h"
#include "lib/backend/schedules/common/reduction_view.h"
#include "lib/backend/schedules/host/host_schedules.h"
#include "lib/ir/op.h"

namespace mcc::backend {
namespace {

constexpr int64_t kColumnChunk = 64;
// A work item of short rows takes so many elements at least.
constexpr int64_t kElementsPerItem = 2048;

class HostReduction : public ReductionStages {
 public:
  HostReduction(const Group& group, const Target& target) : ReductionStages(group) {
    const bool vectors = compute_type(type_) == DType::f32 && node_.op != Op::arg_reduce;
    lanes_ = vectors ? target.vector_bytes / 4 : 1;
    rows_ = kept_.empty() || is_reduced(shape_.size() - 1) || lanes_ == 1;
  }

  LoopKernel run() {
    Shape outer = kept_dims();
    const Expr columns = outer.empty() ? Expr(1) : outer.back();
    if (!rows_) outer.back() = ceildiv(columns, kColumnChunk);
    kernel_.parallel = product(outer);
    const std::string item = lowering_.new_variable("p", kernel_.parallel);
    const Indices kept = delinearize(Expr::symbol(item), outer);
    for (size_t i = 0; i < kept_.size(); ++i) at_[kept_[i]] = lowering_.simplified(kept[i]);
    Block body;
    if (rows_) {
      body = stages();
      const Expr length = product(reduced_dims());
      if (length.is_constant()) {
        kernel_.grain = std::max<int64_t>(1, kElementsPerItem / std::max<int64_t>(1, length.constant()));
      }
    } else {
      const Expr first = at_[kept_.back()] * Expr(kColumnChunk);
      const std::string lane = lowering_.new_variable("v", kColumnChunk);
      at_[kept_.back()] = first + Expr::symbol(lane);
      const bool whole = exact_division(columns, kColumnChunk).has_value();
      const Expr extent = whole ? Expr(kColumnChunk) : min(Expr(kColumnChunk), columns - first);
      body = {make_loop(lane, extent, LoopTag::vector, stages(), lanes_)};
    }
    kernel_.body = {make_loop(item, kernel_.parallel, LoopTag::parallel, std::move(body))};
    return std::move(kernel_);
  }

 private:
  // Reduced axes that are the input's last ones are walked as one.
  Block over_reduced(const BlockAt& body) override {
    Indices at = at_;
    std::vector<std::pair<std::string, Expr>> loops;
    if (reduces_suffix()) {
      const Expr extent = product(reduced_dims());
      loops.emplace_back(lowering_.new_variable("r", extent), extent);
      const Indices indices = delinearize(Expr::symbol(loops[0].first), reduced_dims());
      for (size_t i = 0; i < reduced_.size(); ++i) at[reduced_[i]] = indices[i];
    } else {
      for (size_t axis : reduced_) {
        loops.emplace_back(lowering_.new_variable("r", shape_[axis]), shape_[axis]);
        at[axis] = Expr::symbol(loops.back().first);
      }
    }
    Block block = body(at);
    for (size_t i = loops.size(); i-- > 0;) {
      const bool vector = rows_ && lanes_ > 1 && i + 1 == loops.size();
      block = {make_loop(loops[i].first, loops[i].second, vector ? LoopTag::vector : LoopTag::serial,
                         std::move(block), vector ? lanes_ : 1)};
    }
    return block;
  }

  void fold_into(Block& block, const std::string& name, const std::string& reduction, DType dtype,
                 const std::function<Block(const std::string&)>& body) override {
    const bool partial = rows_ && lanes_ > 1;
    const std::string target = partial ? name + "_lanes" : name;
    block.push_back(make_define(target, neutral_element(reduction, dtype), lanes_));
    Block loops = body(target);
    block.insert(block.end(), loops.begin(), loops.end());
    if (partial) {
      block.push_back(make_reduce(StmtKind::lanes_reduce, target, fold_function(reduction), lanes_, name));
    }
  }

  void define_row(Block& block, const std::string& name, const ScalarPtr& value) override {
    block.push_back(make_define(name, value, rows_ ? 1 : lanes_));
  }
  Block once_per_row(Block block) override { return block; }

  int lanes_ = 1;
  bool rows_ = true;  // the vector loop runs along the reduced axes
};

}  // namespace

LoopKernel host_reduction(const Group& group, const Target& target) { return HostReduction(group, target).run(); }

}  // namespace mcc::backend
