// Pools: windows over the spatial axes, and whole-image (global) ones.
#include "lib/frontend/op_table.h"
#include "lib/frontend/ops/window_geometry.h"

namespace mcc::frontend {
namespace {

Ints spatial_axes(const Operand& x) {
  if (x.rank() < 3) throw ModelError("the input needs batch, channel and spatial axes.");
  return iota_axes(2, x.rank());
}

// The padding after each axis that ceil_mode adds, so that windows end inside of it. A window that
// would start in the padding after the input is dropped.
Shape ceil_extension(const WindowGeometry& g, const Shape& spatial, Builder& b) {
  Shape high = g.high;
  for (size_t i = 0; i < high.size(); ++i) {
    const Expr span = spatial[i] + g.low[i] + g.high[i] - Expr(reach(g, i));
    const Expr last = min(ceildiv(span, g.strides[i]),
                          floordiv(spatial[i] + g.low[i] - 1, g.strides[i]));
    high[i] = b.simplified(last * Expr(g.strides[i]) + Expr(reach(g, i)) - spatial[i] - g.low[i]);
  }
  return high;
}

Operand window_reduce(Builder& b, const Operand& x, const char* fn, const WindowGeometry& g,
                      const Shape& high) {
  Attributes attributes;
  attributes.set("fn", std::string(fn));
  attributes.set("axes", spatial_axes(x));
  attributes.set("window", g.window);
  attributes.set("strides", g.strides);
  attributes.set("dilations", g.dilations);
  attributes.set("pads_low", g.low);
  attributes.set("pads_high", high);
  return b.emit(Op::window_reduce, {x}, attributes);
}

struct Pool {
  Operand x;
  WindowGeometry g;
  Shape spatial;
  Shape high;  // with what ceil_mode adds
};
Pool pool_of(NodeContext& c) {
  Pool p;
  p.x = c.in(0);
  spatial_axes(p.x);
  p.spatial = Shape(p.x.shape().begin() + 2, p.x.shape().end());
  p.g = window_geometry(c, c.ints("kernel_shape"), p.spatial);
  p.high = c.integer("ceil_mode", 0) != 0 ? ceil_extension(p.g, p.spatial, c.b) : p.g.high;
  return p;
}

void import_max_pool(NodeContext& c) {
  const Pool p = pool_of(c);
  c.out(window_reduce(c.b, p.x, "max", p.g, p.high));
  if (!c.wants(1)) return;
  Operand index = window_reduce(c.b, p.x, "arg_max", p.g, p.high);
  Builder& b = c.b;
  if (c.integer("storage_order", 0) != 0) {
    // Column-major over the spatial axes: the first one runs fastest.
    Operand rest = index, column = b.scalar(DType::i64, 0);
    Expr stride = product(p.spatial);
    for (size_t i = p.spatial.size(); i-- > 0;) {
      const Operand dim = b.number(p.spatial[i], DType::i64);
      stride = b.simplified(floordiv(stride, p.spatial[i]));
      const Operand at = b.map("mod", {rest, dim});
      rest = b.map("floordiv", {rest, dim});
      column = b.map("add", {column, b.map("mul", {at, b.number(stride, DType::i64)})});
    }
    index = column;
  }
  const Expr images = p.x.dim(0) * p.x.dim(1);
  Shape per_image{p.x.dim(0), p.x.dim(1)};
  per_image.resize(p.x.shape().size(), Expr(1));
  const Operand image = b.reshape(b.iota({images}, 0, DType::i64), per_image);
  const Operand offset = b.map("mul", {image, b.number(product(p.spatial), DType::i64)});
  c.out(b.map("add", {index, offset}));
}

void import_average_pool(NodeContext& c) {
  const Pool p = pool_of(c);
  const Operand sum = window_reduce(c.b, p.x, "sum", p.g, p.high);
  const bool count_pads = c.integer("count_include_pad", 0) != 0;
  int64_t full = 1;
  for (int64_t size : p.g.window) full *= size;
  bool padded = !(p.high == p.g.high);
  for (size_t i = 0; i < p.high.size() && !count_pads; ++i) {
    padded = padded || !p.g.low[i].is_constant(0) || !p.high[i].is_constant(0);
  }
  if (!padded) return c.out(c.b.with_scalar("div", sum, static_cast<double>(full)));
  // How many elements (with count_include_pad: and declared pads) each window covers.
  Shape shape{1, 1};
  WindowGeometry g = p.g;
  Shape high = p.high;
  for (size_t i = 0; i < p.spatial.size(); ++i) {
    shape.push_back(count_pads ? p.spatial[i] + g.low[i] + g.high[i] : p.spatial[i]);
    if (count_pads) high[i] = high[i] - g.high[i], g.low[i] = Expr(0);
  }
  const Operand ones = c.b.full(shape, c.b.scalar(p.x.dtype(), 1));
  c.out(c.b.map("div", {sum, window_reduce(c.b, ones, "sum", g, high)}));
}

// (sum |x|^p)^(1/p)
Operand lp_terms(Builder& b, const Operand& x, int64_t p) {
  if (p == 2) return b.map("mul", {x, x});
  const Operand size = b.map("abs", {x});
  return p == 1 ? size : b.with_scalar("pow", size, static_cast<double>(p));
}
Operand lp_root(Builder& b, const Operand& x, int64_t p) {
  if (p == 2) return b.map("sqrt", {x});
  return p == 1 ? x : b.with_scalar("pow", x, 1.0 / static_cast<double>(p));
}

void import_lp_pool(NodeContext& c) {
  const Pool p = pool_of(c);
  const int64_t order = c.integer("p", 2);
  const Operand sum = window_reduce(c.b, lp_terms(c.b, p.x, order), "sum", p.g, p.high);
  c.out(lp_root(c.b, sum, order));
}

void import_global_average_pool(NodeContext& c) {
  c.out(c.b.mean(c.in(0), spatial_axes(c.in(0)), true));
}
void import_global_max_pool(NodeContext& c) {
  c.out(c.b.reduce("max", c.in(0), spatial_axes(c.in(0)), true));
}
void import_global_lp_pool(NodeContext& c) {
  const int64_t order = c.integer("p", 2);
  const Operand terms = lp_terms(c.b, c.in(0), order);
  c.out(lp_root(c.b, c.b.reduce("sum", terms, spatial_axes(terms), true), order));
}

// Scatters the values to the flat positions that MaxPool reported, over zeros.
void import_max_unpool(NodeContext& c) {
  const Operand x = c.in(0), indices = c.in(1);
  const size_t count = x.shape().size() - 2;
  const Ints window = c.ints("kernel_shape");
  const WindowGeometry g = window_geometry(
      c, window, Shape(x.shape().begin() + 2, x.shape().end()));
  Shape natural{x.dim(0), x.dim(1)};
  for (size_t i = 0; i < count; ++i) {
    natural.push_back((x.shape()[i + 2] - 1) * Expr(g.strides[i]) + Expr(window[i]) - g.low[i] -
                      g.high[i]);
  }
  // Positions refer to the pooled tensor's own size; a larger output_shape only adds zeros.
  const Operand flat = c.b.full({product(natural)}, c.b.scalar(x.dtype(), 0));
  const Shape elements{product(x.shape())};
  Attributes attributes;
  attributes.set("axis", int64_t{0});
  attributes.set("reduction", std::string("none"));
  if (!c.has(2)) {
    const Operand filled = c.b.emit(
        Op::scatter_elements, {flat, c.b.reshape(indices, elements), c.b.reshape(x, elements)},
        attributes);
    return c.out(c.b.reshape(filled, natural));
  }
  const Shape target = c.b.expressions(c.in(2));
  if (target.size() != natural.size()) throw ModelError("output_shape has a wrong length.");
  const Operand wide = c.b.full({product(target)}, c.b.scalar(x.dtype(), 0));
  const Operand filled = c.b.emit(
      Op::scatter_elements, {wide, c.b.reshape(indices, elements), c.b.reshape(x, elements)},
      attributes);
  c.out(c.b.reshape(filled, target));
}

const OperatorEntry kEntries[] = {
    {"", "AveragePool", 1, import_average_pool},
    {"", "GlobalAveragePool", 1, import_global_average_pool},
    {"", "GlobalLpPool", 2, import_global_lp_pool},
    {"", "GlobalMaxPool", 1, import_global_max_pool},
    {"", "LpPool", 2, import_lp_pool},
    {"", "MaxPool", 1, import_max_pool},
    {"", "MaxUnpool", 9, import_max_unpool},
};

}  // namespace

std::span<const OperatorEntry> pooling_entries() { return kEntries; }

}  // namespace mcc::frontend
