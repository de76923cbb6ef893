// Operators that move elements: transposes, slices, splits, pads, tiles, block reorderings.
#include <algorithm>

#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

void import_transpose(NodeContext& c) {
  const Operand x = c.in(0);
  Ints perm = c.ints("perm");
  if (!c.has_attribute("perm")) {
    perm = iota_axes(0, x.rank());
    std::reverse(perm.begin(), perm.end());
  }
  c.out(c.b.transpose(x, perm));
}

void import_concat(NodeContext& c) {
  Operands parts;
  for (size_t i = 0; i < c.inputs.size(); ++i) parts.push_back(c.in(i));
  c.out(c.b.concat(parts, normalized_axis(c.integer("axis"), c.in(0).rank())));
}

// -- Slice

constexpr int64_t kEndless = (int64_t{1} << 31) - 1;  // larger positions mean "to the end"

// A position counted from the end when negative, within [low, dim + high].
Expr slice_position(Builder& b, const Expr& given, const Expr& dim, int64_t low, int64_t high) {
  const Expr last = dim + Expr(high);
  if (given.is_constant() && given.constant() >= kEndless) return last;
  if (given.is_constant() && given.constant() <= -kEndless) return low;
  // given + dim * [given < 0]; the bracket simplifies away when the sign is known.
  const Expr is_negative = min(Expr(1), max(Expr(0), -given));
  const Expr position = b.simplified(given + dim * b.simplified(is_negative));
  return b.simplified(max(b.symbols().clamp_above(position, last), Expr(low)));
}

Operand sliced(NodeContext& c, const Shape& from, const Shape& to, const Ints& axes,
               const Ints& steps) {
  const Operand x = c.in(0);
  if (to.size() != from.size() || axes.size() != from.size() || steps.size() != from.size()) {
    throw ModelError("starts, ends, axes and steps must have the same length.");
  }
  Shape starts(x.shape().size(), Expr(0));
  Shape shape = x.shape();
  Ints all_steps(x.shape().size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalized_axis(axes[i], x.rank()));
    const Expr dim = x.shape()[axis];
    const int64_t step = steps[i];
    if (step == 0) throw ModelError("a slice's step must not be 0.");
    const int64_t back = step < 0 ? -1 : 0;
    const Expr start = slice_position(c.b, from[i], dim, 0, back);
    const Expr end = slice_position(c.b, to[i], dim, back, back);
    const Expr count = step > 0 ? ceildiv(end - start, step) : ceildiv(start - end, -step);
    starts[axis] = start;
    shape[axis] = c.b.simplified(max(c.b.simplified(count), Expr(0)));
    all_steps[axis] = step;
  }
  return c.b.slice(x, starts, shape, all_steps);
}

void import_slice_1(NodeContext& c) {
  const auto to_shape = [](const Ints& list) { return Shape(list.begin(), list.end()); };
  const Ints starts = c.ints("starts");
  const Ints axes = c.ints("axes", iota_axes(0, static_cast<int64_t>(starts.size())));
  c.out(sliced(c, to_shape(starts), to_shape(c.ints("ends")), axes, Ints(starts.size(), 1)));
}

void import_slice(NodeContext& c) {
  constexpr int64_t kAnySign = -(int64_t{1} << 31);
  const Shape starts = c.b.expressions(c.in(1), kAnySign);
  const Shape ends = c.b.expressions(c.in(2), kAnySign);
  const Ints axes = c.has(3) ? c.constant_ints(3, "the axes")
                             : iota_axes(0, static_cast<int64_t>(starts.size()));
  const Ints steps = c.has(4) ? c.constant_ints(4, "the steps") : Ints(starts.size(), 1);
  c.out(sliced(c, starts, ends, axes, steps));
}

// -- Split

void split_into(NodeContext& c, const Operand& x, int64_t axis, const Shape& sizes) {
  if (sizes.size() < c.outputs.size()) throw ModelError("there are fewer parts than outputs.");
  Expr at(0);
  for (const Expr& size : sizes) {
    c.out(c.b.slice_axis(x, axis, at, size));
    at = at + size;
  }
  c.b.merge(at, x.dim(axis));
}

void split(NodeContext& c, std::optional<Shape> sizes) {
  const Operand x = c.in(0);
  const int64_t axis = normalized_axis(c.integer("axis", 0), x.rank());
  if (!sizes) {
    // Equal parts; since opset 18 the last one may be smaller.
    const int64_t parts = c.integer("num_outputs", c.proto.output_size());
    if (parts < 1) throw ModelError("the number of parts must be positive.");
    const Expr part = c.b.simplified(ceildiv(x.dim(axis), parts));
    sizes = Shape(static_cast<size_t>(parts - 1), part);
    sizes->push_back(c.b.simplified(x.dim(axis) - part * Expr(parts - 1)));
  }
  split_into(c, x, axis, *sizes);
}
void import_split_2(NodeContext& c) {
  if (!c.has_attribute("split")) return split(c, std::nullopt);
  const Ints sizes = c.ints("split");
  split(c, Shape(sizes.begin(), sizes.end()));
}
void import_split(NodeContext& c) {
  split(c, c.has(1) ? std::optional(c.b.expressions(c.in(1))) : std::nullopt);
}

// -- Pad

void padded(NodeContext& c, const Shape& pads, const Ints& axes, const Operand& fill) {
  const Operand x = c.in(0);
  const std::string mode = c.text("mode", "constant");
  if (pads.size() != axes.size() * 2) {
    throw ModelError("there must be two pads for each axis.");
  }
  Shape low(x.shape().size(), Expr(0)), high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalized_axis(axes[i], x.rank()));
    low[axis] = pads[i];
    high[axis] = pads[axes.size() + i];
  }
  c.out(c.b.pad(x, low, high, mode, fill));
}
void import_pad_2(NodeContext& c) {
  const Ints pads = c.ints("pads");
  padded(c, Shape(pads.begin(), pads.end()), iota_axes(0, c.in(0).rank()),
         c.b.scalar(c.in(0).dtype(), c.real("value", 0)));
}
void import_pad(NodeContext& c) {
  const Ints axes = c.has(3) ? c.constant_ints(3, "the axes") : iota_axes(0, c.in(0).rank());
  const Operand fill = c.has(2) ? c.b.reshape(c.in(2), {}) : Operand();
  padded(c, c.b.expressions(c.in(1), -(int64_t{1} << 31)), axes, fill);
}

// Tile: [r0, d0, r1, d1, ...] merged pairwise.
void import_tile(NodeContext& c) {
  const Operand x = c.in(0);
  const Shape repeats = c.b.expressions(c.in(1));
  if (static_cast<int64_t>(repeats.size()) != x.rank()) {
    throw ModelError("there must be one repeat for each axis.");
  }
  Shape wide, merged;
  Ints axes;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (!repeats[i].is_constant(1)) wide.push_back(repeats[i]);
    axes.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(x.shape()[i]);
    merged.push_back(repeats[i] * x.shape()[i]);
  }
  c.out(c.b.reshape(c.b.broadcast(x, wide, axes), merged));
}

// -- blocks of pixels and channels (NCHW)

void import_depth_to_space(NodeContext& c) {
  const Operand x = c.in(0);
  const int64_t size = c.integer("blocksize");
  if (x.rank() != 4 || size < 1) throw ModelError("a 4-D input and a positive block are needed.");
  const Shape& s = x.shape();
  const Expr depth = c.b.simplified(floordiv(s[1], size * size));
  const bool depth_first = c.text("mode", "DCR") == "DCR";
  const Operand blocks =
      depth_first ? c.b.reshape(x, {s[0], size, size, depth, s[2], s[3]})
                  : c.b.reshape(x, {s[0], depth, size, size, s[2], s[3]});
  const Operand moved =
      c.b.transpose(blocks, depth_first ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3});
  c.out(c.b.reshape(moved, {s[0], depth, s[2] * Expr(size), s[3] * Expr(size)}));
}

void import_space_to_depth(NodeContext& c) {
  const Operand x = c.in(0);
  const int64_t size = c.integer("blocksize");
  if (x.rank() != 4 || size < 1) throw ModelError("a 4-D input and a positive block are needed.");
  const Shape& s = x.shape();
  const Expr height = c.b.simplified(floordiv(s[2], size));
  const Expr width = c.b.simplified(floordiv(s[3], size));
  const Operand blocks = c.b.reshape(x, {s[0], s[1], height, size, width, size});
  c.out(c.b.reshape(c.b.transpose(blocks, {0, 3, 5, 1, 2, 4}),
                    {s[0], s[1] * Expr(size * size), height, width}));
}

// Keeps the triangle at or above (below) the diagonal k, which may be known only at run time.
void import_trilu(NodeContext& c) {
  const Operand x = c.in(0);
  if (x.rank() < 2) throw ModelError("the input needs at least 2 dimensions.");
  const Shape matrix{x.dim(x.rank() - 2), x.dim(x.rank() - 1)};
  const Operand k = c.has(1) ? c.b.cast(c.b.reshape(c.in(1), {}), DType::i64)
                             : c.b.scalar(DType::i64, 0);
  const Operand column = c.b.iota(matrix, 1, DType::i64);
  const Operand diagonal = c.b.map("add", {c.b.iota(matrix, 0, DType::i64), k});
  const bool upper = c.integer("upper", 1) != 0;
  const Operand keep = c.b.map(upper ? "ge" : "le", {column, diagonal});
  c.out(c.b.select(keep, x, c.b.scalar(x.dtype(), 0)));
}

// The first `length` elements along the time axis reversed, per batch entry.
void import_reverse_sequence(NodeContext& c) {
  const Operand x = c.in(0);
  const int64_t batch = normalized_axis(c.integer("batch_axis", 1), x.rank());
  const int64_t time = normalized_axis(c.integer("time_axis", 0), x.rank());
  const Operand length = c.b.along_axis(c.in(1), batch, x.rank());
  const Operand index = c.b.iota(x.shape(), time, DType::i64);
  const Operand mirrored = c.b.with_scalar("sub", c.b.map("sub", {length, index}), 1);
  const Operand source = c.b.select(c.b.map("lt", {index, length}), mirrored, index);
  Attributes attributes;
  attributes.set("axis", time);
  c.out(c.b.emit(Op::gather_elements, {x, source}, attributes));
}

const OperatorEntry kEntries[] = {
    {"", "Concat", 4, import_concat},
    {"", "DepthToSpace", 1, import_depth_to_space},
    {"", "Pad", 2, import_pad_2},
    {"", "Pad", 11, import_pad},
    {"", "ReverseSequence", 10, import_reverse_sequence},
    {"", "Slice", 1, import_slice_1},
    {"", "Slice", 10, import_slice},
    {"", "SpaceToDepth", 1, import_space_to_depth},
    {"", "Split", 2, import_split_2},
    {"", "Split", 13, import_split},
    {"", "Tile", 6, import_tile},
    {"", "Transpose", 1, import_transpose},
    {"", "Trilu", 14, import_trilu},
};

}  // namespace

std::span<const OperatorEntry> movement_entries() { return kEntries; }

}  // namespace mcc::frontend
