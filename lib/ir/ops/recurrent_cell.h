// The activations of recurrent layers.
#pragma once

#include <string>
#include <vector>

namespace mcc::ops {

// One activation with its parameters: "sigmoid", "tanh", "relu", "affine", "leakyrelu",
// "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu", "softsign", "softplus".
struct Activation {
  std::string name;
  double alpha = 0;
  double beta = 0;
  double operator()(double x) const;
};

// Parses "sigmoid,tanh,leakyrelu:0.1": names with optional alpha and beta; absent parameters are
// ONNX's defaults. Empty when the text is malformed or names an unknown function.
std::vector<Activation> parse_activations(const std::string& text);

}  // namespace mcc::ops
