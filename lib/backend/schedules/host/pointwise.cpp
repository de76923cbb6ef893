// Host schedule of groups without an anchor: every output element on its own.
//
// The longest suffix of the output's axes along which all memory is walked linearly becomes the
// vector loop; the axes before it, and chunks of long vectors, are the parallel work items.
#include <algorithm>

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
  kernel.body = {make_loop(item, kernel.parallel, LoopTag::parallel,
                           {make_loop(lane, extent, LoopTag::vector, {std::move(store)}, lanes)})};
  return kernel;
}

}  // namespace mcc::backend
