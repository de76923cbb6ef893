// Host schedule of reduce, arg_reduce, softmax and normalize.
//
// If the innermost axis is reduced, a row is a vector loop with partial results per lane, folded at
// its end; otherwise the innermost kept axis is the vector and the reduced axes are serial loops
// inside of it.
#include <algorithm>

#include "lib/backend/schedules/common/access.h"
#include "lib/backend/schedules/common/reduction_terms.h"
#include "lib/backend/schedules/common/reduction_view.h"
#include "lib/backend/schedules/host/host_schedules.h"
#include "lib/ir/op.h"

namespace mcc::backend {
namespace {

constexpr int64_t kColumnChunk = 64;
// A work item of short rows takes so many elements at least.
constexpr int64_t kElementsPerItem = 2048;
// A row whose elements cost more than this many flops is kept in scratch when it is read again, if
// it is not longer than this.
constexpr int kCheap = 6;
constexpr int64_t kMostKept = 16384;

class HostReduction : public ReductionStages {
 public:
  HostReduction(const Group& group, const Target& target) : ReductionStages(group) {
    const bool last_reduced = kept_.empty() || is_reduced(shape_.size() - 1);
    const bool ordered = node_.op == Op::arg_reduce;
    const int bits = ordered ? 64 : std::max(32, dtype_info(compute_type(type_)).bits);
    const bool vectors = type_ != DType::boolean && !(ordered && last_reduced);
    lanes_ = vectors ? target.vector_bytes * 8 / bits : 1;
    rows_ = last_reduced || lanes_ == 1;
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
      keep_row(body);
      Block work = stages();
      body.insert(body.end(), work.begin(), work.end());
      const Expr length = product(reduced_dims());
      if (length.is_constant()) {
        kernel_.grain = std::max<int64_t>(1, kElementsPerItem / std::max<int64_t>(1, length.constant()));
      }
    } else {
      const Expr first = at_[kept_.back()] * Expr(kColumnChunk);
      const std::string lane = lowering_.new_variable("v", kColumnChunk);
      at_[kept_.back()] = first + Expr::symbol(lane);
      auto chunk = [&](const Expr& extent) {
        return Block{make_loop(lane, extent, LoopTag::vector, stages(), lanes_)};
      };
      // The last chunk of a known length gets a loop of its own, without a scalar tail.
      const int64_t rest = columns.is_constant() ? columns.constant() % kColumnChunk : 0;
      if (columns.is_constant() && columns.constant() < kColumnChunk) {
        body = chunk(columns);
      } else if (rest != 0) {
        body = {make_if({columns - first - Expr(kColumnChunk)}, chunk(kColumnChunk), chunk(rest))};
      } else {
        const bool whole = exact_division(columns, kColumnChunk).has_value();
        body = chunk(whole ? Expr(kColumnChunk) : min(Expr(kColumnChunk), columns - first));
      }
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

  // Softmax and normalize read a row two or three times: elements that are not cheap are computed
  // once, into scratch.
  void keep_row(Block& body) {
    const Expr length = product(reduced_dims());
    const Range range = bounds(length, lowering_.ranges());
    const bool again = node_.op == Op::softmax || node_.op == Op::normalize;
    if (!again || !reduces_suffix() || range.high > kMostKept || compute_type(type_) != DType::f32) return;
    Indices sample = at_;
    for (size_t axis : reduced_) sample[axis] = Expr::symbol(lowering_.new_variable("r", shape_[axis]));
    if (flops(lowering_.element(input_, sample)) <= kCheap) return;
    kernel_.scratch_bytes = range.high * 4;
    body.push_back(make_allocate("row", DType::f32, range.high, MemorySpace::scratch));
    Block copy = over_reduced([&](const Indices& at) {
      return Block{make_store_memory("row", DType::f32, place_in_row(at), lowering_.element(input_, at))};
    });
    body.insert(body.end(), copy.begin(), copy.end());
    keeps_row_ = true;
  }

  Expr place_in_row(const Indices& at) const {
    Indices reduced;
    for (size_t axis : reduced_) reduced.push_back(at[axis]);
    return lowering_.simplified(linear_index(reduced, reduced_dims()));
  }

  ScalarPtr element(const Indices& at) override {
    return keeps_row_ ? load_memory("row", DType::f32, place_in_row(at)) : ReductionStages::element(at);
  }

  bool keeps_row_ = false;
  int lanes_ = 1;
  bool rows_ = true;  // the vector loop runs along the reduced axes
};

}  // namespace

LoopKernel host_reduction(const Group& group, const Target& target) { return HostReduction(group, target).run(); }

}  // namespace mcc::backend
