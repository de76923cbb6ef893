// Shared-memory tiles of CUDA contractions and convolutions.
#include "lib/backend/schedules/cuda/tile_engine.h"

#include "lib/backend/schedules/common/access.h"
#include "lib/backend/schedules/cuda/launch.h"

namespace mcc::backend {
namespace {

constexpr int kColumns = 64;
constexpr int kDepth = 16;
constexpr int kThreadRows = 16;     // threads along the rows of a tile
constexpr int kThreadColumns = 16;  // and along its columns
constexpr int kWide = 4;            // values of a thread along the columns; elements of a wide access
// Rows of the staged left operand are this much longer than needed, so that the threads that store
// a column of it fall into different banks.
constexpr int kPadding = 4;
constexpr int kUnroll = 4;  // of the innermost loop: more costs compile time and buys little
// Blocks that fill the smallest of the default GPUs (108 multiprocessors) once and twice.
constexpr int64_t kFewBlocks = 108;
constexpr int64_t kManyBlocks = 216;

class BlockTileEmitter {
 public:
  BlockTileEmitter(GroupLowering& lowering, const BlockTile& tile)
      : lowering_(lowering), tile_(tile), type_(tile.accumulator), high_(values_high()),
        rows_(kThreadRows * high_), stride_(rows_ + kPadding) {}

  void run() {
    LoopKernel& kernel = lowering_.kernel();
    const Expr row_tiles = ceildiv(tile_.rows, rows_);
    const Expr column_tiles = ceildiv(tile_.columns, kColumns);
    kernel.grid[0] = tile_.batches * row_tiles * column_tiles;
    kernel.block[0] = kThreadsPerBlock;
    const std::string grid = lowering_.new_variable("p", kernel.grid[0]);
    const std::string thread = lowering_.new_variable("t", kThreadsPerBlock);
    const Expr p = Expr::symbol(grid);
    t_ = Expr::symbol(thread);
    first_row_ = lowering_.simplified(mod(p, row_tiles)) * Expr(rows_);
    first_column_ = lowering_.simplified(mod(floordiv(p, row_tiles), column_tiles)) * Expr(kColumns);
    batch_ = lowering_.simplified(floordiv(p, row_tiles * column_tiles));
    thread_row_ = floordiv(t_, kThreadColumns) * Expr(high_);
    thread_column_ = mod(t_, kThreadColumns) * Expr(kWide);

    Block body{make_allocate("left", type_, int64_t{kDepth} * stride_, MemorySpace::shared),
               make_allocate("right", type_, int64_t{kDepth} * kColumns, MemorySpace::shared),
               make_allocate("acc", type_, int64_t{high_} * kWide, MemorySpace::registers)};
    for (int i = 0; i < high_ * kWide; ++i) body.push_back(make_store_memory("acc", type_, i, literal_integer(type_, 0)));
    const Expr slices = ceildiv(tile_.depth, kDepth);
    const std::string slice = lowering_.new_variable("z", slices);
    first_depth_ = Expr::symbol(slice) * Expr(kDepth);
    Block step;
    stage_left(step);
    stage_right(step);
    step.push_back(make_barrier());
    step.push_back(multiply());
    step.push_back(make_barrier());
    body.push_back(make_loop(slice, slices, LoopTag::serial, std::move(step)));
    store_results(body);
    kernel.body = {make_loop(grid, kernel.grid[0], LoopTag::grid_x,
                             {make_loop(thread, kThreadsPerBlock, LoopTag::block_x, std::move(body))})};
  }

 private:
  // Rows per thread: as many as leave enough blocks to fill a GPU.
  int values_high() const {
    const Ranges& ranges = lowering_.kernel().ranges;
    if (bounds(tile_.rows, ranges).high <= kThreadRows) return 1;
    auto blocks = [&](int high) {
      return tile_.batches * ceildiv(tile_.rows, kThreadRows * high) * ceildiv(tile_.columns, kColumns);
    };
    if (bounds(blocks(8), ranges).low >= kManyBlocks) return 8;
    return bounds(blocks(4), ranges).high < kFewBlocks ? 2 : 4;
  }

  Guard open_conditions(const std::vector<Expr>& conditions) const {
    Guard guard;
    for (const Expr& condition : conditions) {
      const Expr simple = lowering_.simplified(condition);
      if (bounds(simple, lowering_.ranges()).low < 0) guard.push_back(simple);
    }
    return guard;
  }

  Expr simplified(const Expr& expr) const { return lowering_.simplified(expr); }

  // Left rows are staged transposed. Wide: four neighbours along the depth at a time.
  void stage_left(Block& step) {
    const std::string lane = lowering_.new_variable("v", kWide);
    const Expr v = Expr::symbol(lane);
    const ScalarPtr zero = literal_integer(type_, 0);
    const bool divides = exact_division(tile_.depth, kWide).has_value();
    constexpr int kGroups = kDepth / kWide;
    auto wide_value = [&](const Expr& row, const Expr& k) {
      return cast_scalar(tile_.left(batch_, first_row_ + row, first_depth_ + k + v), type_);
    };
    const int items = rows_ * kGroups;
    if (divides && loads_wide(lowering_.kernel(), wide_value(floordiv(t_, kGroups), mod(t_, kGroups) * Expr(kWide)), lane, kWide)) {
      for (int i = 0; i * kThreadsPerBlock < items; ++i) {
        const Expr at = t_ + Expr(i * kThreadsPerBlock);
        const Expr k = simplified(mod(at, kGroups)) * Expr(kWide);
        const Expr row = simplified(floordiv(at, kGroups));
        const Guard inside = open_conditions({tile_.rows - 1 - first_row_ - row, tile_.depth - 1 - first_depth_ - k});
        Block stage{make_loop(lane, kWide, LoopTag::vector,
                              {make_store_memory("left", type_, (k + v) * Expr(stride_) + row,
                                                 merge_guard(inside, wide_value(row, k), zero))}, kWide)};
        if (items < kThreadsPerBlock) stage = {make_if({Expr(items - 1) - t_}, std::move(stage))};
        step.insert(step.end(), stage.begin(), stage.end());
      }
      return;
    }
    for (int i = 0; i < rows_ * kDepth / kThreadsPerBlock; ++i) {
      const Expr at = t_ + Expr(i * kThreadsPerBlock);
      const Expr k = simplified(mod(at, kDepth));
      const Expr row = simplified(floordiv(at, kDepth));
      const Guard inside = open_conditions({tile_.rows - 1 - first_row_ - row, tile_.depth - 1 - first_depth_ - k});
      const ScalarPtr value = cast_scalar(tile_.left(batch_, first_row_ + row, first_depth_ + k), type_);
      step.push_back(make_store_memory("left", type_, k * Expr(stride_) + row, guarded(inside, value, zero)));
    }
  }

  void stage_right(Block& step) {
    const std::string lane = lowering_.new_variable("v", kWide);
    const Expr v = Expr::symbol(lane);
    const ScalarPtr zero = literal_integer(type_, 0);
    const bool divides = tile_.right_is_padded || exact_division(tile_.columns, kWide).has_value();
    const Expr wide_k = floordiv(t_, kThreadColumns);
    const ScalarPtr wide = cast_scalar(tile_.right(batch_, first_depth_ + wide_k, first_column_ + thread_column_ + v), type_);
    static_assert(kDepth * kThreadColumns == kThreadsPerBlock);
    if (divides && loads_wide(lowering_.kernel(), wide, lane, kWide)) {
      std::vector<Expr> conditions{tile_.depth - 1 - first_depth_ - wide_k};
      if (!tile_.right_is_padded) conditions.push_back(tile_.columns - 1 - first_column_ - thread_column_);
      step.push_back(make_loop(lane, kWide, LoopTag::vector,
                               {make_store_memory("right", type_, wide_k * Expr(kColumns) + thread_column_ + v,
                                                  merge_guard(open_conditions(conditions), wide, zero))}, kWide));
      return;
    }
    for (int i = 0; i < kColumns * kDepth / kThreadsPerBlock; ++i) {
      const Expr at = t_ + Expr(i * kThreadsPerBlock);
      const Expr k = simplified(floordiv(at, kColumns));
      const Expr column = simplified(mod(at, kColumns));
      std::vector<Expr> conditions{tile_.depth - 1 - first_depth_ - k};
      if (!tile_.right_is_padded) conditions.push_back(tile_.columns - 1 - first_column_ - column);
      const ScalarPtr value = cast_scalar(tile_.right(batch_, first_depth_ + k, first_column_ + column), type_);
      step.push_back(make_store_memory("right", type_, k * Expr(kColumns) + column,
                                       guarded(open_conditions(conditions), value, zero)));
    }
  }

  // One guard in place of two nested ones when both sides end in zero: such loads stay wide.
  static ScalarPtr merge_guard(Guard guard, const ScalarPtr& value, const ScalarPtr& zero) {
    if (value->kind == ScalarKind::guarded && value->operands[1]->kind == ScalarKind::literal &&
        value->operands[1]->real == 0 && value->operands[1]->integer == 0) {
      guard.insert(guard.end(), value->guard.begin(), value->guard.end());
      return guarded(std::move(guard), value->operands[0], zero);
    }
    return guarded(std::move(guard), value, zero);
  }

  StmtPtr multiply() {
    const std::string k = lowering_.new_variable("k", kDepth);
    Block inner;
    std::vector<ScalarPtr> right;
    for (int column = 0; column < kWide; ++column) {
      right.push_back(load_memory("right", type_, Expr::symbol(k) * Expr(kColumns) + thread_column_ + Expr(column)));
    }
    for (int row = 0; row < high_; ++row) {
      const ScalarPtr left = load_memory("left", type_, Expr::symbol(k) * Expr(stride_) + thread_row_ + Expr(row));
      for (int column = 0; column < kWide; ++column) {
        const Expr place = row * kWide + column;
        inner.push_back(make_store_memory(
            "acc", type_, place, apply("fma", {left, right[static_cast<size_t>(column)], load_memory("acc", type_, place)})));
      }
    }
    return make_loop(k, kDepth, LoopTag::serial, std::move(inner), kUnroll);
  }

  void store_results(Block& body) {
    const std::string lane = lowering_.new_variable("v", kWide);
    const Expr v = Expr::symbol(lane);
    const bool divides = exact_division(tile_.columns, kWide).has_value();
    for (int row = 0; row < high_; ++row) {
      const Expr m = first_row_ + thread_row_ + Expr(row);
      const Expr n = first_column_ + thread_column_;
      if (divides) {
        Block stores = tile_.finish(batch_, m, n + v, load_memory("acc", type_, Expr(row * kWide) + v));
        stores = {make_loop(lane, kWide, LoopTag::vector, std::move(stores), kWide)};
        const Guard inside = open_conditions({tile_.rows - 1 - m, tile_.columns - 1 - n});
        if (!inside.empty()) stores = {make_if(inside, std::move(stores))};
        body.insert(body.end(), stores.begin(), stores.end());
        continue;
      }
      for (int column = 0; column < kWide; ++column) {
        const Guard inside = open_conditions({tile_.rows - 1 - m, tile_.columns - 1 - n - Expr(column)});
        Block stores = tile_.finish(batch_, m, n + Expr(column), load_memory("acc", type_, row * kWide + column));
        if (!inside.empty()) stores = {make_if(inside, std::move(stores))};
        body.insert(body.end(), stores.begin(), stores.end());
      }
    }
  }

  GroupLowering& lowering_;
  const BlockTile& tile_;
  const DType type_;
  const int high_;
  const int rows_;
  const int stride_;
  Expr t_, first_row_, first_column_, batch_, first_depth_, thread_row_, thread_column_;
};

}  // namespace

void emit_block_tile(GroupLowering& lowering, const BlockTile& tile) { BlockTileEmitter(lowering, tile).run(); }

}  // namespace mcc::backend
