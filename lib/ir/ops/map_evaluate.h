// Evaluation of map.
#pragma once

#include "lib/ir/op.h"

namespace mcc::ops {

void evaluate_map(const Node& node, const EvaluationContext& context,
                  std::span<const Tensor> inputs, std::span<Tensor> outputs);

// Texts of numbers as ONNX Cast writes and reads them: the shortest decimal that reads back
// ("1.0", "1e-05", "inf", "nan").
std::string number_text(double value, bool is_float32);
double text_number(const Node& node, const std::string& text);

}  // namespace mcc::ops
