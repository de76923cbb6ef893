// Every host schedule against the reference evaluator, with odd sizes and dynamic dims.
#include <gtest/gtest.h>

#include "kernel_harness.h"

namespace mcc {
namespace {

using test::check_on_host;

TEST(HostPointwise, ChainWithBroadcastAndTail) {
  check_on_host(R"(graph "g" {
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

TEST(HostPointwise, TransposeConcatPadSliceGather) {
  check_on_host(R"(graph "g" {
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

TEST(HostPointwise, IntegersAndSelect) {
  check_on_host(R"(graph "g" {
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

TEST(HostPointwise, DynamicDims) {
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
  check_on_host(text, {{"s0", 2}, {"s1", 5}});
  check_on_host(text, {{"s0", 1}, {"s1", 33}});
}

TEST(HostReduction, SoftmaxLayerNormAndSums) {
  check_on_host(R"(graph "g" {
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

TEST(HostReduction, ColumnsAndMiddleAxes) {
  check_on_host(R"(graph "g" {
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

TEST(HostContraction, PackedWeights) {
  for (const char* m : {"1", "7", "13", "61"}) {
    for (const char* n : {"5", "64", "70"}) check_on_host(matmul(m, "19", n, true));
  }
}

TEST(HostContraction, ComputedRightOperand) {
  check_on_host(matmul("30", "33", "65", false));
  check_on_host(matmul("3", "8", "20", false));
}

TEST(HostContraction, DynamicRowsAndDepth) {
  const std::string text = matmul("s0", "s1", "37", false,
                                  "symbol s0 \"m\" [1, inf] = dim(0, 0) symbol s1 \"k\" [1, inf] = dim(0, 1)");
  check_on_host(text, {{"s0", 5}, {"s1", 9}});
  check_on_host(text, {{"s0", 32}, {"s1", 50}});
  const std::string rows = matmul("s0", "24", "37", false, "symbol s0 \"m\" [1, inf] = dim(0, 0)");
  check_on_host(rows, {{"s0", 1}});
  check_on_host(rows, {{"s0", 47}});
}

TEST(HostContraction, BatchedAttentionShapes) {
  check_on_host(R"(graph "g" {
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

TEST(HostConv, ChannelsLast) {
  check_on_host(conv("nhwc", 5, 64, 1, 3, 1, 1, 9, 10));
  check_on_host(conv("nhwc", 8, 70, 1, 3, 2, 1, 11, 16));
  check_on_host(conv("nhwc", 16, 24, 1, 1, 1, 0, 7, 9));
  check_on_host(conv("nhwc", 16, 65, 1, 1, 2, 0, 8, 8));
  check_on_host(conv("nhwc", 3, 40, 1, 5, 2, 2, 13, 13));
}

TEST(HostConv, DepthwiseGroupedAndChannelsFirst) {
  check_on_host(conv("nhwc", 72, 72, 72, 3, 1, 1, 6, 7));
  check_on_host(conv("nhwc", 24, 24, 24, 5, 2, 2, 9, 9));
  check_on_host(conv("nhwc", 8, 12, 4, 3, 1, 1, 6, 6));
  check_on_host(conv("nchw", 6, 9, 1, 3, 1, 1, 7, 8));
  check_on_host(conv("nchw", 6, 6, 3, 3, 2, 0, 7, 8));
}

TEST(HostWindow, MaxAndSum) {
  check_on_host(R"(graph "g" {
    input %x : f32[2, 9, 9, 20]
    %m = window_reduce(%x) {fn = "max", axes = i[1, 2], window = i[3, 3], strides = i[2, 2], pads_low = s[1, 1], pads_high = s[1, 1], dilations = i[1, 1]} : f32[2, 5, 5, 20]
    %t = transpose(%x) {perm = i[0, 3, 1, 2]} : f32[2, 20, 9, 9]
    %s = window_reduce(%t) {fn = "sum", axes = i[2, 3], window = i[2, 2], strides = i[1, 2], pads_low = s[0, 0], pads_high = s[0, 1], dilations = i[2, 1]} : f32[2, 20, 7, 5]
    output %m "m"
    output %s "s"
  })");
}

TEST(HostPointwise, ElementTypes) {
  check_on_host(R"(graph "g" {
    input %a : i64[3, 37]
    input %b : i32[3, 37]
    input %d : f64[3, 37]
    input %h : f16[3, 37]
    input %u : u8[3, 37]
    input %t : bool[3, 37]
    %bl = map(%b) {fn = "cast", to = i64} : i64[3, 37]
    %m = map(%a, %bl) {fn = "max"} : i64[3, 37]
    %n = map(%m, %a) {fn = "mul"} : i64[3, 37]
    %e = map(%d) {fn = "exp"} : f64[3, 37]
    %hf = map(%h) {fn = "cast", to = f32} : f32[3, 37]
    %uf = map(%u) {fn = "cast", to = f32} : f32[3, 37]
    %s = map(%hf, %uf) {fn = "add"} : f32[3, 37]
    %r = map(%s) {fn = "cast", to = f16} : f16[3, 37]
    %q = map(%s) {fn = "cast", to = i8} : i8[3, 37]
    %lt = map(%a, %bl) {fn = "lt"} : bool[3, 37]
    %x = map(%lt, %t) {fn = "xor"} : bool[3, 37]
    %y = map(%x) {fn = "not"} : bool[3, 37]
    %z = map(%y, %d, %e) {fn = "select"} : f64[3, 37]
    %bf = map(%y) {fn = "cast", to = f32} : f32[3, 37]
    %c = map(%d) {fn = "cast", to = bool} : bool[3, 37]
    output %n "n"
    output %e "e"
    output %r "r"
    output %q "q"
    output %y "y"
    output %z "z"
    output %bf "bf"
    output %c "c"
  })");
}

TEST(HostPointwise, PiecesAlongTheInnermostAxis) {
  check_on_host(R"(graph "g" {
    input %a : f32[6, 30]
    input %b : f32[6, 21]
    %z = constant() {value = tensor f32[] {2}} : f32[]
    %i = iota() {shape = s[6, 53], axis = 1, dtype = i32} : i32[6, 53]
    %f = map(%i) {fn = "cast", to = f32} : f32[6, 53]
    %c = concat(%a, %b) {axis = 1} : f32[6, 51]
    %p = pad(%c, %z) {low = s[0, 1], high = s[0, 1], mode = "constant"} : f32[6, 53]
    %s = map(%p, %f) {fn = "sub"} : f32[6, 53]
    output %s "s"
  })");
}

TEST(HostReduction, ElementTypesAndPlaces) {
  check_on_host(R"(graph "g" {
    input %a : i64[5, 43]
    input %d : f64[5, 43]
    input %h : f16[5, 43]
    input %t : bool[5, 43]
    input %x : f32[5, 43, 19]
    %s = reduce(%a) {fn = "sum", axes = i[1]} : i64[5]
    %c = reduce(%a) {fn = "max", axes = i[0]} : i64[43]
    %e = reduce(%d) {fn = "prod", axes = i[1]} : f64[5]
    %g = reduce(%h) {fn = "sum", axes = i[0]} : f16[43]
    %n = reduce(%t) {fn = "any", axes = i[1]} : bool[5]
    %l = reduce(%t) {fn = "all", axes = i[0]} : bool[43]
    %k = arg_reduce(%x) {fn = "max", axis = 1, select_last = 0} : i64[5, 19]
    %m = arg_reduce(%x) {fn = "min", axis = 2, select_last = 1} : i64[5, 43]
    output %s "s"
    output %c "c"
    output %e "e"
    output %g "g"
    output %n "n"
    output %l "l"
    output %k "k"
    output %m "m"
  })", {}, 1e-3);
}

TEST(HostReduction, CostlyElementsAreKept) {
  check_on_host(R"(graph "g" {
    input %a : f32[6, 37]
    %e = map(%a) {fn = "gelu"} : f32[6, 37]
    %s = softmax(%e) {axis = 1} : f32[6, 37]
    %b = map(%a) {fn = "tanh"} : f32[6, 37]
    %n = normalize(%b) {axes = i[1], epsilon = 1e-05, kind = "layer"} : f32[6, 37]
    output %s "s"
    output %n "n"
  })");
}

TEST(HostContraction, DeepAndTransposedOperands) {
  // Deeper than a whole packed panel; the right operand contiguous along the depth.
  check_on_host(R"(graph "g" {
    input %a : f32[9, 1100]
    input %b : f32[37, 1100]
    %y = contract(%a, %b) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[1], out = f32} : f32[9, 37]
    output %y "y"
  })");
}

TEST(HostContraction, OtherTypes) {
  check_on_host(R"(graph "g" {
    input %a : f64[5, 20]
    input %b : f64[20, 19]
    input %c : u8[5, 20]
    input %d : i8[20, 19]
    input %h : f16[5, 20]
    input %i : f16[20, 19]
    %x = contract(%a, %b) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = f64} : f64[5, 19]
    %y = contract(%c, %d) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = i32} : i32[5, 19]
    %z = contract(%h, %i) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = f16} : f16[5, 19]
    output %x "x"
    output %y "y"
    output %z "z"
  })", {}, 1e-3);
}

TEST(HostWindow, PlacesOfTheLargest) {
  check_on_host(R"(graph "g" {
    input %x : f32[2, 9, 7, 20]
    %m = window_reduce(%x) {fn = "arg_max", axes = i[1, 2], window = i[3, 2], strides = i[2, 2], pads_low = s[1, 0], pads_high = s[1, 1], dilations = i[1, 1]} : i64[2, 5, 4, 20]
    output %m "m"
  })");
}

}  // namespace
}  // namespace mcc
