// Statements of CUDA kernels.
#include "lib/backend/cuda/cuda_printer.h"

#include "lib/backend/lowering.h"
#include "lib/backend/printer/source_types.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

bool fits_32_bits(const LoopKernel& kernel) {
  constexpr int64_t kLimit = (int64_t{1} << 31) - 1;
  for (const KernelBuffer& buffer : kernel.buffers) {
    // Panels are padded to whole columns and row tiles run a little past the end: leave room.
    if (bounds(buffer.elements, kernel.ranges).high > kLimit / 2) return false;
  }
  for (const std::string& dim : kernel.dims) {
    auto range = kernel.ranges.find(dim);
    if (range == kernel.ranges.end() || range->second.high > kLimit / 2) return false;
  }
  return true;
}

constexpr const char* kVectorTypes[] = {"", "", "float2", "", "float4"};
constexpr const char* kComponents[] = {"x", "y", "z", "w"};
// Stands for a guard that no wide load can repeat.
const Scalar kElsewhere{};

}  // namespace

CudaPrinter::CudaPrinter(const LoopKernel& kernel)
    : KernelPrinter(kernel, fits_32_bits(kernel) ? "int" : "mcc_i64", fits_32_bits(kernel) ? "" : "LL") {}

std::string CudaPrinter::run() {
  std::string parameters;
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const KernelBuffer& buffer = kernel_.buffers[i];
    // Outputs may take over an input's memory position by position: no __restrict__ on them.
    parameters += std::string(parameters.empty() ? "" : ", ") + (buffer.output ? "" : "const ") +
                  source_type(buffer.dtype) + "* b" + std::to_string(i);
  }
  scopes_.emplace_back();
  for (const std::string& dim : kernel_.dims) {
    parameters += ", mcc_i64 " + dim + "_";
    line("const " + index_type_ + " " + dim + " = (" + index_type_ + ")" + dim + "_;");
    scopes_.back().defined.insert(dim);
  }
  block(kernel_.body);
  const int threads = kernel_.block[0] * kernel_.block[1] * kernel_.block[2];
  return "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ") " + kernel_.name + "(" +
         parameters + ") {\n" + scopes_.back().text + "}\n";
}

void CudaPrinter::index_loop(const Stmt& stmt, const std::string& source) {
  line("const " + index_type_ + " " + stmt.variable + " = " + source + ";");
  scopes_.back().defined.insert(stmt.variable);
  block(stmt.body);
}

void CudaPrinter::loop(const Stmt& stmt) {
  const std::string type = "(" + index_type_ + ")";
  switch (stmt.tag) {
    case LoopTag::grid_x: return index_loop(stmt, type + "blockIdx.x");
    case LoopTag::grid_y: return index_loop(stmt, type + "blockIdx.y");
    case LoopTag::grid_z: return index_loop(stmt, type + "blockIdx.z");
    case LoopTag::block_x: return index_loop(stmt, type + "threadIdx.x");
    case LoopTag::block_y: return index_loop(stmt, type + "threadIdx.y");
    case LoopTag::block_z: return index_loop(stmt, type + "threadIdx.z");
    case LoopTag::unroll: return unrolled_loop(stmt);
    case LoopTag::vector: return vector_loop(stmt);
    case LoopTag::serial:
      if (stmt.extent.is_constant(1)) return braced(keep(substitute_variable(stmt.body, stmt.variable, 0)));
      if (stmt.lanes > 1) line("#pragma unroll " + std::to_string(stmt.lanes));
      return serial_loop(stmt, "0", index_text(stmt.extent), bounds(stmt.extent, kernel_.ranges).low >= 1);
    case LoopTag::parallel: fail("a host loop tag");
  }
}

void CudaPrinter::allocate(const Stmt& stmt) {
  const bool shared = stmt.space == MemorySpace::shared;
  if (!shared) in_registers_.insert(stmt.name);
  line(std::string(shared ? "__shared__ __align__(16) " : "") + source_type(stmt.dtype) + " " + stmt.name + "[" +
       std::to_string(stmt.elements) + "];");
}

// Several threads may accumulate into one element of a parameter.
void CudaPrinter::store(const Stmt& stmt) {
  if (stmt.accumulate.empty() || !stmt.memory.empty()) return KernelPrinter::store(stmt);
  ensure_indirect(stmt.index);
  const std::string place = memory_text(stmt.buffer, {}) + " + " + index_text(stmt.index);
  const std::string value = scalar_value(stmt.value);
  if (stmt.accumulate == "add" && (stmt.dtype == DType::f32 || stmt.dtype == DType::i32)) {
    return line("atomicAdd(" + place + ", " + value + ");");
  }
  const std::string type = source_type(stmt.dtype);
  const DType compute = compute_type(stmt.dtype);
  const std::string old = source_from_storage("mcc_old", stmt.dtype);
  const std::string updated = source_to_storage(fold_text(stmt.accumulate, compute, old, value), compute, stmt.dtype);
  line("mcc_atomic_update(" + place + ", [&](" + type + " mcc_old) { return (" + type + ")(" + updated + "); });");
}

std::string CudaPrinter::fold_text(const std::string& function, DType dtype, const std::string& a,
                                   const std::string& b) const {
  Scalar fold;
  fold.kind = ScalarKind::apply;
  fold.dtype = dtype;
  fold.function = function;
  auto operand = std::make_shared<Scalar>();
  operand->dtype = dtype;
  fold.operands = {operand, operand};
  return apply_text(fold, {{a, false}, {b, false}}, false);
}

void CudaPrinter::collective(const Stmt& stmt) {
  if (stmt.kind == StmtKind::barrier) return line("__syncthreads();");
  if (stmt.kind == StmtKind::lanes_reduce) fail("a host collective");
  auto found = registers_.find(stmt.name);
  if (found == registers_.end()) fail("a reduction of an unknown register");
  const DType dtype = found->second.dtype;
  const std::string type = source_type(dtype);
  const int width = stmt.kind == StmtKind::warp_reduce ? stmt.lanes : 32;
  line("for (int mcc_offset = " + std::to_string(width / 2) + "; mcc_offset > 0; mcc_offset >>= 1) {");
  line("  const " + type + " mcc_other = (" + type + ")__shfl_xor_sync(0xffffffffu, " + stmt.name + ", mcc_offset);");
  line("  " + stmt.name + " = " + fold_text(stmt.function, dtype, stmt.name, "mcc_other") + ";");
  line("}");
  if (stmt.kind == StmtKind::warp_reduce) return;
  // One partial result per warp through shared memory; every thread folds them in the same order.
  const int warps = kernel_.block[0] * kernel_.block[1] * kernel_.block[2] / 32;
  const std::string partial = "mcc_partial" + std::to_string(next_++);
  line("__shared__ " + type + " " + partial + "[" + std::to_string(warps) + "];");
  line("if ((threadIdx.x & 31) == 0) " + partial + "[threadIdx.x >> 5] = " + stmt.name + ";");
  line("__syncthreads();");
  line(stmt.name + " = " + partial + "[0];");
  line("for (int mcc_warp = 1; mcc_warp < " + std::to_string(warps) + "; ++mcc_warp) " + stmt.name + " = " +
       fold_text(stmt.function, dtype, stmt.name, partial + "[mcc_warp]") + ";");
  line("__syncthreads();");
}

bool CudaPrinter::is_wide(const Expr& index, const Stmt& loop) const {
  const std::optional<Linear> linear = linear_in(index, loop.variable);
  return linear && linear->coefficient.is_constant(1) &&
         exact_division(linear->rest, Expr(static_cast<int64_t>(loop.lanes))).has_value();
}

// Loads that are contiguous over the lanes, with the guards that they are read under.
void CudaPrinter::collect_wide_loads(const ScalarPtr& scalar, const Stmt& loop, const Scalar* guard,
                                     WideLoads& wide) const {
  if (!wide.seen.insert({scalar.get(), guard}).second) return;
  if (scalar->kind == ScalarKind::guarded) {
    bool same_for_all = guard == nullptr;
    for (const Expr& condition : scalar->guard) same_for_all = same_for_all && condition.symbols().count(loop.variable) == 0;
    collect_wide_loads(scalar->operands[0], loop, same_for_all ? scalar.get() : &kElsewhere, wide);
    collect_wide_loads(scalar->operands[1], loop, &kElsewhere, wide);
    return;
  }
  if (scalar->kind == ScalarKind::load && scalar->memory.empty() &&
      memory_dtype(scalar->buffer, {}, scalar->dtype) == DType::f32 && is_wide(scalar->index, loop)) {
    auto [found, fresh] = wide.guard_of.emplace(scalar.get(), guard);
    if (fresh) wide.loads.push_back(scalar);
    // What is read anyway may be loaded before any guard; what is read under two, nowhere.
    if (guard == nullptr) {
      found->second = nullptr;
    } else if (found->second != nullptr && found->second != guard) {
      found->second = &kElsewhere;
    }
    return;
  }
  for (const ScalarPtr& operand : scalar->operands) collect_wide_loads(operand, loop, guard, wide);
}

// Emits the wide loads of a group of lanes; what is guarded is zero where the guard fails.
std::map<const Scalar*, std::string> CudaPrinter::load_wide(const Stmt& loop, const WideLoads& wide) {
  const std::string type = kVectorTypes[loop.lanes];
  std::map<const Scalar*, std::string> names;
  for (const ScalarPtr& load : wide.loads) {
    const Scalar* guard = wide.guard_of.at(load.get());
    if (guard == &kElsewhere) continue;
    const std::string name = temporary();
    ensure_indirect(load->index);
    const std::string source = "*(const " + type + "*)(" + memory_text(load->buffer, {}) + " + " + index_text(load->index) + ")";
    if (guard == nullptr) {
      line("const " + type + " " + name + " = " + source + ";");
    } else {
      for (const Expr& condition : guard->guard) ensure_indirect(condition);
      line(type + " " + name + " = {};");
      line("if (" + guard_text(guard->guard) + ") " + name + " = " + source + ";");
      const Scalar& otherwise = *guard->operands[1];
      const bool is_zero = otherwise.kind == ScalarKind::literal && otherwise.real == 0 && otherwise.integer == 0;
      if (is_zero && guard->operands[0].get() == load.get()) names[guard] = name;
    }
    names[load.get()] = name;
  }
  return names;
}

// One store of a group of lanes, in one access where its place allows that.
void CudaPrinter::lanes_store(const Stmt& loop, const Stmt& store, const std::map<const Scalar*, std::string>& wide) {
  const bool aligned = is_wide(store.index, loop) && in_registers_.count(store.memory) == 0 &&
                       memory_dtype(store.buffer, store.memory, store.dtype) == DType::f32;
  const std::string type = kVectorTypes[loop.lanes];
  const std::string result = temporary();
  if (aligned) line(type + " " + result + ";");
  for (int lane = 0; lane < loop.lanes; ++lane) {
    open(false);
    scopes_.back().defined.insert(loop.variable);
    renamed_[loop.variable] = std::to_string(lane);
    for (const auto& [load, name] : wide) scopes_.back().values[load] = {name + "." + kComponents[lane], false};
    if (aligned) {
      line(result + "." + kComponents[lane] + " = " +
           source_to_storage(scalar_value(store.value), store.value->dtype, store.dtype) + ";");
    } else {
      CudaPrinter::store(store);
    }
    const std::string body = close();
    line("{");
    scopes_.back().text += body;
    line("}");
  }
  renamed_[loop.variable] = "0";
  if (!aligned) return;
  line("*(" + type + "*)(" + memory_text(store.buffer, store.memory) + " + " + index_text(store.index) + ") = " + result + ";");
}

void CudaPrinter::vector_loop(const Stmt& stmt) {
  check_internal(stmt.extent.is_constant() && stmt.extent.constant() == stmt.lanes,
                 "a CUDA vector loop must be one group of lanes");
  bool stores = stmt.lanes == 2 || stmt.lanes == 4;
  for (const StmtPtr& inner : stmt.body) stores = stores && inner->kind == StmtKind::store && inner->accumulate.empty();
  if (!stores) {
    for (int64_t lane = 0; lane < stmt.lanes; ++lane) {
      braced(keep(substitute_variable(stmt.body, stmt.variable, lane)));
    }
    return;
  }
  // All loads come first: they wait for memory together.
  WideLoads wide;
  for (const StmtPtr& inner : stmt.body) collect_wide_loads(inner->value, stmt, nullptr, wide);
  renamed_[stmt.variable] = "0";
  const std::map<const Scalar*, std::string> names = load_wide(stmt, wide);
  for (const StmtPtr& inner : stmt.body) lanes_store(stmt, *inner, names);
  renamed_.erase(stmt.variable);
}

std::string print_cuda(const LoopKernel& kernel) { return CudaPrinter(kernel).run(); }

}  // namespace mcc::backend
