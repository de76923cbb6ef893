// Decoding of loads, stores, atomics and hints.
#include <algorithm>

#include "runtime/sim/decode/decoder.h"

namespace mcc::sim {

// State space, ordering, scope, caching hints. Hints and scopes change nothing in the simulator:
// one device, no caches, and every scope is at least the block.
void Decoder::read_memory_suffixes(Form& form) {
  if (take("global")) form.space = Space::global;
  else if (take("shared") || take("shared::cta") || take("shared::cluster")) form.space = Space::shared;
  else if (take("local")) form.space = Space::local;
  else if (take("const")) form.space = Space::constant;
  else if (take("param") || take("param::entry") || take("param::func")) form.space = Space::param;
  if (take("volatile")) {
    form.is_volatile = true;
    form.order = Order::relaxed;
  }
  if (take("mmio")) form.order = Order::relaxed;
  if (take("relaxed")) form.order = Order::relaxed;
  if (take("acquire")) form.order = Order::acquire;
  if (take("release")) form.order = Order::release;
  if (take("acq_rel")) form.order = Order::acq_rel;
  take("weak");
  for (std::string_view word : {"gpu", "sys", "cta", "cluster"}) take(word);
  for (std::string_view word : {"nc", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "unified", "level::cache_hint"}) take(word);
  while (take_prefix("L1::") || take_prefix("L2::")) {
  }
}

void Decoder::load_store(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  read_memory_suffixes(form);
  if (take("v2")) form.vector = 2;
  else if (take("v4")) form.vector = 4;
  else if (take("v8")) form.vector = 8;
  read_suffixes(form);
  if (form.type == Type::none) fail("the type is missing");
  const bool store = row.op == Op::st;
  Inst in = start(row);
  const Operand& address = operand(store ? 0 : 1);
  const Operand& data = operand(store ? 1 : 0);
  if (form.order != Order::weak) {
    in.flags |= 8;
    in.flags2 = static_cast<uint8_t>(form.order);
  }
  set_address(in, address, form);
  const int bytes = size_of(form.type);
  std::vector<const Operand*> registers;
  if (data.kind == OperandKind::vector) {
    for (const Operand& item : data.items) registers.push_back(&item);
  } else {
    registers.push_back(&data);
  }
  if (static_cast<int>(registers.size()) != form.vector) fail("the number of registers differs from the vector's width");
  bool wide = false, narrow = false;
  for (const Operand* o : registers) {
    if (o->kind != OperandKind::reg) continue;
    (register_bytes(*o) == 8 ? wide : narrow) = true;
  }
  if (wide && narrow) fail("registers of different width in one vector are not supported");
  if (wide && bytes < 8) in.flags |= 1;
  if (is_signed(form.type)) in.flags |= 2;
  std::vector<int32_t> items;
  for (const Operand* o : registers) {
    int32_t at;
    if (!store) at = o->kind == OperandKind::sink ? kConstantBit : destination(*o);
    else at = wide && bytes < 8 && o->kind == OperandKind::immediate ? constant(static_cast<uint64_t>(o->bits), 8) : value(*o, form.type);
    items.push_back(at);
    if (bytes == 16) items.push_back(at + 256);
  }
  in.width = static_cast<uint8_t>(items.size());
  in.dst = items[0];
  if (items.size() > 1) in.list = list(std::move(items));
  const bool local = form.space == Space::local, shared = form.space == Space::shared;
  const bool constant_memory = form.space == Space::constant || form.space == Space::param;
  in.klass = local ? InstClass::local_memory : shared ? (store ? InstClass::store_shared : InstClass::load_shared) : constant_memory ? InstClass::load_constant : store ? InstClass::store_global : InstClass::load_global;
  // Granules of race detection: as fine as the kernel's narrowest access.
  const int shift = bytes == 1 ? 0 : bytes == 2 ? 1 : 2;
  if (shared || form.space == Space::generic) info_->granule_shift_shared = std::min(info_->granule_shift_shared, shift);
  if (form.space == Space::global || form.space == Space::generic) info_->granule_shift_global = std::min(info_->granule_shift_global, shift);
  if (form.mode == "fixed" &&
      (in.imm < 0 || in.imm + int64_t{bytes} * form.vector > int64_t{info_->param_bytes}))
    fail("the access is outside the kernel's parameters");
  if (form.space == Space::param && form.mode.empty() && !info_->entry) fail("a computed address in a function's parameters is not supported");
  emit(in, form);
}

void Decoder::atomic(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  form.order = Order::relaxed;
  read_memory_suffixes(form);
  take("noftz");
  struct Name { std::string_view name; AtomicOp op; };
  static constexpr Name kNames[] = {{"and", AtomicOp::and_}, {"or", AtomicOp::or_}, {"xor", AtomicOp::xor_}, {"add", AtomicOp::add},
                                    {"inc", AtomicOp::inc}, {"dec", AtomicOp::dec}, {"min", AtomicOp::min}, {"max", AtomicOp::max},
                                    {"exch", AtomicOp::exch}, {"cas", AtomicOp::cas}};
  bool found = false;
  for (const Name& name : kNames) {
    if (found || !take(name.name)) continue;
    form.atomic = name.op;
    found = true;
  }
  if (!found) fail("the operation is missing");
  read_suffixes(form);
  Inst in = start(row);
  const bool returns = row.op == Op::atom;
  if (!returns && (form.atomic == AtomicOp::cas || form.atomic == AtomicOp::exch))
    fail("red has no such operation");
  const size_t at = returns ? 1 : 0;
  set_address(in, operand(at), form);
  in.dst = kConstantBit;
  if (returns && operand(0).kind != OperandKind::sink) in.dst = destination(operand(0));
  in.b = value(operand(at + 1), form.type);
  if (form.atomic == AtomicOp::cas) in.c = value(operand(at + 2), form.type);
  if (operand_count() != at + (form.atomic == AtomicOp::cas ? 3u : 2u)) fail("the number of operands is wrong");
  // Handlers of atomics find the space in `width`.
  in.width = static_cast<uint8_t>(form.space);
  in.flags2 = static_cast<uint8_t>(form.order);
  in.klass = InstClass::atomic;
  const int bytes = size_of(form.type), shift = bytes == 2 ? 1 : 2;
  info_->granule_shift_shared = std::min(info_->granule_shift_shared, shift);
  info_->granule_shift_global = std::min(info_->granule_shift_global, shift);
  emit(in, form);
}

void Decoder::hint(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  Inst in = start(row);
  if (row.op == Op::fence) {
    // membar.gl, fence.acq_rel.gpu, fence.proxy.async...: all order everything.
    rest_.clear();
    const Handler handler = select_control(Op::fence, form);
    return emit_with(in, handler, handler);
  }
  rest_.clear();
  emit(in, form);
}

}  // namespace mcc::sim
