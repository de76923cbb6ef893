// Every CUDA schedule against the reference evaluator, with odd sizes and dynamic dims.
#include <gtest/gtest.h>

#include "cuda_harness.h"

namespace mcc {
namespace {

using test::check_on_cuda;

TEST(CudaPointwise, ChainWithBroadcastAndTail) {
  check_on_cuda(R"(graph "g" {
    input %a : f32[3, 5, 21]
    input %b : f32[21]
    input %c : f32[5, 1]
    %bb = broadcast(%b) {shape = s[3, 5, 21], axes = i[2]} : f32[3, 5, 21]
    %cc = broadcast(%c) {shape = s[3, 5, 21], axes = i[1, 2]} : f32[3, 5, 21]
    %d = map(%a, %bb) {fn = "add"} : f32[3, 5, 21]
    %e = map(%d) {fn = "gelu"} : f32[3, 5, 21]
    %f = map(%e, %cc) {fn = "mul"} : f32[3, 5, 21]
    output %f "y"
  })");
}

TEST(CudaPointwise, TransposeConcatPadSliceGather) {
  check_on_cuda(R"(graph "g" {
    input %a : f32[4, 7]
    input %b : f32[7, 3]
    input %i : i64[5]
    %z = constant() {value = tensor f32[] {0.5}} : f32[]
    %t = transpose(%a) {perm = i[1, 0]} : f32[7, 4]
    %c = concat(%t, %b) {axis = 1} : f32[7, 7]
    %p = pad(%c, %z) {low = s[1, 2], high = s[0, 1], mode = "constant"} : f32[8, 10]
    %s = slice(%p) {starts = s[7, 1], shape = s[4, 9], steps = i[-2, 1]} : f32[4, 9]
    %g = gather(%s, %i) {axis = 1} : f32[4, 5]
    %e = map(%g) {fn = "exp"} : f32[4, 5]
    output %e "y"
  })");
}

TEST(CudaPointwise, IntegersAndSelect) {
  check_on_cuda(R"(graph "g" {
    input %a : i64[3, 19]
    input %b : i64[3, 19]
    input %x : f32[3, 19]
    %c = map(%a, %b) {fn = "lt"} : bool[3, 19]
    %s = map(%a, %b) {fn = "add"} : i64[3, 19]
    %f = map(%s) {fn = "cast", to = f32} : f32[3, 19]
    %y = map(%c, %f, %x) {fn = "select"} : f32[3, 19]
    output %y "y"
  })");
}

TEST(CudaPointwise, DynamicDims) {
  const std::string text = R"(graph "g" {
    symbol s0 "batch" [1, inf] = dim(0, 0)
    symbol s1 "length" [1, inf] = dim(0, 1)
    input %a : f32[s0, s1, 8]
    input %b : f32[s1]
    %r = reshape(%a) {shape = s[s0, s1, 2, 4]} : f32[s0, s1, 2, 4]
    %t = transpose(%r) {perm = i[0, 2, 1, 3]} : f32[s0, 2, s1, 4]
    %bb = broadcast(%b) {shape = s[s0, 2, s1, 4], axes = i[2]} : f32[s0, 2, s1, 4]
    %m = map(%t, %bb) {fn = "mul"} : f32[s0, 2, s1, 4]
    output %m "y"
  })";
  check_on_cuda(text, {{"s0", 2}, {"s1", 5}});
  check_on_cuda(text, {{"s0", 1}, {"s1", 33}});
}

TEST(CudaReduction, SoftmaxLayerNormAndSums) {
  check_on_cuda(R"(graph "g" {
    input %a : f32[6, 37]
    input %b : f32[37]
    %bb = broadcast(%b) {shape = s[6, 37], axes = i[1]} : f32[6, 37]
    %x = map(%a, %bb) {fn = "add"} : f32[6, 37]
    %s = softmax(%x) {axis = 1} : f32[6, 37]
    %n = normalize(%a) {axes = i[1], epsilon = 1e-05, kind = "layer"} : f32[6, 37]
    %m = map(%n, %bb) {fn = "mul"} : f32[6, 37]
    %q = normalize(%a) {axes = i[1], epsilon = 1e-05, kind = "rms"} : f32[6, 37]
    %r = reduce(%a) {fn = "sum", axes = i[1]} : f32[6]
    %k = arg_reduce(%a) {fn = "max", axis = 1, select_last = 0} : i64[6]
    output %s "s"
    output %m "m"
    output %q "q"
    output %r "r"
    output %k "k"
  })");
}

TEST(CudaReduction, ColumnsAndMiddleAxes) {
  check_on_cuda(R"(graph "g" {
    input %a : f32[2, 7, 7, 70]
    %r = reduce(%a) {fn = "sum", axes = i[1, 2]} : f32[2, 70]
    %e = map(%r) {fn = "sqrt"} : f32[2, 70]
    %x = reduce(%a) {fn = "max", axes = i[0, 2]} : f32[7, 70]
    %s = softmax(%a) {axis = 1} : f32[2, 7, 7, 70]
    %n = normalize(%a) {axes = i[1, 2], epsilon = 0.001, kind = "layer"} : f32[2, 7, 7, 70]
    output %r "r"
    output %e "e"
    output %x "x"
    output %s "s"
    output %n "n"
  })", {}, 3e-5);
}

std::string matmul(const std::string& m, const std::string& k, const std::string& n, bool constant,
                   const std::string& symbols = "") {
  // A constant right operand is a broadcast-free tensor literal, so sizes stay small.
  std::string weight = "input %w : f32[" + k + ", " + n + "]";
  if (constant) {
    std::string values;
    for (int i = 0; i < std::stoi(k) * std::stoi(n); ++i) {
      values += (i == 0 ? "" : ", ") + std::to_string(((i * 37) % 101 - 50) / 50.0);
    }
    weight = "%w = constant() {value = tensor f32[" + k + ", " + n + "] {" + values + "}} : f32[" + k + ", " + n + "]";
  }
  return "graph \"g\" {" + symbols + " input %x : f32[" + m + ", " + k + "] " + weight + R"(
    input %b : f32[)" + n + R"(]
    %y = contract(%x, %w) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = f32} : f32[)" + m + ", " + n + R"(]
    %bb = broadcast(%b) {shape = s[)" + m + ", " + n + "], axes = i[1]} : f32[" + m + ", " + n + R"(]
    %z = map(%y, %bb) {fn = "add"} : f32[)" + m + ", " + n + R"(]
    %r = map(%z) {fn = "relu"} : f32[)" + m + ", " + n + R"(]
    output %r "y"
  })";
}

TEST(CudaContraction, PackedWeights) {
  for (const char* m : {"1", "7", "61"}) {
    for (const char* n : {"5", "70"}) check_on_cuda(matmul(m, "19", n, true));
  }
}

TEST(CudaContraction, ComputedRightOperand) {
  check_on_cuda(matmul("30", "33", "65", false));
  check_on_cuda(matmul("3", "8", "20", false));
}

TEST(CudaContraction, DynamicRowsAndDepth) {
  const std::string text = matmul("s0", "s1", "37", false,
                                  "symbol s0 \"m\" [1, inf] = dim(0, 0) symbol s1 \"k\" [1, inf] = dim(0, 1)");
  check_on_cuda(text, {{"s0", 5}, {"s1", 9}});
  check_on_cuda(text, {{"s0", 32}, {"s1", 50}});
  const std::string rows = matmul("s0", "24", "37", false, "symbol s0 \"m\" [1, inf] = dim(0, 0)");
  check_on_cuda(rows, {{"s0", 1}});
  check_on_cuda(rows, {{"s0", 47}});
}

TEST(CudaContraction, BatchedAttentionShapes) {
  check_on_cuda(R"(graph "g" {
    symbol s0 "batch" [1, inf] = dim(0, 0)
    symbol s1 "length" [1, inf] = dim(0, 1)
    input %q : f32[s0, s1, 2, 8]
    input %k : f32[s0, s1, 2, 8]
    %qt = transpose(%q) {perm = i[0, 2, 1, 3]} : f32[s0, 2, s1, 8]
    %kt = transpose(%k) {perm = i[0, 2, 3, 1]} : f32[s0, 2, 8, s1]
    %s = contract(%qt, %kt) {lhs_batch = i[0, 1], rhs_batch = i[0, 1], lhs_contract = i[3], rhs_contract = i[2], out = f32} : f32[s0, 2, s1, s1]
    %p = softmax(%s) {axis = 3} : f32[s0, 2, s1, s1]
    %v = contract(%p, %qt) {lhs_batch = i[0, 1], rhs_batch = i[0, 1], lhs_contract = i[3], rhs_contract = i[2], out = f32} : f32[s0, 2, s1, 8]
    %t = transpose(%v) {perm = i[0, 2, 1, 3]} : f32[s0, s1, 2, 8]
    %r = reshape(%t) {shape = s[s0, s1, 16]} : f32[s0, s1, 16]
    output %r "y"
  })", {{"s0", 2}, {"s1", 19}});
}

std::string conv(const std::string& layout, int channels, int out_channels, int groups, int kernel, int stride,
                 int pad, int height, int width) {
  auto dim = [](int value) { return std::to_string(value); };
  const int out_height = (height + 2 * pad - kernel) / stride + 1;
  const int out_width = (width + 2 * pad - kernel) / stride + 1;
  auto shape = [&](int c, int h, int w) {
    return layout == "nhwc" ? "[2, " + dim(h) + ", " + dim(w) + ", " + dim(c) + "]"
                            : "[2, " + dim(c) + ", " + dim(h) + ", " + dim(w) + "]";
  };
  std::string values;
  const int count = out_channels * (channels / groups) * kernel * kernel;
  for (int i = 0; i < count; ++i) values += (i == 0 ? "" : ", ") + std::to_string(((i * 37) % 101 - 50) / 50.0);
  const std::string weight = "f32[" + dim(out_channels) + ", " + dim(channels / groups) + ", " + dim(kernel) + ", " + dim(kernel) + "]";
  const std::string out = shape(out_channels, out_height, out_width);
  return "graph \"g\" { input %x : f32" + shape(channels, height, width) + " input %r : f32" + out +
         " %w = constant() {value = tensor " + weight + " {" + values + "}} : " + weight +
         " %y = conv(%x, %w) {layout = \"" + layout + "\", strides = i[" + dim(stride) + ", " + dim(stride) +
         "], pads_low = s[" + dim(pad) + ", " + dim(pad) + "], pads_high = s[" + dim(pad) + ", " + dim(pad) +
         "], dilations = i[1, 1], groups = " + dim(groups) + ", out = f32} : f32" + out +
         " %s = map(%y, %r) {fn = \"add\"} : f32" + out + " %z = map(%s) {fn = \"relu\"} : f32" + out +
         " output %z \"y\" }";
}

TEST(CudaConv, ChannelsLast) {
  check_on_cuda(conv("nhwc", 5, 64, 1, 3, 1, 1, 9, 10));
  check_on_cuda(conv("nhwc", 8, 70, 1, 3, 2, 1, 11, 16));
  check_on_cuda(conv("nhwc", 16, 24, 1, 1, 1, 0, 7, 9));
  check_on_cuda(conv("nhwc", 16, 65, 1, 1, 2, 0, 8, 8));
  check_on_cuda(conv("nhwc", 3, 40, 1, 5, 2, 2, 13, 13));
}

TEST(CudaConv, DepthwiseGroupedAndChannelsFirst) {
  check_on_cuda(conv("nhwc", 72, 72, 72, 3, 1, 1, 6, 7));
  check_on_cuda(conv("nhwc", 24, 24, 24, 5, 2, 2, 9, 9));
  check_on_cuda(conv("nhwc", 8, 12, 4, 3, 1, 1, 6, 6));
  check_on_cuda(conv("nchw", 6, 9, 1, 3, 1, 1, 7, 8));
  check_on_cuda(conv("nchw", 6, 6, 3, 3, 2, 0, 7, 8));
}

TEST(CudaWindow, MaxAndSum) {
  check_on_cuda(R"(graph "g" {
    input %x : f32[2, 9, 9, 20]
    %m = window_reduce(%x) {fn = "max", axes = i[1, 2], window = i[3, 3], strides = i[2, 2], pads_low = s[1, 1], pads_high = s[1, 1], dilations = i[1, 1]} : f32[2, 5, 5, 20]
    %t = transpose(%x) {perm = i[0, 3, 1, 2]} : f32[2, 20, 9, 9]
    %s = window_reduce(%t) {fn = "sum", axes = i[2, 3], window = i[2, 2], strides = i[1, 2], pads_low = s[0, 0], pads_high = s[0, 1], dilations = i[2, 1]} : f32[2, 20, 7, 5]
    output %m "m"
    output %s "s"
  })");
}

}  // namespace
}  // namespace mcc
