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
  void wide_store(const Stmt& loop, const Stmt& store);
  bool is_wide(const Expr& index, const Stmt& loop) const;
  void collect_wide_loads(const ScalarPtr& scalar, const Stmt& loop, std::set<const Scalar*>& seen,
                          std::vector<ScalarPtr>& loads) const;
  std::string fold_text(const std::string& function, DType dtype, const std::string& a, const std::string& b) const;
};

}  // namespace mcc::backend
