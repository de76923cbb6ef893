// Bulk access to tensor elements: converting loads and stores, and copies that keep the bits.
//
// Invariants: loads are exact for double (except 64-bit integers beyond 2^53); stores of doubles
// into floating types round to nearest even (8- and 4-bit ones saturate unless told otherwise);
// doubles into integers truncate and wrap, as a C cast of an in-range value does; integers into
// integers wrap. bool stores 1 for everything but 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/ir/tensor.h"

namespace mcc {

// Elements [first, first + out.size()). u64 values come as their bit pattern in int64_t.
void load_elements(const Tensor& tensor, int64_t first, std::span<double> out);
void load_elements(const Tensor& tensor, int64_t first, std::span<int64_t> out);
void store_elements(Tensor& tensor, int64_t first, std::span<const double> values,
                    bool saturate = true);
void store_elements(Tensor& tensor, int64_t first, std::span<const int64_t> values);

// All elements.
std::vector<double> all_doubles(const Tensor& tensor);
std::vector<int64_t> all_integers(const Tensor& tensor);

// Copies `count` elements of equal dtype, strings and packed types included.
void copy_elements(const Tensor& from, int64_t from_first, Tensor& to, int64_t to_first,
                   int64_t count);

// The double that truncates towards zero into int64_t; NaN gives 0, overflow saturates.
int64_t truncate_to_integer(double value);

// Row-major strides in elements.
std::vector<int64_t> strides_of(const std::vector<int64_t>& shape);
int64_t count_of(const std::vector<int64_t>& shape);

// Offsets sum(index[a] * strides[axes[a]]) of all indices over the sizes shape[axes[a]], row-major
// in the order of `axes`. Strided access to any subset of axes becomes a table look-up.
std::vector<int64_t> axis_offsets(const std::vector<int64_t>& shape,
                                  const std::vector<int64_t>& strides,
                                  const std::vector<int64_t>& axes);

}  // namespace mcc
