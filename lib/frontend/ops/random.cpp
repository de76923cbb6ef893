// Random numbers. Without a seed of its own a node draws from one made of its output's name: plans
// are reproducible, and two nodes draw different numbers.
#include <bit>

#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

int64_t seed_of(const NodeContext& c) {
  if (c.has_attribute("seed")) {
    return std::bit_cast<int32_t>(static_cast<float>(c.real("seed", 0)));
  }
  uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (char ch : c.proto.output(0)) hash = (hash ^ static_cast<uint8_t>(ch)) * 1099511628211ULL;
  return static_cast<int64_t>(hash >> 1);
}

Operand drawn(NodeContext& c, const Shape& shape, DType dtype, bool normal) {
  Attributes attributes;
  attributes.set("shape", shape);
  attributes.set("dtype", dtype);
  attributes.set("distribution", std::string(normal ? "normal" : "uniform"));
  attributes.set(normal ? "mean" : "low", c.real(normal ? "mean" : "low", 0));
  attributes.set(normal ? "scale" : "high", c.real(normal ? "scale" : "high", 1));
  attributes.set("seed", seed_of(c));
  return c.b.emit(Op::random, {}, attributes);
}

ImportFunction random(bool normal) {
  return [normal](NodeContext& c) {
    const Ints shape = c.ints("shape");
    c.out(drawn(c, Shape(shape.begin(), shape.end()), c.dtype_attribute("dtype", DType::f32),
                normal));
  };
}
ImportFunction random_like(bool normal) {
  return [normal](NodeContext& c) {
    c.out(drawn(c, c.in(0).shape(), c.dtype_attribute("dtype", c.in(0).dtype()), normal));
  };
}

void import_bernoulli(NodeContext& c) {
  const Operand x = c.in(0);
  Attributes attributes;
  attributes.set("shape", x.shape());
  attributes.set("dtype", c.dtype_attribute("dtype", x.dtype()));
  attributes.set("distribution", std::string("bernoulli"));
  attributes.set("seed", seed_of(c));
  c.out(c.b.emit(Op::random, {x}, attributes));
}

// Inverse transform sampling: how many cumulated probabilities lie below a uniform number.
void import_multinomial(NodeContext& c) {
  Builder& b = c.b;
  const Operand x = c.in(0);
  const int64_t samples = c.integer("sample_size", 1);
  if (x.rank() != 2) throw ModelError("the input must be a matrix of log-probabilities.");
  const DType compute = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  Attributes scan;
  scan.set("fn", std::string("sum"));
  scan.set("axis", int64_t{1});
  scan.set("exclusive", int64_t{0});
  scan.set("reverse", int64_t{0});
  const Operand cumulated = b.emit(Op::scan, {b.softmax(b.cast(x, compute), 1)}, scan);
  Attributes uniform;
  uniform.set("shape", Shape{x.dim(0), samples});
  uniform.set("dtype", compute);
  uniform.set("distribution", std::string("uniform"));
  uniform.set("low", 0.0);
  uniform.set("high", 1.0);
  uniform.set("seed", seed_of(c));
  const Operand number = b.unsqueeze(b.emit(Op::random, {}, uniform), {2});
  const Operand below = b.map("lt", {b.unsqueeze(cumulated, {1}), number});
  Operand index = b.reduce("sum", b.cast(below, DType::i64), {2}, false);
  // Rounding may leave the last cumulated probability below 1.
  index = b.map("min", {index, b.number(x.dim(1) - 1, DType::i64)});
  c.out(b.cast(index, c.dtype_attribute("dtype", DType::i32)));
}

const OperatorEntry kEntries[] = {
    {"", "Bernoulli", 15, import_bernoulli},
    {"", "Multinomial", 7, import_multinomial},
    {"", "RandomNormal", 1, random(true)},
    {"", "RandomNormalLike", 1, random_like(true)},
    {"", "RandomUniform", 1, random(false)},
    {"", "RandomUniformLike", 1, random_like(false)},
};

}  // namespace

std::span<const OperatorEntry> random_entries() { return kEntries; }

}  // namespace mcc::frontend
