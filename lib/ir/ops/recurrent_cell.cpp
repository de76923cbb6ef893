// Activation functions of recurrent layers (ONNX operator specification, LSTM).
#include "lib/ir/ops/recurrent_cell.h"

#include <cmath>
#include <sstream>

namespace mcc::ops {
namespace {

struct Row {
  const char* name;
  double alpha, beta;  // defaults
  double (*apply)(double x, double alpha, double beta);
};

constexpr Row kTable[] = {
    {"sigmoid", 0, 0,
     [](double x, double, double) {
       return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
     }},
    {"tanh", 0, 0, [](double x, double, double) { return std::tanh(x); }},
    {"relu", 0, 0, [](double x, double, double) { return x > 0 ? x : 0; }},
    {"affine", 1, 0, [](double x, double alpha, double beta) { return alpha * x + beta; }},
    {"leakyrelu", 0.01, 0, [](double x, double alpha, double) { return x >= 0 ? x : alpha * x; }},
    {"thresholdedrelu", 1, 0, [](double x, double alpha, double) { return x >= alpha ? x : 0; }},
    {"scaledtanh", 1, 1,
     [](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); }},
    {"hardsigmoid", 0.2, 0.5,
     [](double x, double alpha, double beta) {
       return std::fmin(std::fmax(alpha * x + beta, 0), 1);
     }},
    {"elu", 1, 0,
     [](double x, double alpha, double) { return x >= 0 ? x : alpha * std::expm1(x); }},
    {"softsign", 0, 0, [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    {"softplus", 0, 0,
     [](double x, double, double) {
       return std::log1p(std::exp(-std::fabs(x))) + (x > 0 ? x : 0);
     }},
};

const Row* find_row(const std::string& name) {
  for (const Row& row : kTable) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace

double Activation::operator()(double x) const { return find_row(name)->apply(x, alpha, beta); }

std::vector<Activation> parse_activations(const std::string& text) {
  std::vector<Activation> result;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    std::istringstream parts(item);
    Activation activation;
    std::getline(parts, activation.name, ':');
    const Row* row = find_row(activation.name);
    if (row == nullptr) return {};
    activation.alpha = row->alpha;
    activation.beta = row->beta;
    char colon = 0;
    if (parts >> activation.alpha) {
      if (parts >> colon && (colon != ':' || !(parts >> activation.beta))) return {};
    } else if (item.find(':') != std::string::npos) {
      return {};
    }
    result.push_back(activation);
  }
  return result;
}

}  // namespace mcc::ops
