// Builders of loop-IR scalars and statements.
#include "lib/backend/loop_ir.h"

#include "lib/ir/scalar_function.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

std::shared_ptr<Scalar> fresh(ScalarKind kind, DType dtype) {
  auto scalar = std::make_shared<Scalar>();
  scalar->kind = kind;
  scalar->dtype = dtype;
  return scalar;
}

std::shared_ptr<Stmt> fresh(StmtKind kind) {
  auto stmt = std::make_shared<Stmt>();
  stmt->kind = kind;
  return stmt;
}

// Types of the functions that only the loop IR has.
bool is_loop_function(const std::string& name) { return name == "fma" || name == "dot4"; }

}  // namespace

DType compute_type(DType storage) {
  const DTypeInfo& info = dtype_info(storage);
  return info.kind == DTypeKind::floating && info.bits < 32 ? DType::f32 : storage;
}

ScalarPtr literal(DType dtype, double value) {
  auto scalar = fresh(ScalarKind::literal, compute_type(dtype));
  scalar->real = value;
  scalar->integer = is_floating(dtype) ? 0 : static_cast<int64_t>(value);
  return scalar;
}

ScalarPtr literal_integer(DType dtype, int64_t value) {
  auto scalar = fresh(ScalarKind::literal, compute_type(dtype));
  scalar->integer = value;
  scalar->real = static_cast<double>(value);
  return scalar;
}

ScalarPtr index_value(Expr index, DType dtype) {
  auto scalar = fresh(ScalarKind::index, compute_type(dtype));
  scalar->index = std::move(index);
  return scalar;
}

ScalarPtr load(int buffer, DType storage, Expr index) {
  auto scalar = fresh(ScalarKind::load, compute_type(storage));
  scalar->buffer = buffer;
  scalar->index = std::move(index);
  return scalar;
}

ScalarPtr load_memory(std::string memory, DType storage, Expr index) {
  auto scalar = fresh(ScalarKind::load, compute_type(storage));
  scalar->memory = std::move(memory);
  scalar->index = std::move(index);
  return scalar;
}

ScalarPtr register_value(std::string name, DType dtype) {
  auto scalar = fresh(ScalarKind::variable, compute_type(dtype));
  scalar->memory = std::move(name);
  return scalar;
}

ScalarPtr apply(std::string function, std::vector<ScalarPtr> operands) {
  check_internal(!operands.empty(), "a scalar function without operands");
  DType result = operands.back()->dtype;
  if (!is_loop_function(function)) {
    const ScalarFunction* row = find_scalar_function(function);
    if (row == nullptr) throw InternalError("unknown scalar function '" + function + "'");
    check_internal(row->result != ResultRule::cast, "use cast_scalar for casts");
    if (row->result == ResultRule::boolean) result = DType::boolean;
  }
  auto scalar = fresh(ScalarKind::apply, result);
  scalar->function = std::move(function);
  scalar->operands = std::move(operands);
  return scalar;
}

ScalarPtr cast_scalar(ScalarPtr value, DType dtype) {
  // Rounding to a narrow storage type is a real operation: the value must pass through it.
  if (value->dtype == dtype) return value;
  auto scalar = fresh(ScalarKind::apply, compute_type(dtype));
  scalar->function = "cast";
  // `integer` keeps the storage type, which differs from the compute type for narrow floats.
  scalar->integer = static_cast<int64_t>(dtype);
  scalar->operands = {std::move(value)};
  return scalar;
}

ScalarPtr guarded(Guard guard, ScalarPtr value, ScalarPtr otherwise) {
  Guard open;
  for (Expr& condition : guard) {
    if (condition.is_constant()) {
      if (condition.constant() < 0) return otherwise;
      continue;
    }
    open.push_back(std::move(condition));
  }
  if (open.empty()) return value;
  auto scalar = fresh(ScalarKind::guarded, value->dtype);
  scalar->guard = std::move(open);
  scalar->operands = {std::move(value), std::move(otherwise)};
  return scalar;
}

StmtPtr make_loop(std::string variable, Expr extent, LoopTag tag, Block body, int lanes) {
  auto stmt = fresh(StmtKind::loop);
  stmt->variable = std::move(variable);
  stmt->extent = std::move(extent);
  stmt->tag = tag;
  stmt->body = std::move(body);
  stmt->lanes = lanes;
  return stmt;
}

StmtPtr make_let(std::string variable, ScalarPtr value, Range range) {
  auto stmt = fresh(StmtKind::let);
  stmt->variable = std::move(variable);
  stmt->value = std::move(value);
  stmt->range = range;
  return stmt;
}

StmtPtr make_define(std::string name, ScalarPtr initial, int lanes) {
  auto stmt = fresh(StmtKind::define);
  stmt->name = std::move(name);
  stmt->dtype = initial->dtype;
  stmt->value = std::move(initial);
  stmt->lanes = lanes;
  return stmt;
}

StmtPtr make_assign(std::string name, ScalarPtr value) {
  auto stmt = fresh(StmtKind::assign);
  stmt->name = std::move(name);
  stmt->dtype = value->dtype;
  stmt->value = std::move(value);
  return stmt;
}

StmtPtr make_accumulate(std::string name, std::string function, ScalarPtr value) {
  StmtPtr stmt = make_assign(std::move(name), std::move(value));
  stmt->accumulate = std::move(function);
  return stmt;
}

StmtPtr make_store(int buffer, DType storage, Expr index, ScalarPtr value) {
  auto stmt = fresh(StmtKind::store);
  stmt->buffer = buffer;
  stmt->dtype = storage;
  stmt->index = std::move(index);
  stmt->value = std::move(value);
  return stmt;
}

StmtPtr make_store_memory(std::string memory, DType storage, Expr index, ScalarPtr value) {
  StmtPtr stmt = make_store(-1, storage, std::move(index), std::move(value));
  stmt->memory = std::move(memory);
  return stmt;
}

StmtPtr make_if(Guard guard, Block body, Block otherwise) {
  auto stmt = fresh(StmtKind::condition);
  stmt->guard = std::move(guard);
  stmt->body = std::move(body);
  stmt->otherwise = std::move(otherwise);
  return stmt;
}

StmtPtr make_allocate(std::string name, DType dtype, int64_t elements, MemorySpace space) {
  auto stmt = fresh(StmtKind::allocate);
  stmt->name = std::move(name);
  stmt->dtype = dtype;
  stmt->elements = elements;
  stmt->space = space;
  return stmt;
}

StmtPtr make_barrier() { return fresh(StmtKind::barrier); }

StmtPtr make_reduce(StmtKind kind, std::string name, std::string function, int lanes,
                    std::string target) {
  auto stmt = fresh(kind);
  stmt->name = std::move(name);
  stmt->function = std::move(function);
  stmt->lanes = lanes;
  stmt->target = std::move(target);
  return stmt;
}

}  // namespace mcc::backend
