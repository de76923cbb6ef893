// The operator families: each file of this directory exports the rows of one family, and
// lib/ir/op.cpp joins them.
// Invariant: every enumerator of Op has exactly one row in exactly one family.
#pragma once

#include <span>

#include "lib/ir/op.h"

namespace mcc::ops {

std::span<const OpInfo> source_ops();          // constant iota dims random
std::span<const OpInfo> map_ops();             // map
std::span<const OpInfo> view_ops();            // reshape transpose broadcast slice pad concat
std::span<const OpInfo> gather_ops();          // gather gather_elements gather_nd
std::span<const OpInfo> scatter_ops();         // scatter_elements scatter_nd
std::span<const OpInfo> reduce_ops();          // reduce arg_reduce scan
std::span<const OpInfo> window_ops();          // window_reduce
std::span<const OpInfo> contract_ops();        // contract
std::span<const OpInfo> conv_ops();            // conv conv_transpose
std::span<const OpInfo> normalize_ops();       // softmax normalize
std::span<const OpInfo> attention_ops();       // attention
std::span<const OpInfo> sort_ops();            // topk sort
std::span<const OpInfo> data_dependent_ops();  // nonzero unique compress
std::span<const OpInfo> nms_ops();             // nms
std::span<const OpInfo> recurrent_ops();       // recurrent
std::span<const OpInfo> control_ops();         // if_op loop call fused

}  // namespace mcc::ops
