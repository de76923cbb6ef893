// The loop IR: what a schedule builds and what the printers write.
//
// A LoopKernel is a tree of statements over scalar expressions. Index arithmetic uses mcc::Expr
// (canonical, simplified with ranges); values use Scalar DAGs. Both printers (CUDA C++ and host
// C++ with GCC vector extensions) accept the same tree; what differs between targets is the loop
// tags that a schedule chooses.
//
// Invariants: loop variables and generated symbols are unique within a kernel ("i0", "k1", ...);
// no text of the model occurs anywhere; `unroll` loops have constant extents and are expanded
// textually by the printers, so registers indexed by unrolled variables become plain variables.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/ir/dtype.h"
#include "lib/ir/expr.h"

namespace mcc::backend {

struct Scalar;
using ScalarPtr = std::shared_ptr<const Scalar>;

// A condition `expr >= 0`; a guard is a conjunction of them.
using Guard = std::vector<Expr>;

enum class ScalarKind : uint8_t {
  literal,   // `real` (floating types) or `integer`
  index,     // the value of `index` as an i64 (converted to dtype)
  load,      // memory `buffer` at element `index`
  variable,  // the current value of register `memory`; never shared across an assignment to it
  apply,     // scalar function `function` (lib/ir/scalar_function.h) of `operands`; the function
             // "cast" converts operands[0] to dtype; "fma" is a*b+c with one rounding;
             // "dot4" is c + sum of 4 products of packed 8-bit integers (a, b i32 words, c i32)
  guarded,   // guard holds ? operands[0] : operands[1]; the side not taken is never evaluated
};

// One node of a value DAG; shared nodes are computed once per scope by the printers.
struct Scalar {
  ScalarKind kind = ScalarKind::literal;
  DType dtype = DType::f32;  // type of the value; f16/bf16/f8 are storage types only: loads convert
                             // to f32 (`load` has dtype f32 then) and stores convert back
  double real = 0;
  int64_t integer = 0;
  Expr index;
  int buffer = -1;  // load: a parameter (>= 0, index into LoopKernel::buffers) or, with
                    // `memory` set, an allocation
  std::string memory;  // load: name of an Allocate statement ("" = parameter `buffer`)
  std::string function;
  std::vector<ScalarPtr> operands;
  Guard guard;
};

ScalarPtr literal(DType dtype, double value);
ScalarPtr literal_integer(DType dtype, int64_t value);
ScalarPtr index_value(Expr index, DType dtype = DType::i64);
// `storage` is the buffer's element type; the result has the compute type (f32 for 16-bit and
// smaller floats, the same type otherwise).
ScalarPtr load(int buffer, DType storage, Expr index);
ScalarPtr load_memory(std::string memory, DType storage, Expr index);
// Folds constants; result type by the function's rule (boolean results are DType::boolean).
ScalarPtr apply(std::string function, std::vector<ScalarPtr> operands);
ScalarPtr cast_scalar(ScalarPtr value, DType dtype);
ScalarPtr guarded(Guard guard, ScalarPtr value, ScalarPtr otherwise);
// The type values of this storage type are computed in.
DType compute_type(DType storage);

enum class LoopTag : uint8_t {
  serial,
  unroll,     // constant extent, expanded textually
  vector,     // lanes: `lanes` consecutive iterations at a time. Host: vector-extension types;
              // CUDA: unrolled lanes with 8/16-byte accesses where alignment is provable. When the
              // extent is not a multiple of `lanes` the printer adds a scalar tail loop.
  parallel,   // host: outermost; iterations are split over the thread pool: [begin, end)
  grid_x, grid_y, grid_z,     // CUDA blockIdx
  block_x, block_y, block_z,  // CUDA threadIdx; constant extents = block size
};

enum class MemorySpace : uint8_t {
  registers,     // per thread; constant size
  shared,        // CUDA __shared__; constant size
  scratch,       // host: per-thread scratch memory passed by the runtime; constant size
};

struct Stmt;
using StmtPtr = std::shared_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

enum class StmtKind : uint8_t {
  loop,      // for (variable = 0; variable < extent; ++variable) body
  let,       // i64 symbol `variable` = value (data-dependent indices); visible to the rest of the
             // block; `range` is guaranteed by construction (the schedule clamps)
  define,    // a mutable register `name` of dtype starting as `value`
  assign,    // register `name` = value. With `accumulate` set: name = accumulate(name, value)
  store,     // buffer/memory [index] = value; converts to the storage type. With `accumulate` set on
             // a parameter buffer: an atomic read-modify-write ("add" "min" "max")
  condition, // if (guard) body else otherwise
  allocate,  // `name`: `elements` of dtype in `space`
  barrier,   // CUDA __syncthreads(); nothing on the host
  warp_reduce,   // CUDA: register `name` = reduction `function` of it over `lanes` lanes (power of
                 // two, xor shuffle: every lane gets the result); host: not used
  block_reduce,  // CUDA: the same over all threads of the block (1-D blocks), result in all threads;
                 // uses shared memory of its own; contains the barriers that it needs
  lanes_reduce,  // host, outside the vector loop: register `name` (vector-valued, see `define`)
                 // folds to a scalar register `target` by `function`
  comment,       // `name` is printed as a comment line: generated words only
};

struct Stmt {
  StmtKind kind = StmtKind::comment;
  // loop
  std::string variable;
  Expr extent;
  LoopTag tag = LoopTag::serial;
  int lanes = 1;  // vector loops: their width; serial loops: CUDA unrolls by it; define: > 1 makes
                  // a vector register that persists across the iterations of vector loops of the
                  // same width (partial accumulators)
  Block body;
  Block otherwise;
  // let / define / assign / store
  std::string name;
  std::string target;
  DType dtype = DType::f32;
  ScalarPtr value;
  std::string accumulate;
  std::string function;
  int buffer = -1;
  std::string memory;
  Expr index;
  Guard guard;
  // allocate
  int64_t elements = 0;
  MemorySpace space = MemorySpace::registers;
  Range range;
};

// Builders; each returns a fresh statement.
StmtPtr make_loop(std::string variable, Expr extent, LoopTag tag, Block body, int lanes = 1);
StmtPtr make_let(std::string variable, ScalarPtr value, Range range);
StmtPtr make_define(std::string name, ScalarPtr initial, int lanes = 1);
StmtPtr make_assign(std::string name, ScalarPtr value);
StmtPtr make_accumulate(std::string name, std::string function, ScalarPtr value);
StmtPtr make_store(int buffer, DType storage, Expr index, ScalarPtr value);
StmtPtr make_store_memory(std::string memory, DType storage, Expr index, ScalarPtr value);
StmtPtr make_if(Guard guard, Block body, Block otherwise = {});
StmtPtr make_allocate(std::string name, DType dtype, int64_t elements, MemorySpace space);
StmtPtr make_barrier();
StmtPtr make_reduce(StmtKind kind, std::string name, std::string function, int lanes,
                    std::string target = {});
// A register read as a value.
ScalarPtr register_value(std::string name, DType dtype);

// How a constant parameter is stored in the plan (the same for every target).
enum class Packing : uint8_t {
  plain,
  panels,  // logical [K, N] stored as [ceil(N/width)][K][width], zero padded (width = panel_width);
           // with `batch` leading matrices. Convolution weights are first viewed as
           // [K = KH*KW*IC (spatial-major, IC fastest), N = OC] per group.
};

struct KernelBuffer {
  DType dtype = DType::f32;  // storage type
  bool output = false;
  Expr elements;             // of the logical tensor
  Packing packing = Packing::plain;
  int64_t panel_width = 0;
  // panels only: how the constant is viewed: permutation of its axes to [batch..., K..., N...] and
  // how many of the permuted axes are batch and K.
  std::vector<int64_t> permutation;
  int batch_axes = 0;
  int contract_axes = 0;
};

struct LoopKernel {
  std::string name;                   // "k12", given by the compiler
  std::vector<KernelBuffer> buffers;  // parameters: the group's inputs, then its outputs
  std::vector<std::string> dims;      // symbols passed as 64-bit integers, sorted
  Ranges ranges;                      // of dims and of let symbols
  Block body;
  // Indirect indices: symbols that name a data-dependent i64 value. The printers compute one where
  // an index that mentions it is first used. Values are clamped by construction.
  std::map<std::string, ScalarPtr, std::less<>> indirect;

  // Host launch
  Expr parallel = 1;  // extent of the parallel loop (items)
  int64_t grain = 1;  // items that a thread takes at least
  int64_t scratch_bytes = 0;
  // CUDA launch
  Expr grid[3] = {1, 1, 1};
  int block[3] = {1, 1, 1};
  int64_t shared_bytes = 0;
};

}  // namespace mcc::backend
