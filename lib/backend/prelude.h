// The preludes that generated sources start with: definitions of the functions which the
// scalar-function table (lib/ir/scalar_function.h) names.
#pragma once

#include <string>

namespace mcc::backend {

// CUDA C++ for NVRTC, header-free.
std::string cuda_prelude();
// C++ for g++ and clang++ with vector extensions, header-free; its files state the compiler flags
// that it needs.
std::string host_prelude();

}  // namespace mcc::backend
