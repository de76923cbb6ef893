// Decoding of matrix instructions, asynchronous copies and mbarriers.
#include <algorithm>
#include <cstdio>

#include "runtime/sim/decode/decoder.h"

namespace mcc::sim {

void Decoder::matrix(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  if (!take("sync") || !take("aligned")) fail(".sync.aligned is needed");
  Inst in = start(row);
  auto registers = [&](const Operand& o, Type type, std::vector<int32_t>& out, bool result) {
    const std::vector<Operand> single{o};
    for (const Operand& item : o.kind == OperandKind::vector ? o.items : single) out.push_back(result ? destination(item) : value(item, type));
    return o.kind == OperandKind::vector ? o.items.size() : size_t{1};
  };
  if (row.op == Op::movmatrix) {
    if (!take("m8n8") || !take("trans")) fail("only .m8n8.trans exists");
    read_suffixes(form);
    in.dst = destination(operand(0));
    in.a = value(operand(1), Type::b32);
    return emit(in, form);
  }
  if (row.op == Op::ldmatrix || row.op == Op::stmatrix) {
    if (!take("m8n8")) fail("only .m8n8 is supported");
    form.vector = take("x4") ? 4 : take("x2") ? 2 : 1;
    take("x1");
    in.flags2 = take("trans") ? 1 : 0;
    read_memory_suffixes(form);
    read_suffixes(form);
    if (form.space != Space::shared && form.space != Space::generic) fail("the matrix must be in shared memory");
    if (form.type != Type::b16) fail("only .b16 is supported");
    const bool store = row.op == Op::stmatrix;
    set_address(in, operand(store ? 0 : 1), form);
    std::vector<int32_t> items;
    registers(operand(store ? 1 : 0), Type::b32, items, !store);
    if (static_cast<int>(items.size()) != form.vector) fail("the number of registers differs from the number of matrices");
    in.width = static_cast<uint8_t>(items.size());
    in.list = list(std::move(items));
    info_->granule_shift_shared = std::min(info_->granule_shift_shared, 2);
    return emit(in, form);
  }
  // mma.sync.aligned.mMnNkK.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c
  for (std::string_view word : rest_) {
    char text[16] = {};
    word.copy(text, sizeof text - 1);
    MmaShape s;
    char end = 0;
    if (std::sscanf(text, "m%dn%dk%d%c", &s.m, &s.n, &s.k, &end) == 3) form.mma = s;
  }
  if (form.mma.m == 0 || !take_prefix("m")) fail("the shape is missing");
  if (!take("row") || !take("col")) fail("only .row.col is supported");
  read_suffixes(form);
  if (form.rounding != Rounding::none && (form.type != Type::f64 || form.rounding != Rounding::rn))
    fail("only rounding to nearest is supported, and only for .f64");
  if (form.satfinite && form.type != Type::s32) fail(".satfinite needs integers");
  std::vector<int32_t> items;
  const Type inputs = form.type2 == Type::f64 ? Type::f64 : Type::b32;
  const Type sums = form.type == Type::f64 ? Type::f64 : Type::b32;
  const size_t nd = registers(operand(0), sums, items, true), na = registers(operand(1), inputs, items, false);
  const size_t nb = registers(operand(2), inputs, items, false), nc = registers(operand(3), sums, items, false);
  int bits = 32;
  switch (form.type2) {
    case Type::f16: case Type::bf16: bits = 16; break;
    case Type::s8: case Type::u8: case Type::e4m3: case Type::e5m2: bits = 8; break;
    case Type::s4: case Type::u4: bits = 4; break;
    default: break;
  }
  const int per_group = 4 * 32 / bits, halves = form.mma.m / 8;
  const auto groups = static_cast<size_t>(form.mma.k / std::max(1, per_group));
  const size_t accumulators = static_cast<size_t>(halves) * (form.type == Type::f16 ? 1 : 2);
  if (na != groups * static_cast<size_t>(halves) || nb != groups || nd != accumulators || nc != accumulators) fail("the number of registers does not fit the shape");
  in.list = list(std::move(items));
  in.flags = static_cast<uint8_t>(form.mma.m);
  in.width = static_cast<uint8_t>(form.mma.k);
  in.flags2 = form.satfinite ? 1 : 0;
  in.imm = static_cast<int64_t>(2 * form.mma.m * form.mma.n * form.mma.k) << 32;  // for the counters
  emit(in, form);
}

void Decoder::async(const OpcodeRow& row) {
  Form form;
  Inst in = start(row);
  in.dst = kConstantBit;
  in.b = constant(1, 4);
  if (row.op == Op::cp_async) {
    if (!take("async")) fail("only cp.async is supported");
    if (take("bulk")) fail("bulk copies (TMA) are not supported; compile for sm_80 or without them");
    if (take("commit_group")) {
      form.op = Op::cp_async_commit;
      return emit(in, form);
    }
    if (take("wait_group") || take("wait_all")) {
      form.op = Op::cp_async_wait;
      in.flags = operand_count() == 0 ? 1 : 0;
      if (operand_count() != 0) in.imm = immediate(operand(0));
      return emit(in, form);
    }
    if (take("mbarrier")) {
      form.op = Op::cp_async_mbarrier;
      if (!take("arrive")) fail("arrive is needed");
      in.flags2 = take("noinc") ? 1 : 0;
      read_memory_suffixes(form);
      read_suffixes(form);
      set_address(in, operand(0), form);
      return emit(in, form);
    }
    // cp.async.{ca,cg}.shared.global [dst], [src], size{, source size}{, ignore}
    form.op = Op::cp_async;
    if (!take("global")) fail("the source must be global memory");
    read_memory_suffixes(form);
    if (form.space != Space::shared) fail("the destination must be shared memory");
    set_address(in, operand(0), form);
    Inst from;
    Form global;
    global.space = Space::global;
    set_address(from, operand(1), global);
    if (global.address_bytes != 8) fail("the source needs a 64-bit address");
    in.b = from.a;
    if (from.imm != static_cast<int32_t>(from.imm)) fail("the source's offset is too large");
    std::vector<int32_t> items{static_cast<int32_t>(from.imm)};
    const int64_t size = immediate(operand(2));
    if (size != 4 && size != 8 && size != 16) fail("the size must be 4, 8 or 16");
    in.width = static_cast<uint8_t>(size);
    for (size_t i = 3; i < operand_count(); ++i) {
      const Operand& o = operand(i);
      if (o.kind == OperandKind::reg && register_type(o) == Type::pred) {
        in.pa = predicate(o);
        in.negate = o.negated ? 1 : 0;
      } else {
        items.push_back(value(o, Type::u32));
        in.flags2 = 1;
      }
    }
    in.list = list(std::move(items));
    info_->granule_shift_shared = std::min(info_->granule_shift_shared, 2);
    return emit(in, form);
  }
  const std::string_view kind = rest_.empty() ? std::string_view() : rest_.front();
  if (!rest_.empty()) rest_.erase(rest_.begin());
  const bool expect = take("expect_tx");
  const bool parity = take("parity");
  take("noComplete");
  read_memory_suffixes(form);
  form.space = form.space == Space::generic ? Space::generic : Space::shared;
  read_suffixes(form);
  if (kind == "init" || kind == "inval") {
    set_address(in, operand(0), form);
    form.op = kind == "init" ? Op::mbarrier_init : Op::nop;
    if (kind == "init") in.b = value(operand(1), Type::u32);
  } else if (kind == "arrive" || kind == "arrive_drop") {
    form.op = kind == "arrive" ? Op::mbarrier_arrive : Op::mbarrier_arrive_drop;
    if (expect && kind != "arrive") fail(".expect_tx is not supported here");
    form.mode = expect ? "expect_tx" : "";
    // The state is left out for barriers of other blocks: mbarrier.arrive...shared::cluster _, [addr].
    const size_t at = operand(0).kind == OperandKind::address ? 0 : 1;
    if (at == 1 && operand(0).kind != OperandKind::sink) in.dst = destination(operand(0));
    set_address(in, operand(at), form);
    if (operand_count() > at + 1) in.b = value(operand(at + 1), Type::u32);
  } else if (kind == "expect_tx" || kind == "complete_tx") {
    form.op = kind == "expect_tx" ? Op::mbarrier_expect : Op::mbarrier_complete;
    set_address(in, operand(0), form);
    in.b = value(operand(1), Type::u32);
  } else if (kind == "test_wait" || kind == "try_wait") {
    form.op = Op::mbarrier_test;
    in.pdst = predicate(operand(0));
    set_address(in, operand(1), form);
    in.b = value(operand(2), parity ? Type::u32 : Type::b64);
    in.flags2 = parity ? 1 : 0;
  } else if (kind == "pending_count") {
    form.op = Op::mbarrier_pending;
    in.dst = destination(operand(0));
    in.a = value(operand(1), Type::b64);
  } else {
    fail("this operation on mbarriers is not supported");
  }
  emit(in, form);
}

}  // namespace mcc::sim
