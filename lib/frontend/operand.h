// What a name of the model stands for while it is imported: a value of the IR graph, or something
// that needs no node yet: a constant, or integers known as symbolic expressions.
// Invariant: constants and known values become nodes only when an operator reads them as data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/ir/graph.h"

namespace mcc::frontend {

class Builder;

// A number known at import: numerator / denominator. Integers and booleans have denominator 1;
// the fraction serves float arithmetic on dimensions, such as floor(height * 0.5).
struct Known {
  Expr numerator;
  int64_t denominator = 1;
  friend bool operator==(const Known&, const Known&) = default;
};
using KnownValues = std::vector<Known>;  // row-major

// A cheap handle; copies share their state.
class Operand {
 public:
  Operand() = default;  // absent (an optional input that was left out)
  static Operand value(const Builder* owner, ValueId id, TensorType type);
  static Operand constant(TensorPtr tensor);
  // `shape` is constant and has as many elements as `values`.
  static Operand known(DType dtype, const Shape& shape, KnownValues values);
  static Operand sequence(std::vector<Operand> elements);
  // The result of a node that could not be imported: consumers are skipped silently.
  static Operand poison();

  explicit operator bool() const { return state_ != nullptr; }
  bool is_sequence() const;
  bool is_poison() const;
  // Tensor properties; ModelError for an absent operand or a sequence.
  const TensorType& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  const Expr& dim(int64_t axis) const { return shape()[static_cast<size_t>(axis)]; }

  // The concrete tensor, or nullptr.
  const Tensor* constant_tensor() const;
  // Symbolic values: given ones, or those of a small numeric constant; nullopt otherwise.
  std::optional<KnownValues> known_values() const;
  // Values that are known but not all constant.
  bool is_symbolic() const;
  const std::vector<Operand>& elements() const;

  // Identity of the shared state, for the builder's bookkeeping.
  const void* identity() const { return state_.get(); }
  const Builder* owner() const;
  ValueId id() const;
  const TensorPtr& tensor_pointer() const;
  void set_name(const std::string& name) const;
  const std::string& name() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mcc::frontend
