// How far two tensors are apart.
#pragma once

#include "lib/ir/tensor.h"

namespace mcc::tools {

struct Difference {
  double max_abs = 0;         // largest absolute difference; infinite where one side is NaN or
                              // infinite and the other is not the same
  double relative = 0;        // max_abs / the reference's largest finite magnitude
  int64_t index = -1;         // where max_abs is
  double expected = 0;        // the values there
  double actual = 0;
};

// Both tensors have the same element count.
Difference compare(const Tensor& expected, const Tensor& actual);

// The relative difference accepted for a type: 0 for integers and booleans.
double default_tolerance(DType dtype);

}  // namespace mcc::tools
