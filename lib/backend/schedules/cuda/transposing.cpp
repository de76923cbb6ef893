// Transposing pointwise kernels.
//
// A block computes a tile of 32 x 32 output elements over the innermost axis and the axis along which
// the transposed operands are contiguous. Both the loads of these operands and the stores walk memory
// in order; the tile in between is one element wider than it needs to be, so that neither direction
// has bank conflicts (G. Ruetsch and P. Micikevicius, "Optimizing Matrix Transpose in CUDA", 2009).
#include "lib/backend/schedules/cuda/transposing.h"

#include <set>

namespace mcc::backend {
namespace {

constexpr int64_t kTile = 32;
constexpr int64_t kThreadRows = 8;
constexpr int64_t kStride = kTile + 1;
constexpr int64_t kSmallestExtent = 16;  // below, most of a tile would idle
constexpr size_t kMostOperands = 2;

struct FoundLoad {
  ScalarPtr load;
  bool guarded;  // a guard surrounds it
};

void collect_loads(const ScalarPtr& value, bool in_guard, std::set<const Scalar*>& seen, std::vector<FoundLoad>& loads) {
  if (!seen.insert(value.get()).second) return;
  if (value->kind == ScalarKind::load) loads.push_back({value, in_guard});
  for (const ScalarPtr& operand : value->operands) {
    collect_loads(operand, in_guard || value->kind == ScalarKind::guarded, seen, loads);
  }
}

// In the order of a walk over the value.
std::vector<FoundLoad> loads_of(const ScalarPtr& value) {
  std::set<const Scalar*> seen;
  std::vector<FoundLoad> loads;
  collect_loads(value, false, seen, loads);
  return loads;
}

// `value` with some nodes replaced; shared nodes stay shared.
ScalarPtr replaced(const ScalarPtr& value, std::map<const Scalar*, ScalarPtr>& done) {
  auto found = done.find(value.get());
  if (found != done.end()) return found->second;
  auto copy = std::make_shared<Scalar>(*value);
  for (ScalarPtr& operand : copy->operands) operand = replaced(operand, done);
  done[value.get()] = copy;
  return copy;
}

bool is_contiguous(const Expr& index, const std::string& variable) {
  const std::optional<Linear> linear = linear_in(index, variable);
  return linear && linear->coefficient.is_constant(1);
}

// Whether neighbours along `variable` lie far apart.
bool is_strided(const Expr& index, const std::string& variable) {
  const std::optional<Linear> linear = linear_in(index, variable);
  return linear && !linear->coefficient.is_constant(0) && !linear->coefficient.is_constant(1) &&
         !linear->coefficient.is_constant(-1);
}

std::vector<ScalarPtr> strided_loads(const ScalarPtr& value, const std::string& variable) {
  std::vector<ScalarPtr> strided;
  for (const FoundLoad& found : loads_of(value)) {
    if (is_strided(found.load->index, variable)) strided.push_back(found.load);
  }
  return strided;
}

// The other axis of the tile: the one along which all strided operands are contiguous; -1: none.
int transposed_axis(const Group& group) {
  LoopKernel trial;
  GroupLowering lowering(group, trial);
  const Shape& shape = group.body->shape(group.body->outputs[0]);
  if (shape.size() < 2) return -1;
  Indices at;
  std::vector<std::string> variables;
  for (const Expr& dim : shape) {
    variables.push_back(lowering.new_variable("q", dim));
    at.push_back(Expr::symbol(variables.back()));
  }
  auto is_long = [&](size_t axis) { return bounds(shape[axis], trial.ranges).high >= kSmallestExtent; };
  if (!is_long(shape.size() - 1)) return -1;
  int axis = -1;
  size_t count = 0;
  for (const FoundLoad& found : loads_of(lowering.element(group.body->outputs[0], at))) {
    const Expr& index = found.load->index;
    if (!is_strided(index, variables.back())) continue;
    if (found.guarded || ++count > kMostOperands) return -1;
    for (const std::string& symbol : index.symbols()) {
      if (trial.indirect.count(symbol) != 0) return -1;
    }
    int contiguous = -1;
    for (size_t i = 0; i + 1 < shape.size(); ++i) {
      if (is_contiguous(index, variables[i])) contiguous = static_cast<int>(i);
    }
    if (contiguous < 0 || !is_long(static_cast<size_t>(contiguous)) || (axis >= 0 && axis != contiguous)) return -1;
    axis = contiguous;
  }
  return axis;
}

}  // namespace

std::optional<LoopKernel> cuda_transposing(const Group& group) {
  const int chosen = transposed_axis(group);
  if (chosen < 0) return std::nullopt;
  const auto axis = static_cast<size_t>(chosen);
  LoopKernel kernel;
  GroupLowering lowering(group, kernel);
  const ValueId output = group.body->outputs[0];
  const Shape& shape = group.body->shape(output);
  const size_t last = shape.size() - 1;

  Shape tiles = shape;
  tiles[axis] = ceildiv(shape[axis], kTile);
  tiles[last] = ceildiv(shape[last], kTile);
  kernel.grid[0] = product(tiles);
  kernel.block[0] = static_cast<int>(kTile);
  kernel.block[1] = static_cast<int>(kThreadRows);
  const std::string grid = lowering.new_variable("p", kernel.grid[0]);
  const std::string thread_x = lowering.new_variable("x", kTile);
  const std::string thread_y = lowering.new_variable("y", kThreadRows);
  Indices base = delinearize(Expr::symbol(grid), tiles);
  for (Expr& index : base) index = lowering.simplified(index);
  base[axis] = base[axis] * Expr(kTile);
  base[last] = base[last] * Expr(kTile);
  const Expr x = Expr::symbol(thread_x);

  auto inside = [&](const Indices& at) {
    Guard guard;
    for (size_t i : {axis, last}) {
      const Expr condition = lowering.simplified(shape[i] - 1 - at[i]);
      if (bounds(condition, lowering.ranges()).low < 0) guard.push_back(condition);
    }
    return guard;
  };

  Block fill, drain;
  for (int64_t step = 0; step < kTile / kThreadRows; ++step) {
    const Expr row = Expr::symbol(thread_y) + Expr(step * kThreadRows);
    // Filling, threads in x run along the operands' contiguous axis; draining, along the output's.
    Indices from = base, to = base;
    from[axis] = from[axis] + x;
    from[last] = from[last] + row;
    to[axis] = to[axis] + row;
    to[last] = to[last] + x;
    const std::vector<ScalarPtr> sources = strided_loads(lowering.element(output, from), thread_y);
    const ScalarPtr value = lowering.element(output, to);
    const std::vector<ScalarPtr> targets = strided_loads(value, thread_x);
    // The two walks meet the same operands unless simplification went different ways.
    if (sources.empty() || sources.size() != targets.size()) return std::nullopt;
    Block loads;
    std::map<const Scalar*, ScalarPtr> done;
    for (size_t i = 0; i < sources.size(); ++i) {
      if (sources[i]->buffer != targets[i]->buffer) return std::nullopt;
      const std::string tile = "tile" + std::to_string(i);
      loads.push_back(make_store_memory(tile, sources[i]->dtype, row * Expr(kStride) + x, sources[i]));
      done[targets[i].get()] = load_memory(tile, sources[i]->dtype, x * Expr(kStride) + row);
      if (step == 0) fill.insert(fill.begin(), make_allocate(tile, sources[i]->dtype, kTile * kStride, MemorySpace::shared));
    }
    const Guard load_guard = inside(from);
    if (!load_guard.empty()) loads = {make_if(load_guard, std::move(loads))};
    fill.insert(fill.end(), loads.begin(), loads.end());
    StmtPtr store = lowering.store_output(0, to);
    store->value = replaced(value, done);
    const Guard store_guard = inside(to);
    if (!store_guard.empty()) store = make_if(store_guard, {store});
    drain.push_back(store);
  }
  Block body = std::move(fill);
  body.push_back(make_barrier());
  body.insert(body.end(), drain.begin(), drain.end());
  kernel.body = {make_loop(grid, kernel.grid[0], LoopTag::grid_x,
                           {make_loop(thread_x, kTile, LoopTag::block_x,
                                      {make_loop(thread_y, kThreadRows, LoopTag::block_y, std::move(body))})})};
  return kernel;
}

}  // namespace mcc::backend
