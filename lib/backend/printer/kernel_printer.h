// What the printers of loop kernels share: scopes, values, indices, and the statements that look the
// same on every target.
//
// How values are written: every shared scalar becomes one temporary, emitted in the outermost scope
// where all that it depends on is known (loop-invariant code motion), but never above a guard or a
// loop that may not run, because it could then read outside a buffer. Inside a host vector loop a
// value is a vector (i32 lane masks for bool), a uniform scalar, or, where neither is possible
// (gathers, guards that differ between lanes), computed lane by lane.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/backend/loop_ir.h"
#include "lib/backend/target.h"

namespace mcc::backend {

class KernelPrinter {
 public:
  virtual ~KernelPrinter() = default;
  // The function's text.
  virtual std::string run() = 0;

 protected:
  // `index_type` is the C++ type of indices and `index_suffix` of its literals ("long", "L").
  KernelPrinter(const LoopKernel& kernel, std::string index_type, std::string index_suffix);

  struct Value {
    std::string text;
    bool vector = false;
  };
  enum class Lanes : uint8_t { none, vector, single };
  // A brace level of the output.
  struct Scope {
    std::string text;
    std::map<const Scalar*, Value> values;
    std::set<std::string> defined;  // loop variables, lets, indirect symbols, registers
    bool barrier = false;           // values may not move above it
  };
  struct Register {
    DType dtype = DType::f32;
    int lanes = 1;
    size_t scope = 0;
  };

  // What targets print differently.
  virtual void loop(const Stmt& stmt) = 0;
  virtual void store(const Stmt& stmt);
  virtual void allocate(const Stmt& stmt) = 0;
  virtual void collective(const Stmt& stmt) = 0;  // barrier, reductions over lanes and threads

  // Statements (kernel_printer.cpp)
  void block(const Block& statements);
  void statement(const Stmt& stmt);
  void serial_loop(const Stmt& stmt, const std::string& first, const std::string& extent, bool surely_runs);
  void unrolled_loop(const Stmt& stmt);
  void braced(const Block& statements);
  void conditional(const Stmt& stmt);
  void assign(const Stmt& stmt);
  void define(const Stmt& stmt);

  // Values (kernel_values.cpp; of vector loops: vector_values.cpp)
  Value value(const ScalarPtr& scalar);
  std::string scalar_value(const ScalarPtr& scalar) { return value(scalar).text; }
  std::string vector_value(const ScalarPtr& scalar);
  Value compute(const ScalarPtr& scalar, size_t scope);
  Value compute_uniform(const Scalar& scalar, size_t scope);
  Value compute_vector(const Scalar& scalar, size_t scope);
  Value compute_lanes(const ScalarPtr& scalar, size_t scope);
  Value compute_guarded(const Scalar& scalar, size_t scope);
  std::string apply_text(const Scalar& scalar, const std::vector<Value>& operands, bool vector) const;
  std::string load_text(const Scalar& scalar);
  std::string literal_text(const Scalar& scalar) const;
  bool varies(const Scalar& scalar);
  bool varies(const Expr& expr);
  bool is_vectorizable(const Scalar& scalar);
  size_t home_scope(const Scalar& scalar);
  size_t home_scope(const Scalar& scalar, std::map<const Scalar*, size_t>& known);
  size_t home_scope(const Expr& expr);
  const Value* find_value(const Scalar* scalar) const;
  void ensure_indirect(const Expr& expr);

  // Text
  std::string index_text(const Expr& expr);
  std::string guard_text(const Guard& guard);
  std::string atom_text(const Atom& atom);
  std::string memory_text(int buffer, const std::string& memory) const;
  DType memory_dtype(int buffer, const std::string& memory, DType fallback) const;
  std::string vector_type(DType dtype) const;
  std::optional<int64_t> lane_stride(const Expr& index);
  std::string splat(const Value& value, DType dtype) const;
  std::string temporary();
  void line(const std::string& text) { line_in(scopes_.size() - 1, text); }
  void line_in(size_t scope, const std::string& text);
  void open(bool barrier);
  std::string close();
  [[noreturn]] void fail(const char* what) const;

  // Scopes know values by address: scalars and statements that printing makes up live as long as the
  // printer.
  ScalarPtr keep(ScalarPtr scalar) { return kept_.emplace_back(std::move(scalar)); }
  const Block& keep(Block block) { return kept_blocks_.emplace_back(std::move(block)); }
  std::vector<ScalarPtr> kept_;
  std::deque<Block> kept_blocks_;

  const LoopKernel& kernel_;
  const std::string index_type_;
  const std::string index_suffix_;
  std::vector<Scope> scopes_;
  std::map<std::string, Register> registers_;
  std::map<std::string, DType> memories_;
  std::map<std::string, std::string> renamed_;  // loop variables under another text
  std::set<std::string> written_;               // memories and parameters that the kernel stores to
  std::map<const Scalar*, bool> varies_;        // within the current vector loop
  std::string vector_variable_;
  int lanes_ = 1;
  Lanes mode_ = Lanes::none;
  bool in_vector_loop_ = false;  // host: also in its scalar tail, where lanes_ is 1
  std::string lane_;  // Lanes::single: the lane's variable
  int next_ = 0;
};

// `block` with `variable` replaced by a constant throughout.
Block substitute_variable(const Block& block, const std::string& variable, int64_t value);

}  // namespace mcc::backend
