// Host schedule of reduce, arg_reduce, softmax and normalize.
//
// If the innermost axis is reduced, a row is a vector loop with partial sums per lane, folded at its
// end; otherwise the innermost kept axis is the vector and the reduced axes are serial loops inside.
// Both share the stages below: only where the vector loop stands differs.
#include <algorithm>

#include "lib/backend/schedules/common/reduction_terms.h"
#include "lib/backend/schedules/host/host_schedules.h"
#include "lib/ir/op.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

constexpr int64_t kColumnChunk = 64;

class Reduction {
 public:
  Reduction(const Group& group, const Target& target)
      : lowering_(group, kernel_), node_(*lowering_.anchor()), input_(node_.inputs[0]),
        shape_(lowering_.body().shape(input_)) {
    for (int64_t axis : reduced_axes()) reduced_.push_back(static_cast<size_t>(axis));
    for (size_t axis = 0; axis < shape_.size(); ++axis) {
      if (!is_reduced(axis)) kept_.push_back(axis);
    }
    type_ = lowering_.body().dtype(input_);
    const bool vectors = compute_type(type_) == DType::f32 && node_.op != Op::arg_reduce;
    lanes_ = vectors ? target.vector_bytes / 4 : 1;
    rows_ = kept_.empty() || is_reduced(shape_.size() - 1) || lanes_ == 1;
  }

  LoopKernel run() {
    Shape outer;
    for (size_t axis : kept_) outer.push_back(shape_[axis]);
    at_.assign(shape_.size(), Expr(0));
    Expr column_extent = 0;
    if (!rows_) {
      column_extent = outer.back();
      outer.back() = ceildiv(outer.back(), kColumnChunk);
    }
    kernel_.parallel = product(outer);
    const std::string item = lowering_.new_variable("p", kernel_.parallel);
    Indices kept = delinearize(Expr::symbol(item), outer);
    Block body;
    if (rows_) {
      for (size_t i = 0; i < kept_.size(); ++i) at_[kept_[i]] = lowering_.simplified(kept[i]);
      body = stages();
      const Expr length = product(reduced_dims());
      if (length.is_constant()) kernel_.grain = std::max<int64_t>(1, 2048 / std::max<int64_t>(1, length.constant()));
    } else {
      const Expr first = lowering_.simplified(kept.back()) * Expr(kColumnChunk);
      const std::string lane = lowering_.new_variable("v", kColumnChunk);
      for (size_t i = 0; i < kept_.size(); ++i) at_[kept_[i]] = lowering_.simplified(kept[i]);
      at_[kept_.back()] = first + Expr::symbol(lane);
      const bool whole = exact_division(column_extent, kColumnChunk).has_value();
      const Expr extent = whole ? Expr(kColumnChunk) : min(Expr(kColumnChunk), column_extent - first);
      body = {make_loop(lane, extent, LoopTag::vector, stages(), lanes_)};
    }
    kernel_.body = {make_loop(item, kernel_.parallel, LoopTag::parallel, std::move(body))};
    return std::move(kernel_);
  }

 private:
  Ints reduced_axes() const {
    if (node_.op == Op::reduce || node_.op == Op::normalize) return node_.attributes.ints("axes");
    return {node_.attributes.integer("axis")};
  }
  bool is_reduced(size_t axis) const { return std::count(reduced_.begin(), reduced_.end(), axis) != 0; }
  Shape reduced_dims() const {
    Shape dims;
    for (size_t axis : reduced_) dims.push_back(shape_[axis]);
    return dims;
  }

  // Loops over the reduced axes around `body(indices)`; in row form the innermost is the vector
  // loop. Reduced axes that are the input's last ones are walked as one.
  Block over_reduced(const std::function<Block(const Indices&)>& body) {
    Indices at = at_;
    std::vector<std::pair<std::string, Expr>> loops;
    const bool suffix = reduced_.front() + reduced_.size() == shape_.size();
    if (suffix) {
      const Expr extent = product(reduced_dims());
      const std::string variable = lowering_.new_variable("r", extent);
      loops.emplace_back(variable, extent);
      const Indices indices = delinearize(Expr::symbol(variable), reduced_dims());
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

  // Folds value(indices) over the reduced axes into register `name`.
  void fold(Block& block, const std::string& name, const std::string& reduction, DType dtype,
            const std::function<ScalarPtr(const Indices&)>& value) {
    const bool partial = rows_ && lanes_ > 1;
    const std::string target = partial ? name + "_lanes" : name;
    block.push_back(make_define(target, neutral_element(reduction, dtype), lanes_));
    Block loops = over_reduced([&](const Indices& at) {
      return Block{make_accumulate(target, fold_function(reduction), value(at))};
    });
    block.insert(block.end(), loops.begin(), loops.end());
    if (partial) {
      block.push_back(make_reduce(StmtKind::lanes_reduce, target, fold_function(reduction), lanes_, name));
    }
  }

  ScalarPtr element(const Indices& at) { return lowering_.element(input_, at); }

  Block stages() {
    switch (node_.op) {
      case Op::reduce: return reduce();
      case Op::arg_reduce: return arg_reduce();
      case Op::softmax: return softmax();
      case Op::normalize: return normalize();
      default: throw InternalError("not a reduction");
    }
  }

  Indices kept_indices() const {
    Indices indices;
    for (size_t axis : kept_) indices.push_back(at_[axis]);
    return indices;
  }

  Block reduce() {
    Block block;
    const DType dtype = compute_type(type_);
    fold(block, "total", node_.attributes.text("fn"), dtype, [&](const Indices& at) { return element(at); });
    Block stores = lowering_.finish(kept_indices(), register_value("total", dtype));
    block.insert(block.end(), stores.begin(), stores.end());
    return block;
  }

  Block arg_reduce() {
    const std::string fn = node_.attributes.text("fn");
    const bool last = node_.attributes.integer_or("select_last", 0) != 0;
    const std::string better = fn == "max" ? (last ? "ge" : "gt") : (last ? "le" : "lt");
    const DType dtype = compute_type(type_);
    Indices first = at_;
    first[reduced_[0]] = 0;
    Block block{make_define("best", element(first)),
                make_define("place", literal_integer(DType::i64, 0))};
    const std::string variable = lowering_.new_variable("r", shape_[reduced_[0]]);
    Indices at = at_;
    at[reduced_[0]] = Expr::symbol(variable);
    const ScalarPtr value = element(at);
    const ScalarPtr best = register_value("best", dtype);
    const ScalarPtr place = register_value("place", DType::i64);
    const ScalarPtr index = index_value(Expr::symbol(variable));
    // The place is chosen before the best value is replaced.
    block.push_back(make_loop(
        variable, shape_[reduced_[0]], LoopTag::serial,
        {make_assign("place", apply("select", {apply(better, {value, best}), index, place})),
         make_assign("best", apply("select", {apply(better, {value, register_value("best", dtype)}), value,
                                              register_value("best", dtype)}))}));
    Block stores = lowering_.finish(kept_indices(), register_value("place", DType::i64));
    block.insert(block.end(), stores.begin(), stores.end());
    return block;
  }

  Block store_all(const std::function<ScalarPtr(const Indices&)>& value) {
    return over_reduced([&](const Indices& at) { return lowering_.finish(at, value(at)); });
  }

  Block softmax() {
    const DType dtype = compute_type(type_);
    Block block;
    fold(block, "largest", "max", dtype, [&](const Indices& at) { return element(at); });
    auto exponential = [&](const Indices& at) {
      return apply("exp", {apply("sub", {element(at), register_value("largest", dtype)})});
    };
    // The exponentials are kept in the output when nothing follows the softmax there.
    const bool keeps = lowering_.body().outputs[0] == node_.outputs[0] && type_ == dtype;
    const int output = static_cast<int>(lowering_.body().inputs.size());
    const bool partial = rows_ && lanes_ > 1;
    const std::string target = partial ? "sum_lanes" : "sum";
    block.push_back(make_define(target, neutral_element("sum", dtype), lanes_));
    Block loops = over_reduced([&](const Indices& at) {
      const ScalarPtr value = exponential(at);
      Block body{make_accumulate(target, "add", value)};
      if (keeps) body.push_back(make_store(output, type_, lowering_.simplified(linear_index(at, shape_)), value));
      return body;
    });
    block.insert(block.end(), loops.begin(), loops.end());
    if (partial) block.push_back(make_reduce(StmtKind::lanes_reduce, target, "add", lanes_, "sum"));
    block.push_back(make_define("scale", apply("reciprocal", {register_value("sum", dtype)}), rows_ ? 1 : lanes_));
    Block stores = store_all([&](const Indices& at) {
      const ScalarPtr value = keeps ? load(output, type_, lowering_.simplified(linear_index(at, shape_)))
                                    : exponential(at);
      return apply("mul", {value, register_value("scale", dtype)});
    });
    block.insert(block.end(), stores.begin(), stores.end());
    return block;
  }

  Block normalize() {
    const DType dtype = compute_type(type_);
    const Expr count = product(reduced_dims());
    const ScalarPtr weight = apply("reciprocal", {index_value(count, dtype)});
    const bool centred = node_.attributes.text("kind") == "layer";
    Block block;
    auto define = [&](const std::string& name, const ScalarPtr& value) {
      block.push_back(make_define(name, value, rows_ ? 1 : lanes_));
    };
    if (centred) {
      fold(block, "sum", "sum", dtype, [&](const Indices& at) { return element(at); });
      define("mean", apply("mul", {register_value("sum", dtype), weight}));
    }
    auto centre = [&](const Indices& at) {
      return centred ? apply("sub", {element(at), register_value("mean", dtype)}) : element(at);
    };
    fold(block, "squares", "sum", dtype, [&](const Indices& at) {
      const ScalarPtr value = centre(at);
      return apply("mul", {value, value});
    });
    const ScalarPtr variance = apply("mul", {register_value("squares", dtype), weight});
    define("scale", apply("rsqrt", {apply("add", {variance, literal(dtype, node_.attributes.real("epsilon"))})}));
    Block stores = store_all([&](const Indices& at) {
      return apply("mul", {centre(at), register_value("scale", dtype)});
    });
    block.insert(block.end(), stores.begin(), stores.end());
    return block;
  }

  LoopKernel kernel_;
  GroupLowering lowering_;
  const Node& node_;
  ValueId input_;
  Shape shape_;
  std::vector<size_t> reduced_, kept_;
  DType type_ = DType::f32;
  int lanes_ = 1;
  bool rows_ = true;  // the vector loop runs along the reduced axes
  Indices at_;        // indices of the current item; reduced axes are filled in by the loops
};

}  // namespace

LoopKernel host_reduction(const Group& group, const Target& target) { return Reduction(group, target).run(); }

}  // namespace mcc::backend
