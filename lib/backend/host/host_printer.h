// Prints a loop kernel as a C++ function for the host, with GCC vector extensions.
#pragma once

#include "lib/backend/printer/kernel_printer.h"

namespace mcc::backend {

class HostPrinter : public KernelPrinter {
 public:
  explicit HostPrinter(const LoopKernel& kernel) : KernelPrinter(kernel, "long", "L") {}
  std::string run() override;

 private:
  void loop(const Stmt& stmt) override;
  void store(const Stmt& stmt) override;
  void allocate(const Stmt& stmt) override;
  void collective(const Stmt& stmt) override;
  void vector_loop(const Stmt& stmt);
  void vector_body(const Stmt& stmt, const std::string& start, int lanes);
  void scalar_tail(const Stmt& stmt, const std::string& at);
  // Whether the body uses vector registers that were defined outside of it.
  bool uses_outer_vectors(const Block& body) const;
  void fold_lanes(const Stmt& stmt);
};

}  // namespace mcc::backend
