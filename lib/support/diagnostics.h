// A collector of problems: a model's faults are gathered and reported together, in one run.
// Invariant: order of reports = order of discovery, so messages are deterministic.
#pragma once

#include <string>
#include <vector>

namespace mcc {

struct Problem {
  std::string node;       // ONNX node name (or "#12" for an unnamed node), "" for the whole model
  std::string operation;  // operator and opset, for example "Einsum (opset 12)"
  std::string reason;     // what is wrong
  std::string advice;     // the way out
};

// Not thread-safe: owned by one import or one compile.
class Diagnostics {
 public:
  void report(Problem problem) { problems_.push_back(std::move(problem)); }
  bool empty() const { return problems_.empty(); }
  const std::vector<Problem>& problems() const { return problems_; }
  // All problems as one readable text, one problem a line group.
  std::string text() const;
  // Throws ModelError(text()) unless empty.
  void throw_if_any() const;

 private:
  std::vector<Problem> problems_;
};

}  // namespace mcc
