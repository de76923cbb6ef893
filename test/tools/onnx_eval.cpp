// onnx_eval: imports ONNX models and runs them with the reference evaluator.
//
//   onnx_eval                      reads jobs from stdin, one a line: MODEL INPUTS.npz OUTPUTS.npz
//                                  and answers each with one line: "ok" or "error: ..."
//   onnx_eval --print MODEL        prints the imported graph as IR text
// Arrays are named after the model's inputs and outputs. Paths contain no spaces.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "lib/frontend/import.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/text.h"
#include "lib/support/error.h"
#include "tools/io/npy.h"

namespace {

using namespace mcc;

void run_job(const std::string& model, const std::string& inputs, const std::string& outputs) {
  Diagnostics diagnostics;
  const Graph graph = import_model(model, {}, diagnostics);
  std::vector<tools::NamedArray> arrays = tools::read_npz(inputs);
  std::vector<Tensor> arguments;
  for (ValueId id : graph.inputs) {
    const std::string& name = graph.values[static_cast<size_t>(id)].name;
    bool found = false;
    for (auto& [array_name, array] : arrays) {
      if (array_name != name || found) continue;
      arguments.push_back(tools::to_tensor(array, graph.dtype(id), name));
      found = true;
    }
    if (!found) throw UsageError("no array for input '" + name + "'");
  }
  const std::vector<Tensor> results = evaluate(graph, arguments);
  std::vector<tools::NamedTensor> named;
  for (size_t i = 0; i < results.size(); ++i) named.emplace_back(graph.output_names[i], results[i]);
  tools::write_npz(outputs, named);
}

std::string one_line(std::string text) {
  for (char& c : text) c = c == '\n' ? '|' : c;
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::string(argv[1]) == "--print") {
      mcc::Diagnostics diagnostics;
      std::cout << mcc::print_graph(mcc::import_model(argv[2], {}, diagnostics));
      return 0;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string model, inputs, outputs;
    words >> model >> inputs >> outputs;
    try {
      run_job(model, inputs, outputs);
      std::cout << "ok" << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error: " << one_line(error.what()) << std::endl;
    }
  }
  return 0;
}
