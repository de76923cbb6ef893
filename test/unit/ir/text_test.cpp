// The text form: without loss in both directions, and one kind of error for every malformed text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "lib/ir/evaluate.h"
#include "lib/ir/op.h"
#include "lib/ir/text.h"
#include "lib/support/error.h"

namespace mcc {
namespace {

const char* kEverything = R"(graph "name with \"quotes\" and \\ and \x0a" {
  symbol s0 "batch" [1, 64] = dim(0, 0)
  symbol s1 "half" [0, inf] = expr(floordiv(s0 + 1, 2))
  symbol s2 "count" [0, inf] = element(%none, 0)
  symbol s3 "length" [1, 100] = element(%1, 0)
  input %0 : f32[s0, 3] "pixels"
  input %1 : i64[1] "length"
  %2 = constant() {value = tensor f32[4] {1.0, -2.5, inf, nan}} : f32[4] "weights" from ["a", "b\"c"]
  %3 = constant() {value = tensor bool[2] {1, 0}} : bool[2]
  %4 = constant() {value = tensor u64[1] {18446744073709551615}} : u64[1]
  %5 = constant() {value = tensor i4[3] {-8, 7, 0}} : i4[3]
  %6 = constant() {value = tensor string[2] {"x\"y", ""}} : string[2]
  %7 = constant() {value = tensor c64[1] {1.5, -0.0}} : c64[1]
  %8 = nonzero(%0) {count = s[s2]} : i64[2, s2]
  %9 = iota() {axis = 0, dtype = f32, shape = s[s3, 2*s0 + s1]} : f32[s3, s1 + 2*s0]
  %10, %11 = topk(%0) {axis = 1, k = s[2], largest = 1, sorted = 1} : f32[s0, 2] "top", i64[s0, 2]
  %12 = normalize(%0) {axes = i[1], epsilon = 1e-05, kind = "rms"} : f32[s0, 3]
  %13 = constant() {value = tensor bool[] {1}} : bool[]
  %14 = if(%13, %0) : f32[s0, 3] {
    graph "then" {
      input %0 : f32[s0, 3]
      %1 = map(%0) {fn = "exp"} : f32[s0, 3]
      output %1
    }
    graph "" {
      input %0 : f32[s0, 3]
      output %0
    }
  }
  output %14 "logits"
  output %10
  output %14 "again"
}
)";

std::string normal(const std::string& text) {
  PrintOptions options;
  options.full = true;
  return print_graph(parse_graph(text), options);
}

TEST(Text, PrintingAndParsingAgree) {
  const std::string once = normal(kEverything);
  EXPECT_EQ(normal(once), once);
  for (const char* part : {"\"name with \\\"quotes\\\"", "18446744073709551615", "-8, 7, 0", "\"x\\\"y\", \"\"",
                           "1.5, -0.0", "element(%none, 0)", "expr(floordiv(s0 + 1, 2))", "from [\"a\", \"b\\\"c\"]",
                           "inf, nan", "1e-05", "\"again\""}) {
    EXPECT_NE(once.find(part), std::string::npos) << part;
  }
}

// Every bit pattern of the small types, and random ones of the large, survive.
TEST(Text, ElementsKeepTheirBits) {
  std::mt19937_64 random(3);
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3fn, DType::f8e5m2,
                      DType::f4e2m1, DType::i64, DType::i8, DType::u16, DType::u2}) {
    auto tensor = std::make_shared<Tensor>(dtype, std::vector<int64_t>{512});
    for (size_t i = 0; i < tensor->bytes(); ++i) tensor->mutable_data()[i] = static_cast<std::byte>(random());
    for (int64_t i = 0; i < 512; ++i) {
      // The payload of a NaN has no text.
      if (is_floating(dtype) && std::isnan(tensor->get_double(i))) tensor->set_double(i, 1.0);
    }
    Graph graph;
    Attributes attributes;
    attributes.set("value", TensorPtr(tensor));
    graph.add_output(graph.append_one(Op::constant, {}, attributes));
    PrintOptions options;
    options.full = true;
    const Graph again = parse_graph(print_graph(graph, options));
    const Tensor& read = *again.nodes[0].attributes.tensor("value");
    ASSERT_EQ(read.bytes(), tensor->bytes());
    EXPECT_EQ(std::memcmp(read.data(), tensor->data(), read.bytes()), 0) << dtype_info(dtype).name;
  }
}

TEST(Text, LargeTensorsPrintAsHashesThatDoNotParse) {
  Graph graph;
  Attributes attributes;
  attributes.set("value", std::make_shared<const Tensor>(DType::f32, std::vector<int64_t>{1000}));
  graph.add_output(graph.append_one(Op::constant, {}, attributes));
  const std::string text = print_graph(graph);
  EXPECT_NE(text.find('#'), std::string::npos);
  EXPECT_THROW(parse_graph(text), ModelError);
}

TEST(Text, ErrorsSayWhere) {
  try {
    parse_graph("graph {\n  input %x : f32[2]\n  %y = map(%z) {fn = \"exp\"} : f32[2]\n}");
    FAIL() << "an undefined value was accepted";
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
  }
}

TEST(Text, MalformedTextsAreModelErrors) {
  for (const char* text :
       {"", "graph", "graph {", "graph {} x", "graph { output %1 }", "graph { input %x : f33[2] }",
        "graph { input %x : f32[-] }", "graph { %x = nothing() : f32[] }",
        "graph { %x = constant() {value = tensor f32[2] {1.0}} : f32[2] }",
        "graph { %x = constant() {value = tensor f32[1] {1.0, 2.0}} : f32[1] }",
        "graph { %x = constant() {value = tensor f32[99999999999] {}} : f32[99999999999] }",
        "graph { input %x : f32[2] input %x : f32[2] }",
        "graph { input %x : f32[2] %y = map(%x) {fn = \"exp\"} : f32[3] output %y }",
        "graph { input %x : f32[s9] }", "graph { input %x : f32[2] \"open }"}) {
    EXPECT_THROW(parse_graph(text), ModelError) << text;
  }
}

// Damaged texts end in a ModelError or in a graph, never in anything else.
TEST(Text, DamageIsNeverFatal) {
  std::mt19937 random(11);
  const std::string original = normal(kEverything);
  const std::string letters = "%{}[]()\",:=-0s9x \n";
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = original;
    for (uint32_t edit = 0; edit < 1 + random() % 3; ++edit) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text.erase(at, 1 + random() % 20); break;
        case 1: text.insert(at, 1, letters[random() % letters.size()]); break;
        default: text[at] = letters[random() % letters.size()]; break;
      }
    }
    try {
      parse_graph(text);
      ++accepted;
    } catch (const ModelError&) {
    }
  }
  EXPECT_LT(accepted, 3000);
}

TEST(Text, DeepNestingIsRefused) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "graph { %y = call() : f32[] { ";
  EXPECT_THROW(parse_graph(text), ModelError);
}

}  // namespace
}  // namespace mcc
