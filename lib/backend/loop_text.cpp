// Readable form of the loop IR, for --emit=kernels. Printing only: there is no parser.
#include <cstdio>
#include <string>

#include "lib/backend/kernel_set.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string guard_text(const Guard& guard) {
  std::string text;
  for (const Expr& condition : guard) text += (text.empty() ? "" : " && ") + condition.str() + " >= 0";
  return text;
}

std::string memory_text(int buffer, const std::string& memory) {
  return memory.empty() ? "b" + std::to_string(buffer) : memory;
}

std::string scalar_text(const Scalar& scalar) {
  auto operands = [&] {
    std::string text;
    for (const ScalarPtr& operand : scalar.operands) text += (text.empty() ? "" : ", ") + scalar_text(*operand);
    return text;
  };
  switch (scalar.kind) {
    case ScalarKind::literal:
      return is_floating(scalar.dtype) ? number_text(scalar.real) : std::to_string(scalar.integer);
    case ScalarKind::index: return "(" + scalar.index.str() + ")";
    case ScalarKind::variable: return scalar.memory;
    case ScalarKind::load:
      return memory_text(scalar.buffer, scalar.memory) + "[" + scalar.index.str() + "]";
    case ScalarKind::apply: {
      std::string name = scalar.function;
      if (name == "cast") name += "<" + std::string(dtype_info(static_cast<DType>(scalar.integer)).name) + ">";
      return name + "(" + operands() + ")";
    }
    case ScalarKind::guarded:
      return "(" + guard_text(scalar.guard) + " ? " + scalar_text(*scalar.operands[0]) + " : " +
             scalar_text(*scalar.operands[1]) + ")";
  }
  throw InternalError("a scalar of unknown kind");
}

constexpr const char* kTagNames[] = {"serial", "unroll", "vector",  "parallel", "grid_x",
                                     "grid_y", "grid_z", "block_x", "block_y",  "block_z"};
constexpr const char* kSpaceNames[] = {"registers", "shared", "scratch"};

void print_block(const Block& block, int depth, std::string& out);

void print_statement(const Stmt& stmt, int depth, std::string& out) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  out += indent;
  switch (stmt.kind) {
    case StmtKind::loop:
      out += "for " + stmt.variable + " < " + stmt.extent.str() + " " + kTagNames[static_cast<int>(stmt.tag)];
      if (stmt.lanes > 1) out += "(" + std::to_string(stmt.lanes) + ")";
      out += " {\n";
      print_block(stmt.body, depth + 1, out);
      out += indent + "}\n";
      return;
    case StmtKind::condition:
      out += "if " + guard_text(stmt.guard) + " {\n";
      print_block(stmt.body, depth + 1, out);
      if (!stmt.otherwise.empty()) {
        out += indent + "} else {\n";
        print_block(stmt.otherwise, depth + 1, out);
      }
      out += indent + "}\n";
      return;
    case StmtKind::let: out += "let " + stmt.variable + " = " + scalar_text(*stmt.value); break;
    case StmtKind::define:
      out += "define " + stmt.name + ": " + std::string(dtype_info(stmt.dtype).name);
      if (stmt.lanes > 1) out += "x" + std::to_string(stmt.lanes);
      out += " = " + scalar_text(*stmt.value);
      break;
    case StmtKind::assign:
      out += stmt.name + " = ";
      out += stmt.accumulate.empty() ? scalar_text(*stmt.value)
                                     : stmt.accumulate + "(" + stmt.name + ", " + scalar_text(*stmt.value) + ")";
      break;
    case StmtKind::store:
      out += memory_text(stmt.buffer, stmt.memory) + "[" + stmt.index.str() + "] ";
      out += (stmt.accumulate.empty() ? "" : stmt.accumulate) + "= " + scalar_text(*stmt.value);
      break;
    case StmtKind::allocate:
      out += "allocate " + stmt.name + ": " + std::string(dtype_info(stmt.dtype).name) + "[" +
             std::to_string(stmt.elements) + "] " + kSpaceNames[static_cast<int>(stmt.space)];
      break;
    case StmtKind::barrier: out += "barrier"; break;
    case StmtKind::warp_reduce:
      out += stmt.name + " = warp_reduce " + stmt.function + " over " + std::to_string(stmt.lanes);
      break;
    case StmtKind::block_reduce: out += stmt.name + " = block_reduce " + stmt.function; break;
    case StmtKind::lanes_reduce: out += stmt.target + " = lanes_reduce " + stmt.function + " " + stmt.name; break;
    case StmtKind::comment: out += "// " + stmt.name; break;
  }
  out += "\n";
}

void print_block(const Block& block, int depth, std::string& out) {
  for (const StmtPtr& stmt : block) print_statement(*stmt, depth, out);
}

}  // namespace

std::string print_loops(const LoopKernel& kernel) {
  std::string out = "kernel " + kernel.name + "(";
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const KernelBuffer& buffer = kernel.buffers[i];
    if (i != 0) out += ", ";
    out += std::string(buffer.output ? "out " : "") + "b" + std::to_string(i) + ": " +
           std::string(dtype_info(buffer.dtype).name) + "[" + buffer.elements.str() + "]";
    if (buffer.packing == Packing::panels) out += " panels(" + std::to_string(buffer.panel_width) + ")";
  }
  for (const std::string& dim : kernel.dims) out += ", " + dim;
  out += ") {\n";
  for (const auto& [symbol, value] : kernel.indirect) {
    out += "  where " + symbol + " = " + scalar_text(*value) + "\n";
  }
  print_block(kernel.body, 1, out);
  return out + "}\n";
}

}  // namespace mcc::backend
