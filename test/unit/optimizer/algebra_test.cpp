// simplify_algebra: one case a pattern, each evaluated before and after.
#include "test/unit/optimizer/pass_testing.h"

namespace mcc {
namespace {

struct Case {
  const char* name;
  const char* body;  // statements between the braces of a graph
  Names expected;
};

class Algebra : public testing::TestWithParam<Case> {};

TEST_P(Algebra, SimplifiesWithoutChangingValues) {
  const std::string text = "graph {\n" + std::string(GetParam().body) + "\n}";
  EXPECT_EQ(operators(run_and_compare(text, {simplify_algebra})), GetParam().expected);
}

const Case kCases[] = {
    {"reshapes_merge", R"(
      input %x : f32[2, 6]
      %a = reshape(%x) {shape = s[3, 4]} : f32[3, 4]
      %b = reshape(%a) {shape = s[12]} : f32[12]
      output %b)", {"reshape"}},
    {"reshapes_cancel", R"(
      input %x : f32[2, 6]
      %a = reshape(%x) {shape = s[12]} : f32[12]
      %b = reshape(%a) {shape = s[2, 6]} : f32[2, 6]
      %y = map(%b) {fn = "exp"} : f32[2, 6]
      output %y)", {"exp"}},
    {"transposes_cancel", R"(
      input %x : f32[2, 3, 4]
      %a = transpose(%x) {perm = i[0, 2, 1]} : f32[2, 4, 3]
      %b = transpose(%a) {perm = i[0, 2, 1]} : f32[2, 3, 4]
      %y = map(%b) {fn = "exp"} : f32[2, 3, 4]
      output %y)", {"exp"}},
    {"transposes_merge", R"(
      input %x : f32[2, 3, 4]
      %a = transpose(%x) {perm = i[1, 2, 0]} : f32[3, 4, 2]
      %b = transpose(%a) {perm = i[1, 0, 2]} : f32[4, 3, 2]
      output %b)", {"transpose"}},
    {"transpose_of_units_is_a_reshape", R"(
      input %x : f32[1, 3, 4]
      %a = transpose(%x) {perm = i[1, 0, 2]} : f32[3, 1, 4]
      output %a)", {"reshape"}},
    {"transpose_moves_before_broadcast", R"(
      input %x : f32[3]
      %a = broadcast(%x) {shape = s[2, 3, 4], axes = i[1]} : f32[2, 3, 4]
      %b = transpose(%a) {perm = i[1, 2, 0]} : f32[3, 4, 2]
      output %b)", {"broadcast"}},
    {"transpose_of_broadcast_reorders_its_source", R"(
      input %x : f32[3, 4, 5]
      %a = broadcast(%x) {shape = s[3, 2, 4, 5], axes = i[0, 2, 3]} : f32[3, 2, 4, 5]
      %b = transpose(%a) {perm = i[2, 1, 3, 0]} : f32[4, 2, 5, 3]
      output %b)", {"transpose", "broadcast"}},
    {"bias_becomes_a_vector", R"(
      input %x : f32[3]
      %a = reshape(%x) {shape = s[1, 3, 1, 1]} : f32[1, 3, 1, 1]
      %b = broadcast(%a) {shape = s[2, 3, 4, 4], axes = i[0, 1, 2, 3]} : f32[2, 3, 4, 4]
      output %b)", {"broadcast"}},
    {"broadcasts_merge", R"(
      input %x : f32[3]
      %a = broadcast(%x) {shape = s[2, 3], axes = i[1]} : f32[2, 3]
      %b = broadcast(%a) {shape = s[2, 5, 3], axes = i[0, 2]} : f32[2, 5, 3]
      output %b)", {"broadcast"}},
    {"slices_merge", R"(
      input %x : f32[20]
      %a = slice(%x) {starts = s[2], shape = s[8], steps = i[2]} : f32[8]
      %b = slice(%a) {starts = s[7], shape = s[3], steps = i[-3]} : f32[3]
      output %b)", {"slice"}},
    {"slice_reads_its_part_of_a_concat", R"(
      input %x : f32[4]
      input %z : f32[6]
      %a = concat(%x, %z) {axis = 0} : f32[10]
      %b = slice(%a) {starts = s[4], shape = s[6], steps = i[1]} : f32[6]
      %y = map(%b) {fn = "exp"} : f32[6]
      output %y)", {"exp"}},
    {"slice_across_parts_stays", R"(
      input %x : f32[4]
      input %z : f32[6]
      %a = concat(%x, %z) {axis = 0} : f32[10]
      %b = slice(%a) {starts = s[3], shape = s[6], steps = i[1]} : f32[6]
      output %b)", {"concat", "slice"}},
    {"reversal_is_not_nothing", R"(
      input %x : f32[6]
      %b = slice(%x) {starts = s[5], shape = s[6], steps = i[-1]} : f32[6]
      output %b)", {"slice"}},
    {"padding_joins_the_convolution", R"(
      input %x : f32[1, 2, 5, 5]
      input %w : f32[3, 2, 3, 3]
      %z = constant() {value = tensor f32[] {0.0}} : f32[]
      %p = pad(%x, %z) {low = s[0, 0, 1, 0], high = s[0, 0, 1, 2], mode = "constant"} : f32[1, 2, 7, 7]
      %y = conv(%p, %w) {layout = "nchw", strides = i[2, 2], pads_low = s[0, 0], pads_high = s[0, 1], dilations = i[1, 1], groups = 1, out = f32} : f32[1, 3, 3, 3]
      output %y)", {"conv"}},
    {"padding_with_ones_stays", R"(
      input %x : f32[1, 2, 5, 5]
      input %w : f32[3, 2, 3, 3]
      %z = constant() {value = tensor f32[] {1.0}} : f32[]
      %p = pad(%x, %z) {low = s[0, 0, 1, 1], high = s[0, 0, 1, 1], mode = "constant"} : f32[1, 2, 7, 7]
      %y = conv(%p, %w) {layout = "nchw", strides = i[2, 2], pads_low = s[0, 0], pads_high = s[0, 0], dilations = i[1, 1], groups = 1, out = f32} : f32[1, 3, 3, 3]
      output %y)", {"constant", "pad", "conv"}},
    {"concats_flatten", R"(
      input %x : f32[2]
      input %z : f32[3]
      %a = concat(%x, %z) {axis = 0} : f32[5]
      %b = concat(%a, %x) {axis = 0} : f32[7]
      output %b)", {"concat"}},
    {"gather_of_a_range_is_a_slice", R"(
      input %x : f32[4, 6]
      %i = constant() {value = tensor i64[3] {2, 3, 4}} : i64[3]
      %y = gather(%x, %i) {axis = 1} : f32[4, 3]
      output %y)", {"slice"}},
    {"gather_of_the_last_row_is_a_slice", R"(
      input %x : f32[4, 6]
      %i = constant() {value = tensor i64[] {-1}} : i64[]
      %y = gather(%x, %i) {axis = 0} : f32[6]
      output %y)", {"slice", "reshape"}},
    {"neutral_operands_go", R"(
      input %x : f32[4]
      %o = constant() {value = tensor f32[] {1.0}} : f32[]
      %z = constant() {value = tensor f32[] {0.0}} : f32[]
      %ob = broadcast(%o) {shape = s[4], axes = i[]} : f32[4]
      %zb = broadcast(%z) {shape = s[4], axes = i[]} : f32[4]
      %a = map(%ob, %x) {fn = "mul"} : f32[4]
      %b = map(%a, %zb) {fn = "sub"} : f32[4]
      %c = map(%b) {fn = "tanh"} : f32[4]
      output %c)", {"tanh"}},
    {"power_of_two_divisors_multiply", R"(
      input %x : f32[4]
      %o = constant() {value = tensor f32[] {8.0}} : f32[]
      %ob = broadcast(%o) {shape = s[4], axes = i[]} : f32[4]
      %a = map(%x, %ob) {fn = "div"} : f32[4]
      output %a)", {"constant", "broadcast", "mul"}},
    {"other_divisors_divide", R"(
      input %x : f32[4]
      %o = constant() {value = tensor f32[] {3.0}} : f32[]
      %ob = broadcast(%o) {shape = s[4], axes = i[]} : f32[4]
      %a = map(%x, %ob) {fn = "div"} : f32[4]
      output %a)", {"constant", "broadcast", "div"}},
    {"division_by_a_root", R"(
      input %x : f32[2, 4]
      input %v : f32[2]
      %e = map(%v) {fn = "exp"} : f32[2]
      %r = map(%e) {fn = "sqrt"} : f32[2]
      %b = broadcast(%r) {shape = s[2, 4], axes = i[0]} : f32[2, 4]
      %a = map(%x, %b) {fn = "div"} : f32[2, 4]
      output %a)", {"exp", "rsqrt", "broadcast", "mul"}},
    {"squares_multiply", R"(
      input %x : f32[4]
      %o = constant() {value = tensor f32[1] {2.0}} : f32[1]
      %ob = broadcast(%o) {shape = s[4], axes = i[0]} : f32[4]
      %a = map(%x, %ob) {fn = "pow"} : f32[4]
      output %a)", {"mul"}},
    {"scalars_combine", R"(
      input %x : f32[4]
      %o = constant() {value = tensor f32[] {3.0}} : f32[]
      %p = constant() {value = tensor f32[] {5.0}} : f32[]
      %ob = broadcast(%o) {shape = s[4], axes = i[]} : f32[4]
      %pb = broadcast(%p) {shape = s[4], axes = i[]} : f32[4]
      %a = map(%x, %ob) {fn = "mul"} : f32[4]
      %b = map(%pb, %a) {fn = "mul"} : f32[4]
      output %b)", {"constant", "broadcast", "mul"}},
    {"lossless_conversions_merge", R"(
      input %x : f16[4]
      %a = map(%x) {fn = "cast", to = f32} : f32[4]
      %b = map(%a) {fn = "cast", to = f16} : f16[4]
      %c = map(%b) {fn = "exp"} : f16[4]
      output %c)", {"exp"}},
    {"lossy_conversions_stay", R"(
      input %x : f32[4]
      %a = map(%x) {fn = "cast", to = f16} : f16[4]
      %b = map(%a) {fn = "cast", to = f32} : f32[4]
      output %b)", {"cast", "cast"}},
    {"maximum_with_zero_is_relu", R"(
      input %x : f32[4]
      %o = constant() {value = tensor f32[] {0.0}} : f32[]
      %ob = broadcast(%o) {shape = s[4], axes = i[]} : f32[4]
      %a = map(%ob, %x) {fn = "max"} : f32[4]
      output %a)", {"relu"}},
    {"map_of_equal_broadcasts", R"(
      input %x : f32[3]
      input %z : f32[3]
      %a = broadcast(%x) {shape = s[2, 3], axes = i[1]} : f32[2, 3]
      %b = broadcast(%z) {shape = s[2, 3], axes = i[1]} : f32[2, 3]
      %c = map(%a, %b) {fn = "add"} : f32[2, 3]
      output %c)", {"add", "broadcast"}},
    {"map_of_equal_transposes", R"(
      input %x : f32[3, 2]
      input %z : f32[3, 2]
      %a = transpose(%x) {perm = i[1, 0]} : f32[2, 3]
      %b = transpose(%z) {perm = i[1, 0]} : f32[2, 3]
      %c = map(%a, %b) {fn = "add"} : f32[2, 3]
      output %c)", {"add", "transpose"}},
    {"reduce_over_unit_axes", R"(
      input %x : f32[3, 1, 2]
      %a = reduce(%x) {fn = "sum", axes = i[1, 2]} : f32[3]
      output %a)", {"reshape", "reduce"}},
    {"reductions_merge", R"(
      input %x : f32[3, 4, 2]
      %a = reduce(%x) {fn = "max", axes = i[1]} : f32[3, 2]
      %b = reduce(%a) {fn = "max", axes = i[1]} : f32[3]
      output %b)", {"reduce"}},
    {"reduce_moves_before_transpose", R"(
      input %x : f32[3, 4, 2]
      %t = transpose(%x) {perm = i[2, 1, 0]} : f32[2, 4, 3]
      %a = reduce(%t) {fn = "sum", axes = i[1]} : f32[2, 3]
      output %a)", {"reduce", "transpose"}},
};

INSTANTIATE_TEST_SUITE_P(Patterns, Algebra, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(AlgebraNumbers, LargeIntegersKeepTheirBits) {
  const Graph graph = run_and_compare(R"(graph {
    input %x : i64[1]
    %o = constant() {value = tensor i64[] {9223372036854775807}} : i64[]
    %ob = broadcast(%o) {shape = s[1], axes = i[]} : i64[1]
    %a = map(%x, %ob) {fn = "min"} : i64[1]
    output %a
  })", {simplify_algebra});
  EXPECT_EQ(graph.nodes[0].attributes.tensor("value")->get_int64(0), INT64_MAX);
}

}  // namespace
}  // namespace mcc
