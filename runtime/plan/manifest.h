// The manifest of a plan: what the JSON section holds, as structures. The compiler fills one in
// and writes it (manifest_json.h); the runtime parses it and checks it (manifest_check.h).
//
// Indices are positions in the vectors below; -1 means none. Everything that a kernel needs at
// launch is here, so one program serves every device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/include/mcc.h"
#include "runtime/plan/expression.h"

namespace mcc::runtime {

// Bounds of symbols without an upper limit.
constexpr int64_t kUnboundedSymbol = int64_t{1} << 62;

struct SymbolSource {
  enum class Kind : uint8_t { input_dim, buffer, expression };
  Kind kind = Kind::input_dim;
  int input = -1;         // input_dim: signature input and
  int axis = 0;           //            its axis
  int buffer = -1;        // buffer: an integer buffer (i64 or i32) and
  int64_t element = 0;    //         its element, read once the buffer has been written
  Expression expression;  // expression: over earlier symbols
};

struct SymbolInfo {
  std::string name;   // generated ("s0")
  std::string label;  // the model's name for it ("batch"), for messages
  int64_t minimum = 1;
  int64_t maximum = kUnboundedSymbol;
  SymbolSource source;
};

// One input or output of the model. Dense, row-major.
struct TensorInfo {
  std::string name;
  mcc_dtype dtype = MCC_F32;
  std::vector<Expression> shape;
};

enum class BufferKind : uint8_t {
  input,   // signature input `index`; never written
  output,  // signature output `index`
  weight,  // `offset` bytes into the weights section; never written; constant size
  arena,   // activation memory: `offset` when the arena is static, else planned at bind time
  alias,   // `offset` bytes into buffer `of` (a view that needs no copy); `of` is no alias itself
};

struct BufferInfo {
  BufferKind kind = BufferKind::arena;
  mcc_dtype dtype = MCC_F32;
  Expression bytes;  // exact size; 0 is allowed
  int index = -1;
  int64_t offset = -1;
  int of = -1;
  // arena: the first and the last program instruction that use it; filled in by
  // derive_lifetimes() and stored so that readers of the file see them.
  int first = -1;
  int last = -1;
  // arena: buffer that this one may overwrite in place: that one is last used by the instruction
  // that writes this one, and equal elements correspond.
  int inplace_of = -1;
  std::string origin;             // the model's tensor name; may be empty
  std::vector<Expression> shape;  // for reports and verification; may be empty (rank 0 or unknown)
};

struct ArenaInfo {
  bool is_static = true;
  // Of the planned arena and, for comparison, the largest sum of live bytes and the sum of all
  // buffers. Constants when static; 0 when dynamic (the runtime computes them when bound).
  int64_t bytes = 0;
  int64_t lower_bound_bytes = 0;
  int64_t sum_bytes = 0;
};

enum class InstructionKind : uint8_t { launch, copy };

struct Instruction {
  InstructionKind kind = InstructionKind::launch;
  int kernel = -1;               // launch
  std::vector<int> buffers;      // launch: the kernel's parameters: inputs, then outputs
  std::vector<Expression> dims;  // launch: 64-bit integer parameters, in the kernel's order
  int from = -1;                 // copy: whole buffers of equal size
  int to = -1;
};

struct HostLaunch {
  Expression parallel = 1;    // items of the parallel loop; 0 launches nothing
  int64_t grain = 1;          // items that one thread takes at least
  int64_t scratch_bytes = 0;  // per thread
};

struct CudaLaunch {
  Expression grid[3] = {1, 1, 1};  // a 0 launches nothing
  int block[3] = {1, 1, 1};
  int64_t shared_bytes = 0;  // dynamic shared memory
};

struct KernelInfo {
  std::string name;                 // the symbol in every image: "k0"
  std::vector<std::string> origin;  // ONNX node names
  std::string kernel_class;         // "conv", "pointwise"... for reports
  int outputs = 1;                  // how many of a launch's last buffers it writes
  std::optional<HostLaunch> host;
  std::optional<CudaLaunch> cuda;
};

enum class TargetKind : uint8_t { host, cubin, ptx };

// What the compiler of one target reported about a kernel; -1 = not known.
struct KernelResources {
  std::string name;
  int image = 0;  // which of the target's sections holds it
  int64_t registers = -1;
  int64_t spill_bytes = -1;
  int64_t shared_bytes = -1;
};

struct TargetInfo {
  std::string name;  // "sm_80", "compute_80", "x86-64-v4"
  TargetKind kind = TargetKind::host;
  std::vector<uint32_t> sections;  // ids of its image sections, at least one
  std::string isa;                // host: "x86-64-v3" or "x86-64-v4"
  int compute_capability = 0;     // cubin, ptx: 80 for sm_80
  bool exact_architecture = false;  // cubin for an `a` target: runs on exactly that architecture
  bool family_architecture = false; // cubin for an `f` target: same family only
  int minimum_driver = 0;         // smallest cuDriverGetVersion, e.g. 13000
  std::vector<KernelResources> kernels;  // one per manifest kernel, in the same order
};

struct Manifest {
  std::string producer;    // "mcc 0.1.0"
  std::string model_name;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<SymbolInfo> symbols;
  std::vector<BufferInfo> buffers;
  ArenaInfo arena;
  std::vector<Instruction> program;
  std::vector<KernelInfo> kernels;
  std::vector<TargetInfo> targets;
  // Free-form JSON objects, kept as text: versions of compilers, options of the compile.
  std::string toolchain_json = "{}";
  std::string options_json = "{}";
};

// The buffer that holds the bytes of `buffer` (itself unless it is an alias).
int storage_of(const Manifest& manifest, int buffer);
// Sets first and last of every arena buffer from the program (uses through aliases count); a
// buffer that nothing uses gets -1, -1.
void derive_lifetimes(Manifest& manifest);
// The buffers an instruction writes.
std::vector<int> written_buffers(const Manifest& manifest, const Instruction& instruction);

}  // namespace mcc::runtime
