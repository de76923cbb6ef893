// Formatting of collected problems.
#include "lib/support/diagnostics.h"

#include "lib/support/error.h"

namespace mcc {

std::string Diagnostics::text() const {
  std::string out = std::to_string(problems_.size()) +
                    (problems_.size() == 1 ? " problem in the model:" : " problems in the model:");
  for (const Problem& problem : problems_) {
    out += "\n  ";
    if (!problem.node.empty()) out += "node '" + problem.node + "': ";
    if (!problem.operation.empty()) out += problem.operation + ": ";
    out += problem.reason;
    if (!problem.advice.empty()) out += " (" + problem.advice + ")";
  }
  return out;
}

void Diagnostics::throw_if_any() const {
  if (!empty()) throw ModelError(text());
}

}  // namespace mcc
