// Host schedule of groups without an anchor: every output element on its own.
//
// The longest suffix of the output's axes along which all memory is walked linearly becomes the
// vector loop; the axes before it, and chunks of long vectors, are the parallel work items.
#include <algorithm>
#include <set>

#include "lib/backend/schedules/common/access.h"
#include "lib/backend/schedules/host/host_schedules.h"

namespace mcc::backend {
namespace {

constexpr int64_t kChunk = 4096;

Shape suffix(const Shape& shape, size_t from) {
  return Shape(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.end());
}
Shape prefix(const Shape& shape, size_t to) {
  return Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(to));
}

// Whether merging the axes from `split` on leaves every access linear.
bool merges(const Group& group, size_t split) {
  LoopKernel trial;
  GroupLowering lowering(group, trial);
  const ValueId output = group.body->outputs[0];
  const Shape& shape = group.body->shape(output);
  Indices indices;
  for (size_t axis = 0; axis < split; ++axis) {
    indices.push_back(Expr::symbol(lowering.new_variable("p", shape[axis])));
  }
  const Shape inner = suffix(shape, split);
  const std::string lane = lowering.new_variable("v", product(inner));
  for (const Expr& index : delinearize(Expr::symbol(lane), inner)) indices.push_back(index);
  return accesses_linearly(lowering.element(output, indices), lane);
}

// Positions along `lane` (in (0, extent)) where a condition of the value changes; nullopt when one
// changes elsewhere than at constant positions.
std::optional<std::set<int64_t>> breaks(const ScalarPtr& value, const std::string& lane, int64_t extent) {
  constexpr size_t kMostBreaks = 16;
  std::set<int64_t> found;
  std::set<const Scalar*> seen;
  std::vector<const Scalar*> todo{value.get()};
  while (!todo.empty()) {
    const Scalar* scalar = todo.back();
    todo.pop_back();
    if (!seen.insert(scalar).second) continue;
    for (const ScalarPtr& operand : scalar->operands) todo.push_back(operand.get());
    for (const Expr& condition : scalar->guard) {
      if (condition.symbols().count(lane) == 0) continue;
      const std::optional<Linear> linear = linear_in(condition, lane);
      if (!linear || !linear->coefficient.is_constant() || !linear->rest.is_constant()) return std::nullopt;
      // slope * lane + rest >= 0
      const int64_t slope = linear->coefficient.constant();
      const int64_t rest = linear->rest.constant();
      const int64_t at = slope > 0 ? ceildiv(Expr(-rest), Expr(slope)).constant()
                                   : floordiv(Expr(rest), Expr(-slope)).constant() + 1;
      if (at > 0 && at < extent) found.insert(at);
    }
  }
  if (found.size() > kMostBreaks) return std::nullopt;
  return found;
}

}  // namespace

LoopKernel host_pointwise(const Group& group, const Target& target) {
  const ValueId output = group.body->outputs[0];
  const Shape& shape = group.body->shape(output);
  size_t split = 0;
  while (split + 1 < shape.size() && !merges(group, split)) ++split;

  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const Shape outer = prefix(shape, split);
  const Shape inner = suffix(shape, split);
  const Expr length = product(inner);
  const bool is_short = length.is_constant() && length.constant() <= kChunk;
  const Expr chunks = is_short ? Expr(1) : ceildiv(length, kChunk);
  kernel.parallel = product(outer) * chunks;
  if (is_short) kernel.grain = std::max<int64_t>(1, kChunk / std::max<int64_t>(1, length.constant()));
  const std::string item = lowering.new_variable("p", kernel.parallel);
  const Expr first = lowering.simplified(mod(Expr::symbol(item), chunks)) * Expr(kChunk);
  Indices indices = delinearize(lowering.simplified(floordiv(Expr::symbol(item), chunks)), outer);
  for (Expr& index : indices) index = lowering.simplified(index);
  const Expr extent = is_short ? length : min(Expr(kChunk), length - first);
  const std::string lane = lowering.new_variable("v", is_short ? length : Expr(kChunk));
  const Expr at = is_short ? Expr::symbol(lane) : first + Expr::symbol(lane);
  // The element's position along the merged axes is below their product: tell the simplifier.
  if (inner.size() == 1) {
    indices.push_back(at);
  } else {
    for (const Expr& index : delinearize(at, inner)) indices.push_back(lowering.simplified(index));
  }
  StmtPtr store = lowering.store_output(0, indices);
  const int lanes = target.vector_bytes * 8 / widest_bits(store->value);
  Block body{make_loop(lane, extent, LoopTag::vector, {store}, lanes)};
  // Where operands of a concatenation meet, or padding begins, the loop is split, so that no part
  // has conditions that differ between lanes.
  if (is_short && inner.size() == 1) {
    const std::optional<std::set<int64_t>> splits = breaks(store->value, lane, length.constant());
    if (splits && !splits->empty()) {
      body.clear();
      std::vector<int64_t> ends(splits->begin(), splits->end());
      ends.push_back(length.constant());
      int64_t begin = 0;
      for (int64_t end : ends) {
        const std::string part = lowering.new_variable("v", end - begin);
        indices.back() = Expr::symbol(part) + Expr(begin);
        body.push_back(make_loop(part, end - begin, LoopTag::vector, {lowering.store_output(0, indices)}, lanes));
        begin = end;
      }
    }
  }
  kernel.body = {make_loop(item, kernel.parallel, LoopTag::parallel, std::move(body))};
  return kernel;
}

}  // namespace mcc::backend
