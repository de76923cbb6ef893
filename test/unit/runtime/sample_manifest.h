// A small manifest for tests: out = relu(in * weight + in) as two kernels over [s0, 16].
#pragma once

#include "runtime/plan/manifest.h"

namespace mcc::runtime::test {

inline Expression rows_times(int64_t factor) {
  return Expression({{ExpressionOp::symbol, 0},
                     {ExpressionOp::constant, factor},
                     {ExpressionOp::multiply, 0}});
}

// Dynamic batch "batch" in 1..64; kernels k0 (in, weight -> t) and k1 (t, in -> out).
inline Manifest sample_manifest() {
  Manifest m;
  m.producer = "mcc test";
  m.model_name = "sample";
  m.inputs = {{"x", MCC_F32, {Expression::symbol(0), 16}}};
  m.outputs = {{"y", MCC_F32, {Expression::symbol(0), 16}}};
  SymbolInfo symbol;
  symbol.name = "s0";
  symbol.label = "batch";
  symbol.maximum = 64;
  symbol.source.input = 0;
  m.symbols = {symbol};
  const Expression bytes = rows_times(64);
  const auto buffer = [&](BufferKind kind, Expression size) {
    BufferInfo info;
    info.kind = kind;
    info.bytes = std::move(size);
    m.buffers.push_back(info);
    return static_cast<int>(m.buffers.size()) - 1;
  };
  const int x = buffer(BufferKind::input, bytes);
  const int w = buffer(BufferKind::weight, 64);
  const int t = buffer(BufferKind::arena, bytes);
  const int y = buffer(BufferKind::output, bytes);
  m.buffers[0].index = 0;
  m.buffers[1].offset = 0;
  m.buffers[2].origin = "hidden";
  m.buffers[2].shape = {Expression::symbol(0), 16};
  m.buffers[3].index = 0;
  m.arena.is_static = false;
  for (const char* name : {"k0", "k1"}) {
    KernelInfo kernel;
    kernel.name = name;
    kernel.origin = {std::string("node_") + name};
    kernel.kernel_class = "pointwise";
    kernel.host = HostLaunch{rows_times(16), 16, 0};
    kernel.cuda = CudaLaunch{{Expression::symbol(0), 1, 1}, {16, 1, 1}, 0};
    m.kernels.push_back(kernel);
  }
  Instruction first;
  first.kernel = 0;
  first.buffers = {x, w, t};
  first.dims = {Expression::symbol(0)};
  Instruction second = first;
  second.kernel = 1;
  second.buffers = {t, x, y};
  m.program = {first, second};
  derive_lifetimes(m);
  return m;
}

}  // namespace mcc::runtime::test
