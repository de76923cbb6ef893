// Operand: construction and access.
#include "lib/frontend/operand.h"

#include <cmath>

#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

// Larger tensors are data, not shape arithmetic.
constexpr int64_t kMostKnownElements = 64;
// Fractions with larger denominators would overflow when multiplied with sizes.
constexpr int64_t kLargestDenominator = int64_t{1} << 20;

std::optional<Known> known_number(const Tensor& tensor, int64_t index) {
  if (!is_floating(tensor.dtype())) return Known{Expr(tensor.get_int64(index)), 1};
  double value = tensor.get_double(index);
  if (!std::isfinite(value) || std::fabs(value) > 9e15) return std::nullopt;
  int64_t denominator = 1;
  while (value != std::trunc(value)) {
    value *= 2;
    denominator *= 2;
    if (denominator > kLargestDenominator) return std::nullopt;
  }
  return Known{Expr(static_cast<int64_t>(value)), denominator};
}

}  // namespace

struct Operand::State {
  enum class Kind : uint8_t { value, constant, known, sequence, poison } kind = Kind::value;
  TensorType type;
  const Builder* owner = nullptr;
  ValueId id = kNoValue;
  TensorPtr tensor;
  KnownValues known;
  std::vector<Operand> elements;
  std::string name;
};

Operand Operand::value(const Builder* owner, ValueId id, TensorType type) {
  Operand operand;
  operand.state_ = std::make_shared<State>();
  operand.state_->owner = owner;
  operand.state_->id = id;
  operand.state_->type = std::move(type);
  return operand;
}

Operand Operand::constant(TensorPtr tensor) {
  Operand operand;
  operand.state_ = std::make_shared<State>();
  operand.state_->kind = State::Kind::constant;
  operand.state_->type.dtype = tensor->dtype();
  for (int64_t dim : tensor->shape()) operand.state_->type.shape.emplace_back(dim);
  operand.state_->tensor = std::move(tensor);
  return operand;
}

Operand Operand::known(DType dtype, const Shape& shape, KnownValues values) {
  bool concrete = true;
  for (const Known& value : values) concrete = concrete && value.numerator.is_constant();
  if (concrete) {
    std::vector<int64_t> dims;
    for (const Expr& dim : shape) dims.push_back(dim.constant());
    Tensor tensor(dtype, dims);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if (is_floating(dtype)) {
        tensor.set_double(at, static_cast<double>(values[i].numerator.constant()) /
                                  static_cast<double>(values[i].denominator));
      } else {
        tensor.set_int64(at, values[i].numerator.constant());
      }
    }
    return constant(std::make_shared<const Tensor>(std::move(tensor)));
  }
  Operand operand;
  operand.state_ = std::make_shared<State>();
  operand.state_->kind = State::Kind::known;
  operand.state_->type = {dtype, shape};
  operand.state_->known = std::move(values);
  return operand;
}

Operand Operand::sequence(std::vector<Operand> elements) {
  Operand operand;
  operand.state_ = std::make_shared<State>();
  operand.state_->kind = State::Kind::sequence;
  operand.state_->elements = std::move(elements);
  return operand;
}

Operand Operand::poison() {
  Operand operand;
  operand.state_ = std::make_shared<State>();
  operand.state_->kind = State::Kind::poison;
  return operand;
}

bool Operand::is_sequence() const {
  return state_ != nullptr && state_->kind == State::Kind::sequence;
}

bool Operand::is_poison() const { return state_ != nullptr && state_->kind == State::Kind::poison; }

const TensorType& Operand::type() const {
  if (state_ == nullptr) throw ModelError("a required input is missing.");
  if (is_sequence()) throw ModelError("a sequence was given where a tensor is expected.");
  return state_->type;
}

const Tensor* Operand::constant_tensor() const {
  return state_ == nullptr ? nullptr : state_->tensor.get();
}

std::optional<KnownValues> Operand::known_values() const {
  if (state_ == nullptr) return std::nullopt;
  if (state_->kind == State::Kind::known) return state_->known;
  if (state_->kind != State::Kind::constant) return std::nullopt;
  const Tensor& tensor = *state_->tensor;
  const DTypeKind kind = dtype_info(tensor.dtype()).kind;
  if (kind == DTypeKind::string || kind == DTypeKind::complex) return std::nullopt;
  if (tensor.elements() > kMostKnownElements) return std::nullopt;
  KnownValues values;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const std::optional<Known> number = known_number(tensor, i);
    if (!number) return std::nullopt;
    values.push_back(*number);
  }
  return values;
}

bool Operand::is_symbolic() const {
  return state_ != nullptr && state_->kind == State::Kind::known;
}

const std::vector<Operand>& Operand::elements() const {
  if (!is_sequence()) throw ModelError("a tensor was given where a sequence is expected.");
  return state_->elements;
}

const Builder* Operand::owner() const { return state_->owner; }
ValueId Operand::id() const { return state_->id; }
const TensorPtr& Operand::tensor_pointer() const { return state_->tensor; }
void Operand::set_name(const std::string& name) const {
  if (state_->name.empty()) state_->name = name;
}
const std::string& Operand::name() const { return state_->name; }

}  // namespace mcc::frontend
