// Graphs that exercise schedules, run on every target by schedule_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/expr.h"

namespace mcc::test {

struct ScheduleCase {
  const char* name;
  const char* graph;
  Bindings dims;
  double tolerance = 1e-5;
};

inline std::vector<ScheduleCase> schedule_cases() {
  return {
      {"ScanEveryVariant", R"(graph "g" {
    input %a : f32[3, 5, 70]
    input %b : i64[3, 5, 7]
    %s = scan(%a) {fn = "sum", axis = 2, exclusive = 0, reverse = 0} : f32[3, 5, 70]
    %e = scan(%a) {fn = "sum", axis = 1, exclusive = 1, reverse = 1} : f32[3, 5, 70]
    %m = scan(%a) {fn = "max", axis = 2, exclusive = 0, reverse = 1} : f32[3, 5, 70]
    %p = scan(%b) {fn = "sum", axis = 0, exclusive = 1, reverse = 0} : i64[3, 5, 7]
    output %s "s"
    output %e "e"
    output %m "m"
    output %p "p"
  })", {}},
      {"ScanLongAndDynamic", R"(graph "g" {
    symbol s0 "n" [1, inf] = dim(0, 1)
    input %a : f32[2, s0]
    %s = scan(%a) {fn = "sum", axis = 1, exclusive = 0, reverse = 0} : f32[2, s0]
    %e = scan(%a) {fn = "sum", axis = 1, exclusive = 1, reverse = 1} : f32[2, s0]
    output %s "s"
    output %e "e"
  })", {{"s0", 1000}}, 1e-5},
      {"ScatterElements", R"(graph "g" {
    input %x : f32[5, 9]
    input %i : i64[4, 3]
    input %u : f32[4, 3]
    %n = scatter_elements(%x, %i, %u) {axis = 1, reduction = "add"} : f32[5, 9]
    %m = scatter_elements(%x, %i, %u) {axis = 0, reduction = "max"} : f32[5, 9]
    %p = scatter_elements(%x, %i, %u) {axis = 1, reduction = "mul"} : f32[5, 9]
    output %n "n"
    output %m "m"
    output %p "p"
  })", {}},
      {"ScatterWithoutReduction", R"(graph "g" {
    input %x : i32[2500, 3]
    input %u : i32[2500, 3]
    %j = iota() {shape = s[2500, 3], axis = 0, dtype = i64} : i64[2500, 3]
    %k = constant() {value = tensor i64[] {1250}} : i64[]
    %kk = broadcast(%k) {shape = s[2500, 3], axes = i[]} : i64[2500, 3]
    %i = map(%j, %kk) {fn = "sub"} : i64[2500, 3]
    %n = scatter_elements(%x, %i, %u) {axis = 0, reduction = "none"} : i32[2500, 3]
    output %n "n"
  })", {}},
      {"ScatterNd", R"(graph "g" {
    symbol s0 "n" [1, inf] = dim(0, 0)
    input %x : f32[s0, 3, 7]
    input %i : i64[4, 2]
    input %u : f32[4, 7]
    input %v : f16[6, 5]
    input %w : i32[3, 1]
    input %z : f16[3, 5]
    %c = constant() {value = tensor i64[2] {5, 3}} : i64[2]
    %cc = broadcast(%c) {shape = s[4, 2], axes = i[1]} : i64[4, 2]
    %ii = map(%i, %cc) {fn = "mod"} : i64[4, 2]
    %n = scatter_nd(%x, %ii, %u) {reduction = "add"} : f32[s0, 3, 7]
    %m = scatter_nd(%v, %w, %z) {reduction = "max"} : f16[6, 5]
    output %n "n"
    output %m "m"
  })", {{"s0", 6}}},
      {"SortAndTopk", R"(graph "g" {
    input %x : f32[3, 70]
    input %y : i64[5, 4, 6]
    input %n : f32[2, 9]
    %z = map(%n) {fn = "log"} : f32[2, 9]
    %a, %ai = sort(%x) {axis = 1, descending = 0} : f32[3, 70], i64[3, 70]
    %d, %di = sort(%y) {axis = 1, descending = 1} : i64[5, 4, 6], i64[5, 4, 6]
    %t, %ti = topk(%x) {axis = 1, k = s[5], largest = 1, sorted = 1} : f32[3, 5], i64[3, 5]
    %l, %li = topk(%y) {axis = 0, k = s[2], largest = 0, sorted = 1} : i64[2, 4, 6], i64[2, 4, 6]
    %q, %qi = sort(%z) {axis = 1, descending = 1} : f32[2, 9], i64[2, 9]
    output %a "a"
    output %ai "ai"
    output %d "d"
    output %di "di"
    output %t "t"
    output %ti "ti"
    output %l "l"
    output %li "li"
    output %q "q"
    output %qi "qi"
  })", {}},
      {"TopkDynamic", R"(graph "g" {
    symbol s0 "n" [8, inf] = dim(0, 1)
    input %x : f32[2, s0]
    %t, %ti = topk(%x) {axis = 1, k = s[7], largest = 1, sorted = 1} : f32[2, 7], i64[2, 7]
    output %t "t"
    output %ti "ti"
  })", {{"s0", 300}}},
      {"SharedValueOfConcatenatedParts", R"(graph "g" {
    input %a : f32[2, 4, 8]
    input %b : f32[2, 2, 8]
    %l = slice(%a) {starts = s[0, 0, 0], shape = s[2, 2, 8], steps = i[1, 1, 1]} : f32[2, 2, 8]
    %h = slice(%a) {starts = s[0, 2, 0], shape = s[2, 2, 8], steps = i[1, 1, 1]} : f32[2, 2, 8]
    %d = map(%b, %l) {fn = "sub"} : f32[2, 2, 8]
    %e = map(%l, %h) {fn = "add"} : f32[2, 2, 8]
    %c = concat(%d, %e, %b) {axis = 1} : f32[2, 6, 8]
    %y = map(%c) {fn = "neg"} : f32[2, 6, 8]
    output %y "y"
  })", {}},
      {"ContractionTypes", R"(graph "g" {
    input %a : i8[20, 36]
    input %u : u8[20, 36]
    input %b : i8[36, 9]
    input %h : f16[20, 36]
    input %k : f16[36, 12]
    input %x : f64[5, 7]
    input %y : f64[7, 6]
    input %p : bf16[3, 9]
    input %i : i64[3, 4]
    input %j : i64[4, 5]
    %s = contract(%a, %b) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = i32} : i32[20, 9]
    %m = contract(%u, %b) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = i32} : i32[20, 9]
    %f = contract(%h, %k) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = f16} : f16[20, 12]
    %d = contract(%x, %y) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = f64} : f64[5, 6]
    %l = contract(%i, %j) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = i64} : i64[3, 5]
    %e = softmax(%p) {axis = 1} : bf16[3, 9]
    %r = reduce(%h) {fn = "max", axes = i[1]} : f16[20]
    %n = map(%d) {fn = "tanh"} : f64[5, 6]
    output %s "s"
    output %m "m"
    output %f "f"
    output %l "l"
    output %e "e"
    output %r "r"
    output %n "n"
  })", {}, 4e-3},
      {"ConvolutionTypes", R"(graph "g" {
    input %h : f16[1, 6, 6, 8]
    input %k : f16[9, 8, 3, 3]
    input %u : u8[1, 5, 5, 4]
    input %w : i8[6, 4, 3, 3]
    input %x : f32[1, 4, 3, 5, 6]
    input %v : f32[7, 4, 2, 3, 3]
    input %l : f32[2, 6, 19]
    input %g : f32[6, 2, 3]
    %a = conv(%h, %k) {layout = "nhwc", strides = i[1, 1], pads_low = s[1, 1], pads_high = s[1, 1], dilations = i[1, 1], groups = 1, out = f16} : f16[1, 6, 6, 9]
    %b = conv(%u, %w) {layout = "nhwc", strides = i[2, 1], pads_low = s[1, 0], pads_high = s[0, 1], dilations = i[1, 1], groups = 1, out = i32} : i32[1, 2, 4, 6]
    %c = conv(%x, %v) {layout = "nchw", strides = i[1, 1, 2], pads_low = s[0, 1, 1], pads_high = s[1, 1, 1], dilations = i[1, 1, 1], groups = 1, out = f32} : f32[1, 7, 3, 5, 3]
    %d = conv(%l, %g) {layout = "nchw", strides = i[1], pads_low = s[2], pads_high = s[2], dilations = i[2], groups = 3, out = f32} : f32[2, 6, 19]
    output %a "a"
    output %b "b"
    output %c "c"
    output %d "d"
  })", {}, 4e-3},
      {"ReductionTypes", R"(graph "g" {
    symbol s0 "n" [0, inf] = dim(0, 1)
    input %a : i64[3, s0]
    input %b : bool[3, s0]
    input %c : f64[s0, 3]
    input %d : f32[4, 2100]
    %s = reduce(%a) {fn = "sum", axes = i[1]} : i64[3]
    %t = reduce(%b) {fn = "any", axes = i[1]} : bool[3]
    %p = reduce(%c) {fn = "sum", axes = i[0]} : f64[3]
    %m = arg_reduce(%d) {fn = "min", axis = 1, select_last = 1} : i64[4]
    %x = softmax(%d) {axis = 1} : f32[4, 2100]
    %n = normalize(%d) {axes = i[0, 1], epsilon = 0.001, kind = "rms"} : f32[4, 2100]
    %q = reduce(%d) {fn = "prod", axes = i[0, 1]} : f32[]
    output %s "s"
    output %t "t"
    output %p "p"
    output %m "m"
    output %x "x"
    output %n "n"
    output %q "q"
  })", {{"s0", 45}}},
      {"Transposes", R"(graph "g" {
    symbol s0 "n" [1, inf] = dim(0, 1)
    input %a : f32[2, s0, 40, 3]
    input %b : f32[2, 50, 70]
    input %c : f32[70]
    input %d : bool[33, 64]
    input %h : f16[64, 33]
    %t = transpose(%a) {perm = i[0, 3, 2, 1]} : f32[2, 3, 40, s0]
    %u = transpose(%a) {perm = i[0, 2, 3, 1]} : f32[2, 40, 3, s0]
    %v = map(%u) {fn = "exp"} : f32[2, 40, 3, s0]
    %w = transpose(%b) {perm = i[0, 2, 1]} : f32[2, 70, 50]
    %cc = broadcast(%c) {shape = s[2, 70, 50], axes = i[1]} : f32[2, 70, 50]
    %x = map(%w, %cc) {fn = "mul"} : f32[2, 70, 50]
    %e = transpose(%d) {perm = i[1, 0]} : bool[64, 33]
    %f = map(%e) {fn = "not"} : bool[64, 33]
    %k = transpose(%h) {perm = i[1, 0]} : f16[33, 64]
    %l = map(%k) {fn = "neg"} : f16[33, 64]
    output %t "t"
    output %v "v"
    output %x "x"
    output %f "f"
    output %l "l"
  })", {{"s0", 37}}},
      {"FewDynamicRows", R"(graph "g" {
    symbol s0 "n" [1, 6] = dim(0, 0)
    input %x : f32[s0, 3]
    %w = constant() {value = tensor f32[3, 5] {1.0, -2.0, 0.5, 3.0, 4.0, 0.25, 1.5, -1.0, 2.0, 6.0, -3.0, 0.75, 1.0, 2.5, 7.0}} : f32[3, 5]
    %y = contract(%x, %w) {lhs_batch = i[], rhs_batch = i[], lhs_contract = i[1], rhs_contract = i[0], out = f32} : f32[s0, 5]
    %z = map(%y) {fn = "relu"} : f32[s0, 5]
    output %z "z"
  })", {{"s0", 5}}},
      {"ConvTranspose", R"(graph "g" {
    input %x : f32[2, 5, 6, 8]
    input %w : f32[8, 12, 3, 3]
    input %b : f32[12]
    input %v : f32[8, 3, 2, 2]
    %y = conv_transpose(%x, %w) {layout = "nhwc", strides = i[2, 2], pads_low = s[1, 1], pads_high = s[1, 1], dilations = i[1, 1], groups = 1, output_padding = i[1, 0], out = f32} : f32[2, 10, 11, 12]
    %bb = broadcast(%b) {shape = s[2, 10, 11, 12], axes = i[3]} : f32[2, 10, 11, 12]
    %z = map(%y, %bb) {fn = "add"} : f32[2, 10, 11, 12]
    %r = map(%z) {fn = "relu"} : f32[2, 10, 11, 12]
    %t = transpose(%x) {perm = i[0, 3, 1, 2]} : f32[2, 8, 5, 6]
    %c = map(%t) {fn = "neg"} : f32[2, 8, 5, 6]
    %g = conv_transpose(%c, %v) {layout = "nchw", strides = i[2, 3], pads_low = s[0, 1], pads_high = s[1, 0], dilations = i[2, 1], groups = 2, output_padding = i[0, 0], out = f32} : f32[2, 6, 10, 16]
    output %r "r"
    output %g "g"
  })", {}},
      {"ConvTranspose1d", R"(graph "g" {
    symbol s0 "n" [1, inf] = dim(0, 2)
    input %x : f32[1, 4, s0]
    input %w : f32[4, 5, 4]
    %y = conv_transpose(%x, %w) {layout = "nchw", strides = i[3], pads_low = s[2], pads_high = s[1], dilations = i[1], groups = 1, output_padding = i[0], out = f32} : f32[1, 5, 3*s0 - 2]
    output %y "y"
  })", {{"s0", 11}}},
  };
}

}  // namespace mcc::test
