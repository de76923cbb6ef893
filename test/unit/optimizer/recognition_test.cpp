// Activations and normalizations in the forms that exporters write.
#include <sstream>

#include "test/unit/optimizer/pass_testing.h"

namespace mcc {
namespace {

// Writes graphs over f32[2, 8] from short lines: "e = div x 1.4142" (numbers are repeated scalars).
std::string graph_text(const std::string& lines) {
  std::string out = "graph {\n  input %x : f32[2, 8]\n  input %z : f32[2, 8]\n";
  std::istringstream stream(lines);
  std::string line, last;
  int number = 0;
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    std::string name, equals, function, operand, operands;
    if (!(words >> name >> equals >> function)) continue;
    while (words >> operand) {
      if (std::isdigit(static_cast<unsigned char>(operand[0])) != 0 || operand[0] == '-') {
        const std::string id = "c" + std::to_string(number++);
        out += "  %" + id + " = constant() {value = tensor f32[] {" + operand + "}} : f32[]\n";
        out += "  %b" + id + " = broadcast(%" + id + ") {shape = s[2, 8], axes = i[]} : f32[2, 8]\n";
        operand = "b" + id;
      }
      operands += (operands.empty() ? "%" : ", %") + operand;
    }
    out += "  %" + name + " = map(" + operands + ") {fn = \"" + function + "\"} : f32[2, 8]\n";
    last = name;
  }
  return out + "  output %" + last + "\n}";
}

struct Case {
  const char* name;
  const char* lines;
  Names expected;
};

class Activation : public testing::TestWithParam<Case> {};

TEST_P(Activation, IsRecognized) {
  const Graph graph = run_and_compare(graph_text(GetParam().lines),
                                      {eliminate_common_subexpressions, simplify_algebra, recognize_activations});
  EXPECT_EQ(operators(graph), GetParam().expected);
}

const Case kActivations[] = {
    {"gelu_torch", "a = div x 1.4142135\n b = erf a\n c = add b 1\n d = mul x c\n e = mul d 0.5", {"gelu"}},
    {"gelu_half_first", "a = mul x 0.70710678\n b = erf a\n c = add 1 b\n d = mul 0.5 x\n e = mul d c", {"gelu"}},
    {"gelu_half_gate", "a = mul x 0.70710678\n b = erf a\n c = add 1 b\n d = mul 0.5 c\n e = mul d x", {"gelu"}},
    {"gelu_halved_by_division", "a = mul x 0.70710678\n b = erf a\n c = add 1 b\n d = mul c x\n e = div d 2", {"gelu"}},
    {"gelu_of_a_product", "p = mul x z\n a = div p 1.4142135\n b = erf a\n c = add b 1\n d = mul p c\n e = mul d 0.5", {"mul", "gelu"}},
    {"gelu_times_a_value", "a = div x 1.4142135\n b = erf a\n c = add b 1\n d = mul x c\n e = mul d 0.5\n f = mul e z", {"gelu", "mul"}},
    {"not_gelu_without_half", "a = div x 1.4142135\n b = erf a\n c = add b 1\n d = mul x c", {"constant", "broadcast", "div", "erf", "constant", "broadcast", "add", "mul"}},
    {"not_gelu_of_another_value", "a = mul z 0.70710678\n b = erf a\n c = add b 1\n d = mul x c\n e = mul d 0.5", {"constant", "broadcast", "mul", "erf", "constant", "broadcast", "add", "mul", "constant", "broadcast", "mul"}},
    {"gelu_tanh_power", "a = pow x 3\n b = mul 0.044715 a\n c = add x b\n d = mul 0.7978845608 c\n e = tanh d\n f = add 1 e\n g = mul 0.5 x\n h = mul g f", {"gelu_tanh"}},
    {"gelu_tanh_factored", "a = mul x x\n b = mul a 0.044715\n c = add b 1\n d = mul x c\n e = mul d 0.7978845608\n f = tanh e\n g = add f 1\n h = mul x g\n i = mul h 0.5", {"gelu_tanh"}},
    {"gelu_tanh_scaled_first", "a = mul x 0.7978845608\n b = mul x x\n c = mul b 0.044715\n d = add c 1\n e = mul a d\n f = tanh e\n g = add f 1\n h = mul x 0.5\n i = mul h g", {"gelu_tanh"}},
    {"silu", "a = sigmoid x\n b = mul x a", {"silu"}},
    {"silu_by_division", "a = neg x\n b = exp a\n c = add b 1\n d = div x c", {"silu"}},
    {"sigmoid_expanded", "a = neg x\n b = exp a\n c = add 1 b\n d = reciprocal c", {"sigmoid"}},
    {"silu_expanded", "a = neg x\n b = exp a\n c = add 1 b\n d = div 1 c\n e = mul d x", {"silu"}},
    {"quick_gelu_stays", "a = mul x 1.702\n b = sigmoid a\n c = mul x b", {"constant", "broadcast", "mul", "sigmoid", "mul"}},
    {"softplus", "a = exp x\n b = add a 1\n c = log b", {"softplus"}},
    {"mish", "a = softplus x\n b = tanh a\n c = mul b x", {"mish"}},
};

INSTANTIATE_TEST_SUITE_P(Forms, Activation, testing::ValuesIn(kActivations),
                         [](const auto& test) { return test.param.name; });

// mean over the last axis of %from, repeated: %name.
std::string mean_text(const std::string& from, const std::string& name, const std::string& factor,
                      bool keeps_dims) {
  std::string text = "  %" + name + "s = reduce(%" + from + ") {fn = \"sum\", axes = i[1]} : f32[2]\n" +
                     "  %" + name + "c = constant() {value = tensor f32[] {" + factor + "}} : f32[]\n" +
                     "  %" + name + "f = broadcast(%" + name + "c) {shape = s[2], axes = i[]} : f32[2]\n" +
                     "  %" + name + "m = map(%" + name + "s, %" + name + "f) {fn = \"mul\"} : f32[2]\n";
  if (keeps_dims) text += "  %" + name + " = reshape(%" + name + "m) {shape = s[2, 1]} : f32[2, 1]\n";
  return text;
}

constexpr const char* kEpsilon =
    "  %ec = constant() {value = tensor f32[] {0.001}} : f32[]\n"
    "  %e = broadcast(%ec) {shape = s[2, 1], axes = i[]} : f32[2, 1]\n";

std::string layer_text(const std::string& factor, const std::string& last) {
  return "graph {\n  input %x : f32[2, 8]\n" + mean_text("x", "a", factor, true) +
         "  %ab = broadcast(%a) {shape = s[2, 8], axes = i[0, 1]} : f32[2, 8]\n"
         "  %d = map(%x, %ab) {fn = \"sub\"} : f32[2, 8]\n"
         "  %q = map(%d, %d) {fn = \"mul\"} : f32[2, 8]\n" +
         mean_text("q", "v", factor, true) + kEpsilon +
         "  %w = map(%v, %e) {fn = \"add\"} : f32[2, 1]\n"
         "  %r = map(%w) {fn = \"sqrt\"} : f32[2, 1]\n"
         "  %rb = broadcast(%r) {shape = s[2, 8], axes = i[0, 1]} : f32[2, 8]\n" + last +
         "  output %y\n}";
}

const std::vector<PassFunction> kRecognition{simplify_algebra, recognize_normalization};

TEST(Normalization, LayerFromItsParts) {
  const Graph graph = run_and_compare(
      layer_text("0.125", "  %y = map(%d, %rb) {fn = \"div\"} : f32[2, 8]\n"), kRecognition);
  ASSERT_EQ(operators(graph), (Names{"normalize"}));
  EXPECT_EQ(graph.nodes[0].attributes.text("kind"), "layer");
  EXPECT_NEAR(graph.nodes[0].attributes.real("epsilon"), 0.001, 1e-9);
}

TEST(Normalization, AnotherDivisorIsNoMean) {
  const Graph graph = run_and_compare(
      layer_text("0.2", "  %y = map(%d, %rb) {fn = \"div\"} : f32[2, 8]\n"), kRecognition);
  for (const std::string& name : operators(graph)) EXPECT_NE(name, "normalize");
}

TEST(Normalization, RmsFromItsParts) {
  const Graph graph = run_and_compare(
      "graph {\n  input %x : f32[2, 8]\n  %q = map(%x, %x) {fn = \"mul\"} : f32[2, 8]\n" +
          mean_text("q", "v", "0.125", true) + kEpsilon +
          "  %w = map(%v, %e) {fn = \"add\"} : f32[2, 1]\n"
          "  %r = map(%w) {fn = \"sqrt\"} : f32[2, 1]\n"
          "  %i = map(%r) {fn = \"reciprocal\"} : f32[2, 1]\n"
          "  %rb = broadcast(%i) {shape = s[2, 8], axes = i[0, 1]} : f32[2, 8]\n"
          "  %y = map(%x, %rb) {fn = \"mul\"} : f32[2, 8]\n  output %y\n}", kRecognition);
  ASSERT_EQ(operators(graph), (Names{"normalize"}));
  EXPECT_EQ(graph.nodes[0].attributes.text("kind"), "rms");
}

TEST(Normalization, StatisticOfAnotherAxisStays) {
  // A square matrix: the shapes alone cannot tell rows from columns.
  const Graph graph = run_and_compare(R"(graph {
    input %x : f32[4, 4]
    %q = map(%x, %x) {fn = "mul"} : f32[4, 4]
    %s = reduce(%q) {fn = "sum", axes = i[1]} : f32[4]
    %c = constant() {value = tensor f32[] {0.25}} : f32[]
    %f = broadcast(%c) {shape = s[4], axes = i[]} : f32[4]
    %m = map(%s, %f) {fn = "mul"} : f32[4]
    %w = map(%m, %f) {fn = "add"} : f32[4]
    %r = map(%w) {fn = "rsqrt"} : f32[4]
    %b = broadcast(%r) {shape = s[4, 4], axes = i[1]} : f32[4, 4]
    %y = map(%x, %b) {fn = "mul"} : f32[4, 4]
    output %y
  })", kRecognition);
  for (const std::string& name : operators(graph)) EXPECT_NE(name, "normalize");
}

TEST(Normalization, SoftmaxFromItsParts) {
  const Graph graph = run_and_compare(R"(graph {
    input %x : f32[3, 5]
    %m = reduce(%x) {fn = "max", axes = i[1]} : f32[3]
    %mb = broadcast(%m) {shape = s[3, 5], axes = i[0]} : f32[3, 5]
    %d = map(%x, %mb) {fn = "sub"} : f32[3, 5]
    %e = map(%d) {fn = "exp"} : f32[3, 5]
    %s = reduce(%e) {fn = "sum", axes = i[1]} : f32[3]
    %sb = broadcast(%s) {shape = s[3, 5], axes = i[0]} : f32[3, 5]
    %y = map(%e, %sb) {fn = "div"} : f32[3, 5]
    output %y
  })", kRecognition);
  EXPECT_EQ(operators(graph), (Names{"softmax"}));
}

}  // namespace
}  // namespace mcc
