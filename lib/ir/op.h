// The closed set of IR operators and the table that gives each its meaning.
//
// Invariant: one row per operator, defined in lib/ir/ops/<family>.cpp together with its inference
// and its evaluation; nothing else switches over operators for shapes or values. Layers ask for
// traits instead of listing operators.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc {

// Semantics in short (attributes in braces; shapes are explicit, there is no implicit broadcast).
// S(...) marks attributes of type Shape (symbolic), I(...) Ints.
enum class Op : uint8_t {
  // -- sources
  constant,   // {value: TensorPtr} -> that tensor
  iota,       // {shape: S, axis: int, dtype} -> the index along axis
  dims,       // {values: S} -> i64 vector holding the values of the expressions
  random,     // {shape: S, dtype, distribution: "uniform"|"normal"|"bernoulli", low, high | mean,
              //  scale: doubles, seed: int} (inputs: none, or for bernoulli the probabilities, of
              //  the output's shape). Element i depends on seed and i only: lib/ir/philox.h
  // -- elementwise: all inputs have the same shape, which is the output's
  map,        // {fn: text} (cast also: {to: dtype}); functions are rows of lib/ir/scalar_function.h
  // -- views: the output's elements are inputs' elements, re-indexed
  reshape,    // {shape: S} same element count
  transpose,  // {perm: I} output axis i = input axis perm[i]
  broadcast,  // {shape: S, axes: I} input axis i is output axis axes[i] (increasing); input dims
              //  are equal to the output's or 1
  slice,      // {starts: S, shape: S, steps: I} out[i] = in[start + i*step]; steps may be negative
  pad,        // {low: S, high: S, mode: "constant"|"edge"|"reflect"|"wrap"} inputs: x, and for
              //  constant a rank-0 fill value of x's dtype; negative amounts crop
  concat,     // {axis: int} any number of inputs >= 1
  // -- indexed
  gather,          // {axis: int} (data, indices i32/i64): numpy.take; negative indices count from
                   //  the end; out-of-range ones are clamped on devices, an error in the evaluator
  gather_elements, // {axis: int} (data, indices)
  gather_nd,       // {batch_dims: int} (data, indices[..., k])
  scatter_elements, // {axis: int, reduction: "none"|"add"|"mul"|"min"|"max"} (data, indices,
                    //  updates)
  scatter_nd,      // {reduction} (data, indices[..., k], updates)
  // -- reductions
  reduce,        // {fn: "sum"|"prod"|"min"|"max"|"any"|"all", axes: I sorted} drops the axes
  arg_reduce,    // {fn: "min"|"max", axis: int, select_last: int} -> i64, drops the axis
  window_reduce, // {fn: "sum"|"max"|"min"|"arg_max", axes: I, window: I, strides: I, pads_low: S,
                 //  pads_high: S, dilations: I} windows slide over `axes` of any layout; padding is neutral;
                 //  out dim = floor((in + low + high - dilation*(window-1) - 1) / stride) + 1;
                 //  arg_max -> i64: row-major index of the first largest element over the input's
                 //  `axes` only (the caller adds the offset of the other axes)
  scan,          // {fn: "sum"|"prod"|"max"|"min", axis: int, exclusive: int, reverse: int}
  // -- contractions (accumulate in f32 for f16/bf16/f8/f32, f64 for f64, i32 for 8-bit and smaller
  //    integers, whose signs may be mixed, else the input type); {out: dtype, optional: the
  //    accumulator's type for 8-bit integers, else the inputs'} is the output's type
  contract,  // {lhs_batch: I, rhs_batch: I, lhs_contract: I, rhs_contract: I, out}
             //  output axes: batch dims (lhs order), lhs free axes, rhs free axes
  conv,      // {layout: "nchw"|"nhwc", strides: I, pads_low: S, pads_high: S, dilations: I,
             //  groups: int, out} (x, w): w is always [OC, IC/groups, spatial...]; any number of
             //  spatial axes; x and the output are N,C,spatial... or N,spatial...,C
  conv_transpose,  // {layout, strides, pads_low: S, pads_high: S, dilations, groups,
                   //  output_padding: I, out} (x, w[IC, OC/groups, spatial...])
  // -- kept whole until scheduling
  softmax,    // {axis: int}
  normalize,  // {axes: I sorted, epsilon: double, kind: "layer"|"rms"} (x - mean) / sqrt(var +
              //  eps), or x / sqrt(mean(x^2) + eps); no scale, no bias; statistics in f32 (f64 for
              //  f64)
  attention,  // {scale: double, causal: 0 none, 1 query i sees keys j <= i, 2 keys
              //  j <= i + Sk - Sq} (q[B,H,Sq,D], k[B,H,Sk,D], v[B,H,Sk,Dv], optional
              //  additive mask broadcast to [B,H,Sq,Sk])
  // -- ordering and data-dependent ones
  topk,       // {axis: int, k: S of one entry, largest: int, sorted: int} -> values, i64 indices
  sort,       // {axis: int, descending: int, stable} -> values, i64 indices
  // {count: S of one entry} is the number of results: a symbol that gets its value when the
  // operator runs, or one known earlier (then the results must be that many).
  nonzero,    // {count} -> i64 [rank, count], row-major order
  unique,     // {axis: int or -1 flattened, sorted: int, count} -> values, i64 first occurrences
              //  [count], i64 inverse [elements or slices], i64 multiplicities [count], i64 number
              //  of values [1] (the source of a count symbol for devices)
  compress,   // {axis: int or -1 flattened, count} (x, condition: bool vector)
  nms,        // {center_point_box: int, count} (boxes[B,N,4], scores[B,C,N], max boxes per class,
              //  iou threshold, score threshold) -> i64 (batch, class, box) [count, 3], i64 number
              //  of rows [1]
  recurrent,  // {cell: "lstm"|"gru"|"rnn", direction: "forward"|"reverse"|"bidirectional",
              //  activations: text, comma-separated functions of one direction after the other
              //  ("sigmoid,tanh,tanh"; "affine:alpha:beta" carries parameters), clip: double (0:
              //  none), linear_before_reset: int, input_forget: int}
              //  (x[T,B,I], w[dirs,G*H,I], r[dirs,G*H,H], b[dirs,2*G*H], lengths[B] i32/i64,
              //  h0[dirs,B,H]; lstm also c0[dirs,B,H], peepholes[dirs,3*H]) -> y[T,dirs,B,H],
              //  h[dirs,B,H], lstm also c; ONNX's gate orders (lstm iofc, gru zrh). All inputs are
              //  present: an importer writes zeros and full lengths for absent ones
  // -- control: subgraphs take explicit inputs. An output whose shape the body's own types cannot
  //    give (branches that differ, growing carried values) has {out_shape<number>: S}
  if_op,    // (cond, captured...) two subgraphs over the captured values
  loop,     // {carried: int, count: S of one entry when there are scan outputs: their length}
            // (trip count, cond, carried..., captured...) one subgraph (iteration i64, cond,
            // carried..., captured...) -> (cond, carried..., scan outputs...); the node's outputs
            // are the final carried values and the stacked scan outputs
  call,     // one subgraph, inlined before scheduling
  fused,    // {schedule: text} one subgraph: the nodes that one kernel computes
};

struct EvaluationContext;  // lib/ir/evaluate.h

// What a layer may assume about an operator without naming it.
enum Trait : uint32_t {
  kElementwise = 1u << 0,   // one output element from the same element of every input
  kView = 1u << 1,          // re-indexes: no arithmetic
  kSource = 1u << 2,        // no tensor inputs needed
  kReduction = 1u << 3,     // folds over axes
  kContraction = 1u << 4,   // contract, conv
  kControl = 1u << 5,       // has subgraphs
  kDataDependent = 1u << 6, // output shape depends on input values
  kIndexed = 1u << 7,       // each output element is one element of input 0 at indices that other
                            // inputs hold (gather family): can be read through like a view
};

// Inference reads input types and attributes and returns the output types; throws ModelError with
// a sentence that says what does not fit.
using InferFunction = std::vector<TensorType> (*)(const Node& node,
                                                  const std::vector<TensorType>& inputs);
// Evaluation computes outputs (already allocated with concrete shapes) from inputs.
using EvaluateFunction = void (*)(const Node& node, const EvaluationContext& context,
                                  std::span<const Tensor> inputs, std::span<Tensor> outputs);

struct OpInfo {
  Op op{};
  std::string_view name;  // in the text form
  int min_inputs = 0;
  int max_inputs = 0;  // -1: any number
  int outputs = 1;     // -1: as many as inference returns (control, recurrent)
  uint32_t traits = 0;
  InferFunction infer = nullptr;
  EvaluateFunction evaluate = nullptr;
};

const OpInfo& op_info(Op op);
const OpInfo* find_op(std::string_view name);
inline bool has_trait(Op op, uint32_t trait) { return (op_info(op).traits & trait) != 0; }
std::span<const OpInfo> all_ops();

// Each family file exports its rows; lib/ir/op.cpp joins them in one explicit list.

}  // namespace mcc
