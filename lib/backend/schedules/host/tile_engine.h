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
  int rows;     // most rows of a tile
  int vectors;  // vectors per tile
  int lanes;    // f32 per vector
  int columns() const { return vectors * lanes; }
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
  // Stores the value of one element: row of the tile, column relative to the tile's first column.
  std::function<Block(int row, const Expr& column, const ScalarPtr& value)> finish;
  // Columns of the tile that exist: a constant >= vectors * lanes when all do.
  Expr columns_left;
};

// Statements that compute and store one tile.
Block emit_tile(GroupLowering& lowering, const TileSpec& spec);

// Covers `extent` rows by tiles of at most `most` rows: constant extents by two balanced sizes
// (7+7+6 rather than 7+7+1), symbolic ones by full tiles and a ladder of powers of two.
// `body(first_row, rows)` is called once per generated copy.
Block cover_rows(GroupLowering& lowering, const Expr& extent, int most,
                 const std::function<Block(const Expr& first_row, int rows)>& body);

}  // namespace mcc::backend
