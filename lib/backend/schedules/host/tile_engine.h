// The register-tiled inner product shared by host contractions and convolutions.
//
// A tile is `rows` x `vectors` vector accumulators. Per step of the depth loops it loads `vectors`
// vectors of the right operand and one broadcast scalar per row of the left operand: with 7 x 4
// accumulators of 16 lanes (AVX-512, 32 registers) and 6 x 2 of 8 lanes (AVX2, 16 registers) the
// multiply-add units are the limit, not the loads.
#pragma once

#include <functional>

#include "lib/backend/lowering.h"

namespace mcc::backend {

struct TileShape {
  int vectors;  // most vectors per tile
  int lanes;    // f32 per vector
  int columns() const { return vectors * lanes; }
  // Most rows of a tile of `used` vectors: as many accumulators as the registers hold.
  int rows(int used) const;
};
TileShape tile_shape(const Target& target);

struct TileLoop {
  std::string variable;
  Expr extent;
  Guard guard;  // around the loop's body; empty: none
};

struct TileSpec {
  int rows = 0;
  int vectors = 0;
  int lanes = 0;
  std::vector<TileLoop> depth;  // outermost first
  // Scalar of the left operand in row `row` of the tile at the current depth variables.
  std::function<ScalarPtr(int row)> left;
  // Scalar of the right operand at column `column` (an Expr in the vector variable, relative to
  // the tile's first column).
  std::function<ScalarPtr(const Expr& column)> right;
  // What the accumulators start from, by row and column of the tile; empty: zero.
  std::function<ScalarPtr(int row, const Expr& column)> initial;
  // Stores the value of one element: row of the tile, column relative to the tile's first column.
  std::function<Block(const Expr& row, const Expr& column, const ScalarPtr& value)> finish;
  // Columns of the tile that exist. A constant: between (vectors - 1) * lanes and vectors * lanes.
  Expr columns_left;
};

// Statements that compute and store one tile.
Block emit_tile(GroupLowering& lowering, const TileSpec& spec);

// Covers `extent` rows by tiles of at most `most` rows: constant extents by two balanced sizes
// (7+7+6 rather than 7+7+1), symbolic ones by full tiles and a ladder of powers of two.
// `body(first_row, rows)` is called once per generated copy.
Block cover_rows(GroupLowering& lowering, const Expr& extent, int most,
                 const std::function<Block(const Expr& first_row, int rows)>& body);

// Covers the columns of panel number `panel` of `columns` in all (kPanelWidth per panel) by tiles.
// Only columns that exist are computed: the last panel of a constant number of columns gets tiles
// of its own. `body(first_column, vectors, columns_left)` is called once per generated copy;
// first_column is relative to the panel.
Block cover_columns(GroupLowering& lowering, const TileShape& shape, const Expr& panel, const Expr& columns,
                    const std::function<Block(const Expr& first_column, int vectors,
                                              const Expr& columns_left)>& body);

// Covers work item `block` of `size` rows each out of `extent` rows, the last one smaller.
Block cover_block(GroupLowering& lowering, const Expr& block, int64_t size, const Expr& extent, int most,
                  const std::function<Block(const Expr& first_row, int rows)>& body);

// Rows per work item, at most `longest` (a multiple of 14), such that there are enough items for many
// threads and yet a panel is used often; `others` is the number of items per row block. The same for
// every instruction set, because the number of work items is.
int64_t rows_per_item(const Expr& rows, const Expr& others, int64_t longest = 56);

}  // namespace mcc::backend
