// Prints a loop kernel as a CUDA C++ kernel without headers.
//
// Grid and block loops become index variables; schedules guard what does not divide evenly. A
// vector loop is one group of `lanes` elements of a thread: f32 operands and results that are
// contiguous and provably aligned move in one access of 8 or 16 bytes. Indices are 32-bit where all
// buffers are provably small enough.
#pragma once

#include "lib/backend/printer/kernel_printer.h"

namespace mcc::backend {

class CudaPrinter : public KernelPrinter {
 public:
  explicit CudaPrinter(const LoopKernel& kernel);
  std::string run() override;

 private:
  void loop(const Stmt& stmt) override;
  void store(const Stmt& stmt) override;
  void allocate(const Stmt& stmt) override;
  void collective(const Stmt& stmt) override;
  void index_loop(const Stmt& stmt, const std::string& source);
  void vector_loop(const Stmt& stmt);
  struct WideLoads {
    std::set<std::pair<const Scalar*, const Scalar*>> seen;  // value, innermost guard around it
    std::vector<ScalarPtr> loads;
    std::map<const Scalar*, const Scalar*> guard_of;
  };
  std::set<std::string> in_registers_;  // allocations without an address: no wide access
  bool is_wide(const Expr& index, const Stmt& loop) const;
  void collect_wide_loads(const ScalarPtr& scalar, const Stmt& loop, const Scalar* guard, WideLoads& wide) const;
  std::map<const Scalar*, std::string> load_wide(const Stmt& loop, const WideLoads& wide);
  void lanes_store(const Stmt& loop, const Stmt& store, const std::map<const Scalar*, std::string>& wide);
  std::string fold_text(const std::string& function, DType dtype, const std::string& a, const std::string& b) const;
};

}  // namespace mcc::backend
